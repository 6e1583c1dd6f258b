// The registry's book as the search keeps it: canonical, with instants relative to now, and with the explorer's own
// memory of which ids are over. The predicates here read raw records on purpose: they judge the shipped reader.

import type { Drain, DrainBook } from "#core/drain.ts";
import type { Instant, Ms } from "#core/time.ts";
import { broken, type Broken, type World } from "./world.ts";

export interface Book {
  readonly drains: readonly unknown[];
  readonly tombstones: DrainBook["tombstones"];
  readonly attempts: number;
  /** Ids that were lifted or have ended: none of them may ever close anything again. */
  readonly over: readonly string[];
}

/** A record of a newer build, which this one cannot read. */
const GARBAGE = { id: "newer", until: { seconds: 5 }, shape: 9 };

/** Whether a stored record is one that this build writes. */
export const isDrain = (stored: unknown): stored is Drain =>
  typeof stored === "object" && stored !== null && "phase" in stored;

const past = (at: Instant, by: Ms): Instant => Math.max(0, at - by);

/** Whether a record's own words say that it lives, `after` ms from now. */
function livesRaw(drain: Drain, after: Ms = 0): boolean {
  return drain.until > after && (drain.phaseUntil === null || drain.phaseUntil > after);
}

/** The records that live by their own words. */
export function liveRaw(book: Book, after: Ms = 0): readonly Drain[] {
  return book.drains.filter(isDrain).filter((drain) => livesRaw(drain, after));
}

/** Whether a record that lives closes this resident by its own words. */
export const closesRaw = (drain: Drain, resource: string): boolean =>
  drain.phase !== "reopening" || drain.holds.includes(resource);

/** Whether some record holds this resident by its own words. */
export const heldRaw = (book: Book, resource: string): boolean =>
  liveRaw(book).some((drain) => drain.holds.includes(resource));

/** A resident that a record held and holds no more. */
export interface Fallen {
  readonly drain: Drain;
  readonly resource: string;
}

/** The holds that records which live in the first book have lost in the second. */
export function fallenHolds(before: Book, after: Book): readonly Fallen[] {
  const left = liveRaw(after);
  const holds = (drain: Drain, resource: string): boolean =>
    left.some((one) => one.id === drain.id && one.holds.includes(resource));
  return liveRaw(before).flatMap((drain) =>
    drain.holds.filter((resource) => !holds(drain, resource)).map((resource) => ({ drain, resource })),
  );
}

function canonicalDrain(drain: Drain, by: Ms): Drain {
  const lives = livesRaw(drain, by);
  const sealing = drain.sealing.state;
  const asked = lives && (sealing === "asking" || sealing === "sealed");
  return {
    id: drain.id,
    since: 0,
    until: lives ? drain.until - by : 0,
    by: "",
    reason: "",
    principal: "",
    deploy: drain.deploy,
    phase: drain.phase,
    phaseSince: 0,
    phaseUntil: drain.phaseUntil === null ? null : lives ? drain.phaseUntil - by : 0,
    build: lives && drain.build !== null ? { commit: "", bundle: "", image: drain.build.image } : null,
    sealing: { state: sealing, attempt: drain.sealing.attempt, until: asked ? past(drain.sealing.until, by) : 0 },
    holds: lives ? drain.holds.toSorted() : [],
    reported: lives ? drain.reported.toSorted() : [],
    without: [],
  };
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

/** A book `by` ms later, and what is broken about coming to it from `before`. */
export function bookAfter(
  before: Book,
  book: DrainBook,
  by: Ms,
): { readonly book: Book; readonly broken: Broken | null } {
  const drains = book.drains
    .filter(isDrain)
    .map((drain) => canonicalDrain(drain, by))
    .toSorted(byId);
  const others = book.drains.filter((stored) => !isDrain(stored));
  const lives = new Set(drains.filter((drain) => livesRaw(drain)).map((drain) => drain.id));
  const ended = liveRaw(before)
    .map((drain) => drain.id)
    .filter((id) => !lives.has(id));
  const risen = before.over.find((id) => lives.has(id));
  const over = [...new Set([...before.over, ...ended])].toSorted();
  const tombstones = book.tombstones.map((stone) => ({ id: stone.id, at: 0 })).toSorted(byId);
  return {
    book: { drains: [...drains, ...others], tombstones, attempts: book.attempts, over },
    broken: risen === undefined ? null : broken("7", `drain ${risen}, which was over, closes the fleet again`),
  };
}

/** The book of a fleet that nobody has closed. */
export function firstBook(world: World): Book {
  return { drains: world.garbage === true ? [GARBAGE] : [], tombstones: [], attempts: 0, over: [] };
}

/** The instants at which something in the book ends. */
export function endsInBook(book: Book): readonly Ms[] {
  return liveRaw(book).flatMap((drain) => {
    const asking = drain.sealing.state === "asking" ? [drain.sealing.until] : [];
    return [drain.until, ...(drain.phaseUntil === null ? [] : [drain.phaseUntil]), ...asking];
  });
}

/** The seals that the registry says stand, by their own words. */
export function swappingRaw(book: Book): readonly Drain[] {
  return liveRaw(book).filter((drain) => drain.phase === "swapping" && drain.sealing.state === "sealed");
}
