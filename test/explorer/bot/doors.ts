// A bot's doors, as src/bot/doors.ts keeps them: its copy of a deploy's drain, what the watch told last, what a refused
// attach has taught. The shipped functions decide; the raw predicates here judge what they decide.

import type { Closed, Met } from "#core/door.ts";
import type { Drain, DrainAsk, DrainBook } from "#core/drain.ts";
import type { Ms } from "#core/time.ts";
import { bookAfter, closesRaw, isDrain, liveRaw, type Book } from "../book.ts";
import { drainBookOf } from "../bookSteps.ts";
import { broken, RESOURCES, type Broken } from "../world.ts";
import { poked } from "./inHand.ts";
import type { BotModel } from "./botModel.ts";
import { NO_BOOK, type Bot, type Doors, type Run } from "./parts.ts";

/** The doors of a bot. */
export const doorsIn = ({ doors }: BotModel, bot: Bot): Doors => doors.at(bot.doors);

const withDoors = ({ doors }: BotModel, bot: Bot, next: Doors): Bot => ({ ...bot, doors: doors.number(next) });

/** What the watch has told, empty where it has told nothing. */
export const fleetOf = ({ frame }: Doors): readonly Drain[] => (frame === null ? [] : liveRaw(frame));

/** What closes a repository's door, null while it is open. */
export function closedBy(model: BotModel, bot: Bot, cell: 0 | 1): Closed | null {
  return model.closed.get(`${bot.doors}|${cell}`, () => {
    const doors = doorsIn(model, bot);
    const { copy, met } = doors;
    const facts = {
      copy: drainBookOf(copy),
      fleet: fleetOf(doors),
      told: [],
      met: met[cell],
      resource: RESOURCES[cell],
    };
    return model.core.doorOf(facts, 0);
  });
}

/** Whether a part of a run in flight passes a repository's door where it is closed. */
export function passesChild(model: BotModel, bot: Bot, cell: 0 | 1): boolean {
  const doors = doorsIn(model, bot);
  const { copy, met } = doors;
  const facts = { copy: drainBookOf(copy), fleet: fleetOf(doors), told: [], met: met[cell], resource: RESOURCES[cell] };
  return model.core.passesChild(facts, 0);
}

/** Whether a door is known to refuse a part of a run in flight, by its own words: a swap does, and one that just did. */
export function refusesChildRaw(doors: Doors, cell: 0 | 1): boolean {
  const met = doors.met[cell];
  const swaps = fleetOf(doors).some((drain) => drain.phase === "swapping" && closesRaw(drain, RESOURCES[cell]));
  return swaps || (met !== null && met.tryAt > 0 && met.closesToChildren);
}

/** The ids that close a door by their own words: of what the registry told, of the copy where it told nothing, of a refusal. */
export function closingRaw(doors: Doors, cell: 0 | 1): readonly string[] {
  const standing = fleetOf(doors);
  const told = standing.filter((drain) => closesRaw(drain, RESOURCES[cell])).map(({ id }) => id);
  const open = standing.filter((drain) => !closesRaw(drain, RESOURCES[cell])).map(({ id }) => id);
  const own = liveRaw(doors.copy).map(({ id }) => id);
  const met = doors.met[cell];
  const taught = met !== null && met.tryAt > 0 ? [met.closed.drainId] : [];
  // Of a drain that the registry tells too, its own record speaks: that one may hold another resident only.
  return [...told, ...own.filter((id) => !told.includes(id) && !open.includes(id)), ...taught];
}

/** What is wrong with what a door was taken for, as a question about it left. */
export function judgedDoor(doors: Doors, cell: 0 | 1, closed: Closed | null): Broken | null {
  const [by] = closingRaw(doors, cell);
  const door = `the door of R${cell + 1} is taken for`;
  if (closed === null && by !== undefined) return broken("8", `${door} open, and ${by} closes it`);
  if (closed !== null && by === undefined)
    return broken("stuck", `${door} closed by ${closed.drainId}, and nothing closes it`);
  return null;
}

/** What is wrong with what a door was taken for by a part of a run in flight. */
export function judgedPassing(doors: Doors, cell: 0 | 1, passes: boolean): Broken | null {
  if (passes !== refusesChildRaw(doors, cell)) return null;
  const as = passes ? "passed by a part of a run in flight, which it refuses" : "one that refuses what it lets pass";
  return broken(passes ? "8" : "stuck", `the door of R${cell + 1} is taken for ${as}`);
}

/** A bot after a step, and what is broken about coming to it. */
export interface Closing {
  readonly bot: Bot;
  readonly kind: string;
  readonly broken: Broken | null;
}

const idOf = (drain: unknown): string => (isDrain(drain) ? drain.id : "");

