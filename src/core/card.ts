// The one message that a person sees for an ask, as an event, and the one function that says it in words: every surface
// (terminal, page, chat, log) renders this and composes nothing of its own.

import type { Verdict } from "./ask.ts";
import { formatDuration, hourMinuteOf, minutesLeft, SECOND, type Instant, type Ms } from "./time.ts";
import { waitedWords, waitWords } from "./waitWords.ts";

export const CARD_STATES = ["queued", "attaching", "waiting", "running", "stopping", "ended"] as const;
export type CardState = (typeof CARD_STATES)[number];

/** What a wait is for. `deploy` and `drain` name a closed door, `resident` a container that is not there yet. */
export const CARD_CAUSES = ["deploy", "drain", "thread", "queue", "resident"] as const;
export type CardCause = (typeof CARD_CAUSES)[number];

/** The run that a thread waits for, and the end of its lease. */
export interface ThreadHolder {
  readonly id: string;
  readonly leaseUntil: Instant;
}

/** One state of one ask (protocol.md: `{state, since, bound, cause, position?, quietBy?}`). */
export interface CardEvent {
  readonly id: string;
  readonly resource: string;
  readonly threadKey: string;
  readonly state: CardState;
  readonly since: Instant;
  /** When this state ends at the latest; null where nobody can say. */
  readonly bound: Instant | null;
  readonly cause: CardCause | null;
  readonly position: number | null;
  /** When everything in flight is over at the latest, where that ends the wait. */
  readonly quietBy: Instant | null;
  readonly askedAt: Instant;
  /** From the ask to the workspace; null before there is one. */
  readonly waitedMs: Ms | null;
  /** What kept it all that time, where that was no resident and no door. */
  readonly waitedBehind?: "thread" | "queue" | undefined;
  /** Which run its thread waits for, where that is known. */
  readonly holder?: ThreadHolder | undefined;
  /** Who closed, and why, where somebody did. */
  readonly by: string | null;
  readonly reason: string | null;
  readonly verdict: Verdict | null;
}

/** When a closed door is expected to open: with the last run in flight where that is known, else at its end. */
function expected({ quietBy, bound }: CardEvent): Instant | null {
  if (bound === null) return quietBy;
  return quietBy === null ? bound : Math.min(bound, quietBy);
}

const placeWords = (position: number | null): string => (position === null ? "" : ` · place ${position}`);

function waitingWords(event: CardEvent, now: Instant): string {
  const { cause, holder } = event;
  if (cause === null) return "waiting";
  if (cause === "thread" && holder !== undefined)
    return `waiting for run ${holder.id} of this thread to end · its lease ends ${hourMinuteOf(holder.leaseUntil)}`;
  // Who waits behind others waits for their ends, which nobody knows.
  const isBehind = cause === "thread" || cause === "queue";
  return waitWords(cause, isBehind ? null : expected(event), now);
}

/** The answer that an ask gets at once: of one that a deploy holds back `deploy pending, 12 minutes`, with its place. */
export function answerWords(event: CardEvent, now: Instant): string {
  const at = expected(event);
  if (event.state !== "queued" || event.cause !== "deploy" || at === null) return cardWords(event, now);
  const minutes = minutesLeft(at, now);
  return `deploy pending, ${minutes} minute${minutes === 1 ? "" : "s"}${placeWords(event.position)}`;
}

/** The opening line of a run that waited, counted from the ask; none for one that hardly did. */
export function openingWords(event: CardEvent): string | null {
  if (event.waitedMs === null || event.waitedMs < SECOND) return null;
  return waitedWords(event.waitedMs, event.waitedBehind);
}

const ENDED = {
  finished: "finished",
  failed: "failed",
  stopped: "stopped",
  leaseSpent: "ended: its lease is spent",
  refused: "refused",
  notStarted: "did not start",
} as const;

function endedWords(verdict: Verdict): string {
  const exit = verdict.exit === null || verdict.exit === 0 ? "" : `, exit ${verdict.exit}`;
  const why = verdict.why === null ? "" : ` — ${verdict.why}`;
  if (verdict.ending !== "replaced") return `${ENDED[verdict.ending]}${exit}${why}`;
  const what = verdict.by === "transport" ? "its container could not be reached" : "its container was replaced";
  return `ended: ${what}${why}`;
}

/** The line of a card, in the words that every surface uses. */
export function cardWords(event: CardEvent, now: Instant): string {
  switch (event.state) {
    case "queued":
      return `${waitingWords(event, now)}${placeWords(event.position)}`;
    case "attaching":
      return "attaching the workspace";
    case "waiting":
      return waitingWords(event, now);
    case "running": {
      const lease = event.bound === null ? "" : ` · lease ends ${hourMinuteOf(event.bound)}`;
      const opening = openingWords(event);
      return `running for ${formatDuration(now - event.since)}${lease}${opening === null ? "" : ` · ${opening}`}`;
    }
    case "stopping":
      return "stopping";
    case "ended":
      return event.verdict === null ? "ended" : endedWords(event.verdict);
  }
}
