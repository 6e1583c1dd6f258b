// A bot's questions to the ledger as steps: carried out and heard at once, or with the answer on its way, or with it lost;
// while the ledger is away only those give up that somebody waits for.

import { CLOCK } from "#core/budgets.ts";
import { hear, unheard } from "./hearing.ts";
import type { BotModel } from "./botModel.ts";
import { BOTS, FLEET, LEDGER, type Bot, type FleetPart, type LedgerPart, type Step } from "./parts.ts";
import { perform, requestsOf, type Answer, type Beside, type Request } from "./requests.ts";
import type { Broken } from "../world.ts";

/** Where a bot's questions are asked from: its place, and the numbers of the parts that they read. */
export interface From {
  readonly n: number;
  readonly bot: number;
  readonly ledger: number;
  readonly fleet: number;
  readonly silent: readonly boolean[];
}

interface After {
  readonly part: LedgerPart;
  readonly bot: Bot;
  readonly broken: Broken | null;
}

/** What was asked, and how it went, in a step's words. */
function wordsOf({ kind, id }: Request, answer: Answer | "fenced"): string {
  const what = id === "" ? kind : `${kind} ${id}`;
  if (answer === "fenced") return `${what}: fenced`;
  switch (answer.of) {
    case "entries":
      return kind === "look" ? what : `${what}: ${answer.entries.map(({ ask }) => ask.id).join(" and ") || "nobody"}`;
    case "entry":
      return kind === "dispatch" ? `${what}: ${answer.entry?.ask.id ?? "nobody"}` : what;
    case "asked":
    case "returned":
    case "said":
      return `${what}: ${answer.kind}`;
    case "unheld":
      return `${what}: not held`;
    case "done":
      return what;
  }
}

/** What is told without waiting is told at once where answers do not travel. */
function flushed(model: BotModel, after: After, number: number, beside: Beside): After {
  if (model.world.allowed.slow || !after.part.up || after.bot.words.length === 0) return after;
  const request: Request = { kind: "word", id: "" };
  const { part, answer, broken } = perform(model, after.part, { bot: after.bot, number }, { ...request, ...beside });
  const bot = hear(model, { bot: after.bot, number }, request, answer);
  return flushed(model, { part, bot, broken: after.broken ?? broken }, number, beside);
}

function besideOf(model: BotModel, { fleet, silent }: From): Beside {
  const runs: FleetPart["runs"] = model.fleets.at(fleet).runs;
  return {
    inboxOf: (id) => runs.find((one) => one.id === id)?.shown ?? [],
    silent: (holder) => silent[holder - 1] ?? true,
  };
}

/** What was touched matters to a look that is under way, and the next one forgets it. */
const settledBot = (bot: Bot): Bot =>
  bot.pump.at === "dispatch" || bot.pending.some(({ to }) => to.startsWith("look")) ? bot : { ...bot, touched: [] };

function numbered(model: BotModel, { n }: From, label: string, { part, bot, broken }: After): Step {
  const place = BOTS[n as 0 | 1 | 2];
  const changes = [LEDGER, model.ledgers.number(part), place, model.bots.number(settledBot(bot))];
  return { label: `bot ${n + 1} ${label}`, changes, broken };
}

/** A question leaves: what a look finds may be older from now on than what becomes of a run here. */
const asking = (bot: Bot, { kind }: Request): Bot => (kind === "look" ? { ...bot, again: false, touched: [] } : bot);

function carriedOut(model: BotModel, from: From, bot: Bot, request: Request): readonly Step[] {
  const number = from.n + 1;
  const { lost, slow } = model.world.allowed;
  const beside = besideOf(model, from);
  const before = asking(bot, request);
  const { part, answer, broken } = perform(
    model,
    model.ledgers.at(from.ledger),
    { bot: before, number },
    { ...request, ...beside },
  );
  const words = wordsOf(request, answer);
  const label = request.kind === "reclaim" && bot.mode === "live" ? `beats and ${words}` : words;
  const to = `${request.kind} ${request.id}`;
  const pending = [...before.pending, { to, answer }].toSorted((a, b) => (a.to < b.to ? -1 : 1));
  const heard = slow ? { ...before, pending } : hear(model, { bot: before, number }, request, answer);
  const after = flushed(model, { part, bot: heard, broken }, number, beside);
  const steps = [numbered(model, from, slow ? `asks ${label}` : label, after)];
  if (!lost.includes(request.kind)) return steps;
  const gone = flushed(model, { part, bot: unheard(before, request), broken }, number, beside);
  return [...steps, numbered(model, from, `${label}, and its answer is lost`, gone)];
}

function heardLate(model: BotModel, from: From, bot: Bot): readonly Step[] {
  const number = from.n + 1;
  const part = model.ledgers.at(from.ledger);
  return bot.pending.map(({ to, answer }) => {
    const [kind, id = ""] = to.split(" ");
    const request = { kind, id } as Request;
    const left = { ...bot, pending: bot.pending.filter((one) => one.to !== to) };
    const heard = hear(model, { bot: left, number }, request, answer as Answer);
    const after = flushed(model, { part, bot: heard, broken: null }, number, besideOf(model, from));
    return numbered(model, from, `hears of ${to.trim()}`, after);
  });
}

/** A ledger that is away answers nobody: who waits for an ask, a message or a look is told so. */
function away(model: BotModel, from: From, bot: Bot): readonly Step[] {
  const part = model.ledgers.at(from.ledger);
  return requestsOf(bot)
    .filter(({ kind }) => kind === "ask" || kind === "say" || kind === "look" || kind === "dispatch")
    .map((request) => {
      const label = `${request.kind} ${request.id}`.trim();
      return numbered(model, from, `${label}: the ledger is away`, { part, bot: unheard(bot, request), broken: null });
    });
}

function stepsOf(model: BotModel, from: From): readonly Step[] {
  const bot = model.bots.at(from.bot);
  if (bot.stalled || bot.mode === "absent" || bot.mode === "over") return [];
  const late = heardLate(model, from, bot);
  if (!model.ledgers.at(from.ledger).up) return [...late, ...away(model, from, bot)];
  return [...late, ...requestsOf(bot).flatMap((request) => carriedOut(model, from, bot, request))];
}

/** Whether what a bot asks is judged by what is in inboxes. */
const readsInboxes = (bot: Bot): boolean => bot.runs.some(({ at }) => at === "seal");

/** Every step of one bot with the ledger. */
export function askedSteps(model: BotModel, tuple: readonly number[], n: 0 | 1 | 2): readonly Step[] {
  const at = (place: number): number => tuple[place] as number;
  const bot = model.bots.at(at(BOTS[n]));
  const silent = BOTS.map((place) => {
    const { mode, silentMs } = model.bots.at(at(place));
    return mode === "over" || silentMs >= CLOCK.ledgerLeaseMs;
  });
  const from = { n, bot: at(BOTS[n]), ledger: at(LEDGER), fleet: at(FLEET), silent };
  const beside = `${bot.beat ? silent.join(",") : ""}|${readsInboxes(bot) ? from.fleet : ""}`;
  return model.steps.get(`asked|${n}|${from.bot}|${from.ledger}|${beside}`, () => stepsOf(model, from));
}
