// Bringing one container onto the image that the deployed Worker pins, as a step machine. It restarts only what no
// registration and no operation works in; what it believes of an image is read from inside, never inferred from a boot.

import type { ReconcileWord } from "./reconcile.ts";

/** What was read from inside a container that runs. `live`: processes of runs in it. */
export interface InsideWord {
  readonly image: string;
  readonly bootId: string;
  readonly live: number;
}

/** What is to be brought where. `own`: the run whose attach asks, which may restart under its own row. */
export interface CycleAsk {
  /** The image that the Worker of this object pins. */
  readonly pinned: string;
  /** The image that a reconcile wants; null when the resident asks by itself. */
  readonly wanted: string | null;
  readonly own: string | null;
}

export type CycleEffect =
  /** Look at the container and read from inside which image and boot it is. */
  | { readonly do: "probe" }
  /** One storage step: `cycleStep`. */
  | { readonly do: "begin"; readonly inside: InsideWord }
  | { readonly do: "restart"; readonly inside: InsideWord }
  /** One storage step: `cycledStep`. */
  | { readonly do: "end"; readonly word: ReconcileWord }
  | { readonly do: "answer"; readonly word: ReconcileWord };

/** Where one cycle stands. */
export interface CycleState {
  readonly ask: CycleAsk;
  /** Whether the container has been restarted by this cycle: it is not restarted a second time. */
  readonly restarted: boolean;
  readonly killed: number;
  readonly effect: CycleEffect;
}

export type CycleFact =
  | { readonly kind: "absent" }
  | { readonly kind: "inside"; readonly inside: InsideWord }
  | { readonly kind: "unseen"; readonly why: string }
  | { readonly kind: "begun" }
  | { readonly kind: "busy"; readonly why: string }
  | { readonly kind: "restarted"; readonly killed: number }
  | { readonly kind: "ended" };

const wordOf = (
  state: CycleState["killed"],
  word: Partial<ReconcileWord> & Pick<ReconcileWord, "state">,
): ReconcileWord => ({
  image: null,
  bootId: null,
  why: null,
  killed: state,
  ...word,
});

/** A new cycle. An object whose Worker is older than the one that asks cannot bring what it does not pin. */
export function cycleOf(ask: CycleAsk): CycleState {
  const old = ask.wanted !== null && ask.wanted !== ask.pinned;
  const why = `this object still runs a Worker that pins image ${ask.pinned}`;
  const effect: CycleEffect = old ? { do: "answer", word: wordOf(0, { state: "stale", why }) } : { do: "probe" };
  return { ask, restarted: false, killed: 0, effect };
}

/** A cycle that has begun is ended in storage before it answers. */
function over(state: CycleState, word: ReconcileWord): CycleState {
  return { ...state, effect: state.restarted ? { do: "end", word } : { do: "answer", word } };
}

function afterInside(state: CycleState, inside: InsideWord): CycleState {
  const { image, bootId } = inside;
  if (image === state.ask.pinned)
    return over(state, wordOf(state.killed, { state: state.restarted ? "restarted" : "current", image, bootId }));
  if (!state.restarted) return { ...state, effect: { do: "begin", inside } };
  const why = `the container was restarted and still reports image ${image}`;
  return over(state, wordOf(state.killed, { state: "error", image, bootId, why }));
}

function afterProbe(state: CycleState, fact: CycleFact): CycleState {
  switch (fact.kind) {
    case "inside":
      return afterInside(state, fact.inside);
    case "absent":
      return over(state, wordOf(state.killed, { state: "inactive" }));
    case "unseen":
      return over(state, wordOf(state.killed, { state: "error", why: fact.why }));
    default:
      return state;
  }
}

function failed(state: CycleState, why: string): CycleState {
  return over(state, wordOf(state.killed, { state: "error", why }));
}

/** The next effect of a cycle (protocol.md, "Reconcile, report, hold"). A fact that does not answer the effect leaves it standing. */
export function nextCycle(state: CycleState, fact: CycleFact): CycleState {
  const { effect } = state;
  switch (effect.do) {
    case "probe":
      return afterProbe(state, fact);
    case "begin": {
      const { image, bootId } = effect.inside;
      if (fact.kind === "begun") return { ...state, restarted: true, effect: { do: "restart", inside: effect.inside } };
      return fact.kind === "busy"
        ? over(state, wordOf(state.killed, { state: "deferred", image, bootId, why: fact.why }))
        : state;
    }
    case "restart":
      if (fact.kind === "restarted") return { ...state, killed: fact.killed, effect: { do: "probe" } };
      return fact.kind === "unseen" ? failed(state, fact.why) : state;
    case "end":
      return fact.kind === "ended" ? { ...state, effect: { do: "answer", word: effect.word } } : state;
    case "answer":
      return state;
  }
}
