// What a run says to the ledger is said until the ledger has heard it: a ledger that is away for a while fails no run. Only
// a run that is not this bot's any more is told so, and is then left as it is.

import { REAL } from "#core/budgets.ts";
import type { LedgerClient } from "#client/ledger.ts";
import type { Clock } from "#client/ports.ts";
import { problemIn, raise, TidegateError, type ErrorCode } from "#wire/errors.ts";

const AWAY: readonly ErrorCode[] = ["UNREACHABLE", "ROLLING", "UNREADABLE"];
const NOT_OURS: readonly ErrorCode[] = ["FENCED", "RUN_NOT_HELD", "NO_SUCH_RUN", "RECORD_UNREADABLE"];

/** Whether a refusal says that the run is not this bot's. */
export const isNotOurs = (code: ErrorCode): boolean => NOT_OURS.includes(code);

/** The run is not this bot's, or this bot is over: nothing more is done about it here, and nothing of it is ended. */
export class NotOurs extends Error {
  override readonly name = "NotOurs";

  /** The ledger has a record of the run and cannot read it: a person has to know, and a ledger that can may come back. */
  get isUnreadable(): boolean {
    return problemIn(this.cause)?.code === "RECORD_UNREADABLE";
  }
}

/** Whether the ledger gave no answer at all, so that the same question may be answered later. */
export function isLedgerAway(error: unknown): boolean {
  const code = problemIn(error)?.code;
  return code !== undefined && AWAY.includes(code);
}

/** What the steady voice is given. */
export interface SteadyPorts {
  readonly ledger: LedgerClient;
  /** Real time, for the pauses between two tries. */
  readonly real: Clock;
  /** Fires when this bot is over: nothing is tried again. */
  readonly over: AbortSignal;
  /** A newer bot has begun. */
  readonly onFenced: () => void;
}

/** The ledger's client as runs use it. */
export class Steady {
  readonly #ports: SteadyPorts;

  constructor(ports: SteadyPorts) {
    this.#ports = ports;
  }

  /** Asks once, for somebody who waits for the answer; a newer bot is where to ask then. */
  async once<T>(ask: (ledger: LedgerClient) => Promise<T>): Promise<T> {
    const { ledger, onFenced } = this.#ports;
    try {
      return await ask(ledger);
    } catch (error) {
      if (problemIn(error)?.code !== "FENCED") throw error;
      onFenced();
      return raise("ROLLING", "a newer bot has begun: ask again in a few seconds");
    }
  }

  /** Asks until it is answered; rejects with `NotOurs`, or with a refusal that trying again would not change. */
  async do<T>(ask: (ledger: LedgerClient) => Promise<T>): Promise<T> {
    const { ledger, real, over, onFenced } = this.#ports;
    for (let pause: number = REAL.recheckMs; ; pause = Math.min(2 * pause, REAL.heartbeatMs)) {
      if (over.aborted) throw new NotOurs("this bot is over");
      try {
        return await ask(ledger);
      } catch (error) {
        if (!(error instanceof TidegateError)) throw error;
        const { code } = error.problem;
        if (code === "FENCED") onFenced();
        if (isNotOurs(code)) throw new NotOurs(error.message, { cause: error });
        if (!isLedgerAway(error)) throw error;
      }
      await real.sleep(pause, over).catch(() => undefined);
    }
  }
}
