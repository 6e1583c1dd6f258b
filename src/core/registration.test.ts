// Leases: never longer than the longest configured, a child's within its parent's, and at an end that comes whoever is dead.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyInstant, at, attachAskOf, BUDGETS, rowOf, T0 } from "../../test/unit/coreSamples.ts";
import { budgetsOf, CLOCK, DEFAULT_LEASES } from "./budgets.ts";
import { isSuspect, leaseSpent, leaseUntilOf, nextLeaseEnd, quietByOf, type AttachAsk } from "./registration.ts";
import { HOUR, MINUTE, type Instant } from "./time.ts";

const ends: readonly (readonly [says: string, ask: Partial<AttachAsk>, parentUntil: Instant | null, end: Instant])[] = [
  ["what is left of the caller's lease", { remainingMs: 30 * MINUTE }, null, at(30)],
  ["its kind's, where it names none", { remainingMs: null, runKind: "review" }, null, at(25)],
  ["the longest, where its kind is unknown", { remainingMs: null, runKind: "dance" }, null, at(45)],
  [
    "the longest, where its kind has the name of something else",
    { remainingMs: null, runKind: "toString" },
    null,
    at(45),
  ],
  ["never more than the longest configured", { remainingMs: 5 * HOUR }, null, at(45)],
  ["never before now", { remainingMs: -5 * MINUTE }, null, T0],
  ["a child's lies within its parent's", { remainingMs: 30 * MINUTE }, at(10), at(10)],
  ["a child's may be shorter than its parent's", { remainingMs: 5 * MINUTE }, at(10), at(5)],
];
for (const [says, ask, parentUntil, end] of ends)
  test(`a lease ends: ${says}`, () => assert.equal(leaseUntilOf(attachAskOf(ask), parentUntil, BUDGETS, T0), end));

test("whatever a caller brings, its lease ends within the longest one and within its parent's", () => {
  const kinds = fc.oneof(
    fc.constantFrom(...Object.keys(DEFAULT_LEASES), "constructor", "__proto__", "valueOf"),
    fc.string(),
  );
  const remains = fc.option(fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ noNaN: true })));
  const leases = fc.dictionary(fc.string(), fc.integer({ min: 1, max: 20 * HOUR }), { minKeys: 1 });
  fc.assert(
    fc.property(kinds, remains, fc.option(anyInstant), leases, (runKind, remainingMs, parentUntil, more) => {
      const budgets = budgetsOf({ ...DEFAULT_LEASES, ...more });
      const end = leaseUntilOf(attachAskOf({ runKind, remainingMs }), parentUntil, budgets, T0);
      assert.ok(end <= T0 + budgets.longestLeaseMs, `${end} is no end within the longest lease`);
      if (parentUntil === null) assert.ok(end >= T0);
      else assert.ok(end <= parentUntil);
    }),
  );
});

test("a fleet is quiet by the latest lease's end, and looks at leases at the earliest one's and its grace", () => {
  const rows = [rowOf(), rowOf({ leaseUntil: at(45) }), rowOf({ leaseUntil: at(10) })];
  assert.equal(quietByOf(rows), at(45));
  assert.equal(nextLeaseEnd(rows), at(10) + CLOCK.graceMs);
  assert.equal(quietByOf([]), null);
  assert.equal(nextLeaseEnd([]), null);
});

test("inv. 15: a lease is spent at its end and the grace after it, and that is when the alarm looks", () => {
  const row = rowOf();
  const due = nextLeaseEnd([row]) ?? 0;
  assert.equal(leaseSpent(row, due - 1), false);
  assert.equal(leaseSpent(row, due), true);
});

const suspects: readonly (readonly [says: string, is: boolean, args: Parameters<typeof isSuspect>])[] = [
  ["with nothing of its own for a while is", true, [rowOf(), { ops: 0, processes: 0 }, at(2)]],
  ["that has only just begun is not", false, [rowOf(), { ops: 0, processes: 0 }, at(2) - 1]],
  ["with a process is not", false, [rowOf(), { ops: 0, processes: 1 }, at(20)]],
  ["with an operation is not", false, [rowOf(), { ops: 1, processes: 0 }, at(20)]],
  ["that is still attaching is not", false, [rowOf({ state: "attaching" }), { ops: 0, processes: 0 }, at(20)]],
];
for (const [says, is, args] of suspects) test(`suspect: a run ${says}`, () => assert.equal(isSuspect(...args), is));
