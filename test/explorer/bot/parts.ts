// What a state is made of: the ledger, the registry's book, the residents, three bots one after the other, and whoever is
// outside. Each part is canonical, with instants from now on, so that equal parts have one number.

import type { CardState } from "#core/card.ts";
import type { Met } from "#core/door.ts";
import type { Message } from "#core/ask.ts";
import type { LedgerStore } from "#core/ledger.ts";
import type { Book } from "../book.ts";
import type { Broken } from "../world.ts";

/** An ask that is over: its id, and every key under which it was asked or something was said to it. */
export interface Ended {
  readonly id: string;
  readonly keys: readonly string[];
}

/** The ledger. `arrived` and `out` are the explorer's own memory: who came when, and who was let out of the queue. */
export interface LedgerPart {
  readonly up: boolean;
  readonly store: LedgerStore;
  readonly ended: readonly Ended[];
  readonly arrived: readonly string[];
  readonly out: readonly string[];
  /** The newest card of each ask that has not ended. */
  readonly cards: readonly (readonly [id: string, card: string])[];
}

/** A process of a run, by its number; `gone` with its container, with no record of how it ended. */
export type Proc = readonly [n: number, state: "alive" | "over" | "gone"];

/**
 * One run at its resident: by which bot's number it is registered, its processes, the seqs in its inbox as it stands, and
 * those that it has ever shown to a process that was alive.
 */
export interface AtResident {
  readonly id: string;
  readonly cell: 0 | 1;
  readonly thread: string;
  readonly row: number | null;
  readonly procs: readonly Proc[];
  readonly inbox: readonly number[];
  readonly shown: readonly number[];
  /** Whether its registration was given back: the explorer's own memory. */
  readonly released: boolean;
}

/** The residents; `boots` counts their containers. */
export interface FleetPart {
  readonly runs: readonly AtResident[];
  readonly boots: readonly [number, number];
}

/** What was read of a process, as far as it matters who goes on with it. */
export interface Read {
  readonly n: number;
  readonly boot: number;
}

/**
 * A run in hand: at its resident's door, on its way back to the queue, about to begin its process, writing what was said,
 * starting or following the process, noting how it ended, giving its registration back, about to be sealed.
 */
export interface Run {
  readonly id: string;
  readonly cell: 0 | 1;
  readonly thread: string;
  readonly child: boolean;
  readonly at: "door" | "back" | "begin" | "inbox" | "exec" | "work" | "verdict" | "detach" | "seal";
  readonly tries: number;
  readonly reading: Read | null;
  /** Whether the process that is read was heard of, or may have been by the bot before: it is not begun a second time. */
  readonly heard: boolean;
  /** The container's boot that its workspace is of. */
  readonly boot: number;
  readonly messages: readonly Message[];
  readonly delivered: number;
  readonly stop: boolean;
  /** Whether the registry has told something since its attach went out. */
  readonly moved: boolean;
  /** What is on its way into the inbox: to the file, or to the ledger once it stands there. */
  readonly delivery: "write" | "tell" | null;
  /** The last message of the file, as far as this bot knows. */
  readonly written: number;
  /** The last message that stood in the file before a process which has yet to begin. */
  readonly standing: number;
  /** The last message that is known to have reached it. */
  readonly reached: number;
}

/** An entry as a look at the queue keeps it. */
export interface Seen {
  readonly id: string;
  readonly cell: 0 | 1;
  readonly thread: string;
  readonly child: boolean;
  readonly toldOf: string | null;
}

/** What a look has still before it: per repository whom it found waiting, and whose thread is busy. */
export interface Look {
  readonly queued: readonly Seen[];
  readonly busy: readonly string[];
  /** Repositories at whose door one may stand still who was let in by a bot that is gone. */
  readonly held: readonly (0 | 1)[];
}

/** The queue's pump. */
export type Pump =
  | { readonly at: "idle" }
  | {
      readonly at: "dispatch";
      readonly cell: 0 | 1;
      readonly open: boolean;
      readonly passesChild: boolean;
      readonly look: Look;
      readonly gone: readonly string[];
    };

