// Holds (invariant 10): a reconcile holds every resident in one step, a resident opens by its own report, a person's word or
// the bound, and one resident's hold closes no other.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  anyDrain,
  anyInstant,
  APP,
  at,
  bookOf,
  BUILD,
  drainOf,
  personsDrain,
  reconcilingDrain,
  reopeningDrain,
  swappingDrain,
  T0,
  WEB,
} from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import { closes, decideLift, liveDrains, type Drain, type DrainBook } from "./drain.ts";
import {
  beginReconcile,
  dropHold,
  holdOf,
  noteReport,
  type Freeing,
  type ImageWord,
  type ReconcileAsk,
  type ReconcileBegun,
} from "./hold.ts";
import type { Instant } from "./time.ts";

const askOf = (more: Partial<ReconcileAsk> = {}): ReconcileAsk => ({
  id: "drain-a",
  servedId: "drain-a",
  build: BUILD,
  residents: [APP, WEB],
  ...more,
});

const begun: readonly (readonly [
  says: string,
  drain: Drain,
  ask: Partial<ReconcileAsk>,
  now: Instant,
  kind: ReconcileBegun["kind"],
])[] = [
  ["behind its swap it begins", swappingDrain(), {}, at(1), "begun"],
  ["asked again it goes on", reconcilingDrain(), {}, at(1), "again"],
  ["asked again after the lift it goes on too", reopeningDrain(), {}, at(1), "again"],
  ["asked again it goes on whichever Worker answers", reconcilingDrain(), { servedId: "drain-z" }, at(1), "again"],
  ["before the seal it is too early", drainOf(), {}, at(1), "tooEarly"],
  ["before the seal it is too early, whoever serves", drainOf(), { servedId: "drain-z" }, at(1), "tooEarly"],
  ["an older Worker would call its own image current", swappingDrain(), { servedId: "drain-z" }, at(1), "notServed"],
  ["a Worker that no drain brought would too", swappingDrain(), { servedId: null }, at(1), "notServed"],
  ["past the swap bound the drain is over", swappingDrain(), {}, at(15), "over"],
  ["past the cycle bound the drain is over", reconcilingDrain(), {}, at(10), "over"],
  ["an id that was never seen is over", swappingDrain(), { id: "drain-z", servedId: "drain-z" }, at(1), "over"],
  ["inv. 7: a person's drain reconciles nothing", personsDrain(), { id: "person-a" }, at(1), "over"],
];
for (const [says, drain, more, now, kind] of begun)
  test(`a reconcile: ${says}`, () => {
    const book = bookOf([drain]);
    const answer = beginReconcile(book, askOf(more), now);
    assert.equal(answer.kind, kind);
    if (answer.kind === "again") assert.ok(answer.book === book && answer.drain.phase === drain.phase);
  });

function reconciledBy(
  book: DrainBook,
  more: Partial<ReconcileAsk> = {},
  now: Instant = at(1),
): ReconcileBegun & { kind: "begun" | "again" } {
  const answer = beginReconcile(book, askOf(more), now);
  assert.ok(answer.kind === "begun");
  return answer;
}

test("a reconcile takes over the build that answers, and bounds its holds by the cycle bound", () => {
  const build = { ...BUILD, image: "a41b" };
  const before = swappingDrain({ build: null, until: at(12) });
  const { drain, book } = reconciledBy(bookOf([before, "spoiled"]), { build }, at(11));
  const bound = at(11) + CLOCK.cycleBoundMs;
  const phase = { phase: "reconciling", phaseSince: at(11), phaseUntil: bound, until: bound } as const;
  assert.deepEqual(drain, { ...before, ...phase, build, holds: [APP, WEB] });
  assert.deepEqual(book.drains, ["spoiled", drain]);
  assert.equal(reconciledBy(bookOf([swappingDrain({ until: at(65) })])).drain.until, at(65));
});

const held: readonly (readonly [
  says: string,
  more: Partial<Drain>,
  residents: readonly string[],
  holds: readonly string[],
])[] = [
  ["every resident is held", {}, [APP, WEB], [APP, WEB]],
  ["one that has reported already is not", { reported: [APP] }, [APP, WEB], [WEB]],
  ["one that was left out is not", { without: [{ resource: WEB, reason: "broken" }] }, [APP, WEB], [APP]],
  ["a fleet whose residents have all reported holds nobody", { reported: [APP, WEB] }, [APP, WEB], []],
  ["a report of somebody who left holds nobody", { reported: ["repo:local/gone"] }, [APP], [APP]],
  ["a fleet without residents holds nobody", {}, [], []],
];
for (const [says, more, residents, holds] of held)
  test(`a reconcile: ${says}`, () =>
    assert.deepEqual(reconciledBy(bookOf([swappingDrain(more)]), { residents }).drain.holds, holds));

