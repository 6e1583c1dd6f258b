// The queue's pump, as src/bot/queue.ts walks it: one look at the ledger, then per repository one dispatch after the other
// while its door is open and nobody stands at it, then word to whoever still waits.

import type { Entry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import type { Closed } from "#core/door.ts";
import { closedBy, passesChild } from "./doors.ts";
import { learned, moved, runOf, start, tell } from "./inHand.ts";
import { cellOf, isLive } from "./ledgerPart.ts";
import type { BotModel } from "./botModel.ts";
import { noted, notedOf, type Bot, type Look, type Seen } from "./parts.ts";
import type { Answer } from "./requests.ts";

/** The card of an ask that waits, as it is compared: by what it waits for. */
export function queuedCard(closed: Pick<Closed, "cause" | "drainId"> | null, behind: "thread" | "queue"): string {
  return closed === null ? `queued ${behind}` : `queued ${closed.cause} ${closed.drainId}`;
}

/** Whether the words of such a card say that it waits, and until when where somebody closed. */
function isSaid({ core }: BotModel, closed: Pick<Closed, "cause"> | null, behind: "thread" | "queue"): boolean {
  const event: CardEvent = {
    id: "",
    resource: "",
    threadKey: "",
    state: "queued",
    since: 0,
    bound: closed === null ? null : 1,
    cause: closed === null ? behind : closed.cause,
    position: 1,
    quietBy: null,
    askedAt: 0,
    waitedMs: null,
    by: null,
    reason: null,
    verdict: null,
  };
  const words = core.cardWords(event, 0);
  return words.startsWith("waiting for ") && words.endsWith("place 1") && (closed === null || words.includes(" min"));
}

/** Tells a queued ask what it waits for: once under a drain, and once where it is something else. */
export function tellQueued(
  model: BotModel,
  bot: Bot,
  entry: Pick<Seen, "id" | "toldOf">,
  wait: { readonly closed: Pick<Closed, "cause" | "drainId"> | null; readonly behind: "thread" | "queue" },
): Bot {
  const { id } = entry;
  const drainId = wait.closed?.drainId ?? null;
  const key = drainId ?? wait.behind;
  const last = notedOf(bot.last, id);
  const isKnown = model.core.isKnown(bot, entry, key, drainId);
  const next = { ...bot, told: noted(bot.told, id, key) };
  if (isKnown && (last === undefined || last === "queued")) return next;
  const card = isSaid(model, wait.closed, wait.behind) ? queuedCard(wait.closed, wait.behind) : "queued unsaid";
  return tell(next, id, card, drainId);
}

function tellLeft(model: BotModel, bot: Bot, look: Look, left: readonly Seen[]): Bot {
  return left.reduce((rest, entry) => {
    if (runOf(rest, entry.id) !== undefined || model.core.isTouched(rest, entry.id)) return rest;
    const closed = closedBy(model, rest, entry.cell);
    return tellQueued(model, rest, entry, { closed, behind: look.busy.includes(entry.thread) ? "thread" : "queue" });
  }, bot);
}

/** How far a look is with its first repository: who is let out of it, and whether there may be more. */
export interface Dispatched {
  readonly gone: readonly string[];
  readonly more: boolean;
}

const NOBODY: Dispatched = { gone: [], more: true };

/** Goes on with what a look has still before it, to its next question or its end. */
export function pumpOn(model: BotModel, bot: Bot, look: Look, { gone, more }: Dispatched): Bot {
  const [first] = look.queued;
  if (first === undefined) return { ...bot, pump: { at: "idle" } };
  const { cell } = first;
  const mine = look.queued.filter((entry) => entry.cell === cell);
  const waiting = mine.filter(({ id }) => !gone.includes(id));
  const coming = bot.runs.filter((run) => run.cell === cell && (run.at === "door" || run.at === "back"));
  const isHeld = look.held.includes(cell);
  if (more && waiting.length > 0 && bot.mode === "live" && !bot.letGo) {
    const open = closedBy(model, bot, cell) === null;
    const passes = passesChild(model, bot, cell);
    const hasRoom = !isHeld && coming.length === 0 && coming.length < LIMIT.provisioningSlots;
    if ((open && hasRoom) || ((open || passes) && waiting.some(({ child }) => child)))
      return { ...bot, pump: { at: "dispatch", cell, open, passesChild: passes, look, gone } };
  }
  const rest = { ...look, queued: look.queued.filter((entry) => entry.cell !== cell) };
  return pumpOn(model, tellLeft(model, bot, look, waiting), rest, NOBODY);
}

/**
 * What a look found is taken up: runs whose answer was lost, what was said to runs in hand, who is free of a silent bot. The
 * bot asks for each of these whole and judges that again, as it would a look that was answered then: here it is one step.
 */
function adopted(model: BotModel, bot: Bot, entries: readonly Entry[], number: number): Bot {
  const { core } = model;
  return entries.filter(isLive).reduce((rest, entry) => {
    const { id } = entry.ask;
    const run = runOf(rest, id);
    if (run !== undefined) return moved(rest, learned(model, run, entry));
    const isMine = entry.holder === number && entry.state !== "handedOff";
    const isOlder = core.isAwaiting(bot) || core.isTouched(rest, id) || core.isLeft(rest, entry);
    if (isMine && !isOlder) return start(model, rest, entry);
    const isFree = entry.holder < number && (entry.state === "handedOff" || entry.heldUntil <= 0);
    return isFree ? { ...rest, beat: true } : rest;
  }, bot);
}

/** Whether one that was let in by a bot which is gone may stand at the door still: whoever comes behind it waits for it. */
export function isHeldElsewhere(entries: readonly Entry[], cell: 0 | 1, number: number): boolean {
  return entries.some(
    (entry) => cellOf(entry.ask.resource) === cell && isLive(entry) && entry.holder < number && entry.reading === null,
  );
}

/** Who was told last that it waits, and has ended by a word whose answer was lost, is told so. */
function endsTold({ core }: BotModel, bot: Bot, over: readonly string[]): Bot {
  return over.reduce((rest, id) => (core.isUntold(rest, id) ? tell(rest, id, "ended", null) : rest), bot);
}

/** The ledger has answered what there is. */
export function looked(
  model: BotModel,
  bot: Bot,
  { entries, over }: Extract<Answer, { of: "entries" }>,
  number: number,
): Bot {
  const taken = endsTold(model, adopted(model, bot, entries, number), over);
  const waiting = entries.filter((entry) => !isLive(entry));
  const ids = waiting.map(({ ask }) => ask.id);
  const told = taken.told.filter(([id]) => ids.includes(id) || taken.touched.includes(id));
  const queued = waiting.map(({ ask: { id, resource, threadKey, parent }, toldOf }): Seen => ({
    id,
    cell: cellOf(resource),
    thread: threadKey,
    child: parent !== null,
    toldOf,
  }));
  const busy = entries.filter(isLive).map(({ ask }) => ask.threadKey);
  const held = ([0, 1] as const).filter((cell) => isHeldElsewhere(entries, cell, number));
  return pumpOn(model, { ...taken, told }, { queued, busy, held }, NOBODY);
}
