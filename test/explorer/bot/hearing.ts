// What an answer of the ledger does to the bot that asked, and what it does that there was none. What is asked for a run is
// asked until it is answered; whoever waits for an ask, a message or a look hears that there is no answer.

import { closedBy } from "./doors.ts";
import { deliverOn, dropped, learned, leftAsIs, moved, poked, runOf, start, tell } from "./inHand.ts";
import { looked, pumpOn, tellQueued } from "./pump.ts";
import { OVER } from "./lives.ts";
import type { BotModel } from "./botModel.ts";
import type { Bot, Run } from "./parts.ts";
import type { Answer, Request, Who } from "./requests.ts";

function heardAsk(model: BotModel, bot: Bot, id: string, answer: Answer): Bot {
  const asking = bot.asks.find((one) => one.id === id);
  const left = { ...bot, asks: bot.asks.filter((one) => one.id !== id) };
  if (answer.of !== "asked" || answer.entry === null || asking === undefined) return poked(left);
  const { kind, entry, behind } = answer;
  if (kind === "admitted") return start(model, left, entry);
  if (kind !== "queued") return poked(left);
  const waits = { id: entry.ask.id, toldOf: entry.toldOf };
  // What the door was as the question left, and not what it has become meanwhile.
  return tellQueued(model, poked(left), waits, { closed: behind === "thread" ? null : asking.closedBy, behind });
}

function heardDispatch(model: BotModel, bot: Bot, answer: Answer): Bot {
  const { pump } = bot;
  if (pump.at !== "dispatch") return bot;
  const { look, gone } = pump;
  const entry = answer.of === "entry" ? answer.entry : null;
  const idle: Bot = { ...bot, pump: { at: "idle" } };
  if (entry === null) return pumpOn(model, idle, look, { gone, more: false });
  return pumpOn(model, start(model, idle, entry), look, { gone: [...gone, entry.ask.id], more: true });
}

function heardBack(model: BotModel, bot: Bot, id: string, answer: Answer): Bot {
  const run = runOf(bot, id);
  if (run === undefined) return bot;
  if (answer.of !== "returned") return leftAsIs(bot, id);
  const { kind, entry } = answer;
  if (kind === "ended") return dropped(tell(bot, id, "ended", null), id);
  const closed = closedBy(model, bot, run.cell);
  return dropped(tellQueued(model, bot, { id, toldOf: entry.toldOf }, { closed, behind: "queue" }), id);
}

function heardSay(model: BotModel, bot: Bot, key: string, answer: Answer): Bot {
  const left = { ...bot, says: bot.says.filter((one) => one !== key) };
  if (answer.of !== "said") return left;
  if (answer.entry === null) return poked(left);
  const { id } = answer.entry.ask;
  if (answer.kind === "ended") return poked(tell(left, id, "ended", null));
  const run = runOf(left, id);
  if (run !== undefined) return moved(left, learned(model, run, answer.entry));
  return answer.kind === "taken" ? poked(left) : left;
}

/** A process begins once the ledger knows of it; one that is left meanwhile begins nothing. */
function begun(bot: Bot, run: Run): Run | null {
  if (run.at !== "begin") return run;
  if (bot.letGo) return null;
  const reading = run.reading ?? { n: run.tries, boot: run.boot };
  return deliverOn({ ...run, at: "inbox", reading, tries: reading.n, written: 0, delivery: null });
}

function heardBegin(model: BotModel, bot: Bot, id: string, answer: Answer): Bot {
  const run = runOf(bot, id);
  if (run === undefined) return bot;
  if (answer.of !== "entry" || answer.entry === null) return leftAsIs(bot, id);
  const on = begun(bot, learned(model, run, answer.entry));
  return on === null ? leftAsIs(bot, id) : moved(bot, on);
}

/** Nothing of a run is given back before the ledger knows how it ended. */
function heardVerdict(bot: Bot, id: string, answer: Answer): Bot {
  const run = runOf(bot, id);
  if (run === undefined) return bot;
  return answer.of === "done" ? moved(bot, { ...run, at: "detach" }) : leftAsIs(bot, id);
}

function heardReached(bot: Bot, id: string, answer: Answer): Bot {
  const run = runOf(bot, id);
  if (run === undefined) return bot;
  if (answer.of !== "entry") return moved(bot, deliverOn({ ...run, delivery: null, reached: run.delivered }));
  return moved(bot, deliverOn({ ...run, delivery: null, delivered: Math.max(run.delivered, run.reached) }));
}

/** Ends that the last bot wrote and did not live to tell are told by the one that begins. */
const endsTold = (bot: Bot, answer: Answer): Bot =>
  answer.of === "entries" ? answer.over.reduce((rest, id) => tell(rest, id, "ended", null), bot) : bot;

/** Takes an answer. */
export function hear(model: BotModel, { bot, number }: Who, { kind, id }: Request, answer: Answer | "fenced"): Bot {
  if (answer === "fenced") return OVER;
  switch (kind) {
    case "ask":
      return heardAsk(model, bot, id, answer);
    case "look":
      return answer.of === "entries" ? looked(model, bot, answer, number) : bot;
    case "dispatch":
      return heardDispatch(model, bot, answer);
    case "return":
      return heardBack(model, bot, id, answer);
    case "begin":
      return heardBegin(model, bot, id, answer);
    case "reached":
      return heardReached(bot, id, answer);
    case "verdict":
      return heardVerdict(bot, id, answer);
    case "end":
      return answer.of === "done" ? dropped(tell(bot, id, "ended", null), id) : leftAsIs(bot, id);
    case "say":
      return heardSay(model, bot, id, answer);
    case "word":
      return { ...bot, words: bot.words.slice(1) };
    case "reclaim": {
      const entries = answer.of === "entries" ? answer.entries : [];
      const taken = entries.reduce((rest, entry) => start(model, rest, entry), { ...bot, beat: false });
      return poked(taken.mode === "begun" ? { ...endsTold(taken, answer), mode: "live" } : taken);
    }
    case "handOff":
      return OVER;
    case "attach":
      return bot;
  }
}

/** Nobody has answered. What is said until it is heard is said again; the rest is given up, and said so. */
export function unheard(bot: Bot, { kind, id }: Request): Bot {
  switch (kind) {
    case "ask":
      return { ...bot, asks: bot.asks.filter((one) => one.id !== id), owes: true };
    case "say":
      return { ...bot, says: bot.says.filter((one) => one !== id), owes: true };
    case "look":
    case "dispatch":
      return { ...bot, again: false, owes: true, pump: { at: "idle" } };
    default:
      return bot;
  }
}
