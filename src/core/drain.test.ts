// The drain's one reader (invariants 5 and 6): whatever lies in storage, no record closes anything past any of its ends,
// and one that cannot be read closes nothing.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  anyDrain,
  anyInstant,
  anyStored,
  APP,
  at,
  bookOf,
  drainOf,
  personsDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  closes,
  closingDrain,
  EMPTY_BOOK,
  endOf,
  liveDrain,
  liveDrains,
  nextEnd,
  readDrain,
  unreadableDrains,
  type Drain,
  type DrainPhase,
} from "./drain.ts";
import type { Instant } from "./time.ts";

const unread: readonly (readonly [says: string, stored: unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["a text", "drain"],
  ["a number", 5],
  ["a list", [drainOf()]],
  ["a function", () => drainOf()],
  ["an empty record", {}],
  ["no id", { ...drainOf(), id: undefined }],
  ["an id that is a number", { ...drainOf(), id: 7 }],
  ["an end that is a text", { ...drainOf(), until: String(at(65)) }],
  ["an end that is not a number", { ...drainOf(), until: Number.NaN }],
  ["an end that never comes", { ...drainOf(), until: Number.POSITIVE_INFINITY }],
  ["no beginning", { ...drainOf(), since: null }],
  ["nobody who asked", { ...drainOf(), by: null }],
  ["no reason", { ...drainOf(), reason: undefined }],
  ["a phase of a later build", { ...drainOf(), phase: "paused" }],
  ["no beginning of its phase", { ...drainOf(), phaseSince: "now" }],
  ["no word whether it is a deploy's", { ...drainOf(), deploy: "yes" }],
  ["a phase's end that is a text", { ...drainOf(), phaseUntil: "soon" }],
  ["a phase's end that is left out", { ...drainOf(), phaseUntil: undefined }],
  ["a sealing that is no record", { ...drainOf(), sealing: "none" }],
  ["a sealing in a state of a later build", { ...drainOf(), sealing: { state: "melting", attempt: 1, until: T0 } }],
  ["a sealing without an attempt", { ...drainOf(), sealing: { state: "asking", until: T0 } }],
  ["a sealing without an end", { ...drainOf(), sealing: { state: "asking", attempt: 1 } }],
];
for (const [says, stored] of unread)
  test(`a stored record is no drain for a run: ${says}`, () => {
    assert.equal(readDrain(stored), undefined);
    assert.equal(liveDrain(stored, T0), undefined);
    assert.equal(unreadableDrains(bookOf([stored, drainOf()])), 1);
  });

const filled: readonly (readonly [says: string, stored: unknown, read: Drain])[] = [
  ["fields of a later build are ignored", { ...drainOf(), colour: "red" }, drainOf()],
  ["one without its principal names an unknown one", { ...drainOf(), principal: 3 }, drainOf({ principal: "unknown" })],
  ["one without its build has none", { ...drainOf(), build: undefined }, drainOf({ build: null })],
  ["a build that lacks a part is none", { ...drainOf(), build: { commit: "7b02d9e" } }, drainOf({ build: null })],
  ["a build that is no record is none", { ...drainOf(), build: "7b02d9e" }, drainOf({ build: null })],
  ["one without holds holds nobody", { ...drainOf(), holds: undefined }, drainOf({ holds: [] })],
  ["holds that are no names are left out", { ...drainOf(), holds: [APP, 5, null] }, drainOf({ holds: [APP] })],
];
for (const [says, stored, read] of filled)
  test(`a stored record is read: ${says}`, () => assert.deepEqual(readDrain(stored), read));

test("any stored value is read without a throw, into a record whose every field is of its type", () => {
  fc.assert(
    fc.property(anyStored, (stored) => {
      const drain = readDrain(stored);
      if (drain === undefined) return;
      for (const end of [drain.since, drain.until, drain.phaseSince, drain.sealing.until, drain.sealing.attempt])
        assert.ok(Number.isFinite(end));
      assert.ok(drain.phaseUntil === null || Number.isFinite(drain.phaseUntil));
      assert.ok(drain.holds.every((held) => typeof held === "string"));
      assert.deepEqual(readDrain(drain), drain);
      assert.deepEqual(Object.keys(drain).toSorted(), Object.keys(drainOf()).toSorted());
    }),
    { numRuns: 500 },
  );
});

test("inv. 5: no record of any storage lives past any of its ends, and until then one that can be read lives", () => {
  fc.assert(
    fc.property(anyStored, anyInstant, (stored, now) => {
      const drain = readDrain(stored);
      const over = drain === undefined || now >= drain.until || (drain.phaseUntil !== null && now >= drain.phaseUntil);
      assert.equal(liveDrain(stored, now) === undefined, over);
    }),
    { numRuns: 500 },
  );
});

const shapes = path.resolve(import.meta.dirname, "../../test/fixtures/shapes");
for (const build of readdirSync(shapes))
  test(`every record that ${build} has stored is read as it was written`, () => {
    const kept: unknown = JSON.parse(readFileSync(path.join(shapes, build, "storage.json"), "utf8"));
    assert.ok(typeof kept === "object" && kept !== null && "drains" in kept && Array.isArray(kept.drains));
    assert.ok(kept.drains.length > 0);
    for (const stored of kept.drains) assert.partialDeepStrictEqual(readDrain(stored), stored);
  });

test("what another build adds to a record changes nothing of what this one reads", () => {
  fc.assert(
    fc.property(anyDrain, fc.object(), anyInstant, (drain, more, now) => {
      assert.deepEqual(liveDrain({ ...more, ...drain }, now), liveDrain(drain, now));
    }),
  );
});

const ends: readonly (readonly [says: string, drain: Drain, end: ReturnType<typeof endOf>])[] = [
  ["a person's stands to its own end", personsDrain({ until: at(20) }), { at: at(20), cause: "expired" }],
  ["a deploy's dies of its pulse", drainOf(), { at: T0 + CLOCK.pulseBoundMs, cause: "pulse" }],
  ["a swap ends at its bound", swappingDrain(), { at: T0 + CLOCK.swapBoundMs, cause: "bound" }],
  ["a pulse beyond the record's end ends it there", drainOf({ until: at(1) }), { at: at(1), cause: "expired" }],
  ["two ends at one instant are the record's", drainOf({ until: at(2) }), { at: at(2), cause: "expired" }],
];
for (const [says, drain, end] of ends)
  test(`an end: ${says}, and an instant before it the record lives`, () => {
    assert.deepEqual(endOf(drain), end);
    assert.deepEqual(liveDrain(drain, end.at - 1), drain);
    assert.equal(liveDrain(drain, end.at), undefined);
  });

const closing: readonly (readonly [says: string, phase: DrainPhase, resource: string, is: boolean])[] = [
  ["while it drains it closes everything", "draining", WEB, true],
  ["while it swaps it closes everything", "swapping", WEB, true],
  ["while it reconciles it closes everything", "reconciling", WEB, true],
  ["while it reopens it closes what it holds", "reopening", APP, true],
  ["inv. 10: while it reopens it closes nobody else", "reopening", WEB, false],
];
for (const [says, phase, resource, is] of closing)
  test(`a drain: ${says}`, () => assert.equal(closes(drainOf({ phase, holds: [APP] }), resource), is));

test("the live drain that ends last comes first, and of two that end together always the same one", () => {
  const book = bookOf([
    personsDrain({ id: "person-b", until: at(20) }),
    drainOf(),
    personsDrain({ id: "person-c", until: at(90) }),
    personsDrain({ id: "person-a", until: at(20) }),
    "spoiled",
    personsDrain({ id: "over", until: T0 }),
  ]);
  const order = ["person-c", "drain-a", "person-a", "person-b"];
  assert.deepEqual(
    liveDrains(book, T0).map((drain) => drain.id),
    order,
  );
  assert.deepEqual(
    liveDrains({ ...book, drains: book.drains.toReversed() }, T0).map((drain) => drain.id),
    order,
  );
  assert.equal(unreadableDrains(book), 1);
});

test("a refusal carries the drain that ends last of those that close this resident", () => {
  const reopening = drainOf({ id: "drain-b", phase: "reopening", phaseUntil: null, until: at(90), holds: [APP] });
  const book = bookOf([personsDrain({ until: at(20) }), reopening]);
  assert.equal(closingDrain(book, APP, T0)?.id, "drain-b");
  assert.equal(closingDrain(book, WEB, T0)?.id, "person-a");
  assert.equal(closingDrain(book, WEB, at(20)), undefined);
});

const next: readonly (readonly [says: string, drains: readonly unknown[], end: Instant | undefined])[] = [
  ["an open fleet has none", EMPTY_BOOK.drains, undefined],
  ["what cannot be read has none", ["spoiled"], undefined],
  ["what is over has none", [personsDrain({ until: T0 })], undefined],
  ["the earliest of all ends, a pulse's too", [personsDrain({ until: at(20) }), drainOf()], at(2)],
];
for (const [says, drains, end] of next)
  test(`the next end of a book: ${says}`, () => assert.equal(nextEnd(bookOf(drains), T0), end));

test("at a book's next end something opens, and at no instant before it", () => {
  fc.assert(
    fc.property(fc.array(anyStored, { maxLength: 4 }), anyInstant, (drains, now) => {
      const book = bookOf(drains);
      const end = nextEnd(book, now);
      const live = liveDrains(book, now).length;
      if (end === undefined) return assert.equal(live, 0);
      assert.ok(end > now);
      assert.ok(liveDrains(book, end).length < live);
      assert.equal(liveDrains(book, now + (end - now) / 2).length, live);
    }),
  );
});
