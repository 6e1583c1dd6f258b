// What the bot takes from a look at the ledger: one line of each, and whole what it takes in hand or what was told something.
// A record that cannot be read stands, is said to be so, and is in nobody's way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { raise } from "#wire/errors.ts";
import { runListSchema } from "#wire/bot.ts";
import type { LedgerLook } from "#wire/ledgerLook.ts";
import { asked, born, request, World, type Living } from "./botForTests.ts";

const textsOf = ({ container }: World): unknown[] => container.processes.map(({ env }) => env["TIDEGATE_ASK"]);
const logOf = ({ logged }: World, words: RegExp): string[] => logged.filter((line) => words.test(line));
const beat = ({ clock }: World): Promise<void> => clock.advance(CLOCK.heartbeatMs);

/** From now on the ledger cannot read this one's record; `again` lets it. */
function unreadable(world: World, id: string): { again: () => void } {
  const { ledger } = world;
  const refuse = (): never => raise("RECORD_UNREADABLE", `${id} is a record that this build cannot read`);
  const mine = (given: unknown): boolean =>
    typeof given === "object" && given !== null && "id" in given && given.id === id;
  let isOn = true;
  const names = ["progress", "output", "end", "told", "giveBack", "say", "note", "card"] as const;
  for (const name of names) {
    const real: (given: never) => Promise<unknown> = ledger[name].bind(ledger);
    const wrapped = async (given: never): Promise<unknown> => (isOn && mine(given) ? refuse() : await real(given));
    Object.assign(ledger, { [name]: wrapped });
  }
  const look = ledger.look.bind(ledger);
  ledger.look = async (): Promise<LedgerLook> => {
    const seen = await look();
    if (!isOn) return seen;
    const standIn = { state: "running", holder: Number.MAX_SAFE_INTEGER } as const;
    const entries = seen.entries.map((entry) => (entry.ask.id === id ? { ...entry, ...standIn } : entry));
    return { ...seen, entries, unreadable: [id] };
  };
  return { again: () => void (isOn = false) };
}

async function listed(living: Living): Promise<ReturnType<typeof runListSchema.parse>> {
  return runListSchema.parse(await (await request(living, "GET /runs")).json());
}

test("nothing of the bot asks for everything whole, and a list shows the beginning of each text", async () => {
  const world = new World();
  world.ledger.entries = () => assert.fail("asked for every entry whole");
  world.ledger.look = async () => {
    const { generation, entries } = world.ledger.store;
    const lines = entries.map(({ ask, messages, ...entry }) => ({
      ...entry,
      ask: { ...ask, text: ask.text.slice(0, LIMIT.shownChars) },
      said: messages.length,
    }));
    return { now: world.clock.now(), generation, entries: lines, unreadable: [] };
  };
  const living = await born(world);
  const text = `${"x".repeat(LIMIT.shownChars)} and more`;
  const { id } = await asked(living, text, { key: "long" });
  await world.clock.settle();
  assert.deepEqual(textsOf(world), [text]);
  assert.equal((await listed(living)).live[0]?.text, "x".repeat(LIMIT.shownChars));
  const detail: unknown = await (await request(living, `GET /runs/${id}`)).json();
  assert.ok(typeof detail === "object" && detail !== null && "text" in detail && detail.text === text);
});

test("what was said to a run by another way than this bot reaches it by the next look", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "one");
  await world.clock.settle();
  await world.ledger.say({ id, generation: 1, key: "a", kind: "steer", text: "said elsewhere" });
  let asksWhole = 0;
  const real = world.ledger.run.bind(world.ledger);
  world.ledger.run = (of) => ((asksWhole += 1), real(of));
  await beat(world);
  assert.match([...world.container.files.values()].join(), /said elsewhere/);
  assert.equal((await real(id)).entry.delivered, 1);
  await beat(world);
  assert.equal(asksWhole, 1, "it is asked for whole where there is news, and not again");
});

test("a run of this bot that cannot be read holds up nobody, and is taken in hand once it can", async () => {
  const world = new World();
  const living = await born(world);
  const [ask, run] = [world.ledger.ask.bind(world.ledger), world.ledger.run.bind(world.ledger)];
  world.ledger.ask = async (body) => {
    world.ledger.ask = ask;
    await ask(body);
    throw new Error("the answer was lost");
  };
  const lost = (): string | undefined => world.ledger.store.entries[0]?.ask.id;
  world.ledger.run = async (id) =>
    id === lost() ? raise("INTERNAL", "answered what this build cannot read") : await run(id);
  assert.equal((await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "one" } })).status, 500);
  await asked(living, "two");
  await world.clock.settle();
  await beat(world);
  assert.equal((await listed(living)).live.length, 2);
  assert.deepEqual(textsOf(world), ["two"]);
  assert.ok(logOf(world, /what the ledger has of a run cannot be read/).length > 0);
  world.ledger.run = run;
  await beat(world);
  assert.deepEqual(textsOf(world), ["two", "one"]);
});

