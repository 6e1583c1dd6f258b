// A deploy as a step machine: each state names the one effect to do next, the runner does it and hands the fact back.
// One drain a deploy, asked before its step and lifted after it; an upload's outcome is said only as far as it is known.

import { CLOCK, LIMIT, type Budgets } from "./budgets.ts";
import type { Drain, UploadOutcome } from "./drain.ts";
import { decidePreflight, type FleetView, type Preflight } from "./preflight.ts";
import type { Instant, Ms } from "./time.ts";

/** `drained`: close, wait, seal, swap. `undrained`: no drain bearer, wait for a quiet look. `forced`: swap over what runs. */
export const DEPLOY_MODES = ["drained", "undrained", "forced"] as const;
export type DeployMode = (typeof DEPLOY_MODES)[number];

/** Every effect by name; a test kills the deployer before and after each. */
export const DEPLOY_EFFECTS = [
  "preflight",
  "drain",
  "mint",
  "look",
  "pause",
  "pulse",
  "seal",
  "confirm",
  "upload",
  "readBack",
  "liveGate",
  "lift",
  "done",
] as const;
export type DeployEffectName = (typeof DEPLOY_EFFECTS)[number];

export type DeployEffect =
  /** Read the fleet before anything is asked of it. */
  | { readonly do: "preflight" }
  /** `POST /drain` under `drainId`. */
  | { readonly do: "drain" }
  /** Mint a new drain id, because the old one is over. */
  | { readonly do: "mint" }
  /** Read the fleet, asking the residents afresh that the sum calls busy. */
  | { readonly do: "look" }
  /** Wait for the watch, at the latest until `at`. */
  | {
      readonly do: "pause";
      readonly at: Instant;
      readonly then: "look" | "readBack" | "liveGate" | "drain" | "pulse" | "seal";
    }
  /** Renew the drain. */
  | { readonly do: "pulse" }
  | { readonly do: "seal" }
  /** Ask the registry once more, right before the upload. */
  | { readonly do: "confirm" }
  | { readonly do: "upload" }
  /** What does the fleet serve? The upload's own answer was lost. */
  | { readonly do: "readBack" }
  /** Wait until `/healthz` serves this upload. */
  | { readonly do: "liveGate" }
  /** `POST /undrain` with the outcome. */
  | { readonly do: "lift"; readonly outcome: UploadOutcome }
  | { readonly do: "done" };

export type DeployStop =
  | { readonly kind: "deployed" }
  | {
      readonly kind: "refused";
      readonly by:
        | Exclude<Preflight, { kind: "clear" }>
        | { readonly kind: "uploadRefused"; readonly why: string }
        | { readonly kind: "sealTaken" };
    }
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "denied"; readonly why: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "stopped"; readonly signal: "SIGINT" | "SIGTERM" };

/** What the fleet serves, as `/healthz` says it. */
export interface Served {
  readonly drainId: string | null;
  readonly generation: number;
}

/** Where one deploy stands. Instants are the deployer's clock, except those inside `drain`. */
export interface DeployState {
  readonly mode: DeployMode;
  readonly drainId: string;
  readonly effect: DeployEffect;
  readonly startedAt: Instant;
  readonly budgetUntil: Instant;
  /** The generation served before; a later one with this id is this upload. */
  readonly fromGeneration: number;
  /** Whether a `/drain` of the present id was asked for: then it is lifted, whatever its answer was. */
  readonly asked: boolean;
  readonly drain: Drain | null;
  readonly view: FleetView | null;
  readonly nextPulseAt: Instant;
  readonly nextLookAt: Instant;
  readonly swapUntil: Instant;
  readonly tries: number;
  readonly unreadableLooks: number;
  readonly outcome: UploadOutcome;
  readonly stop: DeployStop | null;
  /** How the lift went: the fleet is open, opens by itself at an instant, or nobody knows. */
  readonly lifted: "open" | "deferred" | "lost" | null;
}

