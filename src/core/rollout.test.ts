// A deploy as its machine walks it: one effect a state, an outcome said only as far as it is known, a drain that was
// asked for always lifted, and an upload of a drained deploy only behind its seal and its confirmation.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ALL_STEPS,
  BLIND,
  BUSY,
  CLOSED,
  CONFIRMED,
  DENIED,
  DRAINED,
  FACTS,
  lifted,
  LIVE,
  LOST,
  MINTED,
  MINUTE_LATER,
  NOT_SEALED,
  notSealed,
  OTHER,
  OVER,
  QUIET,
  reconciling,
  RUN,
  said,
  SEALED,
  serves,
  SWAPPING,
  TABLE,
  TERM,
  times,
  TOLD,
  uploaded,
  viewed,
  walk,
  WOKE,
} from "../../test/unit/rolloutSamples.ts";
import { LIMIT } from "./budgets.ts";
import { PROTOCOL } from "./preflight.ts";
import { nextDeploy } from "./rollout.ts";
import { deployOf, DEPLOY_EFFECTS, type DeployFact, type DeployMode, type DeployState } from "./rolloutState.ts";

const drained: readonly [string, readonly DeployFact[], string][] = [
  ["reads the fleet before it asks anything of it", [], "preflight"],
  ["asks for its drain whoever is in flight", [BUSY], "drain"],
  ["looks once the fleet is closed", CLOSED, "look"],
  ["waits for what is in flight", [...CLOSED, BUSY], "pause, then pulse"],
  ["pulses while it waits", [...CLOSED, BUSY, WOKE], "pulse"],
  ["and waits on", [...CLOSED, BUSY, WOKE, DRAINED], "pause, then look"],
  ["and looks again once a minute", [...CLOSED, BUSY, ...MINUTE_LATER], "look"],
  ["told quiet it seals", [...CLOSED, BUSY, TOLD], "seal"],
  ["seen quiet it seals", [...CLOSED, QUIET], "seal"],
  ["not sealed it waits and looks again soon", [...CLOSED, QUIET, NOT_SEALED], "pause, then look"],
  ["sealed it asks once more", [...CLOSED, QUIET, SEALED], "confirm"],
  ["confirmed it uploads", SWAPPING, "upload"],
  ["landed it waits until its upload is served", [...SWAPPING, uploaded("landed")], "liveGate"],
  ["an old generation proves nothing", [...SWAPPING, uploaded("landed"), serves("d0", 7)], "pause, then liveGate"],
  [
    "its own id on the old generation proves nothing",
    [...SWAPPING, uploaded("landed"), serves("d1", 7)],
    "pause, then liveGate",
  ],
  ["served it brings the containers onto the image", LIVE, "reconcile"],
  ["reconciled it lifts", [...LIVE, reconciling()], "lift landed, deployed"],
  ["lifted it is done", [...LIVE, reconciling(), lifted()], "done deployed open"],
  ["lifted with residents held it looks at them", [...LIVE, reconciling("repo:a/b"), lifted("repo:a/b")], "holds"],
  ["an upload nobody heard of is read back", [...SWAPPING, LOST], "readBack"],
  ["read back it goes through the live gate like any other", [...SWAPPING, LOST, serves("d1")], "liveGate"],
  ["not read back it waits", [...SWAPPING, LOST, serves("d0", 7)], "pause, then readBack"],
  ["a silent fleet proves nothing either", [...SWAPPING, LOST, BLIND], "pause, then readBack"],
  ["and reads again", [...SWAPPING, LOST, BLIND, WOKE], "readBack"],
  ["a late answer of the upload ends the reading back", [...SWAPPING, LOST, uploaded("failed")], "lift failed, failed"],
  [
    "at the swap bound it is unknown, never failed",
    [...SWAPPING, LOST, ...times(200, serves("d0", 7), WOKE), serves("d0", 7)],
    "lift unknown, unknown",
  ],
  [
    "a lift that waits for the swap bound is told so",
    [...SWAPPING, uploaded("failed"), { kind: "deferred", at: 1 }],
    "done failed deferred",
  ],
  ["an upload that was refused is a refusal", [...SWAPPING, uploaded("refused")], "lift refused, refused"],
  ["an upload that never began is a failure", [...SWAPPING, uploaded("none")], "lift none, failed"],
  ["an upload that the bearer may not do is denied", [...SWAPPING, DENIED], "lift none, denied"],
];

