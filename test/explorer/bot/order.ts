// What the bot decides by what it remembers itself, as src/bot/queue.ts and src/bot/dispatcher/admission.ts have it in their
// classes: the explorer walks this mirror of it, one function a decision, so that a knock-out can take each out.

import type { Entry } from "#core/ask.ts";
import { notedOf, type Bot, type Seen } from "./parts.ts";

/** Whether an answer is under way that gives runs to this bot: it is taken in hand by that answer, and by no other. */
function isAwaiting({ asks, pending }: Bot): boolean {
  return asks.length > 0 || pending.some(({ to }) => to === "reclaim ");
}

/** Whether what became of a run here since the ledger was asked is newer than what the ledger has answered. */
function isTouched({ touched }: Bot, id: string): boolean {
  return touched.includes(id);
}

/** Whether who waits has been told this already: by this bot, or by an earlier one as long as this one has told nothing. */
function isKnown(bot: Bot, { id, toldOf }: Pick<Seen, "id" | "toldOf">, key: string, drainId: string | null): boolean {
  const said = notedOf(bot.told, id);
  return said === key || (said === undefined && drainId !== null && toldOf === drainId);
}

/** Whether a run that the ledger says is this bot's, and is not in hand, was left here as somebody else's. */
function isLeft({ left }: Bot, { ask }: Entry): boolean {
  return left.includes(ask.id);
}

/** Whether this bot knew that one which is over waits, and has told nothing since: the answer that said so was lost. */
function isUntold({ last, told, runs }: Bot, id: string): boolean {
  const waited = notedOf(last, id) === "queued" || notedOf(told, id) !== undefined;
  return waited && !runs.some((run) => run.id === id);
}

/** Whether what was written has reached the run: somebody was alive to read it once it stood. */
function isRead(live: number): boolean {
  return live > 0;
}

/** The bot's own order. */
export const ORDER = { isAwaiting, isTouched, isKnown, isLeft, isUntold, isRead };