export type DeployFact =
  | { readonly kind: "viewed"; readonly view: FleetView; readonly served: Served }
  | { readonly kind: "unreadable"; readonly why: string }
  | { readonly kind: "drained"; readonly drain: Drain }
  | { readonly kind: "busy"; readonly drain: Drain }
  | { readonly kind: "over" }
  | { readonly kind: "denied"; readonly why: string }
  /** No answer, or one that says nothing: the request may have been carried out. */
  | { readonly kind: "lost"; readonly why: string }
  | { readonly kind: "minted"; readonly id: string }
  /** The pause ended: by its instant, or because the watch said that nothing is in flight. */
  | { readonly kind: "woke"; readonly quiet: boolean }
  /** `leftMs`: how long the swap bound is away, by the registry's clock, which is not the deployer's. */
  | { readonly kind: "sealed"; readonly drain: Drain; readonly leftMs: Ms }
  /** Nobody is sealed: some resident has a row, or could not be read. */
  | { readonly kind: "notSealed"; readonly unreadable: readonly string[] }
  | { readonly kind: "confirmed" }
  | { readonly kind: "uploaded"; readonly outcome: UploadOutcome; readonly why: string }
  | { readonly kind: "serves"; readonly served: Served }
  | { readonly kind: "lifted" }
  | { readonly kind: "deferred"; readonly at: Instant }
  | { readonly kind: "signal"; readonly signal: "SIGINT" | "SIGTERM" };

/** A new deploy. `drainId` is minted by the caller (128 random bits) and kept over its retries. */
export function deployOf(mode: DeployMode, drainId: string, budgets: Budgets, now: Instant): DeployState {
  const wait = mode === "undrained" ? CLOCK.undrainedWaitMs : budgets.deployWaitMs;
  return {
    mode,
    drainId,
    effect: { do: "preflight" },
    startedAt: now,
    budgetUntil: now + wait,
    fromGeneration: 0,
    asked: false,
    drain: null,
    view: null,
    nextPulseAt: 0,
    nextLookAt: 0,
    swapUntil: 0,
    tries: 0,
    unreadableLooks: 0,
    outcome: "none",
    stop: null,
    lifted: null,
  };
}

const to = (state: DeployState, effect: DeployEffect): DeployState => ({ ...state, effect, tries: 0 });

/** Ends the deploy: lifts first when a drain was asked for and saying an outcome is of use. */
function finish(state: DeployState, stop: DeployStop): DeployState {
  const ended = { ...state, stop };
  return state.asked ? to(ended, { do: "lift", outcome: state.outcome }) : to(ended, { do: "done" });
}

/** A request whose answer was lost is asked again, a few times, before the deploy gives up on it. */
function again(state: DeployState, then: "drain" | "pulse" | "seal", why: string, now: Instant): DeployState {
  const tries = state.tries + 1;
  const spent = then === "pulse" ? now >= state.budgetUntil : tries >= LIMIT.tries;
  if (spent) return finish(state, { kind: "failed", why });
  return { ...state, tries, effect: { do: "pause", at: now + CLOCK.retryMs, then } };
}

function wait(state: DeployState, now: Instant): DeployState {
  if (now >= state.budgetUntil) return finish(state, outOfTime(state));
  const pulse = state.mode === "drained" ? state.nextPulseAt : Number.POSITIVE_INFINITY;
  if (now >= pulse) return to(state, { do: "pulse" });
  if (now >= state.nextLookAt) return to(state, { do: "look" });
  const pulseFirst = pulse < state.nextLookAt;
  const at = Math.min(pulse, state.nextLookAt, state.budgetUntil);
  return to(state, { do: "pause", at, then: pulseFirst ? "pulse" : "look" });
}

function outOfTime(state: DeployState): DeployStop {
  const view = state.view;
  return { kind: "refused", by: { kind: "busy", runs: view?.runs ?? [], attaching: view?.attaching ?? 0 } };
}

function afterView(state: DeployState, view: FleetView, served: Served, now: Instant): DeployState {
  const first = state.effect.do === "preflight";
  const fromGeneration = first ? served.generation : state.fromGeneration;
  const seen = { ...state, view, fromGeneration, nextLookAt: now + CLOCK.lookMs };
  const judged = decidePreflight(view, state.drainId);
  if (judged.kind === "protocolApart" || judged.kind === "deployInProgress") {
    return state.mode === "forced" && judged.kind === "protocolApart"
      ? to(seen, { do: "upload" })
      : finish(seen, { kind: "refused", by: judged });
  }
  if (state.mode === "forced") return to(seen, { do: "upload" });
  if (judged.kind === "unreadable") return unreadable(seen, judged.what, now);
  const read = { ...seen, unreadableLooks: 0 };
  if (first && state.mode === "drained") return to({ ...read, asked: true }, { do: "drain" });
  if (judged.kind === "busy") return wait(read, now);
  return to(read, state.mode === "drained" ? { do: "seal" } : { do: "upload" });
}

