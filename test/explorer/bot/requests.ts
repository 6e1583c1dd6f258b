// What a bot asks of the ledger, each request one step there as src/ledger carries it out: behind the fence, with what the
// history knows, and the explorer's judgement of what was let out or ended.

import type { Entry, Verdict } from "#core/ask.ts";
import { entryOf, type LedgerStore } from "#core/ledger.ts";
import { broken, RESOURCES } from "../world.ts";
import { keyOf, type RequestKind } from "./botWorld.ts";
import {
  askOf,
  botStep,
  doorsOf,
  hasEnded,
  judgedAdmission,
  untoldIn,
  withEnded,
  type Asked,
  type Made,
} from "./ledgerPart.ts";
import { passedIn } from "./inHand.ts";
import type { BotModel } from "./botModel.ts";
import { noted, type Bot, type LedgerPart, type Run, type Word } from "./parts.ts";
import { judgedEnd } from "./said.ts";

/** A request: of which kind, and about what. */
export interface Request {
  readonly kind: RequestKind;
  readonly id: string;
}

/** The answers by what is asked. An entry of null: there is none, or it has ended. `unheld`: it is not this bot's to say. */
export type Answer =
  /** `over`: whoever has ended and was not told so: of a look by this bot, of a reclaim by whichever. */
  | { readonly of: "entries"; readonly entries: readonly Entry[]; readonly over: readonly string[] }
  | { readonly of: "entry"; readonly entry: Entry | null }
  | {
      readonly of: "asked";
      readonly kind: "admitted" | "queued" | "added" | "known";
      readonly entry: Entry | null;
      readonly behind: "thread" | "queue";
    }
  | { readonly of: "returned"; readonly kind: "queued" | "ended"; readonly entry: Entry }
  | {
      readonly of: "said";
      readonly kind: "taken" | "known" | "added" | "ended" | "over" | "full";
      readonly entry: Entry | null;
    }
  | { readonly of: "done" }
  | { readonly of: "unheld" };

/** Who asks: its number, and what it has. */
export interface Who {
  readonly bot: Bot;
  readonly number: number;
}

const request = (kind: RequestKind, id = ""): Request => ({ kind, id });

function requestOfRun({ id, at, delivery }: Run): readonly Request[] {
  const told = delivery === "tell" ? [request("reached", id)] : [];
  if (at === "back") return [request("return", id)];
  if (at === "begin") return [request("begin", id), ...told];
  if (at === "verdict") return delivery === null ? [request("verdict", id)] : told;
  return at === "seal" && delivery === null ? [request("end", id)] : told;
}

/** Whether a bot has left all that it had, so that the next one may have it. */
const isDone = ({ mode, letGo, pump, asks, runs, words }: Bot): boolean =>
  mode === "ending" && letGo && pump.at !== "dispatch" && asks.length === 0 && runs.length === 0 && words.length === 0;

/** Everything that a bot would ask now, but for what it waits to be answered on. */
export function requestsOf(bot: Bot): readonly Request[] {
  const looks = bot.pump.at !== "dispatch" && bot.again && bot.mode === "live";
  const all = [
    ...bot.asks.map(({ id }) => request("ask", id)),
    ...bot.says.map((key) => request("say", key)),
    ...bot.runs.flatMap(requestOfRun),
    ...(looks ? [request("look")] : []),
    ...(bot.pump.at === "dispatch" ? [request("dispatch")] : []),
    ...(bot.beat ? [request("reclaim")] : []),
    ...(bot.words.length > 0 ? [request("word")] : []),
    ...(isDone(bot) ? [request("handOff")] : []),
  ];
  return all.filter(({ kind, id }) => !bot.pending.some(({ to }) => to === `${kind} ${id}`));
}

const found = (entry: Entry | null): Answer => ({ of: "entry", entry });
const DONE: Answer = { of: "done" };
const UNHELD: Answer = { of: "unheld" };

