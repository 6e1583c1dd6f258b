// What is said to a run at work is put into its inbox, each message in its order and the list whole. A message has reached
// its run once it stands there and somebody is alive to read it; until that is known a bot which dies leaves it to the next
// one, which writes the same file again. What stands before a process begins is found by it as soon as it has begun.

import { CLOCK, REAL } from "#core/budgets.ts";
import { problemIn, type ErrorCode } from "#wire/errors.ts";
import { Again } from "../again.ts";
import { steersOf, writeInbox } from "../harness/inbox.ts";
import type { LiveRun } from "../runs.ts";
import { NotOurs } from "../steady.ts";
import { note, type Desk } from "./desk.ts";

/** The container or the fleet is away: the message is written once it is back. */
const LATER: readonly ErrorCode[] = [
  "UNREACHABLE",
  "ROLLING",
  "UNREADABLE",
  "AGENT_FAILED",
  "NEEDS_ATTACH",
  "INTERNAL",
];

/** The way of messages to one run, while this bot holds it. */
export class Delivery {
  readonly #desk: Desk;
  readonly #run: LiveRun;
  readonly #over = new AbortController();
  /** Moves with what is known of the process: what was being written before says nothing of who finds it afterwards. */
  #process = 0;
  /** The last message in the file as it stands in this container. */
  #written = 0;
  /** The last message in the file that stood before a process which has yet to begin. */
  #standing = 0;
  /** The last message that is known to have reached the run. */
  #reached: number;
  readonly #writes = new Again(() => this.#write());

  constructor(desk: Desk, run: LiveRun) {
    this.#desk = desk;
    this.#run = run;
    this.#reached = run.delivered;
    run.onNews(() => void this.#deliver());
  }

  /** A process is about to begin or to be followed, perhaps in a new container: it finds everything that was said so far. */
  async begin(isNew: boolean): Promise<void> {
    this.#process += 1;
    this.#written = 0;
    await this.#deliver();
    this.#standing = isNew ? this.#written : 0;
  }

  /** It is there. What else was written, or is being written, is written once more: then it is known who can read it. */
  found(): void {
    this.#process += 1;
    this.#reached = Math.max(this.#reached, this.#standing);
    this.#standing = 0;
    this.#written = Math.min(this.#written, this.#reached);
    void this.#deliver();
  }

  /** The run is not this bot's any more, or has ended: nothing new is written. */
  end(): void {
    this.#over.abort();
  }

  /**
   * What is under way is awaited, so that it is known whether it has reached the run before the rest becomes an ask. It is
   * not awaited for ever: then nobody can say whether it did.
   */
  async ended(): Promise<void> {
    this.end();
    const { running } = this.#writes;
    if (running === null) return;
    const done = new AbortController();
    const late = this.#desk.parts.real.sleep(REAL.frontHoldMs, done.signal).catch(() => undefined);
    await Promise.race([running, late]);
    done.abort();
  }

  /** Writes until the file has all; one that is under way takes what came meanwhile with it. */
  #deliver(): Promise<void> {
    return this.#writes.ask();
  }

  async #write(): Promise<void> {
    try {
      while (this.#reached > this.#run.delivered || this.#lacks()) {
        if (this.#reached > this.#run.delivered) await this.#tell(this.#reached);
        else await this.#writeOnce();
      }
    } catch (error) {
      if (error instanceof NotOurs || !this.#mayTryAgain(error)) return;
      // What begins meanwhile finds no file yet: the run goes on, and hears of it as soon as it can.
      void this.#again();
    }
  }

  /** Whether the file lacks something that is still to be said. */
  #lacks(): boolean {
    const last = steersOf(this.#run.messages).at(-1)?.seq ?? 0;
    return last > this.#written && !this.#over.signal.aborted && !this.#run.stop.signal.aborted;
  }

  async #writeOnce(): Promise<void> {
    const { parts, number } = this.#desk;
    const { id, resource, entry, messages } = this.#run;
    const process = this.#process;
    const steers = steersOf(messages);
    const last = steers.at(-1)?.seq ?? 0;
    const run = { resource, threadKey: entry.ask.threadKey, runId: id, generation: number };
    const isRead = await writeInbox(parts.fleet, run, steers);
    if (process === this.#process) this.#written = last;
    if (isRead) this.#reached = Math.max(this.#reached, last);
  }

  async #tell(delivered: number): Promise<void> {
    const { steady, number } = this.#desk;
    await steady.do((ledger) => ledger.progress({ id: this.#run.id, generation: number, delivered }));
    this.#run.reached(delivered);
  }

  /** A message that can never be written stays undelivered, and becomes an ask at the run's end. */
  #mayTryAgain(error: unknown): boolean {
    const problem = problemIn(error);
    if (problem !== undefined && LATER.includes(problem.code)) return true;
    // A newer bot has the run, and everything that was said to it.
    if (problem?.code === "OLD_GENERATION") return false;
    const { id } = this.#run;
    this.#desk.parts.log("warn", "a message does not reach its run", { id, error });
    if (problem !== undefined) note(this.#desk, id, "not_delivered", { text: problem.detail, ms: null });
    return false;
  }

  async #again(): Promise<void> {
    try {
      await this.#desk.parts.clock.sleep(CLOCK.retryMs, this.#over.signal);
    } catch {
      return;
    }
    await this.#deliver();
  }
}
