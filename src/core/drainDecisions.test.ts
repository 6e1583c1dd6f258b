// Closing, renewing, lifting and ending (invariants 5, 7 and 13): a renewal never moves an end earlier, a tombstone is
// final, and no lift opens what another drain closes.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  anyInstant,
  anyStored,
  APP,
  at,
  bookOf,
  BUDGETS,
  drainAskOf,
  drainOf,
  personsDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  buried,
  closes,
  decideDrain,
  decideLift,
  EMPTY_BOOK,
  endOf,
  liveDrain,
  liveDrains,
  mayRoll,
  mayUpload,
  otherDeploy,
  pulseMinutes,
  readDrain,
  settle,
  UPLOAD_OUTCOMES,
  withDrain,
  type Drain,
  type DrainAnswer,
  type DrainAsk,
  type DrainBook,
  type UploadOutcome,
} from "./drain.ts";
import { DAY, MINUTE, SECOND, type Instant } from "./time.ts";

const told = (answer: DrainAnswer): object => ("book" in answer ? { kind: answer.kind, drain: answer.drain } : answer);

const asked: readonly (readonly [
  says: string,
  book: DrainBook,
  ask: Partial<DrainAsk>,
  now: Instant,
  answer: object,
])[] = [
  ["a deploy closes an open fleet, bound by its pulse", EMPTY_BOOK, {}, T0, { kind: "created", drain: drainOf() }],
  [
    "a person closes an open fleet, to the end that was asked for",
    EMPTY_BOOK,
    { id: "person-a", minutes: 20, by: "ada", reason: "looking", deploy: false, build: null },
    T0,
    { kind: "created", drain: personsDrain({ until: at(20) }) },
  ],
  [
    "asked again with the same id it is renewed: its pulse moves, its end stays",
    bookOf([drainOf()]),
    { minutes: 64 },
    at(1),
    { kind: "renewed", drain: drainOf({ phaseUntil: at(3) }) },
  ],
  [
    "a renewal that asks for less moves no end earlier",
    bookOf([personsDrain({ until: at(65) })]),
    { id: "person-a", minutes: 1, deploy: false, build: null },
    T0,
    { kind: "renewed", drain: personsDrain({ until: at(65) }) },
  ],
  [
    "a renewal that asks for more moves the end later",
    bookOf([personsDrain({ until: at(20) })]),
    { id: "person-a", minutes: 30, deploy: false, build: null },
    at(10),
    { kind: "renewed", drain: personsDrain({ until: at(40) }) },
  ],
  [
    "a renewal during the swap leaves the swap bound where it is",
    bookOf([swappingDrain()]),
    { minutes: 65 },
    at(5),
    { kind: "renewed", drain: swappingDrain({ until: at(70) }) },
  ],
  [
    "a renewal that names no build keeps the first one",
    bookOf([drainOf()]),
    { minutes: 1, build: null },
    T0,
    { kind: "renewed", drain: drainOf() },
  ],
  [
    "a renewal does not make a deploy of a person's drain",
    bookOf([personsDrain()]),
    { id: "person-a", minutes: 1, build: null },
    T0,
    { kind: "renewed", drain: personsDrain() },
  ],
  ["an id that was lifted is over", bookOf([], { tombstones: [{ id: "drain-a", at: T0 }] }), {}, T0, { kind: "over" }],
  ["an id whose pulse has stopped is over", bookOf([drainOf()]), {}, at(2), { kind: "over" }],
  [
    "a second deploy is refused, naming the first",
    bookOf([drainOf()]),
    { id: "drain-b" },
    at(1),
    { kind: "busy", drain: drainOf() },
  ],
];
for (const [says, book, more, now, answer] of asked)
  test(`asked to close: ${says}`, () => assert.deepEqual(told(decideDrain(book, drainAskOf(more), now)), answer));

test("asked to close: a person may while a deploy does, and a deploy may while a person does", () => {
  const deploys = decideDrain(bookOf([personsDrain()]), drainAskOf(), T0);
  assert.equal(deploys.kind, "created");
  const persons = decideDrain(bookOf([drainOf()]), drainAskOf({ id: "person-a", deploy: false }), T0);
  assert.equal(persons.kind, "created");
});

test("asked to close: a deploy that died keeps nobody from deploying", () => {
  assert.equal(decideDrain(bookOf([drainOf()]), drainAskOf({ id: "drain-b" }), at(2)).kind, "created");
});

