// The bot's pulse at the ledger: what it holds it holds for one more lease, and what an older bot lost is taken over as soon
// as it is free. A heartbeat that fails is the next one's to make good.

import type { Instant, Ms } from "#core/time.ts";
import { CLOCK } from "#core/budgets.ts";
import { start } from "./dispatcher/pipeline.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { NotOurs } from "./steady.ts";

/** The heartbeats of one bot. */
export class Beat {
  readonly #desk: Desk;
  /** What is looked at after each heartbeat. */
  readonly #poke: () => void;
  readonly #over = new AbortController();
  #wake = new AbortController();
  #lapse: Instant | null = null;
  #beating: Promise<void> = Promise.resolve();

  constructor(desk: Desk, poke: () => void) {
    this.#desk = desk;
    this.#poke = poke;
  }

  /** Takes over what is free, then beats until the end. */
  async begin(): Promise<void> {
    await this.#reclaim();
    this.#beating = this.#beat();
  }

  /** Beats no more; resolves once nothing of it is under way. */
  async end(): Promise<void> {
    this.#over.abort();
    this.#wake.abort();
    await this.#beating;
  }

  /** Runs of a silent bot are free at this instant: it is not waited for a whole heartbeat. */
  lapseAt(at: Instant): void {
    if (this.#lapse !== null && this.#lapse <= at) return;
    this.#lapse = at;
    this.#wake.abort();
  }

  async #reclaim(): Promise<void> {
    const { steady, number, runs } = this.#desk;
    await runs.awaiting(async () => {
      // One answer gives as much as it can hold.
      for (let given = 1; given > 0;) {
        const { entries } = await steady.do((ledger) => ledger.reclaim(number));
        for (const entry of entries) start(this.#desk, entry);
        given = entries.length;
      }
    });
  }

  async #beat(): Promise<void> {
    const { parts, steady, number } = this.#desk;
    const { clock } = parts;
    let [beaten, reclaimed]: [Instant, Instant] = [clock.now(), clock.now()];
    while (!this.#over.signal.aborted) {
      const due = beaten + CLOCK.heartbeatMs;
      // The ledger's clock may be behind ours: what it does not give is asked for again, but not at once.
      const lapse = this.#lapse === null ? due : Math.max(this.#lapse, reclaimed + CLOCK.retryMs);
      await this.#sleep(Math.min(due, lapse) - clock.now());
      if (this.#over.signal.aborted) return;
      const now = clock.now();
      if (now < Math.min(due, lapse)) continue;
      try {
        if (now >= due) await steady.do((ledger) => ledger.heartbeat(number));
        this.#lapse = null;
        await this.#reclaim();
      } catch (error) {
        if (!(error instanceof NotOurs)) parts.log("error", "a heartbeat was refused", { error });
      }
      reclaimed = clock.now();
      if (now >= due) beaten = reclaimed;
      this.#poke();
    }
  }

  async #sleep(ms: Ms): Promise<void> {
    this.#wake = new AbortController();
    if (ms > 0) await this.#desk.parts.clock.sleep(ms, this.#wake.signal).catch(() => undefined);
  }
}
