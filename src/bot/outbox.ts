// What the bot tells the ledger without waiting for it, cards and notes: each in the order in which it happened, each until
// it was heard. Nothing of a run waits for this, and the bot's end waits for all of it.

import type { LedgerClient } from "#client/ledger.ts";
import type { Log } from "./log.ts";
import { NotOurs, type Steady } from "./steady.ts";

/** Words on their way to the ledger. */
export class Outbox {
  readonly #steady: Steady;
  readonly #log: Log;
  #sending: Promise<void> = Promise.resolve();

  constructor(steady: Steady, log: Log) {
    this.#steady = steady;
    this.#log = log;
  }

  /** Sends this once everything before it was heard; `heard` gets the answer. What the ledger refuses is logged and dropped. */
  post<T>(ask: (ledger: LedgerClient) => Promise<T>, heard: (answer: T) => void = () => undefined): void {
    this.#sending = this.#sending.then(async () => {
      try {
        heard(await this.#steady.do(ask));
      } catch (error) {
        if (!(error instanceof NotOurs) || error.isUnreadable)
          this.#log("error", "the ledger refused a word", { error });
      }
    });
  }

  /** Resolves once everything so far was heard, or was dropped. */
  flushed(): Promise<void> {
    return this.#sending;
  }
}