const lifted: readonly (readonly [
  says: string,
  drain: Drain,
  ask: readonly [id: string, outcome: UploadOutcome, servedId: string | null],
  kind: "lifted" | "already" | "deferred",
])[] = [
  ["while it drains any word opens", drainOf(), ["drain-a", "unknown", null], "lifted"],
  ["a person's opens", personsDrain(), ["person-a", "none", null], "lifted"],
  ["an id that was never seen has nothing to open", drainOf(), ["drain-z", "none", null], "already"],
  ["a swap whose upload never began opens", swappingDrain(), ["drain-a", "none", null], "lifted"],
  ["a swap whose upload was refused opens", swappingDrain(), ["drain-a", "refused", "drain-z"], "lifted"],
  ["a swap whose upload failed opens", swappingDrain(), ["drain-a", "failed", null], "lifted"],
  ["a swap that says nothing waits for its bound", swappingDrain(), ["drain-a", "unknown", null], "deferred"],
  [
    "a swap said to have landed waits while an older Worker serves",
    swappingDrain(),
    ["drain-a", "landed", "drain-z"],
    "deferred",
  ],
  [
    "a swap said to have landed opens once this upload serves",
    swappingDrain(),
    ["drain-a", "landed", "drain-a"],
    "lifted",
  ],
];
for (const [says, drain, [id, outcome, servedId], kind] of lifted)
  test(`a lift: ${says}`, () => {
    const answer = decideLift(bookOf([drain]), { id, outcome, force: false }, servedId, at(1));
    assert.equal(answer.kind, kind);
    if (answer.kind === "deferred") return assert.equal(answer.at, endOf(drain).at);
    assert.deepEqual(answer.book.tombstones, [{ id, at: at(1) }]);
    assert.equal(liveDrain(drain, at(1)) !== undefined && kind === "lifted", answer.book.drains.length === 0);
  });

test("a lift of what has ended by itself is idempotent and leaves the tombstone", () => {
  const answer = decideLift(
    bookOf([swappingDrain()]),
    { id: "drain-a", outcome: "unknown", force: false },
    null,
    at(15),
  );
  assert.deepEqual(answer, { kind: "already", book: bookOf([], { tombstones: [{ id: "drain-a", at: at(15) }] }) });
});

test("a `/drain` that arrives after its own lift finds it over", () => {
  const answer = decideLift(EMPTY_BOOK, { id: "drain-a", outcome: "none", force: false }, null, T0);
  assert.ok(answer.kind === "already");
  assert.deepEqual(decideDrain(answer.book, drainAskOf(), T0 + SECOND), { kind: "over" });
});

test("a tombstone is kept for a day, once an id", () => {
  const book = bookOf([], {
    tombstones: [
      { id: "old", at: T0 },
      { id: "drain-a", at: at(5) },
    ],
  });
  const later = T0 + DAY;
  assert.deepEqual(buried(book, "drain-a", later).tombstones, [{ id: "drain-a", at: later }]);
  assert.deepEqual(buried(book, "drain-b", later - 1).tombstones.length, 3);
});

test("a record takes the place of the one of its id and of no other, and what cannot be read stays", () => {
  const renewed = drainOf({ until: at(90) });
  const { drains } = withDrain(bookOf([drainOf(), "spoiled", personsDrain()]), renewed);
  assert.deepEqual(drains, ["spoiled", personsDrain(), renewed]);
  assert.deepEqual(buried(bookOf(drains), "drain-a", T0).drains, ["spoiled", personsDrain()]);
});

test("what has ended by itself is buried and named with its cause, and nothing else is touched", () => {
  const left = [personsDrain({ id: "person-b", until: at(90) }), "spoiled"];
  const book = bookOf([drainOf(), personsDrain({ until: at(20) }), swappingDrain({ id: "drain-b" }), ...left]);
  const { book: after, ended } = settle(book, at(20));
  assert.deepEqual(after.drains, left);
  assert.deepEqual(
    ended.map((one) => [one.drain.id, one.cause, one.at]),
    [
      ["drain-a", "pulse", at(2)],
      ["person-a", "expired", at(20)],
      ["drain-b", "bound", at(15)],
    ],
  );
  assert.deepEqual(
    after.tombstones.map((stone) => stone.id),
    ["drain-a", "person-a", "drain-b"],
  );
  assert.deepEqual(settle(after, at(20)), { book: after, ended: [] });
});

