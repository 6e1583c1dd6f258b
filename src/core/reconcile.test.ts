// The operation behind a reconcile: nobody is asked twice at once, nobody again once it is settled, nobody past the bound; and
// what a restart was is not forgotten.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyStep, APP, at, T0, WEB } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  dueEntries,
  isSettled,
  nextAskAt,
  noteAsked,
  noteImage,
  noteWord,
  RECONCILE_STATES,
  reconcileOf,
  withoutResident,
  type Reconcile,
  type ReconcileEntry,
  type ReconcileState,
  type ReconcileWord,
} from "./reconcile.ts";
import type { Instant } from "./time.ts";

const BOUND = T0 + CLOCK.cycleBoundMs;
const fresh = reconcileOf({ drainId: "drain-a", image: "c9e0", until: BOUND }, [APP, WEB], T0);
const entryOf = (more: Partial<ReconcileEntry> = {}): ReconcileEntry => ({
  resource: APP,
  state: "asked",
  image: null,
  bootId: null,
  why: null,
  killed: 0,
  askedAt: T0,
  asks: 1,
  ...more,
});
const operationOf = (...entries: readonly ReconcileEntry[]): Reconcile => ({ ...fresh, entries });
const wordOf = (more: Partial<ReconcileWord> = {}): ReconcileWord => ({
  state: "current",
  image: "c9e0",
  bootId: "boot-2",
  why: null,
  killed: 0,
  ...more,
});
const names = (entries: readonly ReconcileEntry[]): readonly string[] => entries.map((entry) => entry.resource);

test("a new operation asks each resident, and none of them was asked", () => {
  const entries = [entryOf({ asks: 0 }), entryOf({ resource: WEB, asks: 0 })];
  assert.deepEqual(fresh, { drainId: "drain-a", image: "c9e0", since: T0, until: BOUND, entries });
  assert.deepEqual(names(dueEntries(fresh, T0)), [APP, WEB]);
  assert.equal(nextAskAt(fresh, T0), T0);
});

const settling: Readonly<Record<ReconcileState, boolean>> = {
  asked: false,
  restarted: true,
  current: true,
  inactive: true,
  deferred: false,
  stale: false,
  error: false,
};
for (const state of RECONCILE_STATES)
  test(`a resident that is ${state} is ${settling[state] ? "settled" : "asked again after a while"}`, () => {
    const operation = operationOf(entryOf({ state }));
    assert.equal(isSettled(entryOf({ state })), settling[state]);
    assert.deepEqual(names(dueEntries(operation, T0 + CLOCK.holdAskMs)), settling[state] ? [] : [APP]);
    assert.equal(nextAskAt(operation, T0), settling[state] ? null : T0 + CLOCK.holdAskMs);
    assert.deepEqual(dueEntries(operation, T0 + CLOCK.holdAskMs - 1), []);
  });

const asking: readonly (readonly [
  says: string,
  operation: Reconcile,
  now: Instant,
  due: readonly string[],
  next: Instant | null,
])[] = [
  ["nobody is asked in an empty fleet", operationOf(), T0, [], null],
  ["nobody is asked at the bound", operationOf(entryOf({ asks: 0 })), BOUND, [], null],
  ["one that never was is asked up to the bound", operationOf(entryOf({ asks: 0 })), BOUND - 1, [APP], T0],
  [
    "one whose turn would come at the bound is asked no more",
    operationOf(entryOf({ askedAt: BOUND - CLOCK.holdAskMs })),
    BOUND - 1,
    [],
    null,
  ],
  [
    "one whose turn comes right before it is asked once more",
    operationOf(entryOf({ askedAt: BOUND - CLOCK.holdAskMs - 1 })),
    BOUND - 2,
    [],
    BOUND - 1,
  ],
  [
    "the earliest turn is the next",
    operationOf(entryOf({ askedAt: at(2) }), entryOf({ resource: WEB, askedAt: at(1), state: "deferred" })),
    at(1),
    [],
    at(1) + CLOCK.holdAskMs,
  ],
  [
    "who is settled takes no turn",
    operationOf(entryOf({ state: "current" }), entryOf({ resource: WEB, state: "error" })),
    at(1),
    [WEB],
    T0 + CLOCK.holdAskMs,
  ],
];
for (const [says, operation, now, due, next] of asking)
  test(`asking: ${says}`, () => {
    assert.deepEqual(names(dueEntries(operation, now)), due);
    assert.equal(nextAskAt(operation, now), next);
  });