test("a reconcile ends the holds of the deploys before it, and nobody else's drain", () => {
  const older = reopeningDrain({ id: "drain-0", holds: [WEB] });
  const persons = [personsDrain(), personsDrain({ id: "person-b", phase: "reopening", holds: [APP] })];
  const others = [...persons, drainOf({ id: "drain-b" }), "spoiled"];
  const { book } = reconciledBy(bookOf([older, ...others, swappingDrain()]));
  assert.deepEqual(book.tombstones, [{ id: "drain-0", at: at(1) }]);
  assert.deepEqual(book.drains.slice(0, -1), others);
});

const WORD: ImageWord = { resource: APP, image: BUILD.image };
const freedIn = ({ freed }: Freeing): readonly (readonly [string, string, boolean])[] =>
  freed.map(({ drain, resource, ended }) => [drain.id, resource, ended] as const);

const reports: readonly (readonly [
  says: string,
  drain: Drain,
  word: Partial<ImageWord>,
  latches: boolean,
  freed: "frees" | "ends" | "nothing",
])[] = [
  ["of the wanted image frees the resident that says it", reconcilingDrain(), {}, true, "frees"],
  ["frees it after the lift too", reopeningDrain({ holds: [APP, WEB] }), {}, true, "frees"],
  ["that was the last one wanted ends a drain that reopens", reopeningDrain(), {}, true, "ends"],
  [
    "that was the last one wanted ends no drain that was not lifted",
    reconcilingDrain({ holds: [APP] }),
    {},
    true,
    "frees",
  ],
  ["before the hold is kept for it", swappingDrain(), {}, true, "nothing"],
  ["of somebody who is not held is kept", reopeningDrain({ holds: [WEB] }), {}, true, "nothing"],
  ["before the seal is of the build before", drainOf(), {}, false, "nothing"],
  ["of another image is none", reconcilingDrain(), { image: "a41b" }, false, "nothing"],
  ["to a drain that brings no build is none", reconcilingDrain({ build: null }), {}, false, "nothing"],
  [
    "to a person's drain is none",
    personsDrain({ phase: "reopening", build: BUILD, holds: [APP] }),
    {},
    false,
    "nothing",
  ],
  ["that was made before changes nothing", reconcilingDrain({ reported: [APP], holds: [WEB] }), {}, false, "nothing"],
  ["to a drain that is over is none", reconcilingDrain({ phaseUntil: T0 }), {}, false, "nothing"],
];
for (const [says, drain, more, latches, freed] of reports)
  test(`a report ${says}`, () => {
    const book = bookOf([drain, "spoiled"]);
    const freeing = noteReport(book, { ...WORD, ...more }, T0);
    assert.deepEqual(freedIn(freeing), freed === "nothing" ? [] : [["drain-a", APP, freed === "ends"]]);
    if (!latches) return assert.equal(freeing.book, book);
    const after = { ...drain, reported: [...drain.reported, APP], holds: drain.holds.filter((one) => one !== APP) };
    assert.deepEqual(freeing.book.drains, freed === "ends" ? ["spoiled"] : ["spoiled", after]);
    assert.deepEqual(freeing.book.tombstones, freed === "ends" ? [{ id: "drain-a", at: T0 }] : []);
  });

test("one report frees its resident from each deploy that wants this image, and from no other", () => {
  const wanting = [reopeningDrain({ id: "drain-0", holds: [APP, WEB] }), reconcilingDrain()];
  const other = reopeningDrain({ id: "drain-1", build: { ...BUILD, image: "a41b" } });
  const { book, freed } = noteReport(bookOf([...wanting, other]), WORD, T0);
  assert.deepEqual(freed.map((one) => one.drain.id).toSorted(), ["drain-0", "drain-a"]);
  const holds = liveDrains(book, T0).map((drain) => [drain.id, drain.holds] as const);
  assert.deepEqual(Object.fromEntries(holds), { "drain-0": [WEB], "drain-a": [WEB], "drain-1": [APP] });
});

test("a report that comes before the hold, and one that comes after it, leave the same record", () => {
  const first = reconciledBy(noteReport(bookOf([swappingDrain()]), WORD, at(1)).book);
  const second = noteReport(reconciledBy(bookOf([swappingDrain()])).book, WORD, at(1));
  assert.deepEqual(first.book, second.book);
  assert.deepEqual(first.drain.holds, [WEB]);
});

