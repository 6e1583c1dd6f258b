// A stop of an ask that waits whose answer was lost: the ask has ended, and its card says so without anybody's help.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import { raise } from "#wire/errors.ts";
import { asked, born, request, World } from "./botForTests.ts";

test("a queued ask whose stop was not answered says that it has ended, once, and again the stop is known", async () => {
  const world = new World();
  const living = await born(world);
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const [one, two] = [await asked(living, "one"), await asked(living, "two")];
  await world.clock.advance(SECOND);
  const say = world.ledger.say.bind(world.ledger);
  const answers: (() => void)[] = [];
  world.ledger.say = async (body) => {
    const answer = await say(body);
    await new Promise<void>((resolve) => void answers.push(resolve));
    if (body.id === one.id) throw new Error("the answer was lost");
    return answer;
  };
  const stop = (id: string): Promise<Response> =>
    request(living, `POST /runs/${id}/stop`, { body: { key: `stop-${id}` } });
  const stops = [stop(one.id), stop(two.id)];
  await world.clock.advance(CLOCK.heartbeatMs);
  const ends = async (): Promise<string[]> => (await world.cards()).filter((card) => card.endsWith(" ended"));
  assert.deepEqual(await ends(), [`${one.id} ended`, `${two.id} ended`], "no answer is waited for");
  for (const answer of answers) answer();
  assert.deepEqual(await Promise.all(stops.map(async (answer) => (await answer).status)), [500, 200]);
  await world.clock.settle();
  world.ledger.say = say;
  const again: unknown = await (await stop(one.id)).json();
  assert.deepEqual(again, { now: world.clock.now(), id: one.id, kind: "known" });
  await world.clock.settle();
  assert.deepEqual(await ends(), [`${one.id} ended`, `${two.id} ended`], "each is told once");
  for (const { id } of [one, two]) {
    const { notes, card, ended } = await world.ledger.run(id);
    assert.deepEqual([notes.map(({ kind, ms }) => [kind, ms]), card?.state], [[["drain_wait", SECOND]], "ended"]);
    assert.deepEqual(card?.verdict, ended?.verdict);
  }
});

test("an ask whose stop was not answered is told at once to whoever says it again", async () => {
  const world = new World();
  const living = await born(world);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  const { id } = await asked(living, "one");
  await world.clock.settle();
  // By another way than this bot, as by one whose answer was lost.
  await world.ledger.say({ id, generation: 1, key: "stop-1", kind: "stop", text: "" });
  await request(living, `POST /runs/${id}/stop`, { body: { key: "stop-1" } });
  await world.clock.settle();
  assert.equal((await world.ledger.run(id)).card?.state, "ended");
});

test("the end of one that waits since the bot before is told too", async () => {
  const world = new World();
  const one = await born(world);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  const { id } = await asked(one, "one");
  await world.clock.settle();
  one.life.kill();
  await born(world);
  await world.ledger.say({ id, generation: 2, key: "stop-1", kind: "stop", text: "" });
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal((await world.ledger.run(id)).card?.state, "ended");
});

test("an end that cannot be read holds up no look, and is asked for once", async () => {
  const world = new World();
  const living = await born(world);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  const { id } = await asked(living, "one");
  await world.clock.settle();
  await world.ledger.say({ id, generation: 1, key: "stop-1", kind: "stop", text: "" });
  let reads = 0;
  world.ledger.run = async () => {
    reads += 1;
    return raise("NO_SUCH_RUN", id);
  };
  await world.clock.advance(3 * CLOCK.heartbeatMs);
  assert.equal(reads, 1);
  assert.equal(living.bot.queue.waits.size, 0);
});
