// A deploy's facts, and the walks over them: what a table of deploys names by its own words, and what a property may feed the
// machine. Instants begin at 0, the deployer's own clock.

import * as fc from "fast-check";
import { budgetsOf, CLOCK, DEFAULT_LEASES } from "#core/budgets.ts";
import type { Drain, UploadOutcome } from "#core/drain.ts";
import { PROTOCOL, type FleetView, type InFlight } from "#core/preflight.ts";
import { nextDeploy } from "#core/rollout.ts";
import {
  deployOf,
  RESIDENT_ONLY,
  withSteps,
  type DeployEffectName,
  type DeployFact,
  type DeployMode,
  type DeployState,
  type Served,
  type Steps,
} from "#core/rolloutState.ts";
import { MINUTE, SECOND, type Instant } from "#core/time.ts";

export const TABLE = budgetsOf(DEFAULT_LEASES);
export const APP = "repo:a/b";
export const WEB = "repo:a/c";

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
export const OTHER: Drain = { ...DRAIN, id: "d9" };
const CLEAR: FleetView = {
  protocol: PROTOCOL,
  now: 0,
  drains: [],
  unreadableDrains: 0,
  runs: [],
  attaching: 0,
  quietBy: null,
  unreadable: [],
  botInFlight: 0,
};
export const RUN: InFlight = {
  resource: APP,
  runId: "r1",
  threadKey: "t1",
  state: "running",
  leaseUntil: 0,
  suspect: false,
};
const OLD: Served = { drainId: "d0", generation: 7 };

export const viewed = (change: Partial<FleetView> = {}): DeployFact => ({
  kind: "viewed",
  view: { ...CLEAR, ...change },
  served: OLD,
});
export const serves = (drainId: string, generation = 8): DeployFact => ({
  kind: "serves",
  served: { drainId, generation },
});
export const uploaded = (outcome: UploadOutcome): DeployFact => ({ kind: "uploaded", outcome, why: "" });
export const notSealed = (...unreadable: readonly string[]): DeployFact => ({ kind: "notSealed", unreadable });
export const reconciling = (...holds: readonly string[]): Extract<DeployFact, { kind: "reconciling" }> => ({
  kind: "reconciling",
  drain: { ...DRAIN, phase: "reconciling", phaseUntil: CLOCK.cycleBoundMs, holds },
  leftMs: CLOCK.cycleBoundMs,
});
export const lifted = (...held: readonly string[]): DeployFact => ({
  kind: "lifted",
  held,
  leftMs: held.length === 0 ? 0 : CLOCK.cycleBoundMs,
});
export const heldBy = (held: readonly string[], stale: readonly string[] = []): DeployFact => ({
  kind: "heldBy",
  held,
  stale,
});

export const QUIET = viewed();
export const BUSY = viewed({ runs: [RUN] });
export const DRAINED: DeployFact = { kind: "drained", drain: DRAIN };
export const SEALED: DeployFact = {
  kind: "sealed",
  drain: { ...DRAIN, phase: "swapping" },
  leftMs: CLOCK.swapBoundMs,
};
export const NOT_SEALED = notSealed();
export const CONFIRMED: DeployFact = { kind: "confirmed" };
export const LOST: DeployFact = { kind: "lost", why: "cut" };
export const OVER: DeployFact = { kind: "over" };
export const DENIED: DeployFact = { kind: "denied", why: "scope" };
export const BLIND: DeployFact = { kind: "unreadable", why: "500" };
export const WOKE: DeployFact = { kind: "woke", quiet: false };
export const TOLD: DeployFact = { kind: "woke", quiet: true };
export const TERM: DeployFact = { kind: "signal", signal: "SIGTERM" };
export const MINTED: DeployFact = { kind: "minted", id: "d2" };

/** Everything that a deploy can have, in its order. */
export const ALL_STEPS: Steps = { parts: ["ledger", "bot"], waits: true, resident: true };
/** The ledger alone closes nothing. */
export const LEDGER_ALONE: Steps = { parts: ["ledger"], waits: true, resident: false };
/** The bot alone, with its runs ended before it is swapped, or handed off. */
export const BOT_ALONE: Steps = { parts: ["bot"], waits: true, resident: false };
export const BOT_HANDED_OFF: Steps = { ...BOT_ALONE, waits: false };

/** A fleet that was closed. */
export const CLOSED = [QUIET, DRAINED];
/** Two pulses and the pauses before them: then a look is due. */
export const MINUTE_LATER = [WOKE, DRAINED, WOKE, DRAINED];
/** A quiet fleet up to its upload. */
export const SWAPPING = [...CLOSED, QUIET, SEALED, CONFIRMED];
/** Up to the upload that is served: what comes next is the reconcile. */
export const LIVE = [...SWAPPING, uploaded("landed"), serves("d1")];

export const times = (count: number, ...facts: readonly DeployFact[]): DeployFact[] =>
  Array.from({ length: count }, () => facts).flat();

