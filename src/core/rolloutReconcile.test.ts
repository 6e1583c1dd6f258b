// Behind the live gate: a deploy asks for its reconcile to the cycle bound and lifts whatever comes of it, then looks at whom the
// lift left closed until nobody is or the bound is over. Nothing here takes a landed upload back or begins another.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  APP,
  BLIND,
  DENIED,
  heldBy,
  lifted,
  LIVE,
  LOST,
  OVER,
  reconciling,
  said,
  SWAPPING,
  TERM,
  times,
  TOLD,
  uploaded,
  walk,
  WEB,
  WOKE,
} from "../../test/unit/rolloutSamples.ts";
import { CLOCK } from "./budgets.ts";
import { nextDeploy } from "./rollout.ts";
import type { DeployFact, DeployState } from "./rolloutState.ts";

const HELD = [...LIVE, reconciling(APP, WEB), lifted(APP, WEB)];
const STILL = heldBy([APP]);
const asks = CLOCK.cycleBoundMs / CLOCK.retryMs;
const looks = CLOCK.cycleBoundMs / CLOCK.lookMs;

const table: readonly (readonly [says: string, facts: readonly DeployFact[], doing: string])[] = [
  ["a lost answer is asked for again", [...LIVE, LOST], "pause, then reconcile"],
  ["after a pause", [...LIVE, LOST, WOKE], "reconcile"],
  ["a quiet fleet begins nothing else", [...LIVE, LOST, TOLD], "reconcile"],
  ["a pause that is cut short begins nothing else", [...LIVE, LOST, LOST], "pause, then reconcile"],
  ["shortly before the cycle bound it still asks", [...LIVE, ...times(asks, LOST, WOKE)], "reconcile"],
  [
    "at the cycle bound it lifts without an answer",
    [...LIVE, ...times(asks, LOST, WOKE), LOST],
    "lift landed, deployed",
  ],
  ["what it may not ask for it lifts without", [...LIVE, DENIED], "lift landed, deployed"],
  ["a drain that is over needs neither", [...LIVE, OVER], "done deployed open"],
  ["a signal lifts what has landed", [...LIVE, TERM], "lift landed, stopped"],
  ["a signal in its pause does too", [...LIVE, LOST, TERM], "lift landed, stopped"],
  ["a fleet that cannot be read is no answer to it", [...LIVE, BLIND], "reconcile"],
  ["an answer lifts", [...LIVE, reconciling(APP)], "lift landed, deployed"],
  ["also one that was asked for again", [...LIVE, LOST, WOKE, reconciling(APP)], "lift landed, deployed"],
  ["a signal does not disturb that lift", [...LIVE, reconciling(APP), TERM], "lift landed, deployed"],
  ["a lift whose answer was lost is sent once more", [...LIVE, reconciling(APP), LOST], "lift landed, deployed"],
  ["and its answer is taken", [...LIVE, reconciling(APP), LOST, lifted(APP)], "holds"],
  ["or it is said to be lost", [...LIVE, reconciling(APP), LOST, LOST], "done deployed lost"],
  ["a lift that opens all is the end", [...LIVE, reconciling(APP), lifted()], "done deployed open"],
  ["a lift that leaves some closed is followed by a look at them", HELD, "holds"],
  ["who is still closed is looked at again", [...HELD, STILL], "pause, then holds"],
  ["after a pause that the watch may end", [...HELD, STILL, TOLD], "holds"],
  ["a look whose answer was lost is taken again", [...HELD, LOST], "pause, then holds"],
  ["a pause between two looks that is cut short begins nothing else", [...HELD, STILL, LOST], "pause, then holds"],
  ["with nobody held it is done", [...HELD, STILL, WOKE, heldBy([])], "done deployed open"],
  ["also where a container never reported", [...HELD, heldBy([], [APP])], "done deployed open"],
  ["what it may not look at it leaves to the bound", [...HELD, DENIED], "done deployed open"],
  ["a signal ends the looking: the lift is behind it", [...HELD, TERM], "done stopped open"],
  ["and in its pause", [...HELD, STILL, TERM], "done stopped open"],
  ["at the bound it looks once more", [...HELD, ...times(looks, STILL, WOKE)], "holds"],
  [
    "and again, since the registry may tell it late",
    [...HELD, ...times(looks, STILL, WOKE), STILL],
    "pause, then holds",
  ],
  [
    "a minute past the bound it waits for nobody",
    [...HELD, ...times(looks, STILL, WOKE), ...times(CLOCK.lookMs / CLOCK.retryMs, STILL, WOKE), STILL],
    "done deployed open",
  ],
  [
    "a deploy that failed does not look at whom another's reconcile holds",
    [...SWAPPING, uploaded("failed"), lifted(APP)],
    "done failed open",
  ],
  ["one that was stopped does not wait for its holds", [...LIVE, TERM, lifted(APP)], "done stopped open"],
];
for (const [says, facts, doing] of table)
  for (const mode of ["drained", "handoff"] as const)
    test(`${mode}, live: ${says}`, () => assert.equal(said(walk(mode, facts).state), doing));

