// Invariant 9: a wait never exceeds its budget, however drain and wake alternate, and what it tells of itself adds up.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CLOCK } from "./budgets.ts";
import { HOUR, MINUTE, SECOND } from "./time.ts";
import { nextWait, waitBudgetOf, waitedOf, waitOf, wakeWait, type WaitAnswer, type WaitState } from "./wait.ts";

const draining: WaitAnswer = { kind: "draining", until: 65 * MINUTE, quietBy: 20 * MINUTE };
const transient: WaitAnswer = { kind: "transient" };

const budgets: readonly [string, number | null, number][] = [
  ["a coding lease waits 35 minutes", 45 * MINUTE, 35 * MINUTE],
  ["a review lease waits 15 minutes", 25 * MINUTE, 15 * MINUTE],
  ["a lease below the reserve waits not at all", 9 * MINUTE, 0],
  ["a lease that is over waits not at all", -MINUTE, 0],
  ["a caller without a lease waits an hour", null, HOUR],
];
for (const [name, remaining, expected] of budgets)
  test(`budget: ${name}`, () => assert.equal(waitBudgetOf(remaining), expected));

test("a drain is polled every 30 seconds, the last time at the deadline", () => {
  const met = nextWait(waitOf(11 * MINUTE, 0), draining, 0);
  assert.deepEqual(met.step, { do: "pause", at: 30 * SECOND, cause: "draining" });
  const late = nextWait(wakeWait(met, 45 * SECOND), draining, 45 * SECOND);
  assert.deepEqual(late.step, { do: "pause", at: MINUTE, cause: "draining" });
  assert.deepEqual(wakeWait(late, MINUTE).step, { do: "spent", cause: "draining" });
  assert.deepEqual(waitedOf(wakeWait(late, MINUTE), MINUTE), { wokeAfterMs: MINUTE, drainWaitMs: MINUTE });
});

test("a door that opens lets the waiter in with the wait on it", () => {
  const met = nextWait(waitOf(45 * MINUTE, 0), draining, 0);
  const woken = wakeWait(met, 23 * MINUTE);
  assert.equal(woken.step.do, "attach");
  const rolling = nextWait(woken, transient, 23 * MINUTE);
  assert.deepEqual(rolling.step, { do: "pause", at: 23 * MINUTE + CLOCK.wakePollMs, cause: "transient" });
  const admitted = nextWait(wakeWait(rolling, 24 * MINUTE), { kind: "admitted" }, 24 * MINUTE);
  assert.equal(admitted.step.do, "admitted");
  assert.deepEqual(waitedOf(admitted, 24 * MINUTE), { wokeAfterMs: 24 * MINUTE, drainWaitMs: 23 * MINUTE });
});

test("a drain met inside a wake wait keeps the wait going, on the budget of the whole", () => {
  const rolling = nextWait(waitOf(45 * MINUTE, 0), transient, 0);
  const met = nextWait(wakeWait(rolling, MINUTE), draining, MINUTE);
  assert.deepEqual(met.step, { do: "pause", at: MINUTE + CLOCK.pollMs, cause: "draining" });
  assert.equal(met.deadline, 35 * MINUTE);
});

test("a refusal that is no drain is the end at once", () => {
  assert.equal(nextWait(waitOf(null, 0), { kind: "refused" }, 0).step.do, "refused");
});

test("a wake wait alone has three minutes, and never more than the lease", () => {
  const full = nextWait(waitOf(45 * MINUTE, 0), transient, 0);
  assert.deepEqual(nextWait(full, transient, CLOCK.wakeWaitMs).step, { do: "spent", cause: "transient" });
  const short = nextWait(waitOf(2 * MINUTE, 0), transient, 0);
  assert.deepEqual(nextWait(short, transient, 2 * MINUTE).step, { do: "spent", cause: "transient" });
});

test("a drain that lasts no time at all still bounds the wake waits after it", () => {
  const met = nextWait(waitOf(11 * MINUTE, 0), draining, 0);
  const rolling = nextWait(nextWait(met, transient, 0), transient, MINUTE);
  assert.deepEqual(rolling.step, { do: "spent", cause: "transient" });
});

test("to be woken when nothing is paused changes nothing", () => {
  const fresh = waitOf(null, 0);
  assert.equal(wakeWait(fresh, MINUTE), fresh);
});

/** One wait to its end: the answers as they come, each after its share of the pause before it. */
function walk(
  remaining: number | null,
  answers: readonly [WaitAnswer, number][],
): { readonly state: WaitState; readonly now: number } {
  let now = 0;
  let state = waitOf(remaining, now);
  for (const [answer, share] of answers) {
    if (state.step.do === "pause") {
      now += Math.round((state.step.at - now) * share);
      state = wakeWait(state, now);
    }
    if (state.step.do !== "attach") break;
    state = nextWait(state, answer, now);
  }
  return { state, now };
}

test("no wait exceeds its budget, however drain and wake alternate, and its shares add up", () => {
  const answer = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(draining, transient) },
    fc.constantFrom<WaitAnswer>({ kind: "admitted" }, { kind: "refused" }),
  );
  const asked = fc.tuple(answer, fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })));
  const remaining = fc.oneof(fc.constant(null), fc.integer({ min: -MINUTE, max: 2 * HOUR }));
  fc.assert(
    fc.property(remaining, fc.array(asked, { maxLength: 200 }), (lease, answers) => {
      const { state, now } = walk(lease, answers);
      const bound = state.metDrain ? Math.max(waitBudgetOf(lease), CLOCK.wakeWaitMs) : CLOCK.wakeWaitMs;
      assert.ok(now <= bound, `waited ${now} of ${bound}`);
      if (state.step.do === "pause") assert.ok(state.step.at <= (state.metDrain ? state.deadline : state.leaseUntil));
      const { wokeAfterMs, drainWaitMs } = waitedOf(state, now);
      assert.ok(drainWaitMs <= wokeAfterMs && drainWaitMs >= 0);
      assert.equal(wokeAfterMs, now);
      if (!state.metDrain) assert.equal(drainWaitMs, 0);
    }),
  );
});
