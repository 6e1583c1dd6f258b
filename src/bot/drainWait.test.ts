// Whoever met a drain has its wait noted once, however the ask ended and wherever its bot was killed: the note is told before
// the card of the end, so that a card which was heard says that the note was heard too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { asked, born, request, World } from "./botForTests.ts";
import { Night } from "./nightForTests.ts";

const DRAIN = { id: "deploy-1", until: 9e12, by: "ci", reason: "x", deploy: true, phase: "draining" };
const KINDS = { shell: { lease: "45m", env: { KEY: { from: "A_KEY" } } } };

/** How an ask that waits under the deploy comes to its end. */
interface Course {
  /** What is so before anything is asked. */
  readonly before?: (night: Night) => void;
  /** What happens while it waits, before the fleet reopens. */
  readonly waiting?: (night: Night, id: string) => Promise<void> | void;
  /** What happens at each look after that, until it has ended. */
  readonly open?: (night: Night, id: string) => Promise<void> | void;
}

const stop = (night: Night, id: string): Promise<void> => night.say(`POST /runs/${id}/stop`, { key: "stop-1" });
const isQueued = ({ world }: Night, id: string): boolean =>
  world.ledger.store.entries.some(({ ask, state }) => ask.id === id && state === "queued");
const attachAnswers = ({ world }: Night, answer: () => Response | Promise<Response>): void =>
  void world.server.answers.set("/attach", answer);

const courses: readonly (readonly [ending: string, says: string, course: Course])[] = [
  ["finished", "it runs to its end", { open: (night) => night.finishAll() }],
  ["refused", "its resident refuses it", { waiting: (night) => attachAnswers(night, () => refusal("BAD_FIELD")) }],
  [
    "notStarted",
    "its secret is gone",
    {
      before: ({ world }) => void (world.variables["A_KEY"] = "a-secret"),
      waiting: ({ world }) => void delete world.variables["A_KEY"],
    },
  ],
  [
    "stopped",
    "it is stopped at the door",
    {
      waiting: (night) => attachAnswers(night, () => new Promise(() => undefined)),
      open: (night, id) => (isQueued(night, id) ? undefined : stop(night, id)),
    },
  ],
  ["leaseSpent", "its lease is spent", { waiting: (night) => attachAnswers(night, () => refusal("LEASE_SPENT")) }],
  ["stopped", "it is stopped in the queue", { waiting: stop }],
  [
    "failed",
    "its command fails",
    {
      open: ({ world }) => world.container.processes.forEach((process) => world.container.finish(process, { exit: 3 })),
    },
  ],
];

async function evening(night: Night, { before, waiting, open }: Course): Promise<string> {
  const { world } = night;
  night.wishes = { kinds: KINDS };
  world.variables["A_KEY"] = "a-secret";
  before?.(night);
  await night.bot();
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const id = await night.ask("one");
  await night.pass(10 * SECOND);
  await waiting?.(night, id);
  world.server.lift("deploy-1");
  for (let looks = 0; looks < 30 && (await world.ledger.entries()).entries.length > 0; looks += 1) {
    await night.pass(10 * SECOND);
    await open?.(night, id);
  }
  await night.pass(20 * SECOND);
  return id;
}

async function notedOnce({ world }: Night, id: string, ending: string, where: string): Promise<void> {
  const { ended, notes, card } = await world.ledger.run(id);
  assert.deepEqual([ended?.verdict.ending, card?.state], [ending, "ended"], where);
  const waits = notes.filter(({ kind }) => kind === "drain_wait").map(({ text }) => text.split(" for ")[1]);
  assert.deepEqual(waits, ["drain deploy-1"], `${where}: ${JSON.stringify(notes)}`);
}

for (const [ending, says, course] of courses)
  test(`an ask that met a drain has its wait noted once, its bot killed at any word: ${says}`, async () => {
    const whole = new Night(null);
    await notedOnce(whole, await evening(whole, course), ending, "without a kill");
    const calls = whole.living?.life.calls ?? 0;
    assert.ok(calls > 10, `only ${calls} words`);
    for (let call = 1; call <= calls; call += 1) {
      const night = new Night(call);
      await notedOnce(night, await evening(night, course), ending, `killed at word ${call} of ${calls}`);
    }
  });

