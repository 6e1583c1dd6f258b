// The registry's own sum of what is in flight, so that a look costs the same whatever the fleet's size. It counts an
// attach in the step that tells it *open*; every later change is the resident's word, ordered by (incarnation, seq).

import { quietByOf, type Registration } from "./registration.ts";
import type { ResidentStore } from "./resident.ts";
import type { Instant } from "./time.ts";

/** One question of a resident: which boot asked, and its number within that boot. */
export interface LookId {
  readonly incarnation: number;
  readonly n: number;
}

/** An attach that was told *open* and whose row has not been reported yet. */
export interface Counted extends LookId {
  readonly runId: string;
  readonly at: Instant;
}

/** A resident's word about itself: its rows, and which of its questions are still open in its memory. */
export interface Word {
  readonly resource: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly rows: readonly Registration[];
  readonly looks: { readonly last: number; readonly open: readonly number[] };
}

/** What the registry keeps of one resident. */
export interface Entry {
  readonly resource: string;
  readonly incarnation: number;
  readonly seq: number;
  readonly rows: readonly Registration[];
  readonly counted: readonly Counted[];
}

/** A resident that was onboarded just now and has said nothing yet. */
export const emptyEntry = (resource: string): Entry => ({ resource, incarnation: 0, seq: 0, rows: [], counted: [] });

/** The word that a resident sends when its outbox is full, and with every answer to a seal or a fresh look. */
export function wordOf(resource: string, store: ResidentStore, looks: Word["looks"]): Word {
  return { resource, incarnation: store.incarnation, seq: store.seq, rows: store.rows, looks };
}

/** Counts an attach that is being told *open*, in the same step. A re-sent question counts once. */
export function countLook(entry: Entry, look: Counted): Entry {
  const known = entry.counted.some((one) => one.incarnation === look.incarnation && one.n === look.n);
  return known ? entry : { ...entry, counted: [...entry.counted, look] };
}

/** Whether a word is at least as new as what is known; one that was overtaken changes nothing. */
function isNews(entry: Entry, word: Word): boolean {
  return word.incarnation > entry.incarnation || (word.incarnation === entry.incarnation && word.seq >= entry.seq);
}

/** Takes a resident's word. Counted attaches stay until a word of their own boot, or a later one, has answered for them. */
export function applyWord(entry: Entry, word: Word): Entry {
  if (!isNews(entry, word)) return entry;
  const stays = (one: Counted): boolean =>
    one.incarnation > word.incarnation ||
    (one.incarnation === word.incarnation && (one.n > word.looks.last || word.looks.open.includes(one.n)));
  return {
    ...entry,
    incarnation: word.incarnation,
    seq: word.seq,
    rows: word.rows,
    counted: entry.counted.filter(stays),
  };
}

/** The fleet's sum, or one resident's. */
export interface Sum {
  readonly runsInFlight: number;
  readonly attaching: number;
  readonly quietBy: Instant | null;
}

/** Sums entries: rows that run, rows and counted attaches that are on their way, and when all their leases are over. */
export function sumOf(entries: readonly Entry[]): Sum {
  const rows = entries.flatMap((entry) => entry.rows);
  const running = rows.filter((row) => row.state === "running").length;
  const counted = entries.reduce((total, entry) => total + entry.counted.length, 0);
  return { runsInFlight: running, attaching: rows.length - running + counted, quietBy: quietByOf(rows) };
}

/** Quiet: nothing in flight and nothing on its way in. */
export function isQuiet(sum: Sum): boolean {
  return sum.runsInFlight === 0 && sum.attaching === 0;
}

/** The lease's end of a registered run anywhere in the fleet, or null: a child of it is part of the run in flight. */
export function registeredUntil(entries: readonly Entry[], runId: string): Instant | null {
  const rows = entries.flatMap((entry) => entry.rows).filter((row) => row.runId === runId && row.state === "running");
  return quietByOf(rows);
}
