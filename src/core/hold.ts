// Holds: which residents a reopening still waits for, each by itself. A hold ends by the resident's own report, by a
// person's word, by the bound of its phase or by an end of its drain; one resident's hold closes no other.

import { CLOCK } from "./budgets.ts";
import { buried, liveDrain, liveDrains, withDrain, type Build, type Drain, type DrainBook } from "./drain.ts";
import type { Instant } from "./time.ts";

/** What `POST /reconcile` brings together: whose upload answers here, what it pins, and who belongs to the fleet. */
export interface ReconcileAsk {
  readonly id: string;
  /** The drain that brought the Worker which answers, and the build that this Worker is of. */
  readonly servedId: string | null;
  readonly build: Build;
  readonly residents: readonly string[];
}

export type ReconcileBegun =
  | { readonly kind: "begun" | "again"; readonly book: DrainBook; readonly drain: Drain }
  | { readonly kind: "over" }
  /** The Worker that answers is not this drain's upload: it would call its own image current. */
  | { readonly kind: "notServed" }
  /** Nothing was sealed and swapped under this drain yet. */
  | { readonly kind: "tooEarly" };

/** Holds of an earlier deploy want an image that nobody will bring any more. */
function superseded(book: DrainBook, drain: Drain, now: Instant): DrainBook {
  return liveDrains(book, now)
    .filter((other) => other.deploy && other.phase === "reopening" && other.id !== drain.id)
    .reduce((rest, other) => buried(rest, other.id, now), book);
}

/**
 * One registry step behind `POST /reconcile` (protocol.md, "Reconcile, report, hold"): every resident is held, but for
 * those that have reported already and those that were left out. Asked again it answers as it stands.
 */
export function beginReconcile(book: DrainBook, ask: ReconcileAsk, now: Instant): ReconcileBegun {
  const drain = book.drains.map((stored) => liveDrain(stored, now)).find((live) => live?.id === ask.id);
  if (drain === undefined || !drain.deploy) return { kind: "over" };
  if (drain.phase === "reconciling" || drain.phase === "reopening") return { kind: "again", book, drain };
  if (drain.phase === "draining") return { kind: "tooEarly" };
  if (ask.servedId !== ask.id) return { kind: "notServed" };
  const left = drain.without.map((one) => one.resource);
  const phaseUntil = now + CLOCK.cycleBoundMs;
  const held: Drain = {
    ...drain,
    build: ask.build,
    phase: "reconciling",
    phaseSince: now,
    phaseUntil,
    until: Math.max(drain.until, phaseUntil),
    holds: ask.residents.filter((one) => !drain.reported.includes(one) && !left.includes(one)),
  };
  return { kind: "begun", book: withDrain(superseded(book, held, now), held), drain: held };
}

/** A hold that fell, and whether it was the last one of a drain that nothing else kept. */
export interface Freed {
  readonly drain: Drain;
  readonly resource: string;
  readonly ended: boolean;
}

export interface Freeing {
  readonly book: DrainBook;
  readonly freed: readonly Freed[];
}

/** Takes one resident's hold out of a drain; a drain that was reopening for it alone is over. */
function withoutHold(book: DrainBook, drain: Drain, resource: string, now: Instant): DrainBook {
  const holds = drain.holds.filter((one) => one !== resource);
  return drain.phase === "reopening" && holds.length === 0
    ? buried(book, drain.id, now)
    : withDrain(book, { ...drain, holds });
}

function freeIn(book: DrainBook, drains: readonly Drain[], resource: string, now: Instant): Freeing {
  return drains.reduce<Freeing>(
    ({ book: rest, freed }, drain) => {
      if (!drain.holds.includes(resource)) return { book: withDrain(rest, drain), freed };
      const ended = drain.phase === "reopening" && drain.holds.length === 1;
      return { book: withoutHold(rest, drain, resource, now), freed: [...freed, { drain, resource, ended }] };
    },
    { book, freed: [] },
  );
}

/** An image report: what a resident's container says of itself, read from inside it. */
export interface ImageWord {
  readonly resource: string;
  readonly image: string;
}

/**
 * Takes a report: a latch for each deploy that has sealed and wants this very image, and the end of the resident's hold
 * there. A report of another image is no report, whatever boot it comes from.
 */
export function noteReport(book: DrainBook, word: ImageWord, now: Instant): Freeing {
  const wanting = liveDrains(book, now).filter(
    (drain) =>
      drain.deploy &&
      drain.phase !== "draining" &&
      drain.build?.image === word.image &&
      !drain.reported.includes(word.resource),
  );
  const latched = wanting.map((drain) => ({ ...drain, reported: [...drain.reported, word.resource] }));
  return latched.length === 0 ? { book, freed: [] } : freeIn(book, latched, word.resource, now);
}

/** Drops the hold of one resident wherever it stands: a person says so, it has no container, or it left the fleet. */
export function dropHold(book: DrainBook, resource: string, now: Instant): Freeing {
  const holding = liveDrains(book, now).filter((drain) => drain.holds.includes(resource));
  return holding.length === 0 ? { book, freed: [] } : freeIn(book, holding, resource, now);
}

/** The live drain that holds this resident, with the latest bound. */
export function holdOf(drains: readonly Drain[], resource: string): Drain | undefined {
  return drains.find((drain) => drain.holds.includes(resource));
}
