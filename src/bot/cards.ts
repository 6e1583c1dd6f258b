// One card an ask: an event at each change of its state, kept by the ledger in order, and composed here and nowhere else.
// What it says in words is core/card.ts's.

import type { EntryLine, Verdict } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { CardEvent, ThreadHolder } from "#core/card.ts";
import type { Closed } from "#core/door.ts";
import type { Instant } from "#core/time.ts";
import type { Outbox } from "./outbox.ts";

const plainOf = ({ ask, askedAt }: EntryLine): CardEvent => ({
  id: ask.id,
  resource: ask.resource,
  threadKey: ask.threadKey,
  state: "queued",
  since: askedAt,
  bound: null,
  cause: null,
  position: null,
  quietBy: null,
  askedAt,
  waitedMs: null,
  by: null,
  reason: null,
  verdict: null,
});

/** What a queued ask waits for. */
export interface WaitsFor {
  readonly closed: Closed | null;
  /** When a closed door ends with the last run in flight, and that is known. */
  readonly quietBy: Instant | null;
  /** What it waits for where its door is open. */
  readonly behind: "thread" | "queue";
  /** The run that its thread waits for, where this bot has it in hand. */
  readonly holder: ThreadHolder | undefined;
  readonly position: number;
}

/** The card of an ask that waits. */
export function queuedCard(entry: EntryLine, { closed, quietBy, behind, holder, position }: WaitsFor): CardEvent {
  const plain = { ...plainOf(entry), position, cause: behind };
  if (closed === null) return behind === "thread" && holder !== undefined ? { ...plain, holder } : plain;
  const { cause, until, by, reason } = closed;
  const who = { by: by.slice(0, LIMIT.byChars), reason: reason.slice(0, LIMIT.reasonChars) };
  return { ...plain, cause, bound: until, quietBy, ...who };
}

/** What of the bot's own queue an ask has waited for by its last card; a resident that it waited for as well goes before that. */
function behindOf(before: CardEvent | undefined): Pick<CardEvent, "waitedBehind"> {
  const { cause = null, waitedBehind } = before ?? {};
  const behind = cause === "thread" || cause === "queue" ? cause : waitedBehind;
  return behind === undefined ? {} : { waitedBehind: behind };
}

/** The card of a run whose workspace is being made; what it waited for in the queue stays known. */
export function attachingCard(entry: EntryLine, before?: CardEvent): CardEvent {
  const since = entry.admittedAt ?? entry.askedAt;
  return { ...plainOf(entry), state: "attaching", since, bound: entry.leaseUntil, ...behindOf(before) };
}

/** The card of a run that waits for its container to come back. */
export function waitingCard(
  entry: EntryLine,
  before: CardEvent | undefined,
  wait: { readonly since: Instant; readonly bound: Instant },
): CardEvent {
  return { ...plainOf(entry), state: "waiting", cause: "resident", ...wait, waitedMs: before?.waitedMs ?? null };
}

/** The card of a run at work; what it waited counts from the ask. */
export function runningCard(
  entry: EntryLine,
  at: { readonly since: Instant; readonly leaseUntil: Instant },
  before?: CardEvent,
): CardEvent {
  const waitedMs = Math.max(0, at.since - entry.askedAt);
  const plain = { ...plainOf(entry), state: "running" as const, since: at.since, bound: at.leaseUntil, waitedMs };
  return { ...plain, ...behindOf(before) };
}

/** The card of a run whose processes are being ended. */
export function stoppingCard(entry: EntryLine, before: CardEvent | undefined, now: Instant): CardEvent {
  return { ...plainOf(entry), state: "stopping", since: now, waitedMs: before?.waitedMs ?? null };
}

/** The card of an ask that is over, whether it ever ran or not. */
export function endedCard(
  entry: EntryLine,
  before: CardEvent | undefined,
  end: { readonly verdict: Verdict; readonly at: Instant },
): CardEvent {
  const { verdict, at } = end;
  return { ...plainOf(entry), state: "ended", since: at, waitedMs: before?.waitedMs ?? null, verdict };
}

/** The card of an entry in flight of which nothing newer is known. */
export function cardOfEntry(entry: EntryLine): CardEvent {
  const { admittedAt, leaseUntil, state, reading } = entry;
  if (admittedAt === null || leaseUntil === null) return plainOf(entry);
  const runs = state === "running" || reading !== null;
  return runs ? runningCard(entry, { since: admittedAt, leaseUntil }) : attachingCard(entry);
}

/** The cards as they stand, and their way to everybody who follows them. */
export class Cards {
  readonly #outbox: Outbox;
  readonly #last = new Map<string, CardEvent>();
  readonly #listeners = new Set<(event: CardEvent) => void>();

  constructor(outbox: Outbox) {
    this.#outbox = outbox;
  }

  /** The newest card of an ask that has not ended, as far as this bot knows. */
  last(id: string): CardEvent | undefined {
    return this.#last.get(id);
  }

  /** Whose newest card says that it waits to be let in. */
  get queued(): string[] {
    return [...this.#last.values()].filter(({ state }) => state === "queued").map(({ id }) => id);
  }

  /** Nothing more can be said of this one. */
  forget(id: string): void {
    this.#last.delete(id);
  }

  /** Takes up a card that an earlier bot told. */
  recall(event: CardEvent): void {
    if (!this.#last.has(event.id)) this.#last.set(event.id, event);
  }

  /** Tells a card, and wakes whoever follows once the ledger has it. */
  tell(event: CardEvent): void {
    if (event.state === "ended") this.#last.delete(event.id);
    else this.#last.set(event.id, event);
    this.#outbox.post({ word: "card", event }, () => this.#told(event));
  }

  /** Calls with each card once the ledger has it; answers how to stop that. */
  onCard(listener: (event: CardEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #told(event: CardEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
