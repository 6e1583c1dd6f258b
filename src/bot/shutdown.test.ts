// How a bot ends: it takes no more, waits for its runs as long as a roll may hold, and leaves the rest as it is; a newer bot
// ends it at once, and a ledger that is away keeps it from nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, REAL } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import { botHealthSchema } from "#wire/bot.ts";
import { asked, born, request, World, type Living } from "./botForTests.ts";

/** Asks it to end, and says whether it has. */
function ending(living: Living): () => boolean {
  let isOver = false;
  void living.bot.ended.then(() => (isOver = true));
  void living.bot.end();
  return () => isOver;
}

test("a bot that is asked to end takes no more, waits for its run, and hands nothing off that has ended", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  await world.clock.settle();
  const isOver = ending(living);
  await world.clock.settle();
  const refused = await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "two" } });
  assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "5"]);
  const health = botHealthSchema.parse(await (await request(living, "GET /healthz")).json());
  assert.deepEqual([health.rolling, health.inFlight], [true, 1]);
  const steer = await request(living, `POST /runs/${one.id}/steer`, { body: { key: "a", text: "on" } });
  assert.equal(steer.status, 200, "what is said to a run passes");
  await world.clock.advance(CLOCK.botHoldMs - SECOND);
  assert.equal(isOver(), false);
  assert.ok(((await world.ledger.entries()).entries[0]?.heldUntil ?? 0) > world.clock.now(), "it beats on");
  world.container.finish(world.container.of(one.id));
  await world.clock.settle();
  assert.equal(isOver(), true);
  assert.equal((await world.ledger.run(one.id)).ended?.verdict.ending, "finished");
});

test("after the hold the run is left to the next bot, and goes on", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  await world.clock.settle();
  const isOver = ending(living);
  await world.clock.advance(CLOCK.botHoldMs);
  assert.equal(isOver(), true);
  const [entry] = (await world.ledger.entries()).entries;
  assert.deepEqual([entry?.ask.id, entry?.state], [one.id, "handedOff"]);
  assert.equal(world.container.of(one.id).end, null);
  await born(world);
  world.container.finish(world.container.of(one.id));
  await world.clock.settle();
  assert.equal((await world.ledger.run(one.id)).ended?.verdict.ending, "finished");
});

test("asked a second time it leaves at once, and what waits stays in the queue", async () => {
  const world = new World();
  const living = await born(world);
  await asked(living, "one", { threadKey: "web:T" });
  await asked(living, "two", { threadKey: "web:T" });
  await world.clock.settle();
  const isOver = ending(living);
  await world.clock.settle();
  assert.equal(isOver(), false);
  void living.bot.end();
  await world.clock.settle();
  assert.equal(isOver(), true);
  const states = (await world.ledger.entries()).entries.map(({ state }) => state);
  assert.deepEqual(states, ["handedOff", "queued"]);
});

test("a run whose workspace is being made is left too: the next bot attaches again", async () => {
  const world = new World();
  world.server.answers.set("/attach", () => new Promise(() => undefined));
  const living = await born(world, { roll: "handoff" });
  const one = await asked(living, "one");
  await world.clock.settle();
  await living.bot.end();
  assert.equal((await world.ledger.entries()).entries[0]?.state, "handedOff");
  world.server.answers.delete("/attach");
  await born(world);
  await world.clock.settle();
  assert.equal(world.container.started.join(), `p-${one.id}-1`);
});

test("a bot that a newer one has fenced off leaves everything and ends, without a word", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  await world.clock.settle();
  let isOver = false;
  void living.bot.ended.then(() => (isOver = true));
  await world.ledger.begin("a newer one");
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal(isOver, true);
  assert.equal(world.container.of(one.id).end, null);
  assert.equal(world.server.registered.size, 1);
  assert.equal((await world.ledger.entries()).entries[0]?.state, "running");
});

test("a ledger that is away while the bot ends is given up after its bound; its lease does the rest", async () => {
  const world = new World();
  const living = await born(world, { roll: "handoff" });
  const one = await asked(living, "one");
  await world.clock.settle();
  living.life.isLedgerAway = true;
  const isOver = ending(living);
  await world.clock.advance(REAL.leaveMs - SECOND);
  assert.equal(isOver(), false);
  await world.clock.advance(2 * SECOND);
  assert.equal(isOver(), true);
  await born(world);
  await world.clock.advance(CLOCK.ledgerLeaseMs);
  world.container.say(world.container.of(one.id), "still here");
  await world.clock.settle();
  assert.equal((await world.ledger.run(one.id)).output.out.length, 10);
});

test("a ledger that is away for a while ends no run and loses no word", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  await world.clock.settle();
  living.life.isLedgerAway = true;
  const process = world.container.of(one.id);
  world.container.say(process, "said meanwhile");
  await world.clock.advance(60 * SECOND);
  living.life.isLedgerAway = false;
  await world.clock.advance(CLOCK.heartbeatMs);
  world.container.finish(process);
  await world.clock.advance(CLOCK.heartbeatMs);
  const run = await world.ledger.run(one.id);
  assert.deepEqual([run.ended?.verdict.ending, run.ended?.writeUp], ["finished", "said meanwhile"]);
});

test("a run that takes long to leave keeps no other from being handed off, and is handed off with them", async () => {
  const world = new World();
  const living = await born(world, { roll: "handoff" });
  const [slow, other] = [await asked(living, "slow"), await asked(living, "other", { resource: "web" })];
  await world.clock.settle();
  const detach = world.server.answers.get("/detach");
  world.server.answers.set("/detach", () => new Promise(() => undefined));
  world.container.finish(world.container.of(slow.id));
  await world.clock.settle();
  await Promise.all([living.bot.end(), world.clock.advance(2 * REAL.leaveMs)]);
  const states = (await world.ledger.entries()).entries.map(({ ask, state }) => [ask.id, state]);
  assert.deepEqual(states, [
    [slow.id, "handedOff"],
    [other.id, "handedOff"],
  ]);
  if (detach === undefined) world.server.answers.delete("/detach");
  else world.server.answers.set("/detach", detach);
  await born(world, { roll: "handoff" });
  await world.clock.settle();
  assert.equal((await world.ledger.run(slow.id)).ended?.verdict.ending, "finished");
  assert.equal(world.container.started.length, 2, "nothing ran twice");
});
