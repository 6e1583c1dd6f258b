// What is said to a run at work is put into its inbox, each message in its order and the list whole. It counts as delivered
// once the file stands, so that a bot which dies in between writes the same file again and nothing arrives twice.

import { CLOCK } from "#core/budgets.ts";
import { problemIn, type ErrorCode } from "#wire/errors.ts";
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
  /** The last message in the file as it stands in this container. */
  #written = 0;
  #writing: Promise<void> | null = null;

  constructor(desk: Desk, run: LiveRun) {
    this.#desk = desk;
    this.#run = run;
    run.onNews(() => void this.#deliver());
  }

  /** A process begins, perhaps in a new container: it finds everything that was said so far. */
  async begin(): Promise<void> {
    this.#written = 0;
    await this.#deliver();
  }

  /** The run is not this bot's any more, or has ended. */
  end(): void {
    this.#over.abort();
  }

  /** Writes until the file has all; one that is under way takes what came meanwhile with it. */
  #deliver(): Promise<void> {
    this.#writing ??= this.#write().finally(() => (this.#writing = null));
    return this.#writing;
  }

  async #write(): Promise<void> {
    while (!this.#over.signal.aborted && !this.#run.stop.signal.aborted) {
      const steers = steersOf(this.#run.messages);
      const last = steers.at(-1)?.seq ?? 0;
      if (last <= this.#written) return;
      try {
        await this.#writeOnce(steers, last);
      } catch (error) {
        if (error instanceof NotOurs || !this.#mayTryAgain(error)) return;
        // What begins meanwhile finds no file yet: the run goes on, and hears of it as soon as it can.
        void this.#again();
        return;
      }
    }
  }

  async #writeOnce(steers: ReturnType<typeof steersOf>, last: number): Promise<void> {
    const { parts, steady, number } = this.#desk;
    const { id, resource, entry } = this.#run;
    await writeInbox(parts.fleet, { resource, threadKey: entry.ask.threadKey, runId: id }, steers);
    this.#written = last;
    if (last <= this.#run.delivered) return;
    await steady.do((ledger) => ledger.progress({ id, generation: number, delivered: last }));
    this.#run.reached(last);
  }

  /** A message that can never be written stays undelivered, and becomes an ask at the run's end. */
  #mayTryAgain(error: unknown): boolean {
    const problem = problemIn(error);
    if (problem !== undefined && LATER.includes(problem.code)) return true;
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
