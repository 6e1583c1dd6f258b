// Whatever happens to a registry in whatever order (invariants 5, 7 and 10): a dead id stays dead, one deploy is at work at
// a time, ends only move later, and a hold begins with a reconcile, is one resident's own and never comes back.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyStep, APP, at, BUDGETS, BUILD, drainAskOf, T0, WEB } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import {
  closes,
  decideDrain,
  decideLift,
  EMPTY_BOOK,
  endOf,
  isDeploying,
  liveDrain,
  liveDrains,
  settle,
  UPLOAD_OUTCOMES,
  type Drain,
  type DrainBook,
} from "./drain.ts";
import { beginReconcile, dropHold, noteReport } from "./hold.ts";
import { decideLook } from "./look.ts";
import { abandonSeal, beginHandoff, beginSeal, finishSeal } from "./seal.ts";
import type { Instant } from "./time.ts";

/** One thing that happens to a registry. */
type Step = (book: DrainBook, now: Instant) => DrainBook;

const ids = fc.constantFrom("drain-a", "drain-b", "person-a", "person-b");
const residents = fc.constantFrom(APP, WEB);
const builds = fc.constantFrom(BUILD, { ...BUILD, image: "a41b" });
const withouts = fc.constantFrom([], [{ resource: WEB, reason: "broken" }]);

const drains: fc.Arbitrary<Step> = fc
  .record({ id: ids, minutes: fc.integer({ min: 1, max: 90 }), build: builds, without: withouts })
  .map((ask) => (book, now) => {
    const answer = decideDrain(book, drainAskOf({ ...ask, deploy: ask.id.startsWith("drain") }), now);
    if (answer.kind === "over" || answer.kind === "busy") return book;
    const before = liveDrains(book, now).find((drain) => drain.id === ask.id);
    assert.equal(answer.kind === "renewed", before !== undefined);
    if (before !== undefined) {
      const later = answer.drain.until >= before.until && endOf(answer.drain).at >= endOf(before).at;
      assert.ok(later, "an end moved earlier");
    }
    assert.deepEqual(liveDrain(answer.drain, now), answer.drain);
    return answer.book;
  });
const lifts: fc.Arbitrary<Step> = fc
  .record({ id: ids, outcome: fc.constantFrom(...UPLOAD_OUTCOMES), force: fc.boolean(), served: fc.option(ids) })
  .map(({ served, ...ask }) => (book, now) => {
    const answer = decideLift(book, ask, served, now);
    if (answer.kind === "lifted" && answer.held.length > 0) {
      const again = decideLift(answer.book, ask, served, now);
      assert.ok(again.kind === "lifted");
      assert.deepEqual([again.held, again.drain], [answer.held, answer.drain], "asked again it answers otherwise");
    }
    return answer.kind === "deferred" ? book : answer.book;
  });
const settles: fc.Arbitrary<Step> = fc.constant((book, now) => settle(book, now).book);
const begins: fc.Arbitrary<Step> = ids.map((id) => (book, now) => {
  const begun = beginSeal(book, id, now);
  return begun.kind === "asking" ? begun.book : book;
});
const finishes: fc.Arbitrary<Step> = fc.tuple(ids, fc.boolean()).map(([id, succeeds]) => (book, now) => {
  if (!succeeds) return abandonSeal(book, id, book.attempts, now);
  const finished = finishSeal(book, id, book.attempts, now);
  return finished.kind === "sealed" ? finished.book : book;
});
const handoffs: fc.Arbitrary<Step> = fc.tuple(ids, builds).map(([id, served]) => (book, now) => {
  const begun = beginHandoff(book, id, served, now);
  return begun.kind === "sealed" ? begun.book : book;
});
const reconciles: fc.Arbitrary<Step> = fc.tuple(ids, builds).map(([id, build]) => (book, now) => {
  const begun = beginReconcile(book, { id, servedId: id, build, residents: [APP, WEB] }, now);
  return begun.kind === "begun" || begun.kind === "again" ? begun.book : book;
});
const reports: fc.Arbitrary<Step> = fc.tuple(residents, builds).map(([resource, { image }]) => (book, now) => {
  return noteReport(book, { resource, image }, now).book;
});
const drops: fc.Arbitrary<Step> = residents.map((resource) => (book, now) => dropHold(book, resource, now).book);
const looks: fc.Arbitrary<Step> = fc.tuple(residents, fc.boolean()).map(([resource, child]) => (book, now) => {
  const parentUntil = child ? at(30) : null;
  const look = { incarnation: 1, n: 1 };
  const answer = decideLook(book, { resource, runId: "run-a", look, parentUntil, seal: null, kind: "run" }, now);
  const closing = liveDrains(book, now).filter((drain) => closes(drain, resource));
  const swaps = closing.some((drain) => drain.phase === "swapping");
  assert.equal(answer.kind, swaps || (closing.length > 0 && !child) ? "closed" : "open");
  return answer.kind === "open" ? answer.book : book;
});
const single = fc.oneof(drains, lifts, settles, begins, finishes, handoffs, reconciles, reports, drops, looks);

