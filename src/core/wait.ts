// A caller's wait at a closed door: one deadline however drain and wake alternate, and the stop wins at once.
// The same machine drives the CLI, the bot and the simulator; it names when to ask again and never how to sleep.

import { CLOCK } from "./budgets.ts";
import type { Instant, Ms } from "./time.ts";

/** What an answer to `attach` means for a wait. */
export type WaitAnswer =
  | { readonly kind: "admitted" }
  | { readonly kind: "draining"; readonly until: Instant; readonly quietBy: Instant | null }
  | { readonly kind: "transient" }
  | { readonly kind: "refused" };

export type WaitStep =
  | { readonly do: "attach" }
  /** Ask again at `at`, or as soon as the watch says that the door is open. */
  | { readonly do: "pause"; readonly at: Instant; readonly cause: "draining" | "transient" }
  | { readonly do: "admitted" }
  | { readonly do: "refused" }
  /** The budget is spent: `ResidentDrainingError` when the drain held the door, else the wake wait ran out. */
  | { readonly do: "spent"; readonly cause: "draining" | "transient" };

/** Where one caller's wait stands. Instants are the caller's own clock. */
export interface WaitState {
  readonly since: Instant;
  /** The end of the whole wait once a drain has been met, however drain and wake alternate. */
  readonly deadline: Instant;
  /** The lease's own end: before a drain is met a wake wait is bounded by it alone, since a registered run has no reserve left to keep. */
  readonly leaseUntil: Instant;
  readonly metDrain: boolean;
  readonly wakeSince: Instant | null;
  /** When the present stretch of drain began, so that its share can be told. */
  readonly drainSince: Instant | null;
  readonly drainedMs: Ms;
  readonly until: Instant | null;
  readonly quietBy: Instant | null;
  readonly step: WaitStep;
}

/** The budget of a wait: the lease's remainder, never negative, less the reserve; without a lease the no-lease wait. */
export function waitBudgetOf(remainingMs: Ms | null): Ms {
  return remainingMs === null ? CLOCK.noLeaseWaitMs : Math.max(0, Math.max(0, remainingMs) - CLOCK.reserveMs);
}

/** A wait that begins with its first attach. */
export function waitOf(remainingMs: Ms | null, now: Instant): WaitState {
  return {
    since: now,
    deadline: now + waitBudgetOf(remainingMs),
    leaseUntil: now + Math.max(0, remainingMs ?? CLOCK.noLeaseWaitMs),
    metDrain: false,
    wakeSince: null,
    drainSince: null,
    drainedMs: 0,
    until: null,
    quietBy: null,
    step: { do: "attach" },
  };
}

function settledDrain(state: WaitState, now: Instant): WaitState {
  if (state.drainSince === null) return state;
  return { ...state, drainSince: null, drainedMs: state.drainedMs + Math.max(0, now - state.drainSince) };
}

function pausing(state: WaitState, cause: "draining" | "transient", end: Instant, now: Instant): WaitState {
  const poll = cause === "draining" ? CLOCK.pollMs : CLOCK.wakePollMs;
  if (now >= end) return { ...settledDrain(state, now), step: { do: "spent", cause } };
  return { ...state, step: { do: "pause", at: Math.min(now + poll, end), cause } };
}

function afterDraining(state: WaitState, answer: Extract<WaitAnswer, { kind: "draining" }>, now: Instant): WaitState {
  const drainSince = state.drainSince ?? now;
  const next = { ...state, drainSince, metDrain: true, wakeSince: null, until: answer.until, quietBy: answer.quietBy };
  return pausing(next, "draining", state.deadline, now);
}

function afterTransient(state: WaitState, now: Instant): WaitState {
  const met = settledDrain(state, now);
  const wakeSince = state.wakeSince ?? now;
  const left = state.metDrain ? state.deadline : state.leaseUntil;
  return pausing({ ...met, wakeSince }, "transient", Math.min(wakeSince + CLOCK.wakeWaitMs, left), now);
}

/** What to do after an answer (protocol.md, "The caller's wait"). */
export function nextWait(state: WaitState, answer: WaitAnswer, now: Instant): WaitState {
  switch (answer.kind) {
    case "admitted":
      return { ...settledDrain(state, now), step: { do: "admitted" } };
    case "refused":
      return { ...settledDrain(state, now), step: { do: "refused" } };
    case "draining":
      return afterDraining(state, answer, now);
    case "transient":
      return afterTransient(state, now);
  }
}

/** The pause is over: ask again, or, at the deadline with the door still closed, the wait is spent. */
export function wakeWait(state: WaitState, now: Instant): WaitState {
  if (state.step.do !== "pause") return state;
  const spent = state.step.cause === "draining" && now >= state.deadline;
  return spent
    ? { ...settledDrain(state, now), step: { do: "spent", cause: "draining" } }
    : { ...state, step: { do: "attach" } };
}

/** What a binding carries of the wait: all of it, and the drain's share. */
export function waitedOf(state: WaitState, now: Instant): { readonly wokeAfterMs: Ms; readonly drainWaitMs: Ms } {
  const wokeAfterMs = Math.max(0, now - state.since);
  const open = state.drainSince === null ? 0 : Math.max(0, now - state.drainSince);
  return { wokeAfterMs, drainWaitMs: Math.min(wokeAfterMs, state.drainedMs + open) };
}