test("who is being asked is not due until its turn comes again, and the others still are", () => {
  const asked = noteAsked(fresh, [APP], at(1));
  assert.deepEqual(asked.entries, [entryOf({ askedAt: at(1), asks: 1 }), entryOf({ resource: WEB, asks: 0 })]);
  assert.deepEqual(names(dueEntries(asked, at(1))), [WEB]);
  const both = noteAsked(asked, [APP, WEB], at(2));
  assert.deepEqual(
    both.entries.map((entry) => [entry.asks, entry.askedAt]),
    [
      [2, at(2)],
      [1, at(2)],
    ],
  );
  assert.deepEqual(noteAsked(fresh, ["repo:local/gone"], at(1)), fresh);
});

const words: readonly (readonly [
  says: string,
  before: Partial<ReconcileEntry>,
  word: Partial<ReconcileWord>,
  after: Partial<ReconcileEntry>,
])[] = [
  ["that it is current is taken", {}, {}, { state: "current" }],
  ["that it was restarted is taken", {}, { state: "restarted", killed: 1 }, { state: "restarted", killed: 1 }],
  ["what was restarted stays so, when asked again it says current", { state: "restarted" }, {}, { state: "restarted" }],
  [
    "one that was seen on another image and is current was restarted",
    { state: "deferred", image: "a41b" },
    {},
    { state: "restarted" },
  ],
  [
    "one that was seen on this image and is current was not",
    { state: "error", image: "c9e0" },
    {},
    { state: "current" },
  ],
  [
    "processes that ended are counted over all answers",
    { state: "error", killed: 2 },
    { killed: 1 },
    { state: "current", killed: 3 },
  ],
  [
    "a reason falls with the next answer",
    { state: "deferred", why: "in flight: run-a", image: "a41b" },
    { state: "inactive", image: null, bootId: null },
    { state: "inactive", image: null, bootId: null },
  ],
  [
    "a deferred one names why",
    {},
    { state: "deferred", image: "a41b", why: "in flight: run-a" },
    { state: "deferred", image: "a41b", why: "in flight: run-a" },
  ],
  [
    "a silent one keeps what it was asked",
    { asks: 4, askedAt: at(3) },
    { state: "error", image: null, bootId: null, why: "it does not answer" },
    { state: "error", image: null, bootId: null, why: "it does not answer", asks: 4, askedAt: at(3) },
  ],
];
for (const [says, before, word, after] of words)
  test(`an answer: ${says}`, () => {
    const other = entryOf({ resource: WEB });
    const noted = noteWord(operationOf(entryOf(before), other), APP, wordOf(word));
    assert.deepEqual(noted.entries, [entryOf({ image: "c9e0", bootId: "boot-2", ...after }), other]);
  });

const images: readonly (readonly [
  says: string,
  before: Partial<ReconcileEntry>,
  image: string,
  after: Partial<ReconcileEntry>,
])[] = [
  ["of the image settles one that has not answered as current", {}, "c9e0", { state: "current" }],
  [
    "settles one that was deferred on another image as restarted",
    { state: "deferred", image: "a41b", bootId: "boot-1", why: "in flight: run-a" },
    "c9e0",
    { state: "restarted" },
  ],
  [
    "settles one whose error says nothing of its image as current",
    { state: "error", why: "it does not answer", killed: 1 },
    "c9e0",
    { state: "current", killed: 1 },
  ],
];
for (const [says, before, image, after] of images)
  test(`a report ${says}`, () => {
    const noted = noteImage(operationOf(entryOf(before)), { resource: APP, image, bootId: "boot-2" });
    assert.deepEqual(noted.entries, [entryOf({ image: "c9e0", bootId: "boot-2", ...after })]);
  });

