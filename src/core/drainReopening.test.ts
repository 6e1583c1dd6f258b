// Lifting behind a reconcile (invariants 5, 7 and 10): the others open at once, what is held stays closed to the bound that it
// has, asking again changes nothing, and only an admin who insists opens it sooner.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  APP,
  at,
  bookOf,
  drainAskOf,
  drainOf,
  personsDrain,
  reconcilingDrain,
  reopeningDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  closingDrain,
  decideDrain,
  decideLift,
  endOf,
  isDeploying,
  liveDrains,
  otherDeploy,
  readDrain,
  saidEnd,
  settle,
  type Drain,
  type LiftAsk,
} from "./drain.ts";
import type { Instant } from "./time.ts";

const BOUND = T0 + CLOCK.cycleBoundMs;
const liftOf = (more: Partial<LiftAsk> = {}): LiftAsk => ({ id: "drain-a", outcome: "landed", force: false, ...more });

const lifted: readonly (readonly [
  says: string,
  drain: Drain,
  ask: Partial<LiftAsk>,
  now: Instant,
  held: readonly string[] | null,
])[] = [
  ["with nobody held it is over", reconcilingDrain({ holds: [] }), {}, at(1), []],
  ["with both held both stay closed", reconcilingDrain(), {}, at(1), [APP, WEB]],
  ["with one held that one stays closed", reconcilingDrain({ holds: [WEB] }), {}, at(1), [WEB]],
  ["its outcome is not judged again", reconcilingDrain(), { outcome: "unknown" }, at(1), [APP, WEB]],
  ["an admin who insists opens all of it", reconcilingDrain(), { force: true }, at(1), []],
  ["asked again it answers as it stands", reopeningDrain(), {}, at(1), [APP]],
  ["an admin who insists later opens the rest", reopeningDrain(), { force: true }, at(1), []],
  ["the last instant before the bound holds", reopeningDrain(), {}, BOUND - 1, [APP]],
  ["at the bound there is nothing to lift", reopeningDrain(), {}, BOUND, null],
  ["the end of the record comes first where it is sooner", reopeningDrain({ until: at(3) }), {}, at(3), null],
];
for (const [says, drain, more, now, held] of lifted)
  test(`a lift behind a reconcile: ${says}`, () => {
    const answer = decideLift(bookOf([drain]), liftOf(more), null, now);
    assert.equal(answer.kind, held === null ? "already" : "lifted");
    if (answer.kind !== "lifted") return;
    assert.deepEqual(answer.held, held);
    assert.deepEqual(liveDrains(answer.book, now).length, answer.held.length === 0 ? 0 : 1);
    assert.equal(answer.book.tombstones.length, answer.held.length === 0 ? 1 : 0);
    for (const one of [APP, WEB])
      assert.equal(closingDrain(answer.book, one, now) !== undefined, answer.held.includes(one), one);
  });

test("a force does not pass over a swap whose upload may still land", () => {
  const answer = decideLift(bookOf([swappingDrain()]), liftOf({ outcome: "unknown", force: true }), null, at(1));
  assert.equal(answer.kind, "deferred");
});

test("what reopens keeps the bound that its reconcile gave it, and says since when it reopens", () => {
  const first = decideLift(bookOf([reconcilingDrain()]), liftOf(), null, at(3));
  assert.ok(first.kind === "lifted");
  assert.deepEqual(first.drain, reconcilingDrain({ phase: "reopening", phaseSince: at(3) }));
  assert.deepEqual(first.book.drains, [first.drain]);
  const again = decideLift(first.book, liftOf(), null, at(5));
  assert.ok(again.kind === "lifted");
  assert.deepEqual([again.drain, again.held, again.book.drains], [first.drain, first.held, [first.drain]]);
});

test("a lift that leaves a hold opens nothing that a person closed", () => {
  const answer = decideLift(bookOf([reconcilingDrain({ holds: [APP] }), personsDrain()]), liftOf(), null, at(1));
  assert.ok(answer.kind === "lifted");
  assert.equal(closingDrain(answer.book, WEB, at(1))?.id, "person-a");
});

test("at its bound a drain that reopens is buried, by the bound", () => {
  const { book, ended } = settle(bookOf([reopeningDrain()]), BOUND);
  assert.deepEqual(ended, [{ drain: reopeningDrain(), at: BOUND, cause: "bound" }]);
  assert.deepEqual(book, bookOf([], { tombstones: [{ id: "drain-a", at: BOUND }] }));
  assert.deepEqual(settle(bookOf([reopeningDrain()]), BOUND - 1).ended, []);
});

