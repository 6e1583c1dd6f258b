// A seal is all or nothing, whoever is let in meanwhile makes it void, and its success is the beginning of the swap.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CLOCK, LIMIT } from "./budgets.ts";
import { EMPTY_BOOK, liveDrain, type Build, type Drain, type DrainBook } from "./drain.ts";
import { decideLook, sealStands, type LookAsk } from "./look.ts";
import {
  abandonSeal,
  beginHandoff,
  beginSeal,
  finishSeal,
  membershipFrozen,
  nextSeal,
  sealOf,
  type SealFact,
  type HandoffBegun,
  type SealReply,
  type SealState,
} from "./seal.ts";
import { MINUTE } from "./time.ts";

const DRAIN: Drain = {
  id: "d1",
  since: 0,
  until: 65 * MINUTE,
  by: "",
  reason: "",
  principal: "",
  deploy: true,
  phase: "draining",
  phaseSince: 0,
  phaseUntil: CLOCK.pulseBoundMs,
  build: null,
  sealing: { state: "none", attempt: 0, until: 0 },
  holds: [],
  reported: [],
  without: [],
};
const UNTIL = CLOCK.swapBoundMs;
const asking: Drain = { ...DRAIN, sealing: { state: "asking", attempt: 1, until: UNTIL } };
const swapping: Drain = {
  ...DRAIN,
  phase: "swapping",
  phaseUntil: UNTIL,
  sealing: { state: "sealed", attempt: 1, until: UNTIL },
};
const bookOf = (...drains: readonly Drain[]): DrainBook => ({ ...EMPTY_BOOK, drains, attempts: 1 });
const one = (book: DrainBook): Drain => liveDrain(book.drains[0], 0) as Drain;

const ASK: LookAsk = {
  resource: "repo:a/b",
  runId: "r1",
  look: { incarnation: 1, n: 1 },
  parentUntil: 9 * MINUTE,
  seal: 1,
  kind: "run",
};

test("look: whoever is let in makes an attempt to seal impossible in the same step", () => {
  const answer = decideLook(bookOf(asking), ASK, 0);
  assert.ok(answer.kind === "open");
  assert.equal(one(answer.book).sealing.state, "void");
  assert.deepEqual([answer.sealStands, answer.parentUntil], [false, 9 * MINUTE]);
  assert.equal(finishSeal(answer.book, "d1", 1, 0).kind, "void");
});

test("look: where nothing is being sealed the book stays as it is", () => {
  const book = bookOf(DRAIN);
  const answer = decideLook(book, ASK, 0);
  assert.ok(answer.kind === "open" && answer.book === book);
});

test("a seal stands while its attempt's swap lives, and not before, beside or after it", () => {
  assert.ok(sealStands(bookOf(swapping), 1, UNTIL - 1));
  assert.ok(!sealStands(bookOf(swapping), 1, UNTIL));
  assert.ok(!sealStands(bookOf(swapping), 2, 0));
  assert.ok(!sealStands(bookOf(asking), 1, 0));
  assert.ok(!sealStands(bookOf({ ...swapping, phase: "draining", phaseUntil: null }), 1, 0));
});

const beginnings: readonly [string, DrainBook, string, number, string][] = [
  ["a live deploy's drain is asked for", bookOf(DRAIN), "d1", 0, "asking"],
  ["asked again while asking it is asked anew", bookOf(asking), "d1", 0, "asking"],
  ["a swap that has begun answers as it did", bookOf(swapping), "d1", MINUTE, "sealed"],
  ["a drain past its end is over", bookOf(DRAIN), "d1", CLOCK.pulseBoundMs, "over"],
  ["an id that nobody knows is over", EMPTY_BOOK, "d1", 0, "over"],
  ["a reopening is over", bookOf({ ...DRAIN, phase: "reopening" }), "d1", 0, "over"],
  ["a reconcile is over", bookOf({ ...DRAIN, phase: "reconciling" }), "d1", 0, "over"],
  ["a person's drain seals nothing", bookOf({ ...DRAIN, deploy: false }), "d1", 0, "over"],
];
for (const [name, book, id, now, kind] of beginnings)
  test(`begin: ${name}`, () => assert.equal(beginSeal(book, id, now).kind, kind));

test("begin: attempts are numbered over all drains", () => {
  const begun = beginSeal({ ...bookOf(DRAIN), attempts: 6 }, "d1", 0);
  assert.ok(begun.kind === "asking");
  assert.deepEqual(
    [begun.attempt, begun.book.attempts, begun.until, one(begun.book).sealing.attempt],
    [7, 7, UNTIL, 7],
  );
});