const ends: readonly (readonly [
  says: string,
  facts: readonly DeployFact[],
  end: Partial<Pick<DeployState, "outcome" | "unreconciled" | "held" | "stale" | "lifted" | "asked">>,
])[] = [
  [
    "a fleet that was all current",
    [...LIVE, reconciling(), lifted()],
    { outcome: "landed", unreconciled: null, held: [], stale: [], lifted: "open" },
  ],
  ["residents that reported after the lift", [...HELD, heldBy([])], { unreconciled: null, held: [], stale: [] }],
  ["a container that never reported is named", [...HELD, heldBy([], [WEB])], { held: [], stale: [WEB] }],
  ["whom it leaves closed is named", [...HELD, heldBy([APP], [WEB]), DENIED, TERM], { held: [APP], stale: [WEB] }],
  [
    "whom the lost lift leaves closed is named",
    [...LIVE, reconciling(APP), LOST, LOST],
    { held: [APP], lifted: "lost" },
  ],
  ["a signal keeps who is held", [...HELD, TERM], { outcome: "landed", held: [APP, WEB], lifted: "open" }],
  [
    "a reconcile that nobody answered is said, with why",
    [...LIVE, ...times(asks, LOST, WOKE), LOST, lifted()],
    { outcome: "landed", unreconciled: "cut", lifted: "open" },
  ],
  ["one that is not allowed too", [...LIVE, DENIED, lifted()], { unreconciled: "scope", lifted: "open" }],
  [
    "a drain that was over has nothing to lift",
    [...LIVE, OVER],
    { unreconciled: "the drain was over before it", lifted: "open", asked: false },
  ],
];
for (const [says, facts, end] of ends)
  test(`how it ended: ${says}`, () => assert.partialDeepStrictEqual(walk("drained", facts).state, end));

test("the pauses: each retry soon and not past the cycle bound, each look within a minute and at the bound", () => {
  const { state } = walk("drained", LIVE);
  assert.equal(state.reconcileUntil, CLOCK.cycleBoundMs);
  const late = CLOCK.cycleBoundMs - 1;
  assert.deepEqual(nextDeploy(state, LOST, 0).effect, { do: "pause", at: CLOCK.retryMs, then: "reconcile" });
  assert.deepEqual(nextDeploy(state, LOST, late).effect, { do: "pause", at: late + 1, then: "reconcile" });
  const { state: held } = walk("drained", HELD);
  assert.equal(held.holdUntil, CLOCK.cycleBoundMs);
  const nearly = CLOCK.cycleBoundMs - 2 * CLOCK.retryMs;
  const next = (now: number): unknown => nextDeploy(held, STILL, now).effect;
  assert.deepEqual(next(0), { do: "pause", at: CLOCK.lookMs, then: "holds" });
  assert.deepEqual(next(nearly), { do: "pause", at: CLOCK.cycleBoundMs, then: "holds" });
  assert.deepEqual(next(late), { do: "pause", at: late + CLOCK.retryMs, then: "holds" });
  assert.deepEqual(next(CLOCK.cycleBoundMs + CLOCK.lookMs), { do: "done" });
});

test("the bound of the holds is told by the registry, at the reconcile and again at the lift", () => {
  const { state } = walk("drained", LIVE);
  const told = { ...reconciling(APP), leftMs: 7 };
  const reconciled = nextDeploy(state, told, 100);
  assert.deepEqual([reconciled.holdUntil, reconciled.held, reconciled.drain?.holds], [107, [APP], [APP]]);
  const open = nextDeploy(reconciled, { kind: "lifted", held: [WEB], leftMs: 5 }, 200);
  assert.deepEqual([open.holdUntil, open.held, open.lifted], [205, [WEB], "open"]);
});

const CHATTER = [LOST, LOST, WOKE, WOKE, TOLD, BLIND, STILL, heldBy([]), heldBy([APP], [WEB])];
const ANSWERS = [reconciling(), reconciling(APP), lifted(), lifted(APP), OVER, DENIED, TERM];
const anyFact = fc.constantFrom<DeployFact>({ kind: "deferred", at: 1 }, ...CHATTER, ...ANSWERS);
const anyLater = fc.integer({ min: 0, max: 2 * CLOCK.lookMs });

test("whatever the fleet says, a live deploy reconciles, lifts at the latest at the cycle bound, and never unlands", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyFact, anyLater), { maxLength: 40 }), (history) => {
      let { state, now } = walk("drained", LIVE);
      const order = ["reconcile", "lift", "holds", "done"];
      for (const [fact, later] of history) {
        const before = state;
        now = fact.kind === "woke" && state.effect.do === "pause" ? Math.max(now, state.effect.at) : now + later;
        state = nextDeploy(state, fact, now);
        const doing = state.effect.do === "pause" ? state.effect.then : state.effect.do;
        const was = before.effect.do === "pause" ? before.effect.then : before.effect.do;
        assert.ok(order.includes(doing) && order.indexOf(doing) >= order.indexOf(was), `${was} to ${doing}`);
        assert.equal(state.outcome, "landed");
        if (doing === "reconcile" && state.effect.do === "pause") assert.ok(state.effect.at <= state.reconcileUntil);
        if (doing === "holds" || doing === "done") assert.notEqual(state.lifted, null);
      }
    }),
    { numRuns: 500 },
  );
});