const deploying: readonly (readonly [says: string, drain: Drain, is: boolean])[] = [
  ["one that drains is", drainOf(), true],
  ["one that swaps is", swappingDrain(), true],
  ["one that reconciles is", reconcilingDrain(), true],
  ["one that was lifted and holds residents is not", reopeningDrain(), false],
  ["a person's is not", personsDrain(), false],
];
for (const [says, drain, is] of deploying)
  test(`a deploy at work: ${says}`, () => {
    assert.equal(isDeploying(drain), is);
    assert.equal(otherDeploy([drain], "drain-b", T0)?.id, is ? drain.id : undefined);
    const answer = decideDrain(bookOf([drain]), drainAskOf({ id: "drain-b" }), T0);
    assert.equal(answer.kind, is ? "busy" : "created");
  });

test("the next deploy closes the fleet while the one before still holds a resident, and both stand", () => {
  const answer = decideDrain(bookOf([reopeningDrain()]), drainAskOf({ id: "drain-b" }), at(1));
  assert.ok(answer.kind === "created");
  assert.deepEqual(
    liveDrains(answer.book, at(1)).map((drain) => drain.id),
    ["drain-b", "drain-a"],
  );
  const back = decideDrain(answer.book, drainAskOf({ minutes: 5 }), at(1));
  assert.ok(back.kind === "busy" && back.drain.id === "drain-b", "who was lifted does not close again beside it");
});

for (const drain of [swappingDrain(), reconcilingDrain(), reopeningDrain()])
  test(`a renewal in phase ${drain.phase} moves neither its phase, nor its bound, nor its holds`, () => {
    const without = [{ resource: APP, reason: "broken" }];
    const answer = decideDrain(bookOf([drain]), drainAskOf({ minutes: 90, without }), at(1));
    assert.ok(answer.kind === "renewed");
    assert.deepEqual(answer.drain, { ...drain, until: at(91) });
  });

test("a drain keeps whom it leaves out, and why", () => {
  const without = [{ resource: WEB, reason: "its disk is full" }];
  const answer = decideDrain(bookOf([]), drainAskOf({ without }), T0);
  assert.ok(answer.kind === "created");
  assert.deepEqual([answer.drain.without, answer.drain.reported, answer.drain.holds], [without, [], []]);
  assert.deepEqual(readDrain(answer.drain), answer.drain);
});

const ends: readonly (readonly [says: string, drain: Drain, end: Instant])[] = [
  ["a deploy that drains says its own, since its pulse is renewed", drainOf(), drainOf().until],
  ["a person's says its own", personsDrain({ until: at(20) }), at(20)],
  ["a swap says its bound", swappingDrain(), T0 + CLOCK.swapBoundMs],
  ["a reconcile says its bound", reconcilingDrain(), BOUND],
  ["a reopening says its bound", reopeningDrain(), BOUND],
  ["a bound beyond the record's end is said as that end", reopeningDrain({ until: at(4) }), at(4)],
];
for (const [says, drain, end] of ends)
  test(`the end that is said: ${says}`, () => {
    assert.equal(saidEnd(drain), end);
    assert.ok(saidEnd(drain) >= endOf(drain).at);
  });

test("a resident that a reopening and a person close is refused by the one whose end is said later", () => {
  const book = bookOf([reopeningDrain(), personsDrain({ until: at(20) })]);
  assert.equal(closingDrain(book, APP, T0)?.id, "person-a");
  assert.equal(closingDrain(bookOf([reopeningDrain(), personsDrain({ until: at(5) })]), APP, T0)?.id, "drain-a");
});

const unreadParts: readonly (readonly [says: string, stored: object, read: Partial<Drain>])[] = [
  [
    "one of the build before has nobody reported and leaves nobody out",
    { reported: undefined, without: undefined },
    {},
  ],
  ["reports that are no names are left out", { reported: [APP, 5, null] }, { reported: [APP] }],
  ["reports that are no list are none", { reported: APP }, {}],
  [
    "who is left out without a reason is not left out",
    { without: [{ resource: APP }, null, "x", { resource: WEB, reason: "broken" }] },
    { without: [{ resource: WEB, reason: "broken" }] },
  ],
  ["what is no list leaves nobody out", { without: "everybody" }, {}],
];
for (const [says, stored, read] of unreadParts)
  test(`a stored record is read: ${says}`, () =>
    assert.deepEqual(readDrain({ ...reopeningDrain(), ...stored }), reopeningDrain(read)));