/** The doors with another copy. Nobody asks again for an id that is over, unless something of its deployer comes late. */
function withCopy(
  { world }: BotModel,
  doors: Doors,
  copy: DrainBook,
): { readonly doors: Doors; readonly broken: Broken | null } {
  const after = bookAfter(doors.copy, copy, 0);
  const { drains, attempts } = after.book;
  const live = new Set(liveRaw(after.book).map(({ id }) => id));
  const rest = { drains: drains.filter((one) => live.has(idOf(one))), tombstones: [], attempts, over: [] };
  const kept = world.allowed.late ? after.book : rest;
  return { doors: { ...doors, copy: kept, seen: doors.seen.filter((id) => live.has(id)) }, broken: after.broken };
}

/** Lets the copy fall where the registry says that its ids live no more. */
function settled(model: BotModel, doors: Doors): Doors {
  if (doors.frame === null) return doors;
  const known = new Set(fleetOf(doors).map(({ id }) => id));
  const copied = liveRaw(doors.copy).flatMap(({ id }) => (known.has(id) ? [id] : []));
  const seen = [...new Set([...doors.seen, ...copied])].toSorted();
  const copy = model.core.settleCopy(drainBookOf(doors.copy), new Set(seen), fleetOf(doors), 0);
  return withCopy(model, { ...doors, seen }, copy).doors;
}

/** `POST /drain` on the bot: its copy, created or renewed. */
export function drained(model: BotModel, bot: Bot, ask: DrainAsk): Closing {
  const doors = doorsIn(model, bot);
  const copy = model.core.copyBefore(drainBookOf(doors.copy), ask.id, fleetOf(doors), 0);
  const answer = model.core.copyDrain(copy, ask, 0);
  if (answer.kind !== "created" && answer.kind !== "renewed") return { bot, kind: answer.kind, broken: null };
  const after = withCopy(model, doors, answer.book);
  const next = withDoors(model, bot, settled(model, after.doors));
  return { bot: poked(next), kind: answer.kind, broken: after.broken };
}

/** `POST /undrain` on the bot: the copy falls. */
export function lifted(model: BotModel, bot: Bot, id: string): Closing {
  const doors = doorsIn(model, bot);
  const answer = model.core.copyLift(drainBookOf(doors.copy), { id, outcome: "none", force: true }, null, 0);
  const next = "book" in answer ? withCopy(model, doors, answer.book).doors : doors;
  return { bot: poked(withDoors(model, bot, next)), kind: answer.kind, broken: null };
}

/** The registry as a frame of the watch tells it. */
export function frameOf(registry: Book): Book {
  return bookAfter(NO_BOOK, { ...NO_BOOK, drains: liveRaw(registry) }, 0).book;
}

/** The watch tells: what a refusal taught is older than that. */
export function told(model: BotModel, bot: Bot, frame: Book | null): Bot {
  const runs = bot.runs.map((run) => (run.at === "door" ? { ...run, moved: true } : run));
  const doors = doorsIn(model, bot);
  const next = frame === null ? { ...doors, frame } : settled(model, { ...doors, frame, met: [null, null] });
  return poked(withDoors(model, { ...bot, runs }, next));
}

/** A refused attach teaches, unless the registry has told something since it went out. */
export function taught(model: BotModel, bot: Bot, { cell, moved, child }: Run, drain: Drain): Bot {
  const doors = doorsIn(model, bot);
  if (moved && doors.frame !== null) return poked(bot);
  const { closed, closesToChildren, tryAt } = model.core.metOf({ ...drain, wasChild: child }, 0);
  const { cause, drainId, until, endsQuiet } = closed;
  const met: Met = { closed: { cause, drainId, by: "", reason: "", until, endsQuiet }, closesToChildren, tryAt };
  const next = cell === 0 ? ([met, doors.met[1]] as const) : ([doors.met[0], met] as const);
  return poked(withDoors(model, bot, { ...doors, met: next }));
}

/** When something of a bot's doors ends by itself, beside what is renewed all the while. */
export function nextOpeningOf(model: BotModel, bot: Bot, renewed: (id: string) => boolean): Ms | null {
  const doors = doorsIn(model, bot);
  const rest = (drains: readonly unknown[]): Drain[] => drains.filter(isDrain).filter(({ id }) => !renewed(id));
  const copy = { ...drainBookOf(doors.copy), drains: rest(doors.copy.drains) };
  const met = doors.met.filter((one) => one !== null);
  return model.core.nextOpening({ copy, fleet: rest(fleetOf(doors)), met }, 0);
}

function metAfter(met: Met | null, by: Ms): Met | null {
  if (met === null || met.tryAt <= by) return null;
  const closed = { ...met.closed, until: Math.max(0, met.closed.until - by) };
  return { closed, closesToChildren: met.closesToChildren, tryAt: met.tryAt - by };
}

/** The doors `by` ms later. */
export function doorsAfter(model: BotModel, bot: Bot, by: Ms): Bot {
  const { copy, frame, met, seen } = doorsIn(model, bot);
  const later = (book: Book): Book => bookAfter(book, drainBookOf(book), by).book;
  const next: Doors = {
    copy: later(copy),
    seen,
    frame: frame === null ? null : frameOf(later(frame)),
    met: [metAfter(met[0], by), metAfter(met[1], by)],
  };
  return withDoors(model, bot, withCopy(model, next, drainBookOf(next.copy)).doors);
}