const finishes: readonly [string, DrainBook, number, number, string][] = [
  ["every resident has promised: the swap begins", bookOf(asking), 1, MINUTE, "sealed"],
  ["a newer attempt voids it", bookOf({ ...asking, sealing: { ...asking.sealing, attempt: 2 } }), 1, 0, "void"],
  ["an admission voids it", bookOf({ ...asking, sealing: { ...asking.sealing, state: "void" } }), 1, 0, "void"],
  ["promises that are over void it", bookOf({ ...asking, phaseUntil: null }), 1, UNTIL, "void"],
  ["a dead deployer's seal is over", bookOf(asking), 1, CLOCK.pulseBoundMs, "over"],
];
for (const [name, book, attempt, now, kind] of finishes)
  test(`finish: ${name}`, () => assert.equal(finishSeal(book, "d1", attempt, now).kind, kind));

test("finish: the swap ends when the promises do, and the record outlives swap and cycle", () => {
  const finished = finishSeal(bookOf({ ...asking, until: 20 * MINUTE }), "d1", 1, MINUTE);
  assert.ok(finished.kind === "sealed");
  const { phase, phaseSince, phaseUntil, until, sealing } = finished.drain;
  assert.deepEqual([phase, phaseSince, phaseUntil, sealing.state], ["swapping", MINUTE, UNTIL, "sealed"]);
  assert.equal(until, MINUTE + CLOCK.swapBoundMs + CLOCK.cycleBoundMs);
  assert.ok(sealStands(finished.book, 1, MINUTE));
});

test("abandon: an attempt that was given up asks for nothing; a newer or a finished one is left alone", () => {
  assert.equal(one(abandonSeal(bookOf(asking), "d1", 1, 0)).sealing.state, "none");
  for (const book of [
    bookOf(swapping),
    EMPTY_BOOK,
    bookOf({ ...asking, sealing: { ...asking.sealing, attempt: 2 } }),
  ]) {
    assert.equal(abandonSeal(book, "d1", 1, 0), book);
  }
});

test("residents come and go only while nothing is being sealed or swapped", () => {
  assert.equal(membershipFrozen(bookOf(asking), 0)?.id, "d1");
  assert.equal(membershipFrozen(bookOf(swapping), 0)?.id, "d1");
  assert.equal(membershipFrozen(bookOf(DRAIN), 0), undefined);
  assert.equal(membershipFrozen(bookOf(swapping), UNTIL), undefined);
});

const SERVED: Build = { commit: "3f9c1e2", bundle: "b1b1b1", image: "c9e0" };
const brings: Drain = { ...DRAIN, build: { commit: "7b02d9e", bundle: "b2b2b2", image: "c9e0" } };
const handoffs: readonly [string, DrainBook, string, number, HandoffBegun["kind"]][] = [
  ["a release that keeps the image begins its swap", bookOf(brings), "d1", MINUTE, "sealed"],
  ["a swap that has begun answers as it did", bookOf({ ...swapping, build: brings.build }), "d1", MINUTE, "sealed"],
  [
    "a release of another image is refused",
    bookOf({ ...brings, build: { ...SERVED, image: "a41b" } }),
    "d1",
    0,
    "imageChanges",
  ],
  ["a release that names no build is over", bookOf(DRAIN), "d1", 0, "over"],
  ["a drain past its pulse is over", bookOf(brings), "d1", CLOCK.pulseBoundMs, "over"],
  ["an id that nobody knows is over", bookOf(brings), "d2", 0, "over"],
  ["a reconcile is over", bookOf({ ...brings, phase: "reconciling" }), "d1", 0, "over"],
  ["a reopening is over", bookOf({ ...brings, phase: "reopening" }), "d1", 0, "over"],
  ["a person's drain hands nothing off", bookOf({ ...brings, deploy: false }), "d1", 0, "over"],
];
for (const [name, book, id, now, kind] of handoffs)
  test(`handoff: ${name}`, () => {
    const begun = beginHandoff(book, id, SERVED, now);
    assert.equal(begun.kind, kind);
    if (begun.kind === "imageChanges") assert.deepEqual([begun.from, begun.to], ["c9e0", "a41b"]);
  });

test("handoff: the swap is bound like any other, outlives its cycle bound, and nobody's promise stands for it", () => {
  const begun = beginHandoff(bookOf({ ...brings, until: 20 * MINUTE }), "d1", SERVED, MINUTE);
  assert.ok(begun.kind === "sealed");
  const phaseUntil = MINUTE + CLOCK.swapBoundMs;
  const until = phaseUntil + CLOCK.cycleBoundMs;
  assert.deepEqual(begun.drain, { ...brings, phase: "swapping", phaseSince: MINUTE, phaseUntil, until });
  assert.ok(!sealStands(begun.book, begun.drain.sealing.attempt, MINUTE));
  const long = beginHandoff(bookOf(brings), "d1", SERVED, MINUTE);
  assert.ok(long.kind === "sealed" && long.drain.until === 65 * MINUTE, "an end moved earlier");
  const again = beginHandoff(begun.book, "d1", SERVED, 2 * MINUTE);
  assert.ok(again.kind === "sealed" && again.book === begun.book);
  assert.deepEqual(again.drain, begun.drain);
});

