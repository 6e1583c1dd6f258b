// The numbers keep their relations for every table of leases that a fleet may be configured with.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { BUDGETS } from "../../test/unit/coreSamples.ts";
import { brokenRelations, budgetsOf, CLOCK, DEFAULT_LEASES, LEASE_BETWEEN, relationsOf } from "./budgets.ts";
import { DAY, HOUR, MINUTE, SECOND } from "./time.ts";

test("the built-in kinds give the seed's numbers: 60 minutes of wait, 65 asked, 90 at most", () => {
  assert.equal(BUDGETS.deployWaitMs, 60 * MINUTE);
  assert.equal(BUDGETS.drainMs, 65 * MINUTE);
  assert.equal(BUDGETS.capMinutes, 90);
  assert.equal(BUDGETS.longestLeaseMs, 45 * MINUTE);
  assert.equal(BUDGETS.shortestLeaseMs, 25 * MINUTE);
  assert.deepEqual(brokenRelations(BUDGETS), []);
});

test("a fleet of short leases alone has the seed's hour of wait all the same", () => {
  assert.equal(budgetsOf({ shell: 20 * MINUTE }).deployWaitMs, HOUR);
});

test("a kind that holds a lease of hours moves the wait and the cap beyond it", () => {
  const long = budgetsOf({ ...DEFAULT_LEASES, nightly: 4 * HOUR });
  assert.equal(long.deployWaitMs, 4 * HOUR + CLOCK.slackMs);
  assert.equal(long.capMs, long.deployWaitMs + CLOCK.swapBoundMs + CLOCK.cycleBoundMs);
  assert.deepEqual(brokenRelations(long), []);
});

const broken: readonly (readonly [says: string, more: Partial<typeof BUDGETS>, breaks: string])[] = [
  ["a wait that a run can outlast", { deployWaitMs: 59 * MINUTE }, "deploy wait ≥ longest lease + slack"],
  ["a drain that ends with the wait", { drainMs: 60 * MINUTE }, "drain asked = deploy wait + margin"],
  ["a cap below an hour and a half", { capMs: 89 * MINUTE }, "cap ≥ 90 minutes"],
  ["a cap below wait and swap", { deployWaitMs: 80 * MINUTE }, "cap ≥ deploy wait + swap bound + cycle bound"],
  ["a drain beyond the cap", { drainMs: 91 * MINUTE }, "cap ≥ drain asked"],
  ["minutes beyond the cap", { capMinutes: 91 }, "cap is whole minutes or is rounded down"],
  ["a lease that the reserve eats", { shortestLeaseMs: 10 * MINUTE }, "lease reserve < shortest lease"],
  ["a drain that outlives its tombstone", { capMs: DAY }, "a tombstone outlives every drain"],
];
for (const [says, more, breaks] of broken)
  test(`a table is refused for ${says}`, () => assert.ok(brokenRelations({ ...BUDGETS, ...more }).includes(breaks)));

test("a lease as short as the reserve is told by a composition root, and nothing else about it is", () => {
  assert.deepEqual(brokenRelations(budgetsOf({ tiny: CLOCK.reserveMs })), ["lease reserve < shortest lease"]);
});

test("a lease between the bounds keeps every relation, and one at a bound breaks its own", () => {
  const { moreThanMs, lessThanMs } = LEASE_BETWEEN;
  for (const lease of [moreThanMs + 1, lessThanMs - 1]) assert.deepEqual(brokenRelations(budgetsOf({ lease })), []);
  assert.deepEqual(brokenRelations(budgetsOf({ lease: moreThanMs })), ["lease reserve < shortest lease"]);
  assert.deepEqual(brokenRelations(budgetsOf({ lease: lessThanMs })), ["a tombstone outlives every drain"]);
});

test("each relation is said once, in words", () => {
  const says = relationsOf(BUDGETS).map((relation) => relation.says);
  assert.equal(new Set(says).size, says.length);
});

test("every sane table of leases keeps every relation, and its cap outlasts what a deploy needs", () => {
  const lease = fc.integer({ min: CLOCK.reserveMs + 1, max: 20 * HOUR });
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), lease, { minKeys: 1, maxKeys: 6 }), (leases) => {
      const budgets = budgetsOf(leases);
      assert.deepEqual(brokenRelations(budgets), []);
      for (const one of Object.values(leases)) {
        assert.ok(budgets.shortestLeaseMs <= one && one <= budgets.longestLeaseMs);
        assert.ok(one + CLOCK.slackMs <= budgets.deployWaitMs);
      }
      assert.ok(budgets.capMinutes * MINUTE > budgets.capMs - MINUTE);
      assert.ok(Number.isInteger(budgets.capMinutes));
      assert.ok(budgets.drainMs + SECOND <= budgets.capMs);
    }),
  );
});
