// A deploy as its machine walks it: one effect a state, an outcome said only as far as it is known, a drain that was
// asked for always lifted, and an upload of a drained deploy only behind its seal and its confirmation.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { budgetsOf, CLOCK, DEFAULT_LEASES, LIMIT } from "./budgets.ts";
import type { Drain } from "./drain.ts";
import { PROTOCOL, type FleetView } from "./preflight.ts";
import {
  deployOf,
  DEPLOY_EFFECTS,
  DEPLOY_MODES,
  nextDeploy,
  type DeployEffect,
  type DeployFact,
  type DeployMode,
  type DeployState,
  type Served,
} from "./rollout.ts";
import { MINUTE, SECOND } from "./time.ts";

const TABLE = budgetsOf(DEFAULT_LEASES);
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
};
const OTHER = { ...DRAIN, id: "d9" };
const CLEAR: FleetView = {
  protocol: PROTOCOL,
  now: 0,
  drains: [],
  unreadableDrains: 0,
  runs: [],
  attaching: 0,
  quietBy: null,
  unreadable: [],
};
const RUN = {
  resource: "repo:a/b",
  runId: "r1",
  threadKey: "t1",
  state: "running",
  leaseUntil: 0,
  suspect: false,
} as const;
const OLD: Served = { drainId: "d0", generation: 7 };
const viewed = (change: Partial<FleetView> = {}): DeployFact => ({
  kind: "viewed",
  view: { ...CLEAR, ...change },
  served: OLD,
});
const serves = (drainId: string, generation = 8): DeployFact => ({ kind: "serves", served: { drainId, generation } });
const uploaded = (outcome: "none" | "refused" | "failed" | "landed" | "unknown"): DeployFact => ({
  kind: "uploaded",
  outcome,
  why: "",
});

const QUIET = viewed();
const BUSY = viewed({ runs: [RUN] });
const DRAINED: DeployFact = { kind: "drained", drain: DRAIN };
const SEALED: DeployFact = { kind: "sealed", drain: { ...DRAIN, phase: "swapping" }, leftMs: CLOCK.swapBoundMs };
const NOT_SEALED: DeployFact = { kind: "notSealed", unreadable: [] };
const CONFIRMED: DeployFact = { kind: "confirmed" };
const LOST: DeployFact = { kind: "lost", why: "cut" };
const OVER: DeployFact = { kind: "over" };
const DENIED: DeployFact = { kind: "denied", why: "scope" };
const BLIND: DeployFact = { kind: "unreadable", why: "500" };
const WOKE: DeployFact = { kind: "woke", quiet: false };
const TOLD: DeployFact = { kind: "woke", quiet: true };
const TERM: DeployFact = { kind: "signal", signal: "SIGTERM" };

/** Walks facts as they come; a pause lasts to its instant. */
function walk(mode: DeployMode, facts: readonly DeployFact[]): { readonly state: DeployState; readonly now: number } {
  let now = 0;
  let state = deployOf(mode, "d1", TABLE, now);
  for (const fact of facts) {
    if (state.effect.do === "pause" && fact.kind === "woke" && !fact.quiet) now = state.effect.at;
    state = nextDeploy(state, fact, now);
  }
  return { state, now };
}

function said({ effect, stop, lifted }: DeployState): string {
  if (effect.do === "pause") return `pause, then ${effect.then}`;
  if (effect.do === "lift") return `lift ${effect.outcome}, ${stop?.kind}`;
  return effect.do === "done" ? `done ${stop?.kind} ${lifted ?? "nothing to lift"}` : effect.do;
}

const CLOSED = [QUIET, DRAINED];
/** Two pulses and the pauses before them: then a look is due. */
const MINUTE_LATER = [WOKE, DRAINED, WOKE, DRAINED];
const SWAPPING = [...CLOSED, QUIET, SEALED, CONFIRMED];
const times = (count: number, ...facts: DeployFact[]): DeployFact[] =>
  Array.from({ length: count }, () => facts).flat();

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
  ["served it lifts", [...SWAPPING, uploaded("landed"), serves("d1")], "lift landed, deployed"],
  ["lifted it is done", [...SWAPPING, uploaded("landed"), serves("d1"), { kind: "lifted" }], "done deployed open"],
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
    [...CLOSED, QUIET, { kind: "notSealed", unreadable: ["repo:a/b"] }],
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
  ["and the new one asked for", [...CLOSED, BUSY, WOKE, OVER, { kind: "minted", id: "d2" }], "drain"],
  ["a mint that fails is no quiet fleet", [...CLOSED, BUSY, WOKE, OVER, LOST], "pulse"],
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
  assert.deepEqual(over.stop, { kind: "refused", by: { kind: "busy", runs: [], attaching: 0 } });
});

