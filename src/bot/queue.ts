// The queue's pump: it looks at what the ledger has at every opening, end and message, and at each heartbeat. In the order of
// arrival a repository, one at its door at a time and as many behind it as make a workspace at once; each told its wait once.

import type { Entry, EntryLine, SeenEntry } from "#core/ask.ts";
import type { Instant } from "#core/time.ts";
import type { LedgerRun } from "#wire/ledger.ts";
import { Again } from "./again.ts";
import { doorsFor, tellQueued } from "./dispatcher/admission.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { start } from "./dispatcher/pipeline.ts";
import { tellEnd } from "./ends.ts";
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
  readonly #looks = new Again(() => this.#lookOnce());
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
    await this.#looks.running;
  }

  /** Something may have changed: the ledger is looked at, once more after a look that is under way. */
  poke(): void {
    if (!this.#stopped) void this.#looks.ask();
  }

  async #lookOnce(): Promise<void> {
    if (this.#stopped) return;
    try {
      await this.#look();
    } catch (error) {
      // The ledger is away, or this bot is over: the next heartbeat looks again, or there is none.
      this.waits.unread();
      this.#ports.desk.parts.log("warn", "the queue cannot be looked at", { error });
    }
  }

  async #look(): Promise<void> {
    const { desk } = this.#ports;
    desk.runs.beginLook();
    this.waits.beginLook();
    const { entries, unreadable } = await desk.steady.once((ledger) => ledger.look());
    this.#sayUnreadable(unreadable);
    await this.#adopt(entries);
    await this.#tellEnds(entries);
    const queued = entries.filter((entry) => !isLive(entry));
    this.waits.looked(entries);
    for (const id of desk.told.keys()) if (!this.waits.has(id) && !desk.runs.isTouched(id)) desk.told.delete(id);
    for (const resource of new Set(queued.map(({ ask }) => ask.resource))) {
      const mine = queued.filter(({ ask }) => ask.resource === resource);
      const gone = await this.#dispatch(resource, mine, this.#isHeldElsewhere(resource, entries));
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
      const whole = await this.#whole(entry);
      // What was answered meanwhile is as new as this.
      if (whole === null) continue;
      if (run !== undefined) run.learn(whole);
      else if (this.#isLost(whole)) start(desk, whole);
    }
  }

  /** Who is known to have waited, and does so no more, has ended by a word whose answer was lost: its card says so. */
  async #tellEnds(entries: readonly SeenEntry[]): Promise<void> {
    const { desk } = this.#ports;
    const known = new Set(entries.map(({ ask }) => ask.id));
    for (const id of new Set([...desk.told.keys(), ...desk.cards.queued])) {
      if (known.has(id) || desk.runs.get(id) !== undefined) continue;
      const run = await this.#run(id);
      if (run === null) desk.cards.forget(id);
      else tellEnd(desk, run);
    }
  }

  /** One entry whole; null when it has ended, or cannot be read: that is its own and nobody else's trouble. */
  async #whole({ ask: { id, resource } }: EntryLine): Promise<Entry | null> {
    const { runs } = this.#ports.desk;
    const run = await this.#run(id);
    if (run === null && runs.get(id) === undefined) runs.setAside(id, resource);
    return run?.ended === null ? run.entry : null;
  }

  /** All that the ledger knows of one; null when it cannot be read. */
  async #run(id: string): Promise<LedgerRun | null> {
    const { steady, parts } = this.#ports.desk;
    try {
      return await steady.once((ledger) => ledger.run(id));
    } catch (error) {
      if (isLedgerAway(error)) throw error;
      parts.log("error", "what the ledger has of a run cannot be read", { id, error });
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
  async #dispatch(resource: string, queued: readonly SeenEntry[], isHeld: boolean): Promise<Set<string>> {
    const { runs } = this.#ports.desk;
    const gone = new Set<string>();
    while (gone.size < queued.length && !this.#stopped && !runs.isLetGo) {
      const waiting = queued.filter(({ ask }) => !gone.has(ask.id));
      const entry = await this.#next(resource, waiting, !isHeld && runs.hasRoom(resource));
      if (entry === null) break;
      gone.add(entry.ask.id);
    }
    return gone;
  }

  /** The next of a queue, in hand. Where its door is closed, or somebody stands there, only a part of a run in flight may be. */
  #next(resource: string, waiting: readonly SeenEntry[], hasRoom: boolean): Promise<Entry | null> {
    const { desk } = this.#ports;
    return desk.runs.admitting(async () => {
      const isOpen = desk.doors.closed(resource) === null;
      const passes = (isOpen || desk.doors.passesChild(resource)) && waiting.some(({ ask }) => ask.parent !== null);
      if (!(isOpen && hasRoom) && !passes) return null;
      const body = { resource, doors: doorsFor(desk, resource) };
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
