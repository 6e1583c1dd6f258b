// A deploy as a step machine: each state names the one effect to do next, the runner does it and hands the fact back.
// One drain a deploy, asked before its step and lifted after it; an upload's outcome is said only as far as it is known.

import { CLOCK, LIMIT } from "./budgets.ts";
import type { Drain, UploadOutcome } from "./drain.ts";
import { decidePreflight, type FleetView, type Preflight } from "./preflight.ts";
import {
  closesNothing,
  type DeployEffect,
  type DeployEffectName,
  type DeployFact,
  type DeployState,
  type DeployStop,
  type PartName,
  type Served,
} from "./rolloutState.ts";
import type { Instant } from "./time.ts";

/** Whether this deploy closes the fleet, and so lifts; the fleet's own swap is then sealed and reconciled. */
const closing = ({ mode, asked, steps }: DeployState): boolean =>
  (mode === "drained" || mode === "handoff") && (asked || !closesNothing(steps));

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
  const pulse = closing(state) ? state.nextPulseAt : Number.POSITIVE_INFINITY;
  if (now >= pulse) return to(state, { do: "pulse" });
  if (now >= state.nextLookAt) return to(state, { do: "look" });
  const pulseFirst = pulse < state.nextLookAt;
  const at = Math.min(pulse, state.nextLookAt, state.budgetUntil);
  return to(state, { do: "pause", at, then: pulseFirst ? "pulse" : "look" });
}

function outOfTime(state: DeployState): DeployStop {
  const view = state.view;
  const { runs = [], attaching = 0, botInFlight = 0 } = view ?? {};
  return { kind: "refused", by: { kind: "busy", runs, attaching, botInFlight } };
}

function afterView(state: DeployState, view: FleetView, served: Served, now: Instant): DeployState {
  const first = state.effect.do === "preflight";
  const fromGeneration = first ? served.generation : state.fromGeneration;
  const seen = { ...state, view, fromGeneration, nextLookAt: now + CLOCK.lookMs };
  const judged = decidePreflight(view, state.drainId);
  if (judged.kind === "protocolApart" || judged.kind === "deployInProgress") {
    return state.mode === "forced" && judged.kind === "protocolApart"
      ? swapNext(seen, now)
      : finish(seen, { kind: "refused", by: judged });
  }
  if (state.mode === "forced" || (first && closesNothing(state.steps))) return swapNext(seen, now);
  if (judged.kind === "unreadable") return unreadable(seen, judged.what, now);
  const read = { ...seen, unreadableLooks: 0 };
  if (first && closing(state)) return to({ ...read, asked: true }, { do: "drain" });
  const rollsNow = state.steps.parts.length > 0 && !state.steps.waits;
  const handsOff = state.mode === "handoff" && judged.kind === "busy" && mayHandOff(judged);
  return judged.kind === "busy" && !rollsNow && !handsOff ? wait(read, now) : swapNext(read, now);
}

/** What is swapped next: the parts in their order, then the fleet; with nothing left the deploy has landed. */
function swapNext(state: DeployState, now: Instant): DeployState {
  const { parts, resident, waits } = state.steps;
  const [part] = parts;
  if (part !== undefined) return to(state, { do: "roll", part });
  if (!resident) return finish(state, { kind: "deployed" });
  // Parts that did not wait for quiet were swapped under runs: the fleet's own wait begins behind them.
  const isQuiet = waits || state.landed.length === 0 || state.view?.runs.length === 0;
  if (!isQuiet && state.mode === "drained") return wait({ ...state, nextLookAt: now }, now);
  return to(state, closing(state) ? { do: "seal" } : { do: "upload" });
}

/** A part's swap was answered: landed and lost are proven by what it serves, anything else stops the deploy there. */
function afterRolled(
  state: DeployState,
  part: PartName,
  { outcome, why }: Pick<Extract<DeployFact, { kind: "uploaded" }>, "outcome" | "why">,
  now: Instant,
): DeployState {
  switch (outcome) {
    case "landed":
    case "unknown": {
      const partUntil = state.effect.do === "roll" ? now + CLOCK.swapBoundMs : state.partUntil;
      return to({ ...state, partUntil }, { do: "rollGate", part });
    }
    case "refused":
      return finish(state, { kind: "refused", by: { kind: "uploadRefused", why: `${part}: ${why}` } });
    default:
      return finish(state, { kind: "failed", why: `${part}: ${why}` });
  }
}

/** A part is live when it carries this deploy's drain id: then the next one follows. */
function afterRollServes(state: DeployState, served: Served | null, now: Instant): DeployState {
  const { parts, ...steps } = state.steps;
  const [part, ...rest] = parts;
  if (part !== undefined && served?.drainId === state.drainId) {
    const next = { ...state, steps: { ...steps, parts: rest }, landed: [...state.landed, part] };
    // Where nothing is closed, what began meanwhile is looked for before the next swap.
    const looks = state.mode === "undrained" && (rest.length > 0 || steps.resident);
    return looks ? to(next, { do: "look" }) : swapNext(next, now);
  }
  if (now >= state.partUntil) return finish(state, { kind: "unknown" });
  return { ...state, effect: { do: "pause", at: Math.min(now + CLOCK.retryMs, state.partUntil), then: "rollGate" } };
}

const isProvingPart = ({ effect }: DeployState): boolean =>
  effect.do === "rollGate" || (effect.do === "pause" && effect.then === "rollGate");

/** Runs live on under a handoff; a workspace that is being made would be cut. */
function mayHandOff(busy: Extract<Preflight, { kind: "busy" }>): boolean {
  return busy.attaching === 0 && busy.runs.every((run) => run.state === "running");
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
  if (state.effect.do === "reconcile")
    return finish({ ...dead, lifted: "open", unreconciled: "the drain was over before it" }, { kind: "deployed" });
  if (state.effect.do === "confirm") return finish(dead, { kind: "refused", by: { kind: "sealTaken" } });
  return now >= state.budgetUntil ? finish(dead, outOfTime(state)) : to(dead, { do: "mint" });
}

