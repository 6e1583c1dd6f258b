// A standing transport failure: a registered run of which nothing is heard over several tries. That is the harness's
// verdict and never the run's own failure: it attaches again, a bounded number of times, and so it ends by construction.

import { CLOCK, LIMIT } from "./budgets.ts";
import type { Instant } from "./time.ts";

export type StandingStep =
  /** Ask for the process's output from where it stood. */
  | { readonly do: "follow" }
  /** Attach again; that has a wake wait of its own. */
  | { readonly do: "attach" }
  | { readonly do: "pause"; readonly at: Instant }
  /** Every try was in vain: the run ends `replaced`, tagged `transport`. */
  | { readonly do: "giveUp" };

/** How well one run is heard by its caller. Instants are the caller's own clock. */
export interface Standing {
  /** When the run was last heard of. */
  readonly silentSince: Instant;
  /** When the present stretch of tries began, and how many of them heard nothing. */
  readonly stretchSince: Instant;
  readonly tries: number;
  /** Standing failures since the run was last heard of. */
  readonly failures: number;
  readonly step: StandingStep;
}

export type StandingFact =
  /** The output was cut. `heard`: it had told something new, or had been alive, before. */
  | { readonly kind: "cut"; readonly heard: boolean }
  | { readonly kind: "attached" }
  /** The attach's own wake wait is spent. */
  | { readonly kind: "unattached" }
  /** The pause is over. */
  | { readonly kind: "woke" };

/** A run that is heard. */
export const standingOf = (now: Instant): Standing => ({
  silentSince: now,
  stretchSince: now,
  tries: 0,
  failures: 0,
  step: { do: "follow" },
});

/** One more standing failure: a new stretch begins with an attach, unless that was the last one. */
function failed(state: Standing, now: Instant): Standing {
  const failures = state.failures + 1;
  const step: StandingStep = failures > LIMIT.tries ? { do: "giveUp" } : { do: "attach" };
  return { ...state, stretchSince: now, tries: 0, failures, step };
}

/** The first try after a word is made at once; later ones leave the fleet some time to come back. */
function afterSilence(state: Standing, now: Instant): Standing {
  const tries = state.tries + 1;
  if (tries >= LIMIT.tries && now - state.stretchSince >= CLOCK.standingMs) return failed(state, now);
  const step: StandingStep = tries === 1 ? { do: "attach" } : { do: "pause", at: now + CLOCK.wakePollMs };
  return { ...state, tries, step };
}

/** What to do next about a run that may not be heard (protocol.md, "Reconcile, report, hold"). A fact that answers another step changes nothing. */
export function nextStanding(state: Standing, fact: StandingFact, now: Instant): Standing {
  switch (fact.kind) {
    case "cut":
      if (state.step.do !== "follow") return state;
      return fact.heard ? { ...standingOf(now), step: { do: "attach" } } : afterSilence(state, now);
    case "attached":
      return state.step.do === "attach" ? { ...state, step: { do: "follow" } } : state;
    case "unattached":
      return state.step.do === "attach" ? failed(state, now) : state;
    case "woke":
      return state.step.do === "pause" ? { ...state, step: { do: "attach" } } : state;
  }
}

/** What made the harness give up on a process: its container was replaced, or nothing was heard of it for too long. */
export type ReplacedBy = "container" | "transport";

/** The tag of a process that is found gone: a standing failure that came first is what it is gone by. */
export function replacedBy(state: Standing): ReplacedBy {
  return state.failures > 0 ? "transport" : "container";
}
