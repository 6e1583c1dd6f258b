// Wakes one waiter, and remembers a wake that came while nobody waited.

import type { Clock } from "./clock.ts";

/** A wake-up between one waker and one waiter. */
export class Nudge {
  #woken = false;
  #waiting: AbortController | undefined;

  /** Ends the wait under way, or the next one at once. */
  readonly wake = (): void => {
    this.#woken = true;
    this.#waiting?.abort();
  };

  /** Waits for a wake, at most this many of the clock's milliseconds. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (!this.#woken) {
      this.#waiting = new AbortController();
      await clock.sleep(ms, this.#waiting.signal);
      this.#waiting = undefined;
    }
    this.#woken = false;
  }
}
