// One bot over a fleet and a ledger: an ask is admitted, runs, and ends with what it said; one that meets a closed door waits
// with its card, and starts when that opens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { asked, born, request, World } from "./botForTests.ts";
import { runDetailSchema, type RunDetail } from "#wire/bot.ts";

/** Every run says what it was asked and ends. */
function quick(world: World): void {
  world.container.onStart = (process) => {
    world.container.say(process, `${process.env["TIDEGATE_ASK"]} done\n`);
    world.container.finish(process);
  };
}

async function detail(living: Awaited<ReturnType<typeof born>>, id: string): Promise<RunDetail> {
  return runDetailSchema.parse(await (await request(living, `GET /runs/${id}`)).json());
}

test("an ask is admitted, runs with its text, and ends with its last output as its write-up", async () => {
  const world = new World();
  quick(world);
  const bot = await born(world);
  const answer = await asked(bot, "make it");
  assert.deepEqual([answer.kind, answer.position, answer.says], ["admitted", null, "attaching the workspace"]);
  await world.clock.settle();
  const run = await detail(bot, answer.id);
  assert.equal(run.card.verdict?.ending, "finished");
  assert.equal(run.writeUp, "make it done");
  const process = world.container.of(answer.id);
  assert.deepEqual(process.command, ["sh", "-c", "make it"]);
  assert.equal(process.id, `p-${answer.id}-1`);
  assert.equal(process.env["TIDEGATE_INBOX"], ".tidegate/inbox.ndjson");
  assert.equal(world.server.registered.size, 0, "its registration is given back");
  assert.deepEqual(await world.cards(), [`${answer.id} attaching`, `${answer.id} running`, `${answer.id} ended`]);
});

test("an ask that meets a pending deploy is queued and answered at once, and starts when that is over", async () => {
  const world = new World();
  quick(world);
  const bot = await born(world);
  world.server.drain("deploy-1", 65, true);
  world.server.quietBy = world.clock.now() + 12 * MINUTE;
  world.server.tell();
  await world.clock.settle();
  const answer = await asked(bot, "later");
  assert.deepEqual(
    [answer.kind, answer.position, answer.waitingFor, answer.says],
    ["queued", 1, ["deploy"], "deploy pending, 12 minutes · place 1"],
  );
  await world.clock.advance(90 * SECOND);
  world.server.lift("deploy-1");
  await world.clock.settle();
  const run = await detail(bot, answer.id);
  assert.equal(run.card.verdict?.ending, "finished");
  assert.equal(run.card.waitedMs, 90 * SECOND);
  assert.deepEqual(
    run.notes.map(({ kind, ms }) => [kind, ms]),
    [
      ["drain_wait", 90 * SECOND],
      ["work", null],
    ],
  );
  assert.ok(CLOCK.heartbeatMs > 0);
});
