// A run's end in its resident, as a step machine: note the row, end its processes, delete the row as it was noted.
// Its own caller's detach, its lease's end and an administrator all go this way; what differs is who may insist.

import { leaseSpent, type Registration } from "./registration.ts";
import type { Instant } from "./time.ts";

/** Who ends the run. A detach gives way to a newer attach of the same run; the others insist until the row is gone. */
export type ReleaseBy =
  | { readonly who: "caller"; readonly generation: number }
  | { readonly who: "lease" }
  | { readonly who: "admin"; readonly reason: string }
  | { readonly who: "replaced" };

export type ReleaseEffect =
  /** Read the row as it is now. */
  | { readonly do: "note" }
  /** End every process of the thread, by group and by sweep, and wait until they are gone. */
  | { readonly do: "stop"; readonly row: Registration }
  /** One storage step: `endStep` at the noted `seq`. */
  | { readonly do: "end"; readonly row: Registration }
  | { readonly do: "answer"; readonly answer: ReleaseAnswer };

export type ReleaseAnswer = { readonly kind: "released" | "absent" | "superseded" };

/** Where one release stands. */
export interface ReleaseState {
  readonly runId: string;
  readonly by: ReleaseBy;
  readonly effect: ReleaseEffect;
}

export type ReleaseFact =
  | { readonly kind: "noted"; readonly row: Registration | null }
  | { readonly kind: "stopped" }
  | { readonly kind: "ended"; readonly deleted: boolean };

/** A new release of this run. */
export const releaseOf = (runId: string, by: ReleaseBy): ReleaseState => ({ runId, by, effect: { do: "note" } });

const answered = (state: ReleaseState, kind: ReleaseAnswer["kind"]): ReleaseState => ({
  ...state,
  effect: { do: "answer", answer: { kind } },
});

function mayEnd(by: ReleaseBy, row: Registration, now: Instant): boolean {
  if (by.who === "caller") return by.generation >= row.generation;
  return by.who !== "lease" || leaseSpent(row, now);
}

/** The next effect of a release (protocol.md: "a release or sweep, which awaits, deletes only at the `seq` it began with"). */
export function nextRelease(state: ReleaseState, fact: ReleaseFact, now: Instant): ReleaseState {
  const { effect, by } = state;
  switch (effect.do) {
    case "note":
      if (fact.kind !== "noted") return state;
      if (fact.row === null) return answered(state, "absent");
      return mayEnd(by, fact.row, now)
        ? { ...state, effect: { do: "stop", row: fact.row } }
        : answered(state, "superseded");
    case "stop":
      return fact.kind === "stopped" ? { ...state, effect: { do: "end", row: effect.row } } : state;
    case "end":
      if (fact.kind !== "ended") return state;
      if (fact.deleted) return answered(state, "released");
      return by.who === "caller" ? answered(state, "superseded") : { ...state, effect: { do: "note" } };
    case "answer":
      return state;
  }
}
