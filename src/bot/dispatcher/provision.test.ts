// A run on its way to its workspace: a stop ends that at once, whatever it waits for, and no lease outlives what the bot that
// asks may promise.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { CLOCK, REAL } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { asked, born, request, World } from "../botForTests.ts";

const lent = z.object({ remainingMs: z.number() });
const NEVER = new Promise<Response>(() => undefined);

for (const [says, answer] of [
  ["while the attach hangs", () => NEVER],
  ["while its container rolls", () => refusal("ROLLING")],
] as const)
  test(`inv. 9: a stop ends it at once ${says}`, async () => {
    const world = new World();
    world.server.answers.set("/attach", answer);
    const living = await born(world);
    const { id } = await asked(living, "one");
    await world.clock.advance(CLOCK.wakePollMs + SECOND);
    const stoppedAt = world.clock.now();
    await request(living, `POST /runs/${id}/stop`, { body: { key: "stop-1" } });
    // The attach may be on its way in still, so its registration is looked for once more.
    await world.clock.advance(REAL.recheckMs);
    const { ended, card } = await world.ledger.run(id);
    assert.deepEqual(
      [ended?.verdict.ending, ended?.endedAt, card?.state],
      ["stopped", stoppedAt + REAL.recheckMs, "ended"],
    );
    assert.equal(living.bot.desk.runs.inFlight, 0);
    assert.equal(world.container.processes.length, 0);
  });

test("inv. 15: a run whose kind was shortened over a roll asks for no more than the longest lease that there is now", async () => {
  const world = new World();
  const asks: number[] = [];
  world.server.answers.set("/attach", (body) => {
    asks.push(lent.parse(body).remainingMs);
    return NEVER;
  });
  const first = await born(world, { kinds: { shell: { lease: "6h" } } });
  await asked(first, "one");
  await world.clock.settle();
  first.life.kill();
  const second = await born(world, { kinds: { shell: { lease: "20m" } } });
  await world.clock.advance(CLOCK.ledgerLeaseMs + SECOND);
  const { longestLeaseMs } = second.bot.desk.parts.budgets;
  assert.ok(longestLeaseMs < 60 * MINUTE);
  assert.deepEqual(asks, [6 * 60 * MINUTE, longestLeaseMs]);
});

test("what a run waited stays on its card over a roll, to its end", async () => {
  const world = new World();
  const first = await born(world, { roll: "handoff" });
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const { id } = await asked(first, "one");
  await world.clock.advance(MINUTE);
  world.server.lift("deploy-1");
  await world.clock.settle();
  await first.bot.end();
  await born(world, { roll: "handoff" });
  await world.clock.advance(SECOND);
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  const { card } = await world.ledger.run(id);
  assert.deepEqual([card?.state, card?.waitedMs], ["ended", MINUTE]);
});