/** What cannot be read is never taken for idle: a few looks may fail while the fleet is closed, none before. */
function unreadable(state: DeployState, what: readonly string[], now: Instant): DeployState {
  const looks = state.unreadableLooks + 1;
  const refused = state.effect.do === "preflight" || looks >= LIMIT.unreadableLooks;
  if (refused) return finish(state, { kind: "refused", by: { kind: "unreadable", what } });
  return wait({ ...state, unreadableLooks: looks, nextLookAt: now + CLOCK.lookMs }, now);
}

function afterDrained(state: DeployState, drain: Drain, now: Instant): DeployState {
  const kept = { ...state, drain, nextPulseAt: now + CLOCK.pulseMs };
  return state.effect.do === "drain" ? to(kept, { do: "look" }) : wait(kept, now);
}

/** The id lives no more. Before the upload the deploy starts anew under a new one, within the same budget. */
function afterOver(state: DeployState, now: Instant): DeployState {
  const dead = { ...state, asked: false, drain: null };
  if (state.effect.do === "lift") return to({ ...state, lifted: "open" }, { do: "done" });
  if (state.effect.do === "confirm") return finish(dead, { kind: "refused", by: { kind: "sealTaken" } });
  return now >= state.budgetUntil ? finish(dead, outOfTime(state)) : to(dead, { do: "mint" });
}

function afterLost(state: DeployState, why: string, now: Instant): DeployState {
  const { effect } = state;
  if (effect.do === "drain" || effect.do === "pulse" || effect.do === "seal") return again(state, effect.do, why, now);
  if (effect.do === "confirm") {
    return state.tries + 1 < LIMIT.tries
      ? { ...state, tries: state.tries + 1 }
      : finish(state, { kind: "failed", why });
  }
  if (effect.do === "lift") {
    return state.tries + 1 < 2
      ? { ...state, tries: state.tries + 1 }
      : to({ ...state, lifted: "lost" }, { do: "done" });
  }
  if (effect.do === "upload") return afterUpload(state, "unknown", why, now);
  return afterUnreadable(state, why, now);
}

/** By which of its two questions an upload is being proven, its pauses included; null before it and after. */
function provenBy(effect: DeployEffect): "readBack" | "liveGate" | null {
  const doing = effect.do === "pause" ? effect.then : effect.do;
  return doing === "readBack" || doing === "liveGate" ? doing : null;
}

/**
 * The fleet did not answer: while an upload is being proven that proves nothing, before it the deploy fails closed. Only
 * `--force` goes on, since a Worker that no longer answers could not be replaced otherwise.
 */
function afterUnreadable(state: DeployState, why: string, now: Instant): DeployState {
  if (provenBy(state.effect) !== null) return afterServes(state, null, now);
  return state.mode === "forced" ? to(state, { do: "upload" }) : unreadable(state, [why], now);
}

/** A bearer that is not allowed will not be at the next try either; what it could not ask for needs no lift. */
function afterDenied(state: DeployState, why: string): DeployState {
  if (state.effect.do === "lift") return to({ ...state, lifted: "lost" }, { do: "done" });
  return finish(state.effect.do === "drain" ? { ...state, asked: false } : state, { kind: "denied", why });
}

type Pause = Extract<DeployEffect, { do: "pause" }>;

function afterWoke(state: DeployState, { then }: Pause, quiet: boolean, now: Instant): DeployState {
  if (then !== "look" && then !== "pulse") return { ...state, effect: { do: then } };
  if (quiet) return to(state, state.mode === "drained" ? { do: "seal" } : { do: "look" });
  if (state.tries > 0 && then === "pulse") return { ...state, effect: { do: "pulse" } };
  return wait(state, now);
}

function afterUpload(state: DeployState, outcome: UploadOutcome, why: string, now: Instant): DeployState {
  const swapUntil = state.swapUntil === 0 ? now + CLOCK.swapBoundMs : state.swapUntil;
  const said = { ...state, outcome, swapUntil };
  switch (outcome) {
    case "landed":
      return to(said, { do: "liveGate" });
    case "unknown":
      return to(said, { do: "readBack" });
    case "refused":
      return finish(said, { kind: "refused", by: { kind: "uploadRefused", why } });
    default:
      return finish(said, { kind: "failed", why });
  }
}

