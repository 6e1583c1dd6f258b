// What the ledger refuses, or answers so that this bot cannot read it, is a defect of one of the two: how a run ended stands all
// the same, it is begun no second time, and it does not stay in the way.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import { detachBodySchema } from "#wire/attach.ts";
import { raise } from "#wire/errors.ts";
import { asked, born, World } from "./botForTests.ts";

/** The first so many calls are refused by what nobody can explain. */
function refusing<A extends unknown[], T>(
  times: number,
  call: (...given: A) => Promise<T>,
): (...given: A) => Promise<T> {
  let left = times;
  return async (...given) => {
    left -= 1;
    return left >= 0 ? raise("INTERNAL", "as the test wants it") : await call(...given);
  };
}

/** A world with one run at work. */
async function atWork(kinds: object = {}) {
  const world = new World();
  const bot = await born(world, { kinds });
  const { id } = await asked(bot, "one", { threadKey: "web:T" });
  await world.clock.settle();
  return { world, bot, id, finish: () => world.container.finish(world.container.of(id), { exit: 0 }) };
}

test("how a run ended stands, whatever is met behind it", async () => {
  const { world, id, finish } = await atWork();
  world.ledger.outputFrom = refusing(1, world.ledger.outputFrom.bind(world.ledger));
  finish();
  await world.clock.settle();
  const { ended } = await world.ledger.run(id);
  assert.deepEqual([ended?.verdict.ending, ended?.verdict.exit], ["finished", 0]);
});

test("nothing is given back before the ledger knows how it ended: a bot killed between begins nothing again", async () => {
  const resumes = { shell: { lease: "45m", resume: ["sh", "-c", "resume"] } };
  const { world, bot, id, finish } = await atWork(resumes);
  world.ledger.progress = refusing(1, world.ledger.progress.bind(world.ledger));
  world.server.answers.set("/detach", (body) => {
    const answer = world.server.detach(detachBodySchema.parse(body).runId);
    bot.life.kill();
    world.server.answers.delete("/detach");
    return answer;
  });
  finish();
  await world.clock.settle();
  assert.ok(bot.life.isDead);
  world.container.forget("boot-2");
  await born(world, { kinds: resumes });
  await world.clock.advance(CLOCK.ledgerLeaseMs + CLOCK.heartbeatMs);
  assert.deepEqual(world.container.started, [], "nothing in the new container");
  assert.ok((await world.ledger.run(id)).ended !== null);
});

test("an end that is refused is written later, and what waits for its thread starts then", async () => {
  const { world, bot, id, finish } = await atWork();
  const calls: string[] = [];
  const end = world.ledger.end.bind(world.ledger);
  const refused = refusing(4, end);
  world.ledger.end = (body) => (calls.push(body.verdict.ending), refused(body));
  finish();
  await world.clock.settle();
  const next = await asked(bot, "two", { threadKey: "web:T" });
  assert.equal(next.kind, "queued");
  await world.clock.advance(SECOND);
  assert.equal(calls.length, 2, "it is not asked again at once");
  for (let tries = 0; tries < 3; tries += 1) await world.clock.advance(CLOCK.retryMs);
  const { ended, card } = await world.ledger.run(id);
  assert.deepEqual([ended?.verdict.ending, card?.state], ["finished", "ended"]);
  assert.equal(world.container.started.length, 2, "the next of its thread");
});
