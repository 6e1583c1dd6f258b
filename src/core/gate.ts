// The gate: one door, `attach`, as a step machine. Each state names the one effect to do next; the object performs it
// and hands the fact back. The explorer walks this same machine, so the order that ships is the order that is proven.

import { saidEnd, type Drain } from "./drain.ts";
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
  /** One storage step: `admitStep`; also of a registered run, whose row may have ended while its workspace was made ready. */
  | { readonly do: "admit"; readonly row: Registration; readonly again: boolean }
  /** One storage step: `endStep`, because the attach failed. */
  | { readonly do: "drop"; readonly row: Registration; readonly why: ProvisionFailure }
  /** Wait for the attach of the same run that is under way: its answer is this one's too, unless it admitted another generation. */
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
  | { readonly kind: "dropped" }
  /** What the attach that this one joined was answered. */
  | { readonly kind: "joined"; readonly answer: AttachAnswer };

/** A new attach, as it arrives. */
export const attachOf = (ask: AttachAsk): AttachState => ({ ask, replaced: false, effect: { do: "arrive" } });

const answered = (state: AttachState, answer: AttachAnswer): AttachState => ({
  ...state,
  effect: { do: "answer", answer },
});

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
      return { ...state, effect: { do: "look", seal } };
  }
}

function afterLook(state: AttachState, fact: AttachFact): AttachState {
  switch (fact.kind) {
    case "looked":
      return { ...state, effect: { do: "row", look: fact.look } };
    case "closed":
      return answered(state, { kind: "draining", drain: fact.drain, seal: null });
    case "unknownResident":
      return answered(state, { kind: "unknownResident" });
    default:
      return state;
  }
}

/** A seal that the registry was not asked about is asked about; one that nobody can be asked about stands to its own end. */
function afterRow(state: AttachState, look: Look, found: RowFound): AttachState {
  switch (found.kind) {
    case "written":
      return { ...state, effect: { do: "provision", row: found.row, again: false } };
    case "taken":
      return { ...state, effect: { do: "arrive" } };
    case "sealed":
      return look.kind === "unreadable"
        ? answered(state, { kind: "draining", drain: null, seal: found.seal })
        : { ...state, effect: { do: "look", seal: found.seal } };
  }
}

type Provision = Extract<AttachEffect, { do: "provision" }>;

/** A registered run whose workspace could not be made stays registered; a new one's row goes. */
function afterProvision(state: AttachState, work: Provision, fact: AttachFact): AttachState {
  const { row, again } = work;
  if (fact.kind === "provisioned") return { ...state, effect: { do: "admit", row, again } };
  if (fact.kind !== "notProvisioned") return state;
  return again
    ? answered(state, { kind: "failed", why: fact.why })
    : { ...state, effect: { do: "drop", row, why: fact.why } };
}

/** Another generation's admission is not this one's: it is judged by the row as it now is, so that the row names who holds the run. */
function afterJoin(state: AttachState, answer: AttachAnswer): AttachState {
  const others = answer.kind === "admitted" && answer.row.generation !== state.ask.generation;
  return others ? { ...state, effect: { do: "arrive" } } : answered(state, answer);
}

/** The next effect of an attach (protocol.md, "The gate"). A fact that does not answer the effect leaves it standing. */
export function nextAttach(state: AttachState, fact: AttachFact): AttachState {
  const { effect } = state;
  switch (effect.do) {
    case "arrive":
      return fact.kind === "arrived" ? afterArrival(state, fact.arrival, fact.seal) : state;
    case "look":
      return afterLook(state, fact);
    case "row":
      return fact.kind === "rowed" ? afterRow(state, effect.look, fact.row) : state;
    case "endOld":
      return fact.kind === "oldEnded" ? { ...state, effect: { do: "arrive" } } : state;
    case "provision":
      return afterProvision(state, effect, fact);
    case "admit":
      if (fact.kind !== "admitted") return state;
      return answered(
        state,
        fact.row === null ? { kind: "leaseSpent" } : { kind: "admitted", row: fact.row, again: effect.again },
      );
    case "drop":
      return fact.kind === "dropped" ? answered(state, { kind: "failed", why: effect.why }) : state;
    case "join":
      return fact.kind === "joined" ? afterJoin(state, fact.answer) : state;
    case "answer":
      return state;
  }
}

/** The end that a refusal names: the closing drain's, else the seal's own. */
export function refusedUntil(answer: Extract<AttachAnswer, { kind: "draining" }>): Instant | null {
  return answer.drain === null ? (answer.seal?.until ?? null) : saidEnd(answer.drain);
}
