// A card as lines of tidegate's own: the words of core/card.ts, and beside a closed door who closed it and when it opens by
// itself.

import { answerWords, cardWords, type CardEvent } from "#core/card.ts";
import type { Instant } from "#core/time.ts";
import type { AskAnswer } from "#wire/bot.ts";
import { plain, shortened } from "./plain.ts";
import { instantWords } from "./times.ts";

/** Who closed the door that a card waits at, why, and when it opens by itself; null where nobody did. */
export function doorWords({ by, reason, bound }: CardEvent, now: Instant): string | null {
  if (by === null) return null;
  const why = reason === null || reason === "" ? "" : `: ${shortened(reason, 120)}`;
  return `closed by ${shortened(by, 80)}${why}${bound === null ? "" : `, opens by itself ${instantWords(bound, now)}`}`;
}

/** A card's line. */
export function cardLine(card: CardEvent, now: Instant): string {
  return `run ${card.id}: ${plain(cardWords(card, now))}`;
}

/** The command that shows how a run goes on. */
export const watchCommand = (id: string): string => `npx tidegate runs watch ${id}`;

/** The command that ends a run. */
export const stopCommand = (id: string): string => `npx tidegate runs stop ${id}`;

/** What an ask is answered with at once. */
export function askedWords({ id, kind, card, now }: Pick<AskAnswer, "id" | "kind" | "card" | "now">): string {
  const says = plain(answerWords(card, now));
  switch (kind) {
    case "admitted":
      return `run ${id} is admitted: ${says}`;
    case "queued":
      return `run ${id} is queued: ${says}`;
    case "added":
      return `added to run ${id}, which waits: ${says}`;
    case "known":
      return `run ${id} was asked for before: ${says}`;
  }
}