/** A deploy as far as its swap or its reconcile, which single steps reach too seldom. */
const deploys: fc.Arbitrary<Step> = fc
  .tuple(fc.constantFrom("drain-a", "drain-b"), withouts, fc.boolean())
  .map(([id, without, lives]) => (book, now) => {
    const asked = decideDrain(book, drainAskOf({ id, without }), now);
    const begun = beginSeal("book" in asked ? asked.book : book, id, now);
    if (begun.kind !== "asking") return book;
    const finished = finishSeal(begun.book, id, begun.attempt, now);
    assert.ok(finished.kind === "sealed");
    const live = beginReconcile(finished.book, { id, servedId: id, build: BUILD, residents: [APP, WEB] }, now);
    return lives && live.kind === "begun" ? live.book : finished.book;
  });

/** What holds of every record of every book. */
function isSound(drain: Drain, now: Instant): void {
  assert.ok(drain.until <= now + BUDGETS.capMs + CLOCK.swapBoundMs, "a record lives too long");
  const reconciled = drain.phase === "reconciling" || drain.phase === "reopening";
  assert.ok(reconciled || drain.holds.length === 0, `held in phase ${drain.phase}`);
  if (reconciled) assert.ok(endOf(drain).at <= now + CLOCK.cycleBoundMs, "a hold lives longer than the cycle bound");
  if (drain.phase === "reopening") assert.ok(drain.holds.length > 0, "it reopens and holds nobody");
  const free = [...drain.reported, ...drain.without.map((one) => one.resource)];
  assert.deepEqual(
    drain.holds.filter((one) => free.includes(one)),
    [],
    "held although it reported or was left out",
  );
}

/** What holds between a record and itself a step later. */
function movedOn(before: Drain, after: Drain): void {
  if (before.phase === "reconciling" || before.phase === "reopening") {
    assert.deepEqual(
      after.holds.filter((one) => !before.holds.includes(one)),
      [],
      "a hold came back",
    );
    assert.equal(after.phaseUntil, before.phaseUntil, "the bound of a hold moved");
  }
  if (before.phase === "reopening") assert.equal(after.phase, "reopening", "what was opened is closed again");
  assert.deepEqual(
    before.reported.filter((one) => !after.reported.includes(one)),
    [],
    "a report was forgotten",
  );
}

test("inv. 5, 7, 10: in any history ids die once, one deploy is at work, ends move later and holds only fall", () => {
  const step = fc.tuple(fc.oneof({ arbitrary: single, weight: 4 }, { arbitrary: deploys, weight: 1 }), anyStep);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (history) => {
      let book = EMPTY_BOOK;
      let now = T0;
      const dead = new Set<string>();
      for (const [happens, later] of history) {
        const before = liveDrains(book, now);
        book = happens(book, now);
        const live = liveDrains(book, now);
        assert.ok(live.filter(isDeploying).length <= 1, "two deploys are at work");
        for (const drain of live) {
          assert.ok(!dead.has(drain.id), `${drain.id} lives again`);
          isSound(drain, now);
          const was = before.find((one) => one.id === drain.id);
          if (was !== undefined) movedOn(was, drain);
        }
        now += later;
        const after = liveDrains(book, now).map((drain) => drain.id);
        for (const { id } of [...before, ...live]) if (!after.includes(id)) dead.add(id);
      }
    }),
    { numRuns: 500 },
  );
});
