// What is registered at the fleet although its run has ended is given back by whichever bot is there; nothing else is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import type { RunRow } from "#wire/fleet.ts";
import { asked, born, World, type Living } from "./botForTests.ts";

/** What the registry tells of a run. */
function registers(world: World, runId: string, since = world.clock.now()): void {
  const row: RunRow = {
    resource: "repo:local/app",
    runId,
    threadKey: `web:${runId}`,
    kind: "run",
    state: "running",
    generation: 1,
    since,
    leaseUntil: since + 45 * MINUTE,
    suspect: false,
  };
  world.server.runs = [...world.server.runs, row];
  world.server.tell();
}

/** A run that has ended by itself. */
async function ended(world: World): Promise<{ readonly id: string; readonly living: Living }> {
  const living = await born(world);
  const { id } = await asked(living, "one");
  await world.clock.settle();
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  return { id, living };
}

const detached = ({ server }: World): number => server.count("/detach");

test("a release that the fleet did not hear is made good, also by the next bot", async () => {
  for (const isKilled of [false, true]) {
    const world = new World();
    const first = await born(world);
    const { id } = await asked(first, "one");
    await world.clock.settle();
    registers(world, id);
    world.server.answers.set("/detach", () => {
      throw new TypeError("fetch failed");
    });
    world.container.finish(world.container.of(id));
    await world.clock.advance(CLOCK.ledgerLeaseMs);
    const { ended: end, notes } = await world.ledger.run(id);
    assert.equal(end?.verdict.ending, "finished");
    assert.ok(notes.some(({ kind }) => kind === "not_released"));
    assert.equal(world.server.registered.size, 1);
    if (isKilled) first.life.kill();
    world.server.answers.delete("/detach");
    if (isKilled) await born(world);
    await world.clock.advance(CLOCK.heartbeatMs);
    assert.equal(world.server.registered.size, 0, isKilled ? "by the next bot" : "by the same bot");
  }
});

test("a run at work and one of somebody else's are left alone", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "one");
  await world.clock.settle();
  registers(world, id);
  registers(world, "run-of-a-person");
  await world.clock.advance(3 * CLOCK.ledgerLeaseMs);
  assert.deepEqual([detached(world), world.server.registered.size], [0, 1]);
});

test("one that came in behind its end is given back, and not before it may have been on its way there", async () => {
  const world = new World();
  const { id } = await ended(world);
  world.server.registered.add(id);
  registers(world, id);
  const before = detached(world);
  await world.clock.advance(CLOCK.ledgerLeaseMs - 1);
  assert.deepEqual([detached(world) - before, world.server.registered.size], [0, 1]);
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.equal(world.server.registered.size, 0);
});

test("a ledger that is away says nothing of a run: it is asked for again", async () => {
  const world = new World();
  const { id, living } = await ended(world);
  world.server.registered.add(id);
  registers(world, id, world.clock.now() - MINUTE);
  living.life.isLedgerAway = true;
  await world.clock.advance(2 * CLOCK.heartbeatMs);
  assert.equal(world.server.registered.size, 1);
  living.life.isLedgerAway = false;
  await world.clock.advance(2 * CLOCK.heartbeatMs);
  assert.equal(world.server.registered.size, 0);
});
