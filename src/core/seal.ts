// Sealing the fleet: every resident promises, in one storage step of its own, that it has no row and admits nobody.
// All or nothing; success is the beginning of the swap and is judged, with the drain's liveness, in one registry step.

import { CLOCK, LIMIT } from "./budgets.ts";
import { liveDrain, liveDrains, withDrain, type Build, type Drain, type DrainBook } from "./drain.ts";
import type { Instant } from "./time.ts";

export type SealBegun =
  | { readonly kind: "asking"; readonly book: DrainBook; readonly attempt: number; readonly until: Instant }
  | { readonly kind: "sealed"; readonly drain: Drain }
  | { readonly kind: "over" };

const liveOf = (book: DrainBook, id: string, now: Instant): Drain | undefined =>
  book.drains.map((stored) => liveDrain(stored, now)).find((drain) => drain?.id === id);

/**
 * One registry step: mints an attempt for a deploy's live drain. A swap that has begun answers as it did, with the
 * same bound. A person's drain seals nothing: it would replace the promises that a deploy's swap rests on.
 */
export function beginSeal(book: DrainBook, id: string, now: Instant): SealBegun {
  const drain = liveOf(book, id, now);
  if (drain?.phase === "swapping") return { kind: "sealed", drain };
  if (drain?.phase !== "draining" || !drain.deploy) return { kind: "over" };
  const attempt = book.attempts + 1;
  const until = now + CLOCK.swapBoundMs;
  const asked = withDrain(book, { ...drain, sealing: { state: "asking", attempt, until } });
  return { kind: "asking", book: { ...asked, attempts: attempt }, attempt, until };
}

export type SealFinished =
  | { readonly kind: "sealed"; readonly book: DrainBook; readonly drain: Drain }
  | { readonly kind: "over" }
  /** Something was admitted, or a newer attempt began, while the residents were being asked. */
  | { readonly kind: "void" };

/**
 * One registry step, after every resident has promised: judges the drain's liveness and the attempt, and begins the
 * swap. `phaseUntil` is the very end that the residents were given, and the record outlives swap and cycle bounds.
 */
export function finishSeal(book: DrainBook, id: string, attempt: number, now: Instant): SealFinished {
  const drain = liveOf(book, id, now);
  if (drain === undefined) return { kind: "over" };
  const { sealing } = drain;
  if (sealing.attempt !== attempt || sealing.state !== "asking" || now >= sealing.until) return { kind: "void" };
  const sealed: Drain = {
    ...drain,
    phase: "swapping",
    phaseSince: now,
    phaseUntil: sealing.until,
    until: Math.max(drain.until, now + CLOCK.swapBoundMs + CLOCK.cycleBoundMs),
    sealing: { ...sealing, state: "sealed" },
  };
  return { kind: "sealed", book: withDrain(book, sealed), drain: sealed };
}

export type HandoffBegun =
  | { readonly kind: "sealed"; readonly book: DrainBook; readonly drain: Drain }
  | { readonly kind: "over" }
  /** The release changes the image: its containers restart, so what runs in them cannot be handed over. */
  | { readonly kind: "imageChanges"; readonly from: string; readonly to: string };

/**
 * One registry step: begins the swap of a release that only changes the Worker, over runs that live on in their
 * containers. Nobody promises anything; the phase itself refuses every attach but a registered run's until it ends.
 */
export function beginHandoff(book: DrainBook, id: string, served: Build, now: Instant): HandoffBegun {
  const drain = liveOf(book, id, now);
  if (drain?.phase === "swapping") return { kind: "sealed", book, drain };
  if (drain?.phase !== "draining" || !drain.deploy || drain.build === null) return { kind: "over" };
  if (drain.build.image !== served.image) return { kind: "imageChanges", from: served.image, to: drain.build.image };
  const phaseUntil = now + CLOCK.swapBoundMs;
  const swapping: Drain = {
    ...drain,
    phase: "swapping",
    phaseSince: now,
    phaseUntil,
    until: Math.max(drain.until, phaseUntil + CLOCK.cycleBoundMs),
  };
  return { kind: "sealed", book: withDrain(book, swapping), drain: swapping };
}

/** An attempt that was given up closes nothing: recorded in the step that begins to take the promises back. */
export function abandonSeal(book: DrainBook, id: string, attempt: number, now: Instant): DrainBook {
  const drain = liveOf(book, id, now);
  if (drain === undefined || drain.sealing.attempt !== attempt || drain.sealing.state === "sealed") return book;
  return withDrain(book, { ...drain, sealing: { ...drain.sealing, state: "none" } });
}