test("a run that has ended between the look and what was asked of it is not begun", async () => {
  const world = new World();
  const living = await born(world);
  const [ask, run] = [world.ledger.ask.bind(world.ledger), world.ledger.run.bind(world.ledger)];
  world.ledger.ask = async (body) => {
    world.ledger.ask = ask;
    const { kind } = await ask(body);
    assert.equal(kind, "admitted");
    world.ledger.run = async (id) => {
      world.ledger.run = run;
      const verdict = { ending: "stopped", exit: null, by: null, why: null } as const;
      await world.ledger.end({ id, generation: 1, verdict, leftId: "left-000001", writeUp: "" });
      return await run(id);
    };
    throw new Error("the answer was lost");
  };
  await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "one" } });
  await beat(world);
  assert.equal(world.server.count("/attach"), 0);
  assert.deepEqual((await listed(living)).live, []);
});

test("a word about a record that cannot be read is said once and logged, and those behind it are heard", async () => {
  const world = new World();
  const living = await born(world);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  const one = await asked(living, "one");
  await world.clock.settle();
  unreadable(world, one.id);
  const { outbox } = living.bot.desk;
  outbox.post({ word: "told", id: one.id, drainId: "deploy-1" });
  world.server.drain("deploy-1", 65, true);
  world.server.lift("person-1");
  await world.clock.settle();
  const two = await asked(living, "two");
  await beat(world);
  assert.equal((await world.ledger.run(two.id)).card?.state, "queued", "the card of another is heard");
  assert.equal(logOf(world, /"level":"error".*the ledger refused a word/).length, 1);
  const stop = await request(living, `POST /runs/${one.id}/stop`, { body: { key: "stop-1" } });
  assert.deepEqual([stop.status, Object(await stop.json()).code], [409, "RECORD_UNREADABLE"]);
  await beat(world);
  assert.equal(logOf(world, /records that cannot be read stand until an admin ends them/).length, 1, "once");
  const list = await listed(living);
  assert.deepEqual([list.unreadable, list.live.map(({ id }) => id)], [[one.id], [one.id, two.id]]);
});

test("a run whose record cannot be read any more is left as it is, and goes on here once it can", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "one", { threadKey: "web:T" });
  await world.clock.settle();
  const record = unreadable(world, id);
  for (const word of ["said ", "meanwhile"]) {
    world.container.say(world.container.of(id), word);
    await world.clock.settle();
  }
  await beat(world);
  assert.equal(living.bot.desk.runs.get(id), undefined);
  assert.deepEqual([world.server.count("/detach"), world.server.count("/op")], [0, 0], "nothing of it is ended");
  assert.ok(logOf(world, /"level":"error".*a run is left as it is/).length > 0);
  const behind = await asked(living, "two", { threadKey: "web:T" });
  assert.equal(behind.kind, "queued", "its thread is busy");
  record.again();
  await beat(world);
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  const { ended } = await world.ledger.run(id);
  assert.deepEqual([ended?.verdict.ending, ended?.writeUp], ["finished", "said meanwhile"]);
});

test("whoever begins behind a bot of many runs takes all of them over, whatever one answer holds", async () => {
  const world = new World();
  const { generation } = await world.ledger.begin("the one before");
  const doors = { generation, open: true, leaseMs: 45 * 60_000 };
  const many = LIMIT.reclaimedAtOnce + 5;
  for (let n = 0; n < many; n += 1) {
    const id = `run-${String(n).padStart(6, "0")}`;
    const more = {
      kind: "shell",
      text: "go",
      by: "ada",
      channel: "web",
      leaseMs: null,
      ref: null,
      parent: null,
    } as const;
    await world.ledger.ask({ ask: { id, key: id, threadKey: `web:${n}`, resource: "repo:local/app", ...more }, doors });
  }
  await world.ledger.handOff(generation);
  const living = await born(world);
  assert.equal(living.bot.desk.runs.all.length, many);
});

test("a look is taken for whoever pokes at any instant around the end of the look before", async () => {
  const world = new World();
  const { bot } = await born(world);
  const look = world.ledger.look.bind(world.ledger);
  for (let offset = 0; offset < 60; offset += 1) {
    let looks = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    world.ledger.look = async () => {
      looks += 1;
      const answer = await look();
      if (looks === 1) await promise;
      return answer;
    };
    bot.queue.poke();
    await world.clock.settle();
    const late = promise.then(async () => {
      for (let n = 0; n < offset; n += 1) await Promise.resolve();
      bot.queue.poke();
    });
    resolve();
    await late;
    await world.clock.settle();
    assert.equal(looks, 2, `after ${offset} steps`);
  }
});