function ask(model: BotModel, part: LedgerPart, { bot, number }: Who, id: string): Made<Answer> {
  const spec = model.world.askers.find((one) => one.id === keyOf(id));
  const asking = bot.asks.find((one) => one.id === id);
  if (spec === undefined || asking === undefined) throw new RangeError(id);
  const known = (entry: Entry | null): Answer => ({ of: "asked", kind: "known", entry, behind: "queue" });
  if (part.ended.some((one) => one.id === id || one.keys.includes(keyOf(id)))) return { part, answer: known(null) };
  const { store, found: came } = model.core.askStep(part.store, askOf(spec, id), doorsOf(asking, number), 0);
  switch (came.kind) {
    case "fenced":
      return { part, answer: UNHELD };
    case "full":
      throw new RangeError(`${id} finds no room`);
    case "known":
      return { part, answer: known(entryOf(part.store, came.id) ?? null) };
    case "added":
      return { part: { ...part, store }, answer: { of: "asked", kind: "added", entry: came.entry, behind: "queue" } };
    case "queued": {
      const behind = came.behind === "thread" ? "thread" : "queue";
      const after = { ...part, store, arrived: [...part.arrived, id] };
      return { part: after, answer: { of: "asked", kind: "queued", entry: came.entry, behind } };
    }
    case "admitted": {
      const after = { ...part, store, arrived: [...part.arrived, id], out: [...part.out, id] };
      const answer: Answer = { of: "asked", kind: "admitted", entry: came.entry, behind: "queue" };
      return { part: after, answer, broken: judgedAdmission(part, came.entry, asking) };
    }
  }
}

function dispatch(model: BotModel, part: LedgerPart, { bot, number }: Who): Made<Answer> {
  if (bot.pump.at !== "dispatch") throw new RangeError("nothing is dispatched");
  const { cell, open, passesChild } = bot.pump;
  const doors = doorsOf({ open, passesChild, passed: passedIn(bot, cell) }, number);
  const { store, found: next } = model.core.dispatchStep(part.store, RESOURCES[cell], doors, 0);
  if (next === null) return { part: { ...part, store }, answer: found(null) };
  const after = { ...part, store, out: [...part.out, next.ask.id] };
  return { part: after, answer: found(next), broken: judgedAdmission(part, next, { open, passesChild }) };
}

/** As the ledger answers it: what was sent back before is answered again. */
function giveBack(model: BotModel, part: LedgerPart, number: number, id: string): Made<Answer> {
  const { store, found: back } = model.core.returnStep(part.store, id, number, null);
  const entry = entryOf(store, id);
  if (back === null)
    return { part, answer: entry?.state === "queued" ? { of: "returned", kind: "queued", entry } : UNHELD };
  const answer: Answer = { of: "returned", ...back };
  if (back.kind === "ended") return { part: withEnded({ ...part, store }, back.entry), answer };
  return { part: { ...part, store, out: part.out.filter((one) => one !== id) }, answer };
}

function begin(model: BotModel, part: LedgerPart, { bot, number }: Who, id: string): Made<Answer> {
  const run = bot.runs.find((one) => one.id === id);
  const read = run?.reading ?? (run === undefined ? null : { n: run.tries, boot: run.boot });
  if (read === null) throw new RangeError(id);
  const reading = { procId: String(read.n), bootId: String(read.boot), out: 0, err: 0 };
  const said = { tries: read.n, reading, leaseUntil: 0 };
  const { store, found: entry } = model.core.progressStep(part.store, id, number, said);
  return { part: { ...part, store }, answer: entry === null ? UNHELD : found(entry) };
}

function reached(model: BotModel, part: LedgerPart, { bot, number }: Who, id: string): Made<Answer> {
  const delivered = bot.runs.find((one) => one.id === id)?.reached ?? 0;
  const { store, found: entry } = model.core.progressStep(part.store, id, number, { delivered });
  return { part: { ...part, store }, answer: entry === null ? UNHELD : found(entry) };
}

const ENDED: Verdict = { ending: "finished", exit: 0, by: null, why: null };

function verdict(model: BotModel, part: LedgerPart, number: number, id: string): Made<Answer> {
  const { store, found: entry } = model.core.progressStep(part.store, id, number, { verdict: ENDED });
  return { part: { ...part, store }, answer: entry === null ? UNHELD : DONE };
}

/** A run that ends: its id, and everything that its inbox has ever shown. */
interface Ending {
  readonly id: string;
  readonly inbox: readonly number[];
}