const unhappy: readonly [string, readonly DeployFact[], string][] = [
  ["another deploy's drain refuses it before it asks", [viewed({ drains: [OTHER] })], "done refused nothing to lift"],
  ["and at its own asking", [QUIET, { kind: "busy", drain: OTHER }], "done refused nothing to lift"],
  ["one that comes up later is left to finish", [...CLOSED, viewed({ drains: [OTHER] })], "lift none, refused"],
  ["a protocol two apart refuses it", [viewed({ protocol: PROTOCOL + 2 })], "done refused nothing to lift"],
  ["a fleet that cannot be read refuses it", [BLIND], "done refused nothing to lift"],
  ["so does a resident that cannot be read", [viewed({ unreadable: ["repo:a/b"] })], "done refused nothing to lift"],
  ["once closed a look may fail", [...CLOSED, BLIND], "pause, then pulse"],
  ["but not for ever", [...CLOSED, ...times(2, BLIND, ...MINUTE_LATER), BLIND], "lift none, refused"],
  [
    "a look that succeeds forgives those before it",
    [...CLOSED, BLIND, ...MINUTE_LATER, BUSY, ...times(2, ...MINUTE_LATER, BLIND)],
    "pause, then pulse",
  ],
  [
    "a seal that could not read a resident is such a look",
    [...CLOSED, QUIET, notSealed("repo:a/b")],
    "pause, then pulse",
  ],
  ["a lost answer to its drain is asked for again", [QUIET, LOST], "pause, then drain"],
  ["under the same id", [QUIET, LOST, WOKE], "drain"],
  [
    "and given up after a few, lifting what may have landed",
    [QUIET, ...times(LIMIT.tries, LOST, WOKE)],
    "lift none, failed",
  ],
  ["a lost pulse is sent again until the budget ends", [...CLOSED, BUSY, WOKE, ...times(9, LOST, WOKE)], "pulse"],
  ["but the watch is heard meanwhile", [...CLOSED, BUSY, WOKE, LOST, TOLD], "seal"],
  ["a lost seal is asked again", [...CLOSED, QUIET, LOST, WOKE], "seal"],
  ["and given up after a few", [...CLOSED, QUIET, ...times(LIMIT.tries, LOST, WOKE)], "lift none, failed"],
  ["a lost confirmation is asked again at once", [...CLOSED, QUIET, SEALED, LOST], "confirm"],
  [
    "and given up after a few, since nothing was uploaded",
    [...CLOSED, QUIET, SEALED, ...times(LIMIT.tries, LOST)],
    "lift none, failed",
  ],
  ["a swap that is over is not uploaded into", [...CLOSED, QUIET, SEALED, OVER], "done refused nothing to lift"],
  ["an id that is over is replaced", [...CLOSED, BUSY, WOKE, OVER], "mint"],
  ["and the new one asked for", [...CLOSED, BUSY, WOKE, OVER, MINTED], "drain"],
  ["a mint that fails is no quiet fleet", [...CLOSED, BUSY, WOKE, OVER, LOST], "done failed nothing to lift"],
  ["a bearer that may not drain has nothing to lift", [QUIET, DENIED], "done denied nothing to lift"],
  ["one that may not seal lifts what it drained", [...CLOSED, QUIET, DENIED], "lift none, denied"],
  ["a lost lift is sent once more", [...SWAPPING, uploaded("failed"), LOST], "lift failed, failed"],
  ["and then said to be lost", [...SWAPPING, uploaded("failed"), LOST, LOST], "done failed lost"],
  ["a lift that is not allowed is lost", [...SWAPPING, uploaded("failed"), DENIED], "done failed lost"],
  ["a lift of what is over is a lift", [...SWAPPING, uploaded("failed"), OVER], "done failed open"],
  ["a signal ends a wait and lifts", [...CLOSED, BUSY, TERM], "lift none, stopped"],
  ["before anything was asked it ends", [TERM], "done stopped nothing to lift"],
  ["a second signal does not disturb the lift", [...CLOSED, BUSY, TERM, TERM], "lift none, stopped"],
  ["during an upload it leaves the drain to its bound", [...SWAPPING, TERM], "done stopped nothing to lift"],
  ["also while that is read back", [...SWAPPING, LOST, serves("d0", 7), TERM], "done stopped nothing to lift"],
  ["what is known to have landed is lifted", [...SWAPPING, uploaded("landed"), TERM], "lift landed, stopped"],
  ["what is done stays done", [TERM, LOST], "done stopped nothing to lift"],
];

