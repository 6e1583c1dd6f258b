// A reopening that holds one resident: its own waiters alone wait on, to its report or the bound (invariant 10).

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import type { WaitNote } from "./attach.ts";
import { askOf, scene, type Scene } from "./clientForTests.ts";
import { ResidentDrainingError } from "./drainingError.ts";

const [APP, WEB, HELD] = ["repo:local/app", "repo:local/web", "repo:local/held"];

interface Waiter {
  readonly notes: WaitNote[];
  error: unknown;
}

function wait(at: Scene, resource: string, runId: string, leaseMs: number | null = null): Waiter {
  const waiter: Waiter = { notes: [], error: null };
  const leaseUntil = leaseMs === null ? null : at.clock.now() + leaseMs;
  at.attach(
    { ...askOf(runId), resource },
    { leaseUntil, signal: new AbortController().signal, onWait: (note) => waiter.notes.push(note) },
  ).catch((error: unknown) => (waiter.error = error));
  return waiter;
}

const lastOf = ({ notes }: Waiter): WaitNote | undefined => notes.at(-1);

/** A fleet that a deploy has closed, swapped and lifted again, while these residents have not reported. */
async function reopening(at: Scene, held: readonly string[]): Promise<void> {
  at.server.reconcile("deploy-one", held);
  await at.clock.settle();
  at.server.lift("deploy-one");
  await at.clock.settle();
}

test("inv. 10: the lift's frame wakes the waiters of the others, the held one's wait for its own report's", async () => {
  const at = scene();
  at.server.drain("deploy-one", 65, true);
  const waiter = wait(at, HELD, "run-held-1");
  wait(at, HELD, "run-held-2");
  for (const [n, resource] of [APP, WEB, APP].entries()) wait(at, resource, `run-other-${n}`);
  await at.clock.settle();
  at.server.reconcile("deploy-one", [APP, WEB, HELD]);
  at.server.report(APP);
  at.server.report(WEB);
  await at.clock.settle();
  assert.deepEqual(at.server.admitted, [], "until the lift the record closes everything");
  at.server.lift("deploy-one");
  await at.clock.settle();
  assert.deepEqual(new Set(at.server.admitted), new Set(["run-other-0", "run-other-1", "run-other-2"]));
  const asked = at.server.count("/attach");
  await at.clock.advance(5 * MINUTE);
  assert.equal(at.server.count("/attach"), asked, "the held ones wait without a request");
  assert.equal(waiter.error, null);
  at.server.report(HELD);
  await at.clock.settle();
  assert.deepEqual(at.server.admitted.slice(3), ["run-held-1", "run-held-2"]);
});

test("inv. 10: while one resident is held, a newcomer of another is let in by its first request", async () => {
  const at = scene();
  at.server.drain("deploy-one", 65, true);
  const held = wait(at, HELD, "run-held");
  await reopening(at, [HELD]);
  const asked = at.server.count("/attach");
  const other = wait(at, APP, "run-other");
  await at.clock.settle();
  assert.deepEqual([at.server.admitted, at.server.count("/attach")], [["run-other"], asked + 1]);
  assert.deepEqual(other.notes, []);
  const late = wait(at, HELD, "run-late");
  await at.clock.settle();
  assert.equal(at.server.count("/attach"), asked + 1, "one of the held resident goes behind who waits there");
  at.server.report(HELD);
  await at.clock.settle();
  assert.deepEqual(at.server.admitted, ["run-other", "run-held", "run-late"]);
  assert.deepEqual([held.error, late.error], [null, null]);
});

test("inv. 10: without a report the held one is let in at the bound, though nobody tells it", async () => {
  const at = scene();
  at.server.drain("deploy-one", 65, true);
  wait(at, HELD, "run-held");
  await reopening(at, [HELD]);
  await at.clock.advance(CLOCK.cycleBoundMs - 1);
  assert.deepEqual(at.server.admitted, []);
  await at.clock.advance(1);
  assert.deepEqual(at.server.admitted, ["run-held"]);
});

test("inv. 14: a held wait counts to the bound, whatever else is in flight, and never to the backstop", async () => {
  const at = scene();
  at.server.drain("deploy-one", 65, true);
  const waiter = wait(at, HELD, "run-held");
  await at.clock.settle();
  const closedAt = at.clock.now();
  assert.equal(lastOf(waiter)?.until, closedAt + 65 * MINUTE);
  at.server.quietBy = closedAt + 2 * MINUTE;
  await reopening(at, [HELD]);
  assert.equal(lastOf(waiter)?.line, "waiting for the deploy to finish · 10 min");
  assert.equal(lastOf(waiter)?.until, closedAt + CLOCK.cycleBoundMs);
  await at.clock.advance(3 * MINUTE);
  assert.equal(lastOf(waiter)?.line, "waiting for the deploy to finish · 7 min");
});

for (const watchable of [true, false]) {
  test(`a lease that cannot hold the wait names the bound${watchable ? "" : ", also without a watch"}`, async () => {
    const at = scene();
    at.server.watchable = watchable;
    at.server.drain("deploy-one", 65, true);
    await reopening(at, [HELD]);
    const bound = at.clock.now() + CLOCK.cycleBoundMs;
    const waiter = wait(at, HELD, "run-held", 15 * MINUTE);
    await at.clock.advance(SECOND);
    assert.equal(waiter.notes[0]?.line, "waiting for the deploy to finish · 10 min");
    assert.equal(waiter.notes[0]?.until, bound);
    await at.clock.advance(5 * MINUTE);
    assert.ok(waiter.error instanceof ResidentDrainingError);
    assert.equal(waiter.error.until, bound);
  });
}

test("without a watch a held resident's first in line asks again, and its report lets it in within half a minute", async () => {
  const at = scene();
  at.server.watchable = false;
  at.server.drain("deploy-one", 65, true);
  wait(at, HELD, "run-held");
  await reopening(at, [HELD]);
  await at.clock.advance(2 * MINUTE);
  at.server.report(HELD);
  await at.clock.advance(CLOCK.pollMs);
  assert.deepEqual(at.server.admitted, ["run-held"]);
});
