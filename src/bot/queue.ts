// The queue's pump: it looks at what the ledger has at every opening, end and message, and at each heartbeat. In the order of
// arrival a repository, one at its door at a time and as many behind it as make a workspace at once; each told its wait once.

import type { Entry, EntryLine, SeenEntry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Instant } from "#core/time.ts";
import { doorsFor, tellQueued } from "./dispatcher/admission.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { start } from "./dispatcher/pipeline.ts";
import { isLedgerAway } from "./steady.ts";
import { Waits } from "./waits.ts";

/** What is told of a look: the first instant at which runs of a silent bot are free. */
export interface QueuePorts {
  readonly desk: Desk;
  readonly onLapse: (at: Instant) => void;
}

const isLive = (entry: SeenEntry): boolean => entry.state !== "queued";

/** The pump of one bot. */
export class Queue {
  readonly #ports: QueuePorts;
  /** Who waits, and has waited under which drain. */
  readonly waits: Waits;
  #looking: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #saidUnreadable: ReadonlySet<string> = new Set();
  readonly #letGo: (() => void)[] = [];

  constructor(ports: QueuePorts) {
    this.#ports = ports;
    const { doors, runs, parts } = ports.desk;
    this.waits = new Waits({
      closers: (resource) => doors.closers(resource),
      isInHand: (id) => runs.get(id) !== undefined || runs.isTouched(id),
      now: () => parts.clock.now(),
    });
  }