for (const [name, facts, expected] of [...drained, ...unhappy]) {
  test(`drained: ${name}`, () => assert.equal(said(walk("drained", facts).state), expected));
}

const PROVEN = [uploaded("landed"), serves("d1")];
const ATTACHING = viewed({ runs: [RUN], attaching: 1 });
const MADE = viewed({ runs: [RUN, { ...RUN, state: "attaching" }] });
const others: readonly [string, DeployMode, readonly DeployFact[], string][] = [
  ["undrained it waits for a quiet look", "undrained", [BUSY], "pause, then look"],
  ["and never pulses", "undrained", [BUSY, WOKE], "look"],
  ["told quiet it looks for itself", "undrained", [BUSY, TOLD], "look"],
  ["seen quiet it uploads", "undrained", [QUIET], "upload"],
  [
    "at its budget's end it names who is in flight",
    "undrained",
    [BUSY, ...times(30, WOKE, BUSY)],
    "done refused nothing to lift",
  ],
  ["it too respects another deploy", "undrained", [viewed({ drains: [OTHER] })], "done refused nothing to lift"],
  ["forced it uploads over what runs", "forced", [BUSY], "upload"],
  ["forced it uploads over what it cannot read", "forced", [viewed({ unreadable: ["repo:a/b"] })], "upload"],
  ["forced it uploads over a protocol two apart", "forced", [viewed({ protocol: PROTOCOL + 2 })], "upload"],
  ["forced it replaces a Worker that does not answer", "forced", [BLIND], "upload"],
  ["but never over another deploy", "forced", [viewed({ drains: [OTHER] })], "done refused nothing to lift"],
  [
    "an upload without a seal is read back for a swap bound",
    "forced",
    [BUSY, uploaded("unknown"), serves("d0", 7)],
    "pause, then readBack",
  ],
  [
    "undrained and served it is done, since it closed nothing",
    "undrained",
    [QUIET, ...PROVEN],
    "done deployed nothing to lift",
  ],
  ["forced and served it is done too", "forced", [BUSY, ...PROVEN], "done deployed nothing to lift"],
  ["a handoff closes the fleet first", "handoff", [BUSY], "drain"],
  ["it swaps under the runs that are in flight", "handoff", [...CLOSED, BUSY], "seal"],
  ["and waits for a workspace that is being made", "handoff", [...CLOSED, ATTACHING], "pause, then pulse"],
  ["also for one whose run the view already names", "handoff", [...CLOSED, MADE], "pause, then pulse"],
  ["a quiet fleet it swaps like any other", "handoff", [...CLOSED, QUIET], "seal"],
  ["it waits on after a look that came too early", "handoff", [...CLOSED, BUSY, NOT_SEALED], "pause, then look"],
  ["it asks once more before its upload", "handoff", [...CLOSED, BUSY, SEALED], "confirm"],
  ["it uploads behind its swap alone", "handoff", [...CLOSED, BUSY, SEALED, CONFIRMED], "upload"],
  ["it is denied where the image changes", "handoff", [...CLOSED, BUSY, DENIED], "lift none, denied"],
  [
    "it never swaps over what it cannot read",
    "handoff",
    [...CLOSED, viewed({ runs: [RUN], unreadable: ["repo:a/b"] })],
    "pause, then pulse",
  ],
  ["it respects another deploy", "handoff", [viewed({ drains: [OTHER] })], "done refused nothing to lift"],
  ["served it brings the containers on too", "handoff", [...CLOSED, BUSY, SEALED, CONFIRMED, ...PROVEN], "reconcile"],
];
for (const [name, mode, facts, expected] of others)
  test(`other modes: ${name}`, () => assert.equal(said(walk(mode, facts).state), expected));

