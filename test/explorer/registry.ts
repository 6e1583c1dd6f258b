// The registry's memory between its steps: seals that are half done (a restart loses them) and requests that arrive
// after their asker has given up on them.

import type { Drain, UploadOutcome } from "#core/drain.ts";
import { isSettled, type Reconcile, type ReconcileEntry } from "#core/reconcile.ts";
import type { SealEffect, SealReply, SealState } from "#core/seal.ts";
import type { Ms } from "#core/time.ts";

/** One `POST /seal` under way, and which deployer still waits for its answer. */
export interface Sealing {
  readonly client: number | null;
  readonly state: SealState;
  readonly replies: readonly SealReply[];
}

/** A request that is on its way although nobody waits for it. */
export type LateRequest =
  | { readonly kind: "drain"; readonly id: string; readonly deploy: boolean }
  | { readonly kind: "lift"; readonly id: string; readonly outcome: UploadOutcome }
  | { readonly kind: "reconcile"; readonly id: string }
  | { readonly kind: "seal"; readonly id: string };

export interface Registry {
  readonly machines: readonly Sealing[];
  readonly late: readonly LateRequest[];
  /** In storage: it outlives a restart. */
  readonly operation: Reconcile | null;
}

const SEALED: Drain = {
  id: "",
  since: 0,
  until: 0,
  by: "",
  reason: "",
  principal: "",
  deploy: true,
  phase: "swapping",
  phaseSince: 0,
  phaseUntil: 0,
  build: null,
  sealing: { state: "sealed", attempt: 0, until: 0 },
  holds: [],
  reported: [],
  without: [],
};

const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

function effectAt(effect: SealEffect, by: Ms): SealEffect {
  if (effect.do === "ask") return { ...effect, until: Math.max(0, effect.until - by) };
  if (effect.do !== "answer" && effect.do !== "unseal") return effect;
  const { result } = effect;
  // What an answer carries beside its kind is for the deployer's lines; only whom it could not read decides anything.
  const bare = result.kind === "sealed" ? { kind: result.kind, drain: SEALED } : result;
  return effect.do === "answer" ? { do: "answer", result: bare } : { ...effect, result: bare };
}

/** What an answered machine has behind it is of no use any more. */
function stateAt(state: SealState, by: Ms): SealState {
  const effect = effectAt(state.effect, by);
  if (effect.do === "ask") return { ...state, until: effect.until, effect };
  const over = effect.do === "answer";
  return {
    id: state.id,
    attempt: over ? 0 : state.attempt,
    until: 0,
    waiting: [],
    promised: over ? [] : state.promised,
    effect,
  };
}

/**
 * The operation between two steps. Whether an entry is settled is all that decides anything, and a resident is asked again
 * whenever the search likes; past the bound nobody is asked any more.
 */
function operationAt(operation: Reconcile | null, by: Ms): Reconcile | null {
  if (operation === null || operation.until <= by) return null;
  const { drainId, image, until } = operation;
  const entries = operation.entries.map((entry): ReconcileEntry => ({
    resource: entry.resource,
    state: isSettled(entry) ? "current" : "asked",
    image: null,
    bootId: null,
    why: null,
    killed: 0,
    askedAt: 0,
    asks: 0,
  }));
  return { drainId, image, since: 0, until: until - by, entries };
}

/** The registry's memory `by` ms later, in its canonical form. */
export function canonicalRegistry(registry: Registry, by: Ms): Registry {
  const machines = registry.machines.map(({ client, state, replies }): Sealing => ({
    client,
    state: stateAt(state, by),
    replies: replies.toSorted(byText),
  }));
  const operation = operationAt(registry.operation, by);
  return { machines: machines.toSorted(byText), late: registry.late.toSorted(byText), operation };
}
