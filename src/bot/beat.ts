// The bot's pulse at the ledger: what it holds it holds for one more lease, and what an older bot lost is taken over as soon
// as it is free. A heartbeat that fails is the next one's to make good.

import type { Instant } from "#core/time.ts";
import { CLOCK } from "#core/budgets.ts";
import { start } from "./dispatcher/pipeline.ts";
import type { Desk } from "./dispatcher/desk.ts";
import type { Queue } from "./queue.ts";
import { NotOurs } from "./steady.ts";

/** The heartbeats of one bot. */
export class Beat {
  readonly #desk: Desk;
  readonly #queue: () => Queue;
  readonly #over = new AbortController();
  #wake = new AbortController();
  #lapse: Instant | null = null;
  #beating: Promise<void> = Promise.resolve();

  constructor(desk: Desk, queue: () => Queue) {
    this.#desk = desk;
    this.#queue = queue;
  }

  /** Reclaims once, then beats until the end. */
  async begin(): Promise<void> {
    await this.reclaim();
    this.#beating = this.#beat();
  }

  /** Beats no more. */
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

  /** Takes over what is free. */
  async reclaim(): Promise<void> {
    this.#lapse = null;
    const { steady, number } = this.#desk;
    const { entries } = await steady.do((ledger) => ledger.reclaim(number));
    for (const entry of entries) start(this.#desk, entry);
  }

  async #beat(): Promise<void> {
    const { clock, log } = this.#desk.parts;
    let due = clock.now() + CLOCK.heartbeatMs;
    while (!this.#over.signal.aborted) {
      const lapse = this.#lapse;
      const next = lapse === null ? due : Math.min(due, lapse);
      await this.#sleep(next - clock.now());
      if (this.#over.signal.aborted) return;
      const isDue = clock.now() >= due;
      if (!isDue && (this.#lapse === null || clock.now() < this.#lapse)) continue;
      if (isDue) due = clock.now() + CLOCK.heartbeatMs;
      try {
        await this.#once(isDue);
      } catch (error) {
        if (!(error instanceof NotOurs)) log("warn", "a heartbeat failed", { error });
      }
    }
  }

  async #once(isDue: boolean): Promise<void> {
    const { parts, number } = this.#desk;
    if (isDue) await parts.ledger.heartbeat(number);
    await this.reclaim();
    this.#queue().poke();
  }

  async #sleep(ms: number): Promise<void> {
    this.#wake = new AbortController();
    if (ms > 0) await this.#desk.parts.clock.sleep(ms, this.#wake.signal).catch(() => undefined);
  }
}
