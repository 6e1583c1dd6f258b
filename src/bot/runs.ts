// The runs that this bot has in hand. An admission counts from its first step, so that a deploy which closed the door sees
// whoever was just let in; nothing new is taken in hand once the bot lets go of what it has.

import type { Entry, Message } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import { undelivered } from "#core/ledger.ts";

/** Where a run is on its way: at the resident's door, behind it while its workspace is made, at work, or ending. */
export type Stage = "door" | "provision" | "execute" | "end";

/** One run in hand. */
export class LiveRun {
  readonly entry: Entry;
  readonly stop = new AbortController();
  readonly leave = new AbortController();
  #stage: Stage = "door";
  #messages: readonly Message[];
  #delivered: number;
  #isRead: boolean;
  #isNews: () => void = () => undefined;
  readonly #moved: () => void;

  constructor(entry: Entry, moved: () => void) {
    this.entry = entry;
    this.#moved = moved;
    this.#messages = entry.messages;
    this.#delivered = entry.delivered;
    this.#isRead = entry.reading !== null;
    this.#heedStop();
  }

  get id(): string {
    return this.entry.ask.id;
  }

  get resource(): string {
    return this.entry.ask.resource;
  }

  get stage(): Stage {
    return this.#stage;
  }

  /** Everything that was said to it, as far as this bot knows. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** The last of its messages that has reached it. */
  get delivered(): number {
    return this.#delivered;
  }

  /** Whether the ledger knows of a process of it. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** It is further on its way. */
  move(stage: Stage): void {
    if (this.#stage === stage) return;
    this.#stage = stage;
    this.#moved();
  }

  /** Calls whenever something new was said to it. */
  onNews(listener: () => void): void {
    this.#isNews = listener;
  }

  /** Takes what an answer of the ledger tells of it; answers come in any order, and messages are only added. */
  learn({ messages, delivered, reading }: Pick<Entry, "messages" | "delivered" | "reading">): void {
    if (reading !== null) this.#isRead = true;
    this.#delivered = Math.max(this.#delivered, delivered);
    if (messages.length <= this.#messages.length) return;
    this.#messages = messages;
    this.#heedStop();
    this.#isNews();
  }

  /** A message up to this one has reached it. */
  reached(seq: number): void {
    this.#delivered = Math.max(this.#delivered, seq);
  }

  /** A stop stays undelivered until the run has ended by it, so that whoever holds the run then heeds it too. */
  #heedStop(): void {
    const said = undelivered({ messages: this.#messages, delivered: this.#delivered });
    if (said.some((message) => message.kind === "stop")) this.stop.abort(new Error("stopped"));
  }
}

/** All of them. */
export class Runs {
  readonly #live = new Map<string, LiveRun>();
  readonly #listeners = new Set<() => void>();
  readonly #idlers = new Set<() => void>();
  /** What began, ended or went back since the ledger was asked what it holds: its answer may be older. */
  readonly #touched = new Set<string>();
  readonly #left = new Set<string>();
  /** The repository of each that is not let in here, although the ledger may say that it is this bot's to let in. */
  readonly #aside = new Map<string, string>();
  #admitting = 0;
  #awaiting = 0;
  #isLetGo = false;

  /** Runs in hand, and admissions under way. */
  get inFlight(): number {
    return this.#live.size + this.#admitting;
  }

  get all(): readonly LiveRun[] {
    return [...this.#live.values()];
  }

  /** Whether nothing new is taken in hand. */
  get isLetGo(): boolean {
    return this.#isLetGo;
  }

  get(id: string): LiveRun | undefined {
    return this.#live.get(id);
  }

  /** Whether the next one may come to a repository's door: nobody stands there, and fewer are behind it than make a workspace at once. */
  hasRoom(resource: string): boolean {
    const coming = this.all.filter(
      (run) => run.resource === resource && (run.stage === "door" || run.stage === "provision"),
    );
    return coming.length < LIMIT.provisioningSlots && coming.every(({ stage }) => stage !== "door");
  }

  /** Whoever of a repository's runs is past its door, of those that the ledger knows no process of yet. */
  passed(resource: string): string[] {
    const past = this.all.filter((run) => run.resource === resource && run.stage !== "door" && !run.isRead);
    const aside = [...this.#aside].filter(([, of]) => of === resource).map(([id]) => id);
    return [...past.map(({ id }) => id), ...aside];
  }

  /** Whether an answer is under way that gives runs to this bot: until it is here, nobody else takes one of them in hand. */
  get isAwaiting(): boolean {
    return this.#awaiting > 0;
  }

  /** Counts a question whose answer gives runs to this bot, until they are in hand. */
  async awaiting<T>(work: () => Promise<T>): Promise<T> {
    this.#awaiting += 1;
    try {
      return await work();
    } finally {
      this.#awaiting -= 1;
    }
  }

  /** Counts an admission from its first step until what came of it is in hand. */
  async admitting<T>(work: () => Promise<T>): Promise<T> {
    this.#admitting += 1;
    this.#awaiting += 1;
    try {
      return await work();
    } finally {
      this.#admitting -= 1;
      this.#awaiting -= 1;
      this.#lookIdle();
    }
  }

  /** Takes a run in hand; undefined when it is already, or nothing is taken any more. */
  take(entry: Entry): LiveRun | undefined {
    const { id } = entry.ask;
    if (this.#isLetGo || this.#live.has(id)) return undefined;
    const run = new LiveRun(entry, () => this.#changed());
    this.#live.set(id, run);
    this.#touched.add(id);
    this.#aside.delete(id);
    this.#changed();
    return run;
  }

  /** One that the ledger says is this bot's cannot be taken in hand as things are: nobody waits behind it. */
  setAside(id: string, resource: string): void {
    this.#aside.set(id, resource);
  }

  /** It is in hand no more; `left` as it is, it is somebody else's, whatever the ledger says of this bot. */
  drop(run: LiveRun, left: boolean): void {
    this.#live.delete(run.id);
    this.#touched.add(run.id);
    if (left) this.#left.add(run.id);
    if (left && !run.isRead) this.setAside(run.id, run.resource);
    this.#changed();
  }

  /** The ledger is about to be asked what it holds. */
  beginLook(): void {
    this.#touched.clear();
  }

  /** Whether what the ledger told of this one since `beginLook` may be older than what became of it here. */
  isTouched(id: string): boolean {
    return this.#touched.has(id);
  }

  /** Whether this bot had it in hand and left it. */
  isLeft(id: string): boolean {
    return this.#left.has(id);
  }

  /** From now on nothing is taken in hand. */
  letGo(): void {
    this.#isLetGo = true;
  }

  /** Calls whenever a run is taken, moves on or is dropped; answers how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves once nothing is in flight, or with the signal. */
  async idle(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.inFlight === 0 || signal.aborted) resolve();
    };
    this.#idlers.add(look);
    signal.addEventListener("abort", look, { once: true });
    look();
    await promise;
    this.#idlers.delete(look);
    signal.removeEventListener("abort", look);
  }

  #lookIdle(): void {
    for (const look of this.#idlers) look();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
    this.#lookIdle();
  }
}