test("a report of another image, of a settled resident or of a stranger changes nothing", () => {
  const word = { resource: APP, image: "c9e0", bootId: "boot-9" };
  const open = operationOf(entryOf());
  assert.equal(noteImage(open, { ...word, image: "a41b" }), open);
  assert.deepEqual(noteImage(open, { ...word, resource: WEB }), open);
  for (const state of ["restarted", "current", "inactive"] as const) {
    const settled = operationOf(entryOf({ state }));
    assert.deepEqual(noteImage(settled, word), settled);
  }
});

test("the report inside an answer does not make a restart of what was current all the time", () => {
  const reported = noteImage(noteAsked(fresh, [APP], T0), { resource: APP, image: "c9e0", bootId: "boot-1" });
  const answered = noteWord(reported, APP, wordOf({ bootId: "boot-1" }));
  assert.equal(answered.entries[0]?.state, "current");
  assert.equal(noteWord(reported, APP, wordOf({ state: "restarted" })).entries[0]?.state, "restarted");
});

test("an answer that failed takes nothing back of what a report has settled meanwhile, and counts what it ended", () => {
  const settled = entryOf({ state: "restarted", image: "c9e0", bootId: "boot-2" });
  const late = noteWord(
    operationOf(settled),
    APP,
    wordOf({ state: "error", image: null, bootId: null, why: "late", killed: 1 }),
  );
  assert.deepEqual(late.entries, [{ ...settled, killed: 1 }]);
});

test("a resident that leaves takes its part along", () => {
  assert.deepEqual(names(withoutResident(fresh, APP).entries), [WEB]);
  assert.deepEqual(withoutResident(fresh, "repo:local/gone"), fresh);
});

/** One thing that happens to an operation. */
type Step = (operation: Reconcile, now: Instant) => Reconcile;
const residents = fc.constantFrom(APP, WEB, "repo:local/gone");
const anyWord = fc
  .tuple(
    fc.constantFrom(...RECONCILE_STATES.filter((state) => state !== "asked")),
    fc.constantFrom(null, "a41b", "c9e0"),
    fc.nat(2),
  )
  .map(([state, image, killed]) => wordOf({ state, image, killed }));
const anyOperationStep: fc.Arbitrary<Step> = fc.oneof(
  fc.constant<Step>((operation, now) => noteAsked(operation, names(dueEntries(operation, now)), now)),
  fc.tuple(residents, anyWord).map<Step>(
    ([resource, word]) =>
      (operation) =>
        noteWord(operation, resource, word),
  ),
  fc.tuple(residents, fc.constantFrom("a41b", "c9e0")).map<Step>(
    ([resource, image]) =>
      (operation) =>
        noteImage(operation, { resource, image, bootId: null }),
  ),
);

test("in any history the next turn is exactly when somebody is due, and no restart is forgotten by a `current`", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyOperationStep, anyStep), { maxLength: 30 }), (history) => {
      let [operation, now] = [fresh, T0];
      for (const [step, later] of history) {
        const before = operation;
        operation = step(operation, now);
        for (const [index, entry] of operation.entries.entries()) {
          const was = before.entries[index];
          assert.ok(was !== undefined && was.resource === entry.resource);
          assert.ok(was.state !== "restarted" || entry.state !== "current", "a restart was forgotten");
          assert.ok(entry.killed >= was.killed && entry.asks >= was.asks);
        }
        const next = nextAskAt(operation, now);
        if (next === null) assert.deepEqual(dueEntries(operation, now), []);
        else {
          const turn = Math.max(next, now);
          assert.ok(turn < BOUND && dueEntries(operation, turn).length > 0);
          assert.equal(dueEntries(operation, now).length > 0, next <= now);
        }
        now += later;
      }
    }),
    { numRuns: 300 },
  );
});