/** The instant after a fact: a pause lasts to its end unless the watch cuts it short, and a request takes a while. */
function after(state: DeployState, fact: DeployFact, now: Instant, requestMs: number): Instant {
  return state.effect.do === "pause" && fact.kind === "woke" && !fact.quiet
    ? Math.max(now, state.effect.at)
    : now + requestMs;
}

/** Walks facts as they come; a pause lasts to its instant, and a request takes no time. */
export function walk(
  mode: DeployMode,
  facts: readonly DeployFact[],
  steps: Steps = RESIDENT_ONLY,
): { readonly state: DeployState; readonly now: Instant } {
  let now = 0;
  let state = withSteps(deployOf(mode, "d1", TABLE, now), steps);
  for (const fact of facts) {
    now = after(state, fact, now, 0);
    state = nextDeploy(state, fact, now);
  }
  return { state, now };
}

/** What a deploy does next, and how it stops, in words. */
export function said({ effect, stop, lifted: opened }: DeployState): string {
  if (effect.do === "pause") return `pause, then ${effect.then}`;
  if (effect.do === "roll" || effect.do === "rollGate") return `${effect.do} ${effect.part}`;
  if (effect.do === "lift") return `lift ${effect.outcome}, ${stop?.kind}`;
  return effect.do === "done" ? `done ${stop?.kind} ${opened ?? "nothing to lift"}` : effect.do;
}

/** Every fact that an effect can have, and every one that it cannot. */
export const FACTS: readonly DeployFact[] = [
  QUIET,
  BUSY,
  viewed({ drains: [OTHER] }),
  viewed({ unreadable: [APP] }),
  viewed({ runs: [RUN], attaching: 1 }),
  viewed({ botInFlight: 1 }),
  BLIND,
  DRAINED,
  { kind: "busy", drain: OTHER },
  OVER,
  DENIED,
  LOST,
  MINTED,
  WOKE,
  TOLD,
  SEALED,
  NOT_SEALED,
  notSealed(APP),
  CONFIRMED,
  ...(["none", "refused", "failed", "landed", "unknown"] as const).map(uploaded),
  serves("d0", 7),
  serves("d1"),
  serves("d2"),
  reconciling(),
  reconciling(APP),
  lifted(),
  lifted(APP, WEB),
  heldBy([]),
  heldBy([APP]),
  heldBy([], [APP]),
  { kind: "deferred", at: MINUTE },
  TERM,
];

const FAVOURED: Readonly<Record<DeployEffectName, readonly DeployFact[]>> = {
  preflight: [QUIET],
  drain: [DRAINED],
  mint: [MINTED],
  look: [BUSY, QUIET],
  pause: [WOKE, TOLD],
  pulse: [DRAINED, OVER],
  roll: [uploaded("landed"), LOST],
  rollGate: [serves("d1"), serves("d2"), serves("d0", 7)],
  seal: [SEALED, NOT_SEALED],
  confirm: [CONFIRMED],
  upload: [LOST, uploaded("landed")],
  readBack: [serves("d0", 7), serves("d1"), serves("d2")],
  liveGate: [serves("d0", 7), serves("d1"), serves("d2")],
  reconcile: [LOST, reconciling(APP), reconciling()],
  lift: [lifted(), lifted(APP)],
  holds: [heldBy([APP]), LOST, heldBy([])],
  done: [],
};

/** Any choice of steps that has one. */
export const anySteps: fc.Arbitrary<Steps> = fc
  .record({
    parts: fc.subarray(["ledger", "bot"] as const),
    waits: fc.boolean(),
    resident: fc.boolean(),
  })
  .filter(({ parts, resident }) => resident || parts.length > 0);

/** Which fact comes next, by the effect that stands: mostly one that moves it on. */
export const anyChoice = fc.tuple(fc.boolean(), fc.nat());

/** The fact that was chosen, and the instant at which it comes: a request takes a second. */
export function chosen(
  state: DeployState,
  [favours, which]: readonly [boolean, number],
  now: Instant,
): { readonly fact: DeployFact; readonly at: Instant } {
  const own = FAVOURED[state.effect.do];
  const from = favours && own.length > 0 ? own : FACTS;
  const fact = from[which % from.length] ?? LOST;
  return { fact, at: after(state, fact, now, SECOND) };
}

/** Walks to the end of a deploy over these facts in turn, each where it moves anything; answers when that was. */
export function ended(start: DeployState, facts: readonly DeployFact[], since: Instant): Instant {
  let [state, now] = [start, since];
  for (let step = 0; state.effect.do !== "done"; step += 1) {
    const moves = facts.filter((fact) => nextDeploy(state, fact, after(state, fact, now, SECOND)) !== state);
    const fact = moves[step % moves.length] ?? LOST;
    now = after(state, fact, now, SECOND);
    state = nextDeploy(state, fact, now);
  }
  return now;
}