test("an ask that was written under a drain has met it, though its bot died with the answer and the drain was over by then", async () => {
  let written = 0;
  for (let call = 1; call <= 12; call += 1) {
    const world = new World();
    world.container.onStart = (process) => world.container.finish(process);
    const first = await born(world, { diesAt: call });
    world.server.drain("deploy-1", 65, true);
    await world.clock.settle();
    void asked(first, "one");
    await world.clock.advance(SECOND);
    first.life.kill();
    const [entry] = world.ledger.store.entries;
    world.server.lift("deploy-1");
    const { id } = await asked(await born(world), "one");
    await world.clock.advance(MINUTE);
    const waits = (await world.ledger.run(id)).notes.filter(({ kind }) => kind === "drain_wait");
    assert.equal(waits.length, entry === undefined ? 0 : 1, `killed at word ${call}, ${JSON.stringify(entry)}`);
    if (entry !== undefined && entry.toldOf === null) written += 1;
  }
  assert.ok(written > 0, "one of them died before anything was told");
});

/**
 * One that is let in, and refused at its resident by a drain that is over by the time it hears of it: nobody is told of that
 * drain. `stops`: a stop reaches the ledger meanwhile, and not this bot.
 */
async function refusedTooLate(
  diesAt: number | null,
  stops: boolean,
): Promise<{ night: Night; id: string; met: boolean }> {
  const night = new Night(diesAt);
  const { world } = night;
  const { server, ledger } = world;
  const giveBack = ledger.giveBack.bind(ledger);
  let met = false;
  ledger.giveBack = async (body) => {
    met = true;
    return await giveBack(body);
  };
  await night.bot();
  const refusals: (() => void)[] = [];
  server.answers.set("/attach", () => {
    server.answers.delete("/attach");
    return new Promise((resolve) => refusals.push(() => resolve(refusal("DRAINING", { draining: DRAIN }))));
  });
  const id = await night.ask("one");
  server.drain("deploy-1", 65, true);
  await world.clock.settle();
  server.lift("deploy-1");
  await world.clock.settle();
  if (stops) await ledger.say({ id, generation: ledger.store.generation, key: "stop-1", kind: "stop", text: "" });
  for (const refuse of refusals) refuse();
  for (let looks = 0; looks < 30 && (await ledger.entries()).entries.length > 0; looks += 1) {
    await night.pass(10 * SECOND);
    night.finishAll();
  }
  await night.pass(20 * SECOND);
  return { night, id, met };
}

for (const [says, stops, ending] of [
  ["its run's wait", false, "finished"],
  ["the wait of one that a stop ends on its way back", true, "stopped"],
] as const)
  test(`an attach refused by a drain that is over by then has met it, its bot killed at any word: ${says}`, async () => {
    const whole = await refusedTooLate(null, stops);
    assert.ok(whole.met);
    await notedOnce(whole.night, whole.id, ending, "without a kill");
    const calls = whole.night.living?.life.calls ?? 0;
    for (let call = 1; call <= calls; call += 1) {
      const { night, id, met } = await refusedTooLate(call, stops);
      const where = `killed at word ${call} of ${calls}`;
      if (met) await notedOnce(night, id, ending, where);
      else
        assert.deepEqual(
          (await night.world.ledger.run(id)).notes.filter(({ kind }) => kind === "drain_wait"),
          [],
          where,
        );
    }
  });

test("an ask that was stopped while nothing of it was heard: the next bot tells its end and notes its wait", async () => {
  const world = new World();
  const first = await born(world);
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const card = world.ledger.card.bind(world.ledger);
  world.ledger.card = () => new Promise(() => undefined);
  const { id } = await asked(first, "one");
  await world.clock.advance(MINUTE);
  await request(first, `POST /runs/${id}/stop`, { body: { key: "stop-1" } });
  await world.clock.settle();
  first.life.kill();
  world.ledger.card = card;
  await born(world);
  const { notes, card: told } = await world.ledger.run(id);
  assert.equal(told?.state, "ended");
  assert.deepEqual(
    notes.map(({ kind, ms }) => [kind, ms]),
    [["drain_wait", MINUTE]],
  );
});
