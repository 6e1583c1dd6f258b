// Objects that nobody asked for ten seconds are gone from memory in the middle of a drain: the watch still wakes those
// who wait, at the lift and at the record's end, and nothing that was known is lost.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { before, test } from "node:test";
import { FleetStack } from "./fleetStack.ts";
import { Watch } from "./fleetWatch.ts";

// Eviction is in real time. A minute of this clock is 14 s, long enough for it, so that a drain's own end comes after it.
const fleet = new FleetStack(60 / 14);
let app = "";

before(async () => {
  await fleet.up();
  app = await fleet.onboard("app");
});

/** How often an object has come to life. */
function bootsOf(part: string): number {
  const lines = readFileSync(join(fleet.paths.log, "workerd.log"), "utf8").split("\n");
  return lines.filter((line) => line.includes(`"part":"${part}"`) && line.includes('"event":"boot"')).length;
}

/** Lets eleven seconds pass in which nobody asks the fleet anything. */
async function longEnoughForgotten(): Promise<void> {
  for (const end = performance.now() + 11_000; performance.now() < end;) await pause(200);
}

test("evicted in the middle of a drain, the registry tells its waiters of the end and of the lift, and rows and lease are intact", async () => {
  const run = fleet.newRun(app);
  const { leaseUntil, workspace } = await fleet.admitted(run);
  const { drain } = await fleet.drain("evicted-1", { deploy: false, minutes: 1 });
  const watches = [new Watch(fleet.url, fleet.bearer("operator")), new Watch(fleet.url, fleet.bearer("read"))];
  for (const watch of watches) await watch.until("it is drained", ({ drains }) => drains[0]?.id === "evicted-1");
  const before = { registry: bootsOf("registry"), app: bootsOf(app) };
  for (const watch of watches) {
    const frame = await watch.until("the record's end wakes it", ({ drains }) => drains.length === 0);
    assert.ok(frame.now >= drain.until);
    assert.deepEqual(
      frame.runs.map(({ runId }) => runId),
      [run.runId],
    );
  }
  assert.equal(
    bootsOf("registry"),
    before.registry + 1,
    "the registry had been evicted, and its alarm brought it back",
  );
  const ended = (await fleet.auditRows()).at(-1);
  assert.deepEqual([ended?.what, ended?.cause, ended?.drainId], ["reopen", "expired", "evicted-1"]);

  await fleet.drain("evicted-2", { deploy: false });
  const seen = watches.map((watch) => watch.frames.length);
  await longEnoughForgotten();
  await fleet.lift("evicted-2");
  for (const [n, watch] of watches.entries()) {
    await watch.until("the lift wakes it", ({ drains }) => drains.length === 0, (seen[n] ?? 1) - 1);
    assert.equal(watch.closed, undefined);
    watch.close();
  }
  assert.equal(bootsOf("registry"), before.registry + 2, "the registry had been evicted again");
  const again = await fleet.admitted(run);
  assert.ok(bootsOf(app) > before.app, "the resident had been evicted too");
  assert.deepEqual([again.again, again.leaseUntil, again.workspace], [true, leaseUntil, workspace]);
  assert.deepEqual(
    (await fleet.residents()).runs.map(({ runId, leaseUntil: until }) => [runId, until]),
    [[run.runId, leaseUntil]],
  );
  assert.equal((await fleet.detach(run)).kind, "released");
});
