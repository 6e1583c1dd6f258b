// The bot and the ledger of a stage as anybody reaches them who holds the bearer; every card as it changes, over any roll; and
// what the bot says of itself, looked at all the time.

import { botClient, type BotClient } from "#client/bot.ts";
import { ledgerClient, type LedgerClient } from "#client/ledger.ts";
import { isAway } from "#client/runOutput.ts";
import type { Transport } from "#client/transport.ts";
import { REAL } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import type { Instant } from "#core/time.ts";
import { clockOf, REAL_TIME, type Clock } from "#node/clock.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { readBearers } from "#node/tokens.ts";
import type { BotHealth } from "#wire/bot.ts";

/** One card as it was told, when it came, and its words. */
export interface CardSeen {
  readonly at: Instant;
  readonly card: CardEvent;
  readonly says: string;
}

/** What the bot said of itself at one instant. */
export type HealthSeen = Pick<BotHealth, "inFlight" | "queued" | "number" | "draining"> & { readonly at: Instant };

const real = clockOf(REAL_TIME);

/** Both, for one night. */
export class BotSide {
  readonly bot: BotClient;
  readonly ledger: LedgerClient;
  readonly cards: CardSeen[] = [];
  readonly looks: HealthSeen[] = [];
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly #following: Promise<unknown>;

  constructor(paths: StatePaths, clock: Clock) {
    const transportTo = (which: "botUrl" | "ledgerUrl"): Transport => ({
      get baseUrl() {
        return readSupervisorFile(paths)?.[which] ?? "";
      },
      fetch: (to, init) => fetch(to, init),
      bearer: (scope) => readBearers(paths.tokens)?.[scope] ?? "",
      real,
    });
    this.bot = botClient(transportTo("botUrl"));
    this.ledger = ledgerClient(transportTo("ledgerUrl"));
    this.#clock = clock;
    this.#following = Promise.all([this.#follow(), this.#look()]);
  }

  /** Follows and looks no more. */
  async end(): Promise<void> {
    this.#over.abort(new Error("the night is over"));
    await this.#following;
  }

  /** Asks until the bot answers: what is asked carries a key, so that twice is once. */
  async again<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        this.#over.signal.throwIfAborted();
        if (!isAway(error)) throw error;
        await this.#rest();
      }
    }
  }

  /** Waits for a card of this ask that shows one of these states; rejects when the night is over before. */
  until(id: string, ...states: readonly CardEvent["state"][]): Promise<CardSeen> {
    const { promise, resolve, reject } = Promise.withResolvers<CardSeen>();
    const look = (): void => {
      const found = this.cards.find(({ card }) => card.id === id && states.includes(card.state));
      if (found !== undefined) resolve(found);
    };
    const over = (): void => reject(this.#over.signal.reason);
    this.#listeners.add(look);
    this.#over.signal.addEventListener("abort", over, { once: true });
    if (this.#over.signal.aborted) over();
    look();
    return promise.finally(() => {
      this.#listeners.delete(look);
      this.#over.signal.removeEventListener("abort", over);
    });
  }

  async #rest(): Promise<void> {
    await real.sleep(REAL.lookEveryMs, this.#over.signal).catch(() => undefined);
  }

  async #follow(): Promise<void> {
    const { signal } = this.#over;
    for (let last: string | null = null; !signal.aborted; await this.#rest()) {
      try {
        for await (const { id, data } of this.bot.events(last, signal)) {
          last = id ?? last;
          this.cards.push({ at: this.#clock.now(), ...data });
          for (const listener of this.#listeners) listener();
        }
      } catch (error) {
        if (!signal.aborted && !isAway(error)) throw error;
      }
    }
  }

  async #look(): Promise<void> {
    const { signal } = this.#over;
    for (; !signal.aborted; await this.#rest()) {
      const health = await this.bot.health(signal).catch(() => undefined);
      if (health === undefined) continue;
      const { inFlight, queued, number, draining, now } = health;
      const last = this.looks.at(-1);
      const isNews = last?.inFlight !== inFlight || last.queued !== queued || last.number !== number;
      if (isNews || last.draining?.id !== draining?.id)
        this.looks.push({ at: now, inFlight, queued, number, draining });
    }
  }
}