test("handoff: its swap refuses everybody who is not registered, children too, to its bound", () => {
  const begun = beginHandoff(bookOf(brings), "d1", SERVED, MINUTE);
  assert.ok(begun.kind === "sealed");
  assert.equal(decideLook(begun.book, ASK, 2 * MINUTE).kind, "closed");
  assert.equal(decideLook(begun.book, ASK, MINUTE + CLOCK.swapBoundMs).kind, "open");
  assert.equal(membershipFrozen(begun.book, 2 * MINUTE)?.id, "d1");
});

const resources = (count: number): string[] => Array.from({ length: count }, (_, index) => `repo:a/${index}`);
const promise = (resource: string): SealReply => ({ resource, word: { kind: "sealed" } });
const begun = (residents: readonly string[]): SealFact => ({
  kind: "begun",
  begun: beginSeal(bookOf(DRAIN), "d1", 0),
  residents,
});
const walk = (facts: readonly SealFact[]): SealState => facts.reduce(nextSeal, sealOf("d1"));
const asked = (replies: readonly SealReply[]): SealFact => ({ kind: "asked", replies });
const VOID: SealFact = { kind: "finished", finished: { kind: "void" } };
const BUSY: SealReply = { resource: "repo:a/1", word: { kind: "busy", runIds: ["r1"] } };

const walks: readonly [string, readonly SealFact[], string][] = [
  ["begins in the registry", [], "begin"],
  ["a drain that is over is answered so", [{ kind: "begun", begun: { kind: "over" }, residents: [] }], "over"],
  [
    "a swap that has begun is answered at once",
    [{ kind: "begun", begun: { kind: "sealed", drain: swapping }, residents: [] }],
    "sealed",
  ],
  ["every resident is asked", [begun(resources(2))], "ask"],
  ["a fleet without residents is sealed by nobody's promise", [begun([])], "finish"],
  ["all have promised: it is finished", [begun(resources(2)), asked(resources(2).map(promise))], "finish"],
  ["one that is busy unseals the rest", [begun(resources(2)), asked([promise("repo:a/0"), BUSY])], "unseal"],
  ["and is named", [begun(resources(2)), asked([promise("repo:a/0"), BUSY]), { kind: "unsealed" }], "busy"],
  ["an admission meanwhile unseals all", [begun(resources(2)), asked(resources(2).map(promise)), VOID], "unseal"],
  ["where nobody promised nobody is unsealed", [begun([]), VOID], "busy"],
  ["a drain that ended meanwhile is over", [begun([]), { kind: "finished", finished: { kind: "over" } }], "over"],
  [
    "success is the swap",
    [begun([]), { kind: "finished", finished: { kind: "sealed", book: EMPTY_BOOK, drain: swapping } }],
    "sealed",
  ],
];
const said = ({ effect }: SealState): string => (effect.do === "answer" ? effect.result.kind : effect.do);
for (const [name, facts, expected] of walks) test(`seal: ${name}`, () => assert.equal(said(walk(facts)), expected));

test("seal: whom it asked is whom it unseals, heard or not", () => {
  const { effect } = walk([
    begun(resources(3)),
    asked([promise("repo:a/0"), BUSY, { resource: "repo:a/2", word: { kind: "unreadable" } }]),
  ]);
  assert.ok(effect.do === "unseal" && effect.result.kind === "busy");
  assert.deepEqual(effect.resources, resources(3));
  assert.deepEqual(
    effect.result.residents.map((reply) => reply.word.kind),
    ["busy", "unreadable"],
  );
});

test("seal: a fact that does not answer the effect leaves it standing", () => {
  const answers: Readonly<Record<string, string>> = {
    begin: "begun",
    ask: "asked",
    finish: "finished",
    unseal: "unsealed",
  };
  const every: readonly SealFact[] = [begun([]), asked([]), VOID, { kind: "unsealed" }];
  for (const [, facts] of walks) {
    const state = walk(facts);
    for (const fact of every.filter((other) => answers[state.effect.do] !== other.kind))
      assert.equal(nextSeal(state, fact), state);
  }
});

test("seal: each resident is asked once, in bounded batches, and all of them before the swap begins", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5 * LIMIT.fanOut }), (count) => {
      let state = walk([begun(resources(count))]);
      const heard: string[] = [];
      while (state.effect.do === "ask") {
        assert.ok(state.effect.resources.length <= LIMIT.fanOut);
        heard.push(...state.effect.resources);
        state = nextSeal(state, asked(state.effect.resources.map(promise)));
      }
      assert.equal(state.effect.do, "finish");
      assert.deepEqual(heard, resources(count));
    }),
  );
});