const uploads: readonly (readonly [says: string, drains: readonly unknown[], now: Instant, may: boolean])[] = [
  ["may begin once the swap has", [swappingDrain()], T0, true],
  ["may not begin before the seal", [drainOf({ phaseUntil: null })], T0, false],
  ["may not begin under another's swap", [swappingDrain({ id: "drain-b" })], T0, false],
  ["may begin up to two minutes before the bound", [swappingDrain()], at(13) - 1, true],
  ["may not begin where it would be cut", [swappingDrain()], at(13), false],
  ["may not begin in an open fleet", [], T0, false],
];
for (const [says, drains, now, may] of uploads)
  test(`an upload ${says}`, () => assert.equal(mayUpload(drains, "drain-a", now), may));

const rolls: readonly (readonly [says: string, drains: readonly unknown[], now: Instant, may: boolean])[] = [
  ["begins under its live drain, sealed or not", ["spoiled", drainOf()], T0, true],
  ["begins once the fleet has been swapped too", [swappingDrain()], T0, true],
  ["does not begin under another's", [drainOf({ id: "drain-b" })], T0, false],
  ["does not begin once its pulse has stopped", [drainOf()], at(2), false],
  ["does not begin in an open fleet", [], T0, false],
  ["begins while the drain's own end is far enough", [drainOf({ until: T0 + CLOCK.uploadCutMs + 1 })], T0, true],
  ["does not begin where that is near", [drainOf({ until: T0 + CLOCK.uploadCutMs })], T0, false],
];
for (const [says, drains, now, may] of rolls)
  test(`a swap of the ledger or the bot ${says}`, () => assert.equal(mayRoll(drains, "drain-a", now), may));

test("force respects another deploy that lives, and neither its own, nor a person's, nor a dead one", () => {
  const drains = ["spoiled", personsDrain(), drainOf()];
  assert.equal(otherDeploy(drains, "drain-b", T0)?.id, "drain-a");
  assert.equal(otherDeploy(drains, "drain-a", T0), undefined);
  assert.equal(otherDeploy(drains, "drain-b", at(2)), undefined);
});

test("a pulse asks for whole minutes that are left, at least one and at most the cap", () => {
  assert.equal(pulseMinutes(at(65), T0, BUDGETS), 65);
  assert.equal(pulseMinutes(at(65) - 1, T0, BUDGETS), 64);
  assert.equal(pulseMinutes(T0 + SECOND, T0, BUDGETS), 1);
  assert.equal(pulseMinutes(T0, at(5), BUDGETS), 1);
  assert.equal(pulseMinutes(at(500), T0, BUDGETS), BUDGETS.capMinutes);
});

test("while a minute is left, a pulse moves no end of its drain", () => {
  fc.assert(
    fc.property(fc.integer({ min: MINUTE, max: BUDGETS.capMs }), (left) => {
      assert.ok(pulseMinutes(T0 + left, T0, BUDGETS) * MINUTE <= left);
    }),
  );
});

const outcomes = fc.constantFrom(...UPLOAD_OUTCOMES);
const ids = fc.constantFrom("drain-a", "drain-b", "person-a", "person-b");
const anyLift = fc.record({ id: ids, outcome: outcomes, force: fc.boolean() });

test("inv. 7: over any book, a lift opens nothing that another drain closes", () => {
  fc.assert(
    fc.property(fc.array(anyStored, { maxLength: 5 }), anyLift, anyInstant, (drains, ask, now) => {
      const book = bookOf(drains);
      const { id, force } = ask;
      const answer = decideLift(book, ask, "drain-a", now);
      const after = answer.kind === "deferred" ? book : answer.book;
      const others = (from: DrainBook): readonly Drain[] => liveDrains(from, now).filter((drain) => drain.id !== id);
      assert.deepEqual(others(after), others(book));
      const left = liveDrains(after, now).filter((drain) => drain.id === id);
      if (answer.kind === "deferred") return assert.ok(left.length > 0);
      const held = answer.kind === "lifted" ? answer.held : [];
      for (const one of [APP, WEB])
        assert.equal(
          left.some((drain) => closes(drain, one)),
          held.includes(one),
          one,
        );
      assert.ok(!force || held.length === 0, "an admin who insists opens what is held too");
    }),
  );
});

test("inv. 5: settling any book changes nothing of who lives, and leaves nothing that has ended", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyStored, { maxLength: 5, selector: (one) => readDrain(one)?.id }),
      anyInstant,
      (drains, now) => {
        const book = bookOf(drains);
        const { book: after, ended } = settle(book, now);
        assert.deepEqual(liveDrains(after, now), liveDrains(book, now));
        assert.deepEqual(settle(after, now).ended, []);
        assert.ok(ended.every((one) => one.at <= now));
      },
    ),
  );
});