test("a hold is dropped wherever it stands, a deploy's or not, and the last one ends a drain that reopens", () => {
  const drains = [
    reopeningDrain({ id: "drain-0" }),
    reopeningDrain({ id: "drain-1", holds: [WEB, APP] }),
    reconcilingDrain({ holds: [APP] }),
    reopeningDrain({ id: "drain-2", holds: [WEB] }),
    personsDrain(),
  ];
  const { book, freed } = dropHold(bookOf(drains), APP, T0);
  const ended = Object.fromEntries(freed.map((one) => [one.drain.id, one.ended] as const));
  assert.deepEqual(ended, { "drain-0": true, "drain-1": false, "drain-a": false });
  assert.deepEqual(book.tombstones, [{ id: "drain-0", at: T0 }]);
  const holds = Object.fromEntries(liveDrains(book, T0).map((drain) => [drain.id, drain.holds] as const));
  assert.deepEqual(holds, { "drain-1": [WEB], "drain-a": [], "drain-2": [WEB], "person-a": [] });
  assert.deepEqual(
    liveDrains(book, T0).flatMap((drain) => drain.reported),
    [],
    "a dropped hold is no report",
  );
});

test("who is held by nobody has no hold to drop", () => {
  for (const drains of [
    [],
    [personsDrain()],
    [reopeningDrain({ holds: [WEB] })],
    [reopeningDrain({ phaseUntil: T0 })],
  ]) {
    const book = bookOf(drains);
    const freeing = dropHold(book, APP, T0);
    assert.ok(freeing.book === book && freeing.freed.length === 0);
  }
});

test("of the drains that hold a resident the one that ends last is named", () => {
  const drains = [
    reopeningDrain({ phaseUntil: at(4) }),
    reconcilingDrain({ id: "drain-b", holds: [APP] }),
    personsDrain(),
  ];
  assert.equal(holdOf(liveDrains(bookOf(drains), T0), APP)?.id, "drain-b");
  assert.equal(holdOf(liveDrains(bookOf(drains), T0), WEB), undefined);
});

const residents = fc.constantFrom(APP, WEB);
const anyBook = fc
  .uniqueArray(anyDrain, { maxLength: 4, selector: (drain) => drain.id })
  .map((drains) => bookOf([...drains, "spoiled"]));
const closedBy = (book: DrainBook, resource: string, now: Instant): readonly string[] =>
  liveDrains(book, now)
    .filter((drain) => closes(drain, resource))
    .map((drain) => drain.id);

test("inv. 10: over any book, one resident's report or release opens no other", () => {
  const image = fc.constantFrom(BUILD.image, "a41b");
  fc.assert(
    fc.property(anyBook, residents, image, anyInstant, (book, resource, says, now) => {
      const other = resource === APP ? WEB : APP;
      for (const freeing of [noteReport(book, { resource, image: says }, now), dropHold(book, resource, now)]) {
        const was = closedBy(book, other, now);
        const opened = was.filter((id) => !closedBy(freeing.book, other, now).includes(id));
        assert.deepEqual(opened, [], "it opened another");
        assert.ok(freeing.freed.every((one) => one.resource === resource && one.drain.holds.includes(resource)));
        assert.equal(freeing.book.drains.length, book.drains.length - freeing.freed.filter((one) => one.ended).length);
      }
      assert.equal(holdOf(liveDrains(dropHold(book, resource, now).book, now), resource), undefined);
      const once = noteReport(book, { resource, image: says }, now).book;
      assert.equal(noteReport(once, { resource, image: says }, now).book, once, "said again it changes something");
    }),
    { numRuns: 500 },
  );
});

/** What may happen between a swap and the end of its holds, in any order. */
const anyEvent = fc.constantFrom("reconcile", "lift", "app", "web", "drop app", "drop web");

test("a fleet whose residents have all reported is open as soon as it is lifted, in whatever order that happens", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 8 }), (events) => {
      let book = bookOf([swappingDrain()]);
      for (const event of [...events, "reconcile", "app", "web", "lift"] as const) {
        if (event === "reconcile") {
          const answer = beginReconcile(book, askOf(), at(1));
          if ("book" in answer) book = answer.book;
        } else if (event === "lift") {
          const answer = decideLift(book, { id: "drain-a", outcome: "unknown", force: false }, null, at(1));
          if (answer.kind === "lifted") book = answer.book;
        } else if (event.startsWith("drop")) {
          book = dropHold(book, event === "drop app" ? APP : WEB, at(1)).book;
        } else {
          book = noteReport(book, { resource: event === "app" ? APP : WEB, image: BUILD.image }, at(1)).book;
        }
      }
      assert.deepEqual([closedBy(book, APP, at(1)), closedBy(book, WEB, at(1))], [[], []]);
    }),
  );
});
