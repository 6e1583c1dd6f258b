// A run's verdict is the ledger's before anything of the run is given back: whoever takes it over then neither follows nor
// begins it again, and ends it as it ended.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { attachBodySchema, detachBodySchema } from "#wire/attach.ts";
import { asked, born, World } from "../botForTests.ts";

const KINDS = { shell: { lease: "45m", resume: ["sh", "-c", "resume"] } };
/** Until the next bot has taken over what a killed one held. */
const TAKEN_OVER_MS = CLOCK.ledgerLeaseMs + CLOCK.heartbeatMs;

for (const isClosed of [true, false])
  test(`a bot that is killed between a run's release and its end: it ended as it did, ${isClosed ? "under a drain" : "though its container was replaced"}`, async () => {
    const world = new World();
    const first = await born(world, { kinds: KINDS });
    const { id } = await asked(first, "one");
    await world.clock.settle();
    const process = world.container.of(id);
    world.container.say(process, "all done\n");
    if (isClosed) world.server.drain("deploy-1", 65, true);
    world.server.answers.set("/detach", (body) => {
      const answer = world.server.detach(detachBodySchema.parse(body).runId);
      first.life.kill();
      world.server.answers.delete("/detach");
      return answer;
    });
    world.container.finish(process, { exit: 3 });
    await world.clock.settle();
    assert.equal(first.life.isDead, true);
    if (!isClosed) world.container.forget("boot2");
    await born(world, { kinds: KINDS });
    await world.clock.advance(TAKEN_OVER_MS);
    const { ended, card } = await world.ledger.run(id);
    assert.deepEqual([ended?.verdict.ending, ended?.verdict.exit, ended?.writeUp], ["failed", 3, "all done"]);
    assert.equal(card?.state, "ended");
    assert.deepEqual(world.container.started, isClosed ? [process.id] : [], "it is not begun a second time");
    assert.equal(world.server.registered.size, 0);
  });

test("what is said behind a verdict reaches nobody, and becomes one ask", async () => {
  const world = new World();
  const first = await born(world, { kinds: KINDS });
  const { id } = await asked(first, "one");
  await world.clock.settle();
  world.server.answers.set("/detach", () => {
    first.life.kill();
    world.server.answers.delete("/detach");
    return refusal("ROLLING");
  });
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  await world.ledger.say({ id, generation: 1, key: "late", kind: "steer", text: "and then this" });
  await born(world, { kinds: KINDS });
  await world.clock.advance(TAKEN_OVER_MS);
  const { ended } = await world.ledger.run(id);
  assert.equal(ended?.verdict.ending, "finished");
  assert.equal((await world.ledger.run(ended.leftId ?? "")).entry.ask.text, "and then this");
});

test("a ledger that is away is asked again who held a thread last, and refuses nobody", async () => {
  const world = new World();
  const living = await born(world);
  const first = await asked(living, "one", { threadKey: "web:T" });
  await world.clock.settle();
  world.container.finish(world.container.of(first.id));
  await world.clock.settle();
  let busy = 0;
  world.server.answers.set("/attach", () => {
    busy += 1;
    living.life.isLedgerAway = true;
    world.server.answers.delete("/attach");
    return refusal("THREAD_BUSY", { runId: first.id });
  });
  const second = await asked(living, "two", { threadKey: "web:T" });
  await world.clock.advance(SECOND);
  living.life.isLedgerAway = false;
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal(busy, 1);
  assert.equal(world.container.of(second.id).end, null, "it is at work");
});

test("an attach that is answered behind the run's end leaves no registration", async () => {
  const world = new World();
  const first = await born(world);
  let letIn = (): void => undefined;
  world.server.answers.set("/attach", async (body) => {
    await new Promise<void>((resolve) => (letIn = resolve));
    world.server.answers.delete("/attach");
    return world.server.attach(attachBodySchema.parse(body));
  });
  const { id } = await asked(first, "one");
  await world.clock.settle();
  // It stands still meanwhile: it hears of nothing that the next one does.
  first.life.isLedgerAway = true;
  await world.ledger.handOff(1);
  const { generation } = await world.ledger.begin("the next bot");
  await world.ledger.reclaim(generation);
  const verdict = { ending: "stopped", exit: null, by: null, why: null } as const;
  await world.ledger.end({ id, generation, verdict, leftId: "r-left-over", writeUp: "" });
  letIn();
  await world.clock.settle();
  assert.equal(world.server.registered.size, 1);
  first.life.isLedgerAway = false;
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal(world.server.registered.size, 0);
  assert.deepEqual(world.container.started, []);
});