/** Whether residents may be onboarded, taken away or rebuilt: not while a seal is being asked for or a swap goes on. */
export function membershipFrozen(book: DrainBook, now: Instant): Drain | undefined {
  return liveDrains(book, now).find((drain) => drain.sealing.state === "asking" || drain.phase === "swapping");
}

/** What one resident answered. */
export type SealWord =
  | { readonly kind: "sealed" }
  | { readonly kind: "busy"; readonly runIds: readonly string[] }
  | { readonly kind: "stale" }
  | { readonly kind: "unreadable" };

export interface SealReply {
  readonly resource: string;
  readonly word: SealWord;
}

export type SealResult =
  | { readonly kind: "sealed"; readonly drain: Drain }
  | { readonly kind: "busy"; readonly residents: readonly SealReply[] }
  | { readonly kind: "over" };

export type SealEffect =
  /** One registry step: `beginSeal`. */
  | { readonly do: "begin" }
  | { readonly do: "ask"; readonly resources: readonly string[]; readonly attempt: number; readonly until: Instant }
  /** One registry step: `finishSeal`. */
  | { readonly do: "finish"; readonly attempt: number }
  /** One registry step, `abandonSeal`, then tell each of these residents; a lost word costs nothing. */
  | {
      readonly do: "unseal";
      readonly resources: readonly string[];
      readonly attempt: number;
      readonly result: SealResult;
    }
  | { readonly do: "answer"; readonly result: SealResult };

/** Where one `POST /seal` stands. Residents that a person left out are not asked. */
export interface SealState {
  readonly id: string;
  readonly attempt: number;
  readonly until: Instant;
  readonly waiting: readonly string[];
  readonly promised: readonly string[];
  readonly effect: SealEffect;
}

export type SealFact =
  | { readonly kind: "begun"; readonly begun: SealBegun; readonly residents: readonly string[] }
  | { readonly kind: "asked"; readonly replies: readonly SealReply[] }
  | { readonly kind: "finished"; readonly finished: SealFinished }
  | { readonly kind: "unsealed" };

/** A new request to seal the fleet for this drain. */
export const sealOf = (id: string): SealState => ({
  id,
  attempt: 0,
  until: 0,
  waiting: [],
  promised: [],
  effect: { do: "begin" },
});

function askNext(state: SealState): SealState {
  const { attempt, until } = state;
  const resources = state.waiting.slice(0, LIMIT.fanOut);
  return resources.length === 0
    ? { ...state, effect: { do: "finish", attempt } }
    : { ...state, effect: { do: "ask", resources, attempt, until } };
}

function giveUp(state: SealState, result: SealResult, asked: readonly string[]): SealState {
  const resources = [...state.promised, ...asked];
  return resources.length === 0
    ? { ...state, effect: { do: "answer", result } }
    : { ...state, effect: { do: "unseal", resources, attempt: state.attempt, result } };
}

function afterBegin(state: SealState, begun: SealBegun, residents: readonly string[]): SealState {
  if (begun.kind !== "asking") return { ...state, effect: { do: "answer", result: begun } };
  return askNext({ ...state, attempt: begun.attempt, until: begun.until, waiting: residents });
}

function afterAsk(state: SealState, replies: readonly SealReply[]): SealState {
  const refused = replies.filter((reply) => reply.word.kind !== "sealed");
  const asked = replies.map((reply) => reply.resource);
  if (refused.length > 0) return giveUp(state, { kind: "busy", residents: refused }, asked);
  const waiting = state.waiting.filter((resource) => !asked.includes(resource));
  return askNext({ ...state, waiting, promised: [...state.promised, ...asked] });
}

function afterFinish(state: SealState, finished: SealFinished): SealState {
  if (finished.kind === "sealed") return { ...state, effect: { do: "answer", result: finished } };
  return giveUp(state, finished.kind === "over" ? { kind: "over" } : { kind: "busy", residents: [] }, []);
}

/** The next effect of a seal (protocol.md, "Quiet, seal, swap"): begin, ask every resident in bounded batches, finish; or give up and unseal. */
export function nextSeal(state: SealState, fact: SealFact): SealState {
  const { effect } = state;
  switch (effect.do) {
    case "begin":
      return fact.kind === "begun" ? afterBegin(state, fact.begun, fact.residents) : state;
    case "ask":
      return fact.kind === "asked" ? afterAsk(state, fact.replies) : state;
    case "finish":
      return fact.kind === "finished" ? afterFinish(state, fact.finished) : state;
    case "unseal":
      return fact.kind === "unsealed" ? { ...state, effect: { do: "answer", result: effect.result } } : state;
    case "answer":
      return state;
  }
}