function end(model: BotModel, part: LedgerPart, number: number, { id, inbox }: Ending): Made<Answer> {
  if (hasEnded(part, id)) return { part, answer: DONE };
  const { store, found: over } = model.core.endRunStep(part.store, id, { generation: number, leftId: `${id}+` }, 0);
  if (over === null) return { part, answer: UNHELD };
  const after = withEnded({ ...part, store }, over.entry);
  const arrived = over.left === null ? after.arrived : [...after.arrived, over.left.ask.id];
  return { part: { ...after, arrived }, answer: DONE, broken: judgedEnd(over.entry, inbox, over.left) };
}

function say(model: BotModel, part: LedgerPart, key: string): Made<Answer> {
  const saying = model.world.sayings.find((one) => one.key === key);
  if (saying === undefined) throw new RangeError(key);
  const { to, kind } = saying;
  if (entryOf(part.store, to) === undefined) {
    const ended = part.ended.find((one) => one.id === to);
    const known = ended?.keys.includes(key) === true;
    return { part, answer: { of: "said", kind: known ? "known" : "over", entry: null } };
  }
  const said = { key, kind, text: kind === "stop" ? "" : key };
  const { store, found: came } = model.core.messageStep(part.store, to, said, 0);
  const entry = "entry" in came ? came.entry : null;
  const after = came.kind === "ended" ? withEnded({ ...part, store }, came.entry) : { ...part, store };
  return { part: after, answer: { of: "said", kind: came.kind, entry } };
}

function word(model: BotModel, part: LedgerPart, told: Word | undefined): Made<Answer> {
  if (told === undefined || (entryOf(part.store, told.id) === undefined && !hasEnded(part, told.id)))
    return { part, answer: DONE };
  const store = told.drainId === null ? part.store : model.core.toldStep(part.store, told.id, told.drainId);
  return { part: { ...part, store, cards: noted(part.cards, told.id, told.card) }, answer: DONE };
}

/** A run is taken from a bot only when the ledger has not heard of that one for a whole lease, or it was left. */
function reclaim(model: BotModel, part: LedgerPart, number: number, silent: (holder: number) => boolean): Made<Answer> {
  const { store, found: entries } = model.core.reclaimStep(part.store, number, 0);
  const before = entries.map(({ ask: { id } }) => entryOf(part.store, id));
  const early = before.find((entry) => entry !== undefined && entry.state !== "handedOff" && !silent(entry.holder));
  const wrong =
    early === undefined ? null : broken("held", `bot ${number} takes ${early.ask.id}, which bot ${early.holder} holds`);
  return { part: { ...part, store }, answer: { of: "entries", entries, over: untoldIn(part) }, broken: wrong };
}

/** What else a request is judged by: the inbox of its run, and which bots have been silent for a ledger lease. */
export interface Beside {
  readonly inboxOf: (id: string) => readonly number[];
  readonly silent: (holder: number) => boolean;
}

/** Carries one request out. */
export function perform(
  model: BotModel,
  part: LedgerPart,
  who: Who,
  { kind, id, inboxOf, silent }: Request & Beside,
): Asked<Answer> {
  const { number, bot } = who;
  if (kind === "look") {
    const over = part.ended.flatMap((one) => (model.core.isUntold(bot, one.id) ? [one.id] : []));
    return { part, answer: { of: "entries", entries: part.store.entries, over }, broken: null };
  }
  return botStep(model, part, number, (store: LedgerStore): Made<Answer> => {
    switch (kind) {
      case "ask":
        return ask(model, part, who, id);
      case "dispatch":
        return dispatch(model, part, who);
      case "return":
        return giveBack(model, part, number, id);
      case "begin":
        return begin(model, part, who, id);
      case "reached":
        return reached(model, part, who, id);
      case "verdict":
        return verdict(model, part, number, id);
      case "end":
        return end(model, part, number, { id, inbox: inboxOf(id) });
      case "say":
        return say(model, part, id);
      case "word":
        return word(model, part, bot.words[0]);
      case "reclaim":
        return reclaim(model, part, number, silent);
      case "handOff":
        return { part: { ...part, store: model.core.handOffStep(store, number).store }, answer: DONE };
      case "attach":
        throw new RangeError("the ledger attaches nobody");
    }
  });
}