  /** Looks from now on at every change of a door or a run. */
  begin(): void {
    const { doors, runs } = this.#ports.desk;
    this.#letGo.push(
      doors.onChange(() => this.poke()),
      runs.onChange(() => this.poke()),
    );
    this.poke();
  }

  /** Nothing more is dispatched; resolves once a look that is under way is over. */
  async end(): Promise<void> {
    this.#stopped = true;
    for (const letGo of this.#letGo) letGo();
    await this.#looking;
  }

  /** Something may have changed: the ledger is looked at, once more after a look that is under way. */
  poke(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#looking ??= this.#lookOn().finally(() => (this.#looking = null));
  }

  async #lookOn(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        await this.#look();
      } catch (error) {
        // The ledger is away, or this bot is over: the next heartbeat looks again, or there is none.
        this.waits.unread();
        this.#ports.desk.parts.log("warn", "the queue cannot be looked at", { error });
        return;
      }
    }
  }

  async #look(): Promise<void> {
    const { desk } = this.#ports;
    desk.runs.beginLook();
    this.waits.beginLook();
    const { entries, unreadable } = await desk.steady.once((ledger) => ledger.look());
    this.#sayUnreadable(unreadable);
    await this.#adopt(entries);
    const queued = entries.filter((entry) => !isLive(entry));
    this.waits.looked(entries);
    for (const id of desk.told.keys()) if (!this.waits.has(id) && !desk.runs.isTouched(id)) desk.told.delete(id);
    for (const resource of new Set(queued.map(({ ask }) => ask.resource))) {
      const mine = queued.filter(({ ask }) => ask.resource === resource);
      const gone = this.#isHeldElsewhere(resource, entries) ? new Set<string>() : await this.#dispatch(resource, mine);
      const left = mine.filter(({ ask }) => !gone.has(ask.id));
      this.#tell(resource, left, entries);
    }
  }

  /** What cannot be read stands, and is said once: it keeps its thread, and nobody here can do anything about it. */
  #sayUnreadable(ids: readonly string[]): void {
    const { log } = this.#ports.desk.parts;
    const unsaid = ids.filter((id) => !this.#saidUnreadable.has(id));
    if (unsaid.length > 0) log("error", "records that cannot be read stand until an admin ends them", { ids: unsaid });
    this.#saidUnreadable = new Set(ids);
  }

  /**
   * A run that the ledger says is this bot's, and is not in hand: the answer that said so was lost. A look has one line of
   * each, so who is taken in hand, and whoever was told something, is asked for whole.
   */
  async #adopt(entries: readonly SeenEntry[]): Promise<void> {
    const { desk, onLapse } = this.#ports;
    const live = entries.filter(isLive);
    const free = live.filter((entry) => desk.runs.get(entry.ask.id) === undefined && entry.holder < desk.number);
    const lapses = free.map(({ state, heldUntil }): Instant => (state === "handedOff" ? 0 : heldUntil));
    if (lapses.length > 0) onLapse(lapses.reduce((first, at) => Math.min(first, at)));
    for (const entry of live) {
      const { id } = entry.ask;
      const run = desk.runs.get(id);
      run?.reached(entry.delivered);
      if (run === undefined ? !this.#isLost(entry) : entry.said <= run.messages.length) continue;
      const whole = await this.#whole(id);
      // What was answered meanwhile is as new as this.
      if (whole === null) continue;
      if (run !== undefined) run.learn(whole);
      else if (this.#isLost(whole)) start(desk, whole);
    }
  }

  /** One entry whole; null when it has ended, or cannot be read: that is its own and nobody else's trouble. */
  async #whole(id: string): Promise<Entry | null> {
    const { steady, parts } = this.#ports.desk;
    try {
      const { entry, ended } = await steady.once((ledger) => ledger.run(id));
      return ended === null ? entry : null;
    } catch (error) {
      if (isLedgerAway(error)) throw error;
      parts.log("error", "a run that is this bot's cannot be read", { id, error });
      return null;
    }
  }

  #isLost({ ask, holder, state }: EntryLine): boolean {
    const { runs, number } = this.#ports.desk;
    if (runs.isAwaiting || runs.isTouched(ask.id) || runs.isLeft(ask.id)) return false;
    return holder === number && state !== "handedOff";
  }

  /** Whether one that was let in by a bot which is gone may stand at the door still: whoever comes behind it waits for it. */
  #isHeldElsewhere(resource: string, entries: readonly SeenEntry[]): boolean {
    const { number } = this.#ports.desk;
    return entries.some(
      ({ ask, state, holder, reading }) =>
        ask.resource === resource && state !== "queued" && holder < number && reading === null,
    );
  }

  /** Admits from one queue while its door is open and there is room behind it; answers whom. */
  async #dispatch(resource: string, queued: readonly SeenEntry[]): Promise<Set<string>> {
    const { runs } = this.#ports.desk;
    const gone = new Set<string>();
    while (gone.size < queued.length && !this.#stopped && !runs.isLetGo) {
      const { count, atDoor } = runs.attaching(resource);
      if (atDoor || count >= LIMIT.provisioningSlots) break;
      const entry = await this.#next(
        resource,
        queued.filter(({ ask }) => !gone.has(ask.id)),
      );
      if (entry === null) break;
      gone.add(entry.ask.id);
    }
    return gone;
  }

  /** The next of a queue, in hand. A closed door lets in nobody but a part of a run in flight. */
  #next(resource: string, waiting: readonly SeenEntry[]): Promise<Entry | null> {
    const { desk } = this.#ports;
    return desk.runs.admitting(async () => {
      const closed = desk.doors.closed(resource);
      if (closed !== null && waiting.every(({ ask }) => ask.parent === null)) return null;
      const body = { resource, doors: doorsFor(desk, closed) };
      const { entry } = await desk.steady.once((ledger) => ledger.dispatch(body));
      if (entry !== null) {
        this.waits.started(entry.ask.id);
        start(desk, entry);
      }
      return entry;
    });
  }

  /** Tells who waits on what for: once under a drain, and once when it is something else. */
  #tell(resource: string, left: readonly SeenEntry[], entries: readonly SeenEntry[]): void {
    const { desk } = this.#ports;
    const closed = desk.doors.closed(resource);
    const busy = new Set(entries.filter(isLive).map(({ ask }) => ask.threadKey));
    for (const [index, entry] of left.entries()) {
      const { id, threadKey } = entry.ask;
      if (desk.runs.get(id) !== undefined || desk.runs.isTouched(id)) continue;
      const behind = busy.has(threadKey) ? "thread" : "queue";
      tellQueued(desk, entry, { closed, behind, position: index + 1 });
    }
  }
}
