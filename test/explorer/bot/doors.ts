// A bot's doors, as src/bot/doors.ts keeps them: its copy of a deploy's drain, what the watch told last, what a refused
// attach has taught. The shipped functions decide; the raw predicates here judge what they decide.

import { EMPTY_BOOK, type Drain, type DrainAsk, type DrainBook } from "#core/drain.ts";
import type { Closed, Met } from "#core/door.ts";
import type { Ms } from "#core/time.ts";
import { bookAfter, closesRaw, isDrain, liveRaw, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { broken, RESOURCES, type Broken } from "../world.ts";
import { poked } from "./inHand.ts";
import type { Bot, BotModel } from "./parts.ts";

const drainsOf = (book: Book): readonly Drain[] => liveRaw(book);

/** What the watch has told, empty where it has told nothing. */
export const fleetOf = ({ frame }: Bot): readonly Drain[] => (frame === null ? [] : drainsOf(frame));

/** What closes a repository's door, null while it is open. */
export function closedBy({ core }: BotModel, bot: Bot, cell: 0 | 1): Closed | null {
  const { copy, met } = bot;
  const facts = { copy: drainBookOf(copy), fleet: fleetOf(bot), met: met[cell], resource: RESOURCES[cell] };
  return core.doorOf(facts, 0);
}

/** The ids that close a door by their own words: of what the registry told, of the copy where it told nothing, of a refusal. */
export function closingRaw(bot: Bot, cell: 0 | 1): readonly string[] {
  const standing = fleetOf(bot);
  const told = standing.filter((drain) => closesRaw(drain, RESOURCES[cell])).map(({ id }) => id);
  const own = drainsOf(bot.copy).map(({ id }) => id);
  const open = standing.filter((drain) => !closesRaw(drain, RESOURCES[cell])).map(({ id }) => id);
  const met = bot.met[cell];
  const taught = met !== null && met.tryAt > 0 ? [met.closed.drainId] : [];
  // Of a drain that the registry tells too, its own record speaks: that one may hold another resident only.
  return [...told, ...own.filter((id) => !told.includes(id) && !open.includes(id)), ...taught];
}

/** What is wrong with what a door was taken for, as a question about it left. */
export function judgedDoor(bot: Bot, cell: 0 | 1, closed: Closed | null): Broken | null {
  const [by] = closingRaw(bot, cell);
  if (closed === null && by !== undefined)
    return broken("8", `the door of R${cell + 1} is taken for open, and ${by} closes it`);
  if (closed !== null && by === undefined)
    return broken("9", `the door of R${cell + 1} is taken for closed by ${closed.drainId}, and nothing closes it`);
  return null;
}

/** A copy after a step, and what is broken about coming to it. */
function withCopy(
  { world }: BotModel,
  bot: Bot,
  copy: DrainBook,
): { readonly bot: Bot; readonly broken: Broken | null } {
  const after = bookAfter(bot.copy, copy, 0);
  const { drains, attempts } = after.book;
  const isLive = new Set(liveRaw(after.book).map(({ id }) => id));
  // Nobody asks for an id again that is over, unless something of its deployer comes late.
  const kept = world.allowed.late ? after.book : { drains: drains.filter((one) => isLive.has(idOf(one))), tombstones: [], attempts, over: [] };
  return { bot: { ...bot, copy: kept, seen: bot.seen.filter((id) => isLive.has(id)) }, broken: after.broken };
}

const idOf = (drain: unknown): string => (isDrain(drain) ? drain.id : "");

/** Lets the copy fall where the registry says that its ids live no more. */
export function settled(model: BotModel, bot: Bot): Bot {
  if (bot.frame === null) return bot;
  const known = new Set(fleetOf(bot).map(({ id }) => id));
  const seen = [
    ...new Set([...bot.seen, ...drainsOf(bot.copy).flatMap(({ id }) => (known.has(id) ? [id] : []))]),
  ].toSorted();
  const copy = model.core.settleCopy(drainBookOf(bot.copy), new Set(seen), fleetOf(bot), 0);
  return withCopy(model, { ...bot, seen }, copy).bot;
}

/** `POST /drain` on the bot: its copy, created or renewed. */
export function drained(
  model: BotModel,
  bot: Bot,
  ask: DrainAsk,
): { readonly bot: Bot; readonly kind: string; readonly broken: Broken | null } {
  const answer = model.core.copyDrain(drainBookOf(bot.copy), ask, 0);
  if (answer.kind !== "created" && answer.kind !== "renewed") return { bot, kind: answer.kind, broken: null };
  const after = withCopy(model, bot, answer.book);
  return { bot: poked(settled(model, after.bot)), kind: answer.kind, broken: after.broken };
}

/** `POST /undrain` on the bot: the copy falls. */
export function lifted(model: BotModel, bot: Bot, id: string): { readonly bot: Bot; readonly kind: string } {
  const answer = model.core.copyLift(drainBookOf(bot.copy), { id, outcome: "none", force: true }, null, 0);
  const after = "book" in answer ? withCopy(model, bot, answer.book).bot : bot;
  return { bot: poked(after), kind: answer.kind };
}

/** The registry as a frame of the watch tells it. */
export function frameOf(registry: Book): Book {
  return bookAfter(NO_FRAME, { ...EMPTY_BOOK, drains: liveRaw(registry) }, 0).book;
}

const NO_FRAME: Book = { drains: [], tombstones: [], attempts: 0, over: [] };

/** The watch tells: what a refusal taught is older than that. */
export function told(model: BotModel, bot: Bot, frame: Book | null): Bot {
  const runs = bot.runs.map((run) => (run.at === "door" ? { ...run, moved: true } : run));
  if (frame === null) return poked({ ...bot, frame, runs });
  return poked(settled(model, { ...bot, frame, runs, met: [null, null] }));
}

/** A refused attach teaches, unless the registry has told something since it went out. */
export function taught({ core }: BotModel, bot: Bot, cell: 0 | 1, drain: Drain, moved: boolean): Bot {
  if (moved && bot.frame !== null) return poked(bot);
  const { closed, tryAt } = core.metOf(drain, drain.until, 0);
  const { cause, drainId, until, endsQuiet } = closed;
  const met: Met = { closed: { cause, drainId, by: "", reason: "", until, endsQuiet }, tryAt };
  return poked({ ...bot, met: cell === 0 ? [met, bot.met[1]] : [bot.met[0], met] });
}

/** When something of a bot's doors ends by itself. */
export function nextOpeningOf({ core }: BotModel, bot: Bot): Ms | null {
  const met = bot.met.filter((one) => one !== null);
  return core.nextOpening({ copy: drainBookOf(bot.copy), fleet: fleetOf(bot), met }, 0);
}

function metAfter(met: Met | null, by: Ms): Met | null {
  if (met === null || met.tryAt <= by) return null;
  return { closed: { ...met.closed, until: Math.max(0, met.closed.until - by) }, tryAt: met.tryAt - by };
}

/** The doors `by` ms later. */
export function doorsAfter(bot: Bot, by: Ms): Bot {
  const copy = bookAfter(bot.copy, drainBookOf(bot.copy), by).book;
  const frame = bot.frame === null ? null : bookAfter(NO_FRAME, drainBookOf(bot.frame), by).book;
  return { ...bot, copy, frame, met: [metAfter(bot.met[0], by), metAfter(bot.met[1], by)] };
}