test("the budget's end refuses, names the runs in flight and lifts", () => {
  const { state, now } = walk("drained", [...CLOSED, BUSY, ...times(100, ...MINUTE_LATER, BUSY)]);
  assert.equal(said(state), "lift none, refused");
  assert.equal(now, TABLE.deployWaitMs);
  assert.ok(state.stop?.kind === "refused" && state.stop.by.kind === "busy" && state.stop.by.runs[0]?.runId === "r1");
});

test("an id that is over at the budget's end is not replaced", () => {
  const { state } = walk("drained", [...CLOSED, BUSY, WOKE]);
  const late = nextDeploy(state, OVER, TABLE.deployWaitMs);
  assert.equal(said(late), "done refused nothing to lift");
  assert.ok(late.stop?.kind === "refused" && late.stop.by.kind === "busy" && late.stop.by.runs.length === 1);
});

test("a deploy whose budget ends before it saw anything says so without runs", () => {
  const unseen: DeployState = { ...deployOf("drained", "d1", TABLE, 0), effect: { do: "pulse" } };
  const over = nextDeploy(unseen, OVER, TABLE.deployWaitMs);
  assert.deepEqual(over.stop, { kind: "refused", by: { kind: "busy", runs: [], attaching: 0, botInFlight: 0 } });
});

test("a fact that the effect cannot have leaves it standing", () => {
  const states = [...drained, ...unhappy].map(([, facts]) => walk("drained", facts).state);
  const standing = (state: DeployState, kind: DeployFact["kind"]): boolean => {
    const own = FACTS.filter((fact) => fact.kind === kind);
    return own.every((fact) => nextDeploy(state, fact, 0) === state);
  };
  for (const state of states) {
    if (state.effect.do !== "confirm") assert.ok(standing(state, "confirmed"), said(state));
    if (state.effect.do !== "seal") assert.ok(standing(state, "sealed") && standing(state, "notSealed"), said(state));
    if (state.effect.do !== "mint") assert.ok(standing(state, "minted"), said(state));
    if (state.effect.do !== "pause") assert.ok(standing(state, "woke"), said(state));
    if (state.effect.do !== "reconcile") assert.ok(standing(state, "reconciling"), said(state));
    if (state.effect.do !== "holds") assert.ok(standing(state, "heldBy"), said(state));
    if (state.effect.do !== "lift") assert.ok(standing(state, "lifted") && standing(state, "deferred"), said(state));
  }
});

test("every effect is named once, for the tests that kill a deployer at each", () => {
  const reached = [...drained, ...unhappy].flatMap(([, facts]) =>
    facts.map((_, index) => walk("drained", facts.slice(0, index + 1)).state.effect.do),
  );
  for (const facts of [
    [...CLOSED, QUIET],
    [...CLOSED, QUIET, uploaded("landed")],
  ])
    reached.push(walk("drained", facts, ALL_STEPS).state.effect.do);
  assert.deepEqual([...new Set(["preflight", ...reached])].toSorted(), DEPLOY_EFFECTS.toSorted());
});
