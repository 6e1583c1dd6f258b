// The gate: one door, `attach`, as a step machine. Each state names the one effect to do next; the object performs it
// and hands the fact back. The explorer walks this same machine, so the order that ships is the order that is proven.

import { LIMIT } from "./budgets.ts";
import type { Drain } from "./drain.ts";
import type { AttachAsk, Registration } from "./registration.ts";
import type { Arrival, Look, RowFound, Seal } from "./resident.ts";
import type { Instant } from "./time.ts";

export type AttachEffect =
  /** One storage step: `arriveStep`. */
  | { readonly do: "arrive" }
  /** Ask the registry, naming the seal this resident holds. */
  | { readonly do: "look"; readonly seal: Seal | null }
  /** One storage step: `rowStep`. */
  | { readonly do: "row"; readonly look: Look }
  /** End the run that holds the thread (its processes, then its row), because somebody who may say so said it is over. */
  | { readonly do: "endOld"; readonly row: Registration }
  /** Make the workspace ready: container, mirror, worktree. */
  | { readonly do: "provision"; readonly row: Registration; readonly again: boolean }
  /** One storage step: `admitStep`. */
  | { readonly do: "admit"; readonly row: Registration }
  /** One storage step: `endStep`, because the attach failed. */
  | { readonly do: "drop"; readonly row: Registration; readonly why: ProvisionFailure }
  /** Wait for the attach of the same run that is under way, and give its answer. */
  | { readonly do: "join" }
  | { readonly do: "answer"; readonly answer: AttachAnswer };

/** Why a workspace could not be made; `transient` is a container that rolls. */
export interface ProvisionFailure {
  readonly code: string;
  readonly detail: string;
  readonly transient: boolean;
}

export type AttachAnswer =
  | { readonly kind: "admitted"; readonly row: Registration; readonly again: boolean }
  | { readonly kind: "draining"; readonly drain: Drain | null; readonly seal: Seal | null }
  | { readonly kind: "threadBusy" | "oldGeneration"; readonly row: Registration }
  | { readonly kind: "leaseSpent" }
  | { readonly kind: "unknownResident" }
  | { readonly kind: "failed"; readonly why: ProvisionFailure };

/** Where one attach stands. */
export interface AttachState {
  readonly ask: AttachAsk;
  readonly looks: number;
  readonly replaced: boolean;
  readonly effect: AttachEffect;
}

export type AttachFact =
  | { readonly kind: "arrived"; readonly arrival: Arrival; readonly seal: Seal | null }
  | { readonly kind: "looked"; readonly look: Look }
  | { readonly kind: "closed"; readonly drain: Drain }
  | { readonly kind: "unknownResident" }
  | { readonly kind: "rowed"; readonly row: RowFound }
  | { readonly kind: "oldEnded" }
  | { readonly kind: "provisioned" }
  | { readonly kind: "notProvisioned"; readonly why: ProvisionFailure }
  | { readonly kind: "admitted"; readonly row: Registration | null }
  | { readonly kind: "dropped" };

/** A new attach, as it arrives. */
export const attachOf = (ask: AttachAsk): AttachState => ({ ask, looks: 0, replaced: false, effect: { do: "arrive" } });

const answered = (state: AttachState, answer: AttachAnswer): AttachState => ({ ...state, effect: { do: "answer", answer } });

function afterArrival(state: AttachState, arrival: Arrival, seal: Seal | null): AttachState {
  switch (arrival.kind) {
    case "join":
      return { ...state, effect: { do: "join" } };
    case "registered":
      return { ...state, effect: { do: "provision", row: arrival.row, again: true } };
    case "oldGeneration":
      return answered(state, { kind: "oldGeneration", row: arrival.row });
    case "leaseSpent":
      return answered(state, { kind: "leaseSpent" });
    case "threadBusy":
      return arrival.mayReplace && !state.replaced
        ? { ...state, replaced: true, effect: { do: "endOld", row: arrival.row } }
        : answered(state, { kind: "threadBusy", row: arrival.row });
    case "new":
      return { ...state, looks: state.looks + 1, effect: { do: "look", seal } };
  }
}

function afterRow(state: AttachState, found: RowFound): AttachState {
  switch (found.kind) {
    case "written":
      return { ...state, effect: { do: "provision", row: found.row, again: false } };
    case "taken":
      return { ...state, effect: { do: "arrive" } };
    case "sealed":
      return state.looks < LIMIT.looks
        ? { ...state, looks: state.looks + 1, effect: { do: "look", seal: found.seal } }
        : answered(state, { kind: "draining", drain: null, seal: found.seal });
  }
}

const provisionedRow = (effect: AttachEffect): { row: Registration; again: boolean } | undefined =>
  effect.do === "provision" ? effect : undefined;

function afterProvision(state: AttachState, why: ProvisionFailure | null): AttachState {
  const work = provisionedRow(state.effect);
  if (work === undefined) return state;
  if (why === null && work.again) return answered(state, { kind: "admitted", row: work.row, again: true });
  if (why === null) return { ...state, effect: { do: "admit", row: work.row } };
  return work.again ? answered(state, { kind: "failed", why }) : { ...state, effect: { do: "drop", row: work.row, why } };
}

/** The next effect of an attach (protocol.md, "The gate"). A fact that does not answer the effect leaves it standing. */
export function nextAttach(state: AttachState, fact: AttachFact): AttachState {
  switch (fact.kind) {
    case "arrived":
      return afterArrival(state, fact.arrival, fact.seal);
    case "looked":
      return { ...state, effect: { do: "row", look: fact.look } };
    case "closed":
      return answered(state, { kind: "draining", drain: fact.drain, seal: null });
    case "unknownResident":
      return answered(state, { kind: "unknownResident" });
    case "rowed":
      return afterRow(state, fact.row);
    case "oldEnded":
      return { ...state, effect: { do: "arrive" } };
    case "provisioned":
      return afterProvision(state, null);
    case "notProvisioned":
      return afterProvision(state, fact.why);
    case "admitted":
      return answered(state, fact.row === null ? { kind: "leaseSpent" } : { kind: "admitted", row: fact.row, again: false });
    case "dropped":
      return state.effect.do === "drop" ? answered(state, { kind: "failed", why: state.effect.why }) : state;
  }
}

/** The end that a refusal names: the closing drain's, else the seal's own. */
export function refusedUntil(answer: Extract<AttachAnswer, { kind: "draining" }>): Instant | null {
  return answer.drain?.until ?? answer.seal?.until ?? null;
}