/** The upload is proven by what is served, never inferred; past the swap bound nobody waits for it any longer. */
function afterServes(state: DeployState, served: Served | null, now: Instant): DeployState {
  const ours = served !== null && served.drainId === state.drainId && served.generation > state.fromGeneration;
  const then = provenBy(state.effect) === "readBack" ? "readBack" : "liveGate";
  if (ours && then === "readBack") return to({ ...state, outcome: "landed" }, { do: "liveGate" });
  if (ours) return finish({ ...state, outcome: "landed" }, { kind: "deployed" });
  if (now >= state.swapUntil) return finish({ ...state, outcome: "unknown" }, { kind: "unknown" });
  return { ...state, effect: { do: "pause", at: Math.min(now + CLOCK.retryMs, state.swapUntil), then } };
}

/**
 * A signal ends a wait and lifts. Once the upload has begun the drain is left to its bound and the outcome is unknown,
 * but for one that is known to have landed: its lift opens the fleet as soon as the registry itself is of this upload.
 */
function afterSignal(state: DeployState, signal: "SIGINT" | "SIGTERM"): DeployState {
  const { effect } = state;
  const uploading = effect.do === "upload" || provenBy(effect) !== null;
  if (uploading && state.outcome === "landed") return finish(state, { kind: "stopped", signal });
  if (uploading) return { ...state, outcome: "unknown", stop: { kind: "stopped", signal }, effect: { do: "done" } };
  return effect.do === "lift" ? state : finish(state, { kind: "stopped", signal });
}

/**
 * The facts that each effect can have, beside a signal, an answer that was lost and a pause's end. A late or misplaced one is nobody's
 * answer: were `confirmed` taken anywhere, an upload could begin without its seal.
 */
const FACTS_OF: Readonly<Record<DeployEffectName, readonly DeployFact["kind"][]>> = {
  preflight: ["viewed", "unreadable", "denied"],
  drain: ["drained", "busy", "over", "denied"],
  mint: ["minted"],
  look: ["viewed", "unreadable", "denied"],
  pause: [],
  pulse: ["drained", "busy", "over", "denied"],
  seal: ["sealed", "notSealed", "over", "denied"],
  confirm: ["confirmed", "over", "denied"],
  upload: ["uploaded", "denied"],
  readBack: ["serves", "unreadable", "uploaded"],
  liveGate: ["serves", "unreadable"],
  lift: ["lifted", "deferred", "over", "denied"],
  done: [],
};

/** The next effect of a deploy (protocol.md, "The deploy runner"). A fact that the effect cannot have leaves it standing. */
export function nextDeploy(state: DeployState, fact: DeployFact, now: Instant): DeployState {
  const { effect } = state;
  if (effect.do === "done") return state;
  if (fact.kind === "woke") return effect.do === "pause" ? afterWoke(state, effect, fact.quiet, now) : state;
  const always = fact.kind === "signal" || fact.kind === "lost";
  return always || FACTS_OF[effect.do].includes(fact.kind) ? afterFact(state, fact, now) : state;
}

function afterFact(state: DeployState, fact: Exclude<DeployFact, { kind: "woke" }>, now: Instant): DeployState {
  switch (fact.kind) {
    case "viewed":
      return afterView(state, fact.view, fact.served, now);
    case "unreadable":
      return afterUnreadable(state, fact.why, now);
    case "drained":
      return afterDrained(state, fact.drain, now);
    case "busy":
      return finish(
        { ...state, asked: false },
        { kind: "refused", by: { kind: "deployInProgress", drain: fact.drain } },
      );
    case "over":
      return afterOver(state, now);
    case "denied":
      return afterDenied(state, fact.why);
    case "lost":
      return afterLost(state, fact.why, now);
    case "minted":
      return to({ ...state, drainId: fact.id, asked: true }, { do: "drain" });
    case "sealed":
      return to({ ...state, drain: fact.drain, swapUntil: now + fact.leftMs }, { do: "confirm" });
    case "notSealed":
      return fact.unreadable.length > 0
        ? unreadable(state, fact.unreadable, now)
        : wait({ ...state, nextLookAt: Math.min(state.nextLookAt, now + CLOCK.retryMs) }, now);
    case "confirmed":
      return to(state, { do: "upload" });
    case "uploaded":
      return afterUpload(state, fact.outcome, fact.why, now);
    case "serves":
      return afterServes(state, fact.served, now);
    case "lifted":
      return to({ ...state, lifted: "open" }, { do: "done" });
    case "deferred":
      return to({ ...state, lifted: "deferred" }, { do: "done" });
    case "signal":
      return afterSignal(state, fact.signal);
  }
}