function afterLost(state: DeployState, why: string, now: Instant): DeployState {
  const { effect } = state;
  const doing = effect.do === "pause" ? effect.then : effect.do;
  if (doing === "reconcile") return afterUnreconciled(state, why, now);
  if (doing === "holds") return lookAtHolds(state, now);
  // Without an id nothing is closed any more, and nothing may be swapped.
  if (effect.do === "mint") return finish(state, { kind: "failed", why });
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
  if (effect.do === "roll") return afterRolled(state, effect.part, { outcome: "unknown", why }, now);
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
  if (isProvingPart(state)) return afterRollServes(state, null, now);
  return state.mode === "forced" ? swapNext(state, now) : unreadable(state, [why], now);
}

/** A bearer that is not allowed will not be at the next try either; what it could not ask for needs no lift. */
function afterDenied(state: DeployState, why: string): DeployState {
  if (state.effect.do === "lift") return to({ ...state, lifted: "lost" }, { do: "done" });
  if (state.effect.do === "reconcile") return finish({ ...state, unreconciled: why }, { kind: "deployed" });
  if (state.effect.do === "holds") return to(state, { do: "done" });
  return finish(state.effect.do === "drain" ? { ...state, asked: false } : state, { kind: "denied", why });
}

type Pause = Extract<DeployEffect, { do: "pause" }>;

function afterWoke(state: DeployState, { then }: Pause, quiet: boolean, now: Instant): DeployState {
  const [part] = state.steps.parts;
  if (then === "rollGate") return part === undefined ? state : { ...state, effect: { do: then, part } };
  if (then !== "look" && then !== "pulse") return { ...state, effect: { do: then } };
  if (quiet) return to(state, closing(state) && part === undefined ? { do: "seal" } : { do: "look" });
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
  if (ours) return afterLive({ ...state, outcome: "landed", landed: [...state.landed, "resident"] }, now);
  if (now >= state.swapUntil) return finish({ ...state, outcome: "unknown" }, { kind: "unknown" });
  return { ...state, effect: { do: "pause", at: Math.min(now + CLOCK.retryMs, state.swapUntil), then } };
}

/** Live: a fleet that this deploy closed is reconciled before it is lifted. */
function afterLive(state: DeployState, now: Instant): DeployState {
  if (!state.asked) return finish(state, { kind: "deployed" });
  return to({ ...state, reconcileUntil: now + CLOCK.cycleBoundMs }, { do: "reconcile" });
}

/** No answer to `/reconcile`: asked again to the cycle bound, then lifted without one. A failed reconcile never holds a lift. */
function afterUnreconciled(state: DeployState, why: string, now: Instant): DeployState {
  if (now >= state.reconcileUntil) return finish({ ...state, unreconciled: why }, { kind: "deployed" });
  const at = Math.min(now + CLOCK.retryMs, state.reconcileUntil);
  return { ...state, effect: { do: "pause", at, then: "reconcile" } };
}

/** The others are open; who is still held is looked at until nobody is, or the bound is over. */
function lookAtHolds(state: DeployState, now: Instant): DeployState {
  if (now >= state.holdUntil + CLOCK.lookMs) return to(state, { do: "done" });
  return to(state, {
    do: "pause",
    at: Math.max(now + CLOCK.retryMs, Math.min(now + CLOCK.lookMs, state.holdUntil)),
    then: "holds",
  });
}

function afterLifted(state: DeployState, fact: Extract<DeployFact, { kind: "lifted" }>, now: Instant): DeployState {
  const open: DeployState = { ...state, lifted: "open", held: fact.held, holdUntil: now + fact.leftMs };
  const watches = state.stop?.kind === "deployed" && fact.held.length > 0;
  return to(open, { do: watches ? "holds" : "done" });
}

function afterHeld(state: DeployState, fact: Extract<DeployFact, { kind: "heldBy" }>, now: Instant): DeployState {
  const { held, stale } = fact;
  const seen = { ...state, held, stale };
  return held.length === 0 ? to(seen, { do: "done" }) : lookAtHolds(seen, now);
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
  if (state.lifted !== null) return to({ ...state, stop: { kind: "stopped", signal } }, { do: "done" });
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
  roll: ["uploaded", "over", "denied"],
  rollGate: ["serves", "unreadable", "uploaded"],
  seal: ["sealed", "notSealed", "over", "denied"],
  confirm: ["confirmed", "over", "denied"],
  upload: ["uploaded", "denied"],
  readBack: ["serves", "unreadable", "uploaded"],
  liveGate: ["serves", "unreadable"],
  reconcile: ["reconciling", "over", "denied"],
  lift: ["lifted", "deferred", "over", "denied"],
  holds: ["heldBy", "denied"],
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
      return state.effect.do === "roll" || state.effect.do === "rollGate"
        ? afterRolled(state, state.effect.part, fact, now)
        : afterUpload(state, fact.outcome, fact.why, now);
    case "serves":
      return isProvingPart(state) ? afterRollServes(state, fact.served, now) : afterServes(state, fact.served, now);
    case "reconciling":
      return finish(
        { ...state, drain: fact.drain, held: fact.drain.holds, holdUntil: now + fact.leftMs },
        { kind: "deployed" },
      );
    case "lifted":
      return afterLifted(state, fact, now);
    case "heldBy":
      return afterHeld(state, fact, now);
    case "deferred":
      return to({ ...state, lifted: "deferred" }, { do: "done" });
    case "signal":
      return afterSignal(state, fact.signal);
  }
}
