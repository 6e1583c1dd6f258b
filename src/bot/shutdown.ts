// How a bot ends: it takes no more, waits for its runs at most as long as a roll may hold, and leaves the rest to the next
// bot, which goes on at the byte where this one stood. Asked again it leaves at once; nothing of a run is ever ended by it.

import { CLOCK, REAL } from "#core/budgets.ts";
import type { Beat } from "./beat.ts";
import type { Desk } from "./dispatcher/desk.ts";
import type { Doors } from "./doors.ts";
import type { Queue } from "./queue.ts";

/** What ends. */
export interface Ending {
  readonly desk: Desk;
  readonly doors: Doors;
  readonly queue: Queue;
  readonly beat: Beat;
  /** Nothing is tried at the ledger any more. */
  readonly giveUp: () => void;
}

/** The end of one bot, once it has begun. */
export class Shutdown {
  readonly #ending: Ending;
  readonly #hurry = new AbortController();
  #fenced = false;
  #ended: Promise<void> | null = null;

  constructor(ending: Ending) {
    this.#ending = ending;
  }

  /** Whether the bot takes no more asks. */
  get hasBegun(): boolean {
    return this.#ended !== null;
  }

  /** Asks it to end, a second time at once; resolves when everything is left or over. */
  begin(): Promise<void> {
    if (this.#ended !== null || this.#ending.desk.parts.roll === "handoff") this.#hurry.abort();
    this.#ended ??= this.#end();
    return this.#ended;
  }

  /** A newer bot has begun: nothing can be written any more, and all of it is that one's. */
  fenced(): Promise<void> {
    this.#fenced = true;
    this.#hurry.abort();
    return this.begin();
  }

  async #end(): Promise<void> {
    const { desk, doors, queue, beat, giveUp } = this.#ending;
    const { runs, outbox, parts } = desk;
    parts.log("info", "the bot ends", { inFlight: runs.inFlight, roll: parts.roll });
    const ended = queue.end();
    await this.#held(ended.then(() => runs.idle(this.#hurry.signal)));
    runs.letGo();
    for (const run of runs.all) run.leave.abort(new Error("left"));
    const left = Promise.all([ended, runs.idle(new AbortController().signal)]);
    await this.#bounded(left.then(() => outbox.flushed()).then(() => beat.end()));
    if (!this.#fenced) await this.#bounded(this.#handOff());
    giveUp();
    doors.end();
    parts.log("info", "the bot has ended", { left: runs.inFlight });
  }

  async #handOff(): Promise<void> {
    const { steady, number, parts } = this.#ending.desk;
    try {
      const { ids } = await steady.do((ledger) => ledger.handOff(number));
      parts.log("info", "runs are left to the next bot", { runs: ids });
    } catch (error) {
      parts.log("warn", "nothing could be handed off: it is free once its ledger lease is over", { error });
    }
  }

  /** Waits for the runs' own ends, as long as a roll may hold and nobody hurries. */
  async #held(idle: Promise<void>): Promise<void> {
    const over = new AbortController();
    const bound = this.#ending.desk.parts.clock.sleep(CLOCK.botHoldMs, over.signal);
    const hurried = new Promise<void>((resolve) => {
      if (this.#hurry.signal.aborted) resolve();
      this.#hurry.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([idle, hurried, bound.catch(() => undefined)]);
    over.abort();
  }

  /** What does not come to its end within its bound is left as it is: the next bot finds everything in the ledger. */
  async #bounded(work: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const late = this.#ending.desk.parts.real.sleep(REAL.leaveMs, over.signal).catch(() => undefined);
    await Promise.race([work.catch(() => undefined), late]);
    over.abort();
  }
}
