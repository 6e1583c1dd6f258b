// What somebody asked for, before it runs and while it runs. An ask becomes the run of the same id; a queued one is this
// row and nothing else: no lease, no slot, no credential.

import type { Instant, Ms } from "./time.ts";

export const CHANNELS = ["web", "slack", "cli", "plan"] as const;
export type Channel = (typeof CHANNELS)[number];

/** One ask. `key` is unique in the ledger (an event's id; plan, unit and attempt), so that asking twice is asking once. */
export interface Ask {
  readonly id: string;
  readonly key: string;
  readonly threadKey: string;
  readonly resource: string;
  readonly kind: string;
  readonly text: string;
  readonly by: string;
  readonly channel: Channel;
  /** Null: its kind's. */
  readonly leaseMs: Ms | null;
  readonly ref: string | null;
  /** The live run that it is a part of; a child passes every door but its thread's. */
  readonly parent: string | null;
}

export const MESSAGE_KINDS = ["steer", "followUp", "stop"] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** What was said while the ask waited, or was still undelivered when it went back to wait, is a part of its text. */
export const KEPT_KINDS = [...MESSAGE_KINDS, "added"] as const;

/** Something said to a run in flight. It is delivered in the order of `seq`, each once; a follow-up is for the run's end. */
export interface Message {
  readonly seq: number;
  readonly key: string;
  readonly kind: (typeof KEPT_KINDS)[number];
  readonly text: string;
  readonly at: Instant;
}

/** How far a run's process was read, so that the next bot goes on where this one stood. */
export interface Reading {
  readonly procId: string;
  readonly bootId: string;
  readonly out: number;
  readonly err: number;
}

export const ENTRY_STATES = ["queued", "admitted", "running", "handedOff"] as const;
export type EntryState = (typeof ENTRY_STATES)[number];

/** An ask in the ledger until it has ended: first queued, then the run of the same id. */
export interface Entry {
  readonly ask: Ask;
  readonly askedAt: Instant;
  /** The place in the order of arrival; a run that comes back from a closed door finds it again. */
  readonly place: number;
  readonly state: EntryState;
  /** The bot's generation that holds it; 0 while it is queued. */
  readonly holder: number;
  /** Until when its holder is believed to live without another heartbeat. */
  readonly heldUntil: Instant;
  readonly admittedAt: Instant | null;
  /** The run's own lease, which begins at the admission. */
  readonly leaseUntil: Instant | null;
  /** How often it was begun: each resume after a replaced container is one more. */
  readonly tries: number;
  readonly reading: Reading | null;
  readonly messages: readonly Message[];
  /** The last `seq` that reached the run. */
  readonly delivered: number;
  /** What it waits for was told under this drain, so that it is told once. */
  readonly toldOf: string | null;
  /** The drain that it met last: at the bot's door, at its resident's, or in the queue. What it waited is noted of that. */
  readonly metDrain: string | null;
  /** How it ended, once its holder has seen that: what is left is to give its registration back and to write its end. */
  readonly verdict: Verdict | null;
}

/** An ask as one line: its text is the beginning of it, and what nobody but its run needs is left out. */
export type AskLine = Pick<Ask, "id" | "threadKey" | "resource" | "kind" | "text" | "by" | "channel" | "parent">;

/** An entry as one line, so that a look at all of them stays small however much was said to each. */
export interface EntryLine extends Pick<
  Entry,
  | "askedAt"
  | "place"
  | "state"
  | "holder"
  | "heldUntil"
  | "admittedAt"
  | "leaseUntil"
  | "tries"
  | "reading"
  | "delivered"
  | "toldOf"
> {
  readonly ask: AskLine;
}

/** A line as the ledger tells it. */
export interface SeenEntry extends EntryLine {
  /** How many messages it has: who has it in hand and knows of fewer asks for them. */
  readonly said: number;
}

export const ENDINGS = ["finished", "failed", "stopped", "leaseSpent", "replaced", "refused", "notStarted"] as const;
export type Ending = (typeof ENDINGS)[number];

/** How a run ended, as its harness saw it. `by` tells apart what replaced it. */
export interface Verdict {
  readonly ending: Ending;
  readonly exit: number | null;
  readonly by: "container" | "transport" | null;
  readonly why: string | null;
}