/** An ask on its way, with what its door was as it left, and who was past it. */
export interface Asking {
  readonly id: string;
  readonly open: boolean;
  readonly passesChild: boolean;
  readonly passed: readonly string[];
  readonly closedBy: { readonly cause: "deploy" | "drain"; readonly drainId: string } | null;
}

/** A word on its way to the ledger: a card, and under which drain it says that its ask waits. */
export interface Word {
  readonly id: string;
  readonly card: string;
  readonly drainId: string | null;
}

/** An answer of the ledger on its way back: to which question, and what it says. */
export interface Pending {
  readonly to: string;
  readonly answer: unknown;
}

/** What closes a bot's doors: its copy of a deploy's drain, what the watch told last, what refused attaches have taught. */
export interface Doors {
  readonly copy: Book;
  /** Ids of the copy that the registry was seen to know. */
  readonly seen: readonly string[];
  readonly frame: Book | null;
  readonly met: readonly [Met | null, Met | null];
}

/** A book in which nothing stands. */
export const NO_BOOK: Book = { drains: [], tombstones: [], attempts: 0, over: [] };

/** The number of the doors of a bot that has been told nothing. */
export const NO_DOORS = 0;

export interface Bot {
  readonly mode: "absent" | "begun" | "live" | "ending" | "over";
  readonly stalled: boolean;
  /** How long the ledger has not heard of it although it was there, up to a ledger lease. */
  readonly silentMs: number;
  /** The number of its doors. */
  readonly doors: number;
  readonly pump: Pump;
  readonly again: boolean;
  /** Whether something was not answered that the look of the next heartbeat makes good. */
  readonly owes: boolean;
  /** Whether it takes over what is free, next. */
  readonly beat: boolean;
  readonly letGo: boolean;
  readonly asks: readonly Asking[];
  readonly says: readonly string[];
  readonly runs: readonly Run[];
  readonly told: readonly (readonly [id: string, key: string])[];
  readonly touched: readonly string[];
  /** Runs that it had in hand and left, as somebody else's. */
  readonly left: readonly string[];
  readonly last: readonly (readonly [id: string, state: CardState])[];
  readonly words: readonly Word[];
  readonly pending: readonly Pending[];
}

/** A deployer on its way; whoever dies is done, wherever it was. */
export interface Deploy {
  /** Which of the world's drains it is at. */
  readonly n: number;
  readonly at:
    | "before"
    | "registry"
    | "closed"
    | "rolling"
    | "rolled"
    | "swapped"
    | "reconciled"
    | "half"
    | "done"
    | "dead";
}

export interface Outside {
  /** How often each has asked, and each thing was said. */
  readonly asked: readonly number[];
  readonly said: readonly number[];
  readonly deploy: Deploy;
  /** A renewal for the bot that its deployer has given up on. */
  readonly late: string | null;
  readonly person: "before" | "closed" | "done";
  readonly restarts: number;
  readonly replaced: number;
  readonly readable: boolean;
}

/** The places of a state's tuple. */
export const LEDGER = 0;
export const REGISTRY = 1;
export const FLEET = 2;
export const BOTS = [3, 4, 5] as const;
export const OUTSIDE = 6;
export const WIDTH = 7;

/** A step before it is taken: what it says, the places that it changes with their new numbers, and what it breaks. */
export interface Step {
  readonly label: string;
  readonly changes: readonly number[];
  readonly broken: Broken | null;
}

/** A list with this one in place of the one of the same id, in the order of ids. */
export function put<T extends { readonly id: string }>(all: readonly T[], one: T): readonly T[] {
  return [...all.filter(({ id }) => id !== one.id), one].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** A list of pairs with this one in place of the one of the same id. */
export function noted<V>(
  all: readonly (readonly [string, V])[],
  id: string,
  value: V | null,
): readonly (readonly [string, V])[] {
  const others = all.filter(([one]) => one !== id);
  return value === null ? others : [...others, [id, value] as const].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** What is noted of this id. */
export function notedOf<V>(all: readonly (readonly [string, V])[], id: string): V | undefined {
  return all.find(([one]) => one === id)?.[1];
}
