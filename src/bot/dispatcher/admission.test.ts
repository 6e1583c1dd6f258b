// What an ask is told that it waits for: all of it as it is answered, and on its card again where its end is another one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { asked, born, World } from "../botForTests.ts";

test("inv. 14: a deploy that begins its swap is told again, with the bound that the wait has then, and once", async () => {
  const world = new World();
  const living = await born(world);
  world.server.quietBy = world.clock.now() + 9 * MINUTE;
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const { id } = await asked(living, "one");
  await world.clock.settle();
  world.server.quietBy = null;
  world.server.reconcile("deploy-1", ["repo:local/app"]);
  await world.clock.settle();
  await world.clock.advance(CLOCK.heartbeatMs);
  const swapsAt = world.clock.now() - CLOCK.heartbeatMs;
  const { cards } = await world.ledger.cards({ after: 0 });
  assert.deepEqual(
    cards.map(({ event }) => [event.id, event.cause, event.quietBy, (event.bound ?? 0) <= swapsAt + CLOCK.swapBoundMs]),
    [
      [id, "deploy", swapsAt + 9 * MINUTE, false],
      [id, "deploy", null, true],
    ],
  );
  const [entry] = world.ledger.store.entries;
  assert.deepEqual([entry?.toldOf, entry?.metDrain], ["deploy-1", "deploy-1"]);
});

test("what a deploy closes behind a busy thread waits for both, and its answer says so", async () => {
  const world = new World();
  const living = await born(world);
  await asked(living, "one", { threadKey: "web:T" });
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const { kind, waitingFor } = await asked(living, "two", { threadKey: "web:T" });
  assert.deepEqual([kind, waitingFor], ["queued", ["thread", "deploy"]]);
});
