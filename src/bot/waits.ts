// Who waits in the bot's queue, as of the ledger's last word and what was answered since, and who has waited there under which
// drain, so that a deploy's receipt can say it. It is told and never decided by: the queue itself is the ledger's.

import type { EntryLine } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Closed } from "#core/door.ts";
import type { Instant } from "#core/time.ts";
import type { QueuedAsk, QueuedUnder } from "#wire/bot.ts";

/** Of how many drains it is remembered who waited under them. */
const DRAINS_KEPT = 8;

/** One that waits. */
interface Waiting {
  readonly entry: EntryLine;
  /** Behind the live run of its thread. */
  readonly behindThread: boolean;
  /** A part of a run in flight passes every door. */
  readonly passes: boolean;
}

/** What this is told from. */
export interface WaitPorts {
  readonly closers: (resource: string) => readonly Closed[];
  /** Whether the bot has it in hand, or had since the ledger was last asked. */
  readonly isInHand: (id: string) => boolean;
  readonly now: () => Instant;
}

const isQueued = (entry: EntryLine): boolean => entry.state === "queued";

const rowOf = ({ ask, askedAt }: EntryLine, cause: QueuedAsk["cause"]): QueuedAsk => {
  const { id, resource, threadKey, by } = ask;
  return { id, resource, threadKey, by, askedAt, cause, leftAt: null, ended: false };
};

/** The waits of one bot. */
export class Waits {
  readonly #ports: WaitPorts;
  #queued = new Map<string, Waiting>();
  /** Answered since the ledger was last asked: that answer need not know of them. */
  #fresh = new Map<string, Waiting>();
  /** By the drain's id, each by its own. */
  readonly #under = new Map<string, Map<string, QueuedAsk>>();
  readonly #first = Promise.withResolvers<void>();

  constructor(ports: WaitPorts) {
    this.#ports = ports;
  }

  /** How many asks wait. */
  get size(): number {
    return this.#queued.size;
  }

  /** Whether this one waits. */
  has(id: string): boolean {
    return this.#queued.has(id);
  }

  /** Resolves once the ledger has been read, or did not answer. */
  get read(): Promise<void> {
    return this.#first.promise;
  }

  /** Somebody is being answered that this one waits, behind its door, its thread or the queue. */
  answered(entry: EntryLine, behind: "door" | "thread" | "queue"): void {
    const { id, parent } = entry.ask;
    if (this.#ports.isInHand(id)) return;
    const waiting = { entry, behindThread: behind === "thread", passes: parent !== null && behind !== "door" };
    this.#queued.set(id, waiting);
    this.#fresh.set(id, waiting);
    this.note();
  }

  /** The ledger is about to be asked what it has. */
  beginLook(): void {
    this.#fresh = new Map();
  }

  /** What the ledger had. */
  looked(entries: readonly EntryLine[]): void {
    const live = entries.filter((entry) => !isQueued(entry));
    const busy = new Set(live.map(({ ask }) => ask.threadKey));
    const running = new Set(live.map(({ ask }) => ask.id));
    const known = entries.filter(isQueued).map((entry): [string, Waiting] => {
      const { id, threadKey, parent } = entry.ask;
      return [id, { entry, behindThread: busy.has(threadKey), passes: parent !== null && running.has(parent) }];
    });
    this.#queued = new Map([...known, ...this.#fresh]);
    for (const rows of this.#under.values())
      for (const { id } of rows.values()) if (!this.#queued.has(id)) this.#left(id, !running.has(id));
    this.note();
    this.#first.resolve();
  }

  /** The ledger did not answer. */
  unread(): void {
    this.#first.resolve();
  }

  /** It was let in. */
  started(id: string): void {
    this.#queued.delete(id);
    this.#fresh.delete(id);
    this.#left(id, false);
  }

  /** Notes under which drains each one waits now. */
  note(): void {
    for (const { entry, behindThread, passes } of this.#queued.values()) {
      if (passes) continue;
      for (const { drainId, cause } of this.#ports.closers(entry.ask.resource))
        this.#rows(drainId).set(entry.ask.id, rowOf(entry, behindThread ? "thread" : cause));
    }
  }

  /** Who waits and has waited under any of these drains, also by what an earlier bot told them. */
  under(drainIds: readonly string[]): QueuedUnder {
    const told = [...this.#queued.values()].filter(({ entry }) => drainIds.includes(entry.toldOf ?? ""));
    const rows = new Map([
      ...told.map(({ entry }): [string, QueuedAsk] => [entry.ask.id, rowOf(entry, "drain")]),
      ...drainIds.flatMap((id) => [...(this.#under.get(id) ?? [])]),
    ]);
    const asks = [...rows.values()].toSorted((a, b) => a.askedAt - b.askedAt).slice(0, LIMIT.queuedNamed);
    return { asks, total: rows.size };
  }

  #rows(drainId: string): Map<string, QueuedAsk> {
    const known = this.#under.get(drainId);
    if (known !== undefined) return known;
    const [oldest] = this.#under.keys();
    if (oldest !== undefined && this.#under.size >= DRAINS_KEPT) this.#under.delete(oldest);
    const rows = new Map<string, QueuedAsk>();
    this.#under.set(drainId, rows);
    return rows;
  }

  #left(id: string, ended: boolean): void {
    for (const rows of this.#under.values()) {
      const row = rows.get(id);
      if (row !== undefined && row.leftAt === null) rows.set(id, { ...row, leftAt: this.#ports.now(), ended });
    }
  }
}
