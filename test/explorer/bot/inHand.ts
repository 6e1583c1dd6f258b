// The runs that a bot has in hand, as src/bot/runs.ts and the dispatcher walk them: taken once, told what is said to them,
// dropped when they end, go back or are left.

import type { Entry } from "#core/ask.ts";
import { cellOf } from "./ledgerPart.ts";
import type { BotModel } from "./botModel.ts";
import { noted, put, type Bot, type Run } from "./parts.ts";

/** The boot of a run that has no workspace yet. */
export const NOWHERE = -1;

/** Something may have changed: the queue is looked at. */
export const poked = (bot: Bot): Bot => (bot.mode === "live" ? { ...bot, again: true } : bot);

/** A run of a bot that has it in hand. */
export const runOf = (bot: Bot, id: string): Run | undefined => bot.runs.find((run) => run.id === id);

/** Whoever of a repository's runs is past its door, of those that the ledger knows no process of, or was left as it is. */
export function passedIn({ runs, left }: Bot, cell: 0 | 1): readonly string[] {
  const past = runs.filter(
    (run) => run.cell === cell && run.at !== "door" && run.at !== "back" && run.reading === null,
  );
  return [...past.map(({ id }) => id), ...left];
}

const withTouched = (bot: Bot, id: string): Bot => ({ ...bot, touched: [...new Set([...bot.touched, id])].toSorted() });

/** A run further on its way. */
export const moved = (bot: Bot, run: Run): Bot => ({ ...bot, runs: put(bot.runs, run) });

/** It is in hand no more: ended, or back in the queue. */
export function dropped(bot: Bot, id: string): Bot {
  return poked(withTouched({ ...bot, runs: bot.runs.filter((run) => run.id !== id) }, id));
}

/** It is in hand no more, as somebody else's. */
export function leftAsIs(bot: Bot, id: string): Bot {
  const next = dropped(bot, id);
  return { ...next, left: [...new Set([...next.left, id])].toSorted() };
}

/** A word that is told without waiting for it. */
export function tell(bot: Bot, id: string, card: string, drainId: string | null): Bot {
  const state = card.startsWith("queued") ? "queued" : card === "attaching" ? "attaching" : null;
  return { ...bot, last: noted(bot.last, id, state), words: [...bot.words, { id, card, drainId }] };
}

/** Whether a run has a workspace in which something can be said to it. */
const isIn = ({ at }: Run): boolean => at === "begin" || at === "inbox" || at === "exec" || at === "work";

const steersOf = (run: Run): readonly number[] =>
  run.messages.filter(({ kind }) => kind === "steer").map(({ seq }) => seq);

/** The last message that its inbox should have. */
export const lastSteer = (run: Run): number => steersOf(run).at(-1) ?? 0;

/** What the file is written with. */
export const inboxOf = steersOf;

/** Tells what has reached the run, and writes on while the file lacks something; a process begins once what was said before it stands. */
export function deliverOn(run: Run): Run {
  if (run.delivery !== null) return run;
  if (run.reached > run.delivered) return { ...run, delivery: "tell" };
  if (run.stop || !isIn(run)) return run;
  if (lastSteer(run) > run.written) return { ...run, delivery: "write" };
  return run.at === "inbox" ? { ...run, at: "exec", standing: run.heard ? 0 : run.written } : run;
}

/** It is over: nothing more is written, and what has reached it is told before the rest becomes an ask. */
export const closing = (run: Run): Run => ({ ...run, delivery: run.delivery === "tell" ? "tell" : null });

/** A stop ends it wherever it is, but on its way back or in its end. */
function heeded(model: BotModel, run: Run): Run {
  const said = model.core.undelivered({ messages: run.messages, delivered: run.delivered });
  if (run.stop || !said.some(({ kind }) => kind === "stop")) return run;
  const ends = run.at === "door" || isIn(run);
  return { ...closing(run), stop: true, at: ends ? "verdict" : run.at };
}

/** Takes what an answer tells of a run's messages; answers come in any order, and messages are only added. */
export function learned(model: BotModel, run: Run, entry: Pick<Entry, "messages" | "delivered">): Run {
  const delivered = Math.max(run.delivered, entry.delivered);
  if (entry.messages.length <= run.messages.length) return { ...run, delivered };
  const next = heeded(model, { ...run, delivered, messages: entry.messages });
  return isIn(next) && next.at !== "begin" ? deliverOn(next) : next;
}

/** Takes a run in hand that the ledger says is this bot's; nothing when it is in hand, or nothing is taken any more. */
export function start(model: BotModel, bot: Bot, entry: Entry): Bot {
  const { id, resource, threadKey, parent } = entry.ask;
  if (bot.letGo || runOf(bot, id) !== undefined) return bot;
  const reading =
    entry.reading === null ? null : { n: Number(entry.reading.procId), boot: Number(entry.reading.bootId) };
  const run: Run = {
    id,
    cell: cellOf(resource),
    thread: threadKey,
    child: parent !== null,
    // Whoever takes over a run whose verdict stands only finishes it.
    at: entry.verdict === null ? "door" : "detach",
    tries: entry.tries,
    reading,
    heard: reading !== null,
    boot: NOWHERE,
    messages: entry.messages,
    delivered: entry.delivered,
    stop: false,
    moved: false,
    delivery: null,
    written: 0,
    standing: 0,
    reached: entry.delivered,
  };
  const taken = poked(withTouched(moved(bot, heeded(model, run)), id));
  return reading === null && run.at === "door" ? tell(taken, id, "attaching", null) : taken;
}

/** Asked to let go: what can be left where it stands is left, and the rest comes to the end of its question. */
export function letGo(bot: Bot): Bot {
  const runs = bot.runs.filter(
    ({ at }) => at === "back" || at === "begin" || at === "verdict" || at === "detach" || at === "seal",
  );
  return { ...bot, letGo: true, runs };
}