/** Every fact that an effect can have, and every one that it cannot. */
const FACTS: readonly DeployFact[] = [
  QUIET,
  BUSY,
  viewed({ drains: [OTHER] }),
  viewed({ unreadable: ["repo:a/b"] }),
  BLIND,
  DRAINED,
  { kind: "busy", drain: OTHER },
  OVER,
  DENIED,
  LOST,
  { kind: "minted", id: "d2" },
  WOKE,
  TOLD,
  SEALED,
  NOT_SEALED,
  { kind: "notSealed", unreadable: ["repo:a/b"] },
  CONFIRMED,
  uploaded("none"),
  uploaded("refused"),
  uploaded("failed"),
  uploaded("landed"),
  uploaded("unknown"),
  serves("d0", 7),
  serves("d1"),
  serves("d2"),
  { kind: "lifted" },
  { kind: "deferred", at: MINUTE },
  TERM,
];

const FAVOURED: Readonly<Record<DeployEffect["do"], readonly DeployFact[]>> = {
  preflight: [QUIET],
  drain: [DRAINED],
  mint: [{ kind: "minted", id: "d2" }],
  look: [BUSY, QUIET],
  pause: [WOKE, TOLD],
  pulse: [DRAINED, OVER],
  seal: [SEALED, NOT_SEALED],
  confirm: [CONFIRMED],
  upload: [LOST, uploaded("landed")],
  readBack: [serves("d0", 7), serves("d1"), serves("d2")],
  liveGate: [serves("d0", 7), serves("d1"), serves("d2")],
  lift: [{ kind: "lifted" }],
  done: [],
};

const choice = fc.tuple(fc.boolean(), fc.nat());
const chosen = (state: DeployState, [favours, which]: readonly [boolean, number]): DeployFact => {
  const from = favours && FAVOURED[state.effect.do].length > 0 ? FAVOURED[state.effect.do] : FACTS;
  return from[which % from.length] as DeployFact;
};

/** The instant after a fact: a pause lasts to its end unless the watch cuts it short, and a request takes a second. */
function after(state: DeployState, fact: DeployFact, now: number): number {
  return state.effect.do === "pause" && fact.kind === "woke" && !fact.quiet
    ? Math.max(now, state.effect.at)
    : now + SECOND;
}

test("a drained deploy uploads only behind a seal and a confirmation, and lifts whatever it asked for", () => {
  fc.assert(
    fc.property(fc.array(choice, { maxLength: 150 }), (choices) => {
      let [state, now] = [deployOf("drained", "d1", TABLE, 0), 0];
      let behind: readonly string[] = [];
      for (const one of choices) {
        const fact = chosen(state, one);
        now = after(state, fact, now);
        const next = nextDeploy(state, fact, now);
        if (next.effect.do !== state.effect.do || next === state)
          behind = next === state ? behind : [...behind.slice(-1), fact.kind];
        if (next.effect.do === "upload" && state.effect.do !== "upload")
          assert.deepEqual(behind, ["sealed", "confirmed"]);
        if (next.effect.do === "done" && state.effect.do !== "done") {
          const left = next.stop?.kind === "stopped" && next.outcome === "unknown";
          assert.ok(
            state.effect.do === "lift" || !next.asked || left,
            `done from ${state.effect.do} with ${fact.kind}`,
          );
          assert.ok(next.stop !== null);
          if (next.stop.kind === "deployed") assert.equal(next.outcome, "landed");
        }
        state = next;
      }
    }),
    { numRuns: 2_000 },
  );
});

test("from whatever a deploy has come to, the fleet's silence, its chatter or its refusals end it within its clocks", () => {
  const mode = fc.constantFrom(...DEPLOY_MODES);
  const ending = fc.constantFrom<readonly DeployFact[]>(
    [LOST, WOKE],
    [BLIND, LOST, WOKE, OVER],
    [BUSY, DRAINED, WOKE, NOT_SEALED, serves("d0", 7), LOST],
    [DENIED, LOST, WOKE],
  );
  fc.assert(
    fc.property(mode, fc.array(choice, { maxLength: 60 }), ending, (how, choices, facts) => {
      let [state, now] = [deployOf(how, "d1", TABLE, 0), 0];
      for (const one of choices) {
        const fact = chosen(state, one);
        now = after(state, fact, now);
        state = nextDeploy(state, fact, now);
      }
      const bound = now + TABLE.deployWaitMs + CLOCK.swapBoundMs + MINUTE;
      for (let step = 0; state.effect.do !== "done"; step += 1) {
        const moves = facts.filter((known) => nextDeploy(state, known, after(state, known, now)) !== state);
        const fact = moves[step % moves.length] ?? LOST;
        now = after(state, fact, now);
        state = nextDeploy(state, fact, now);
        assert.ok(now <= bound, `still at ${said(state)} after ${now} ms`);
      }
    }),
    { numRuns: 300 },
  );
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
    if (state.effect.do !== "lift") assert.ok(standing(state, "lifted") && standing(state, "deferred"), said(state));
  }
});

test("every effect is named once, for the tests that kill a deployer at each", () => {
  const reached = [...drained, ...unhappy].flatMap(([, facts]) =>
    facts.map((_, index) => walk("drained", facts.slice(0, index + 1)).state.effect.do),
  );
  assert.deepEqual([...new Set(["preflight", ...reached])].toSorted(), DEPLOY_EFFECTS.toSorted());
});
