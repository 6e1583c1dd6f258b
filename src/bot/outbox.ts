// What the bot tells the ledger without waiting for it, cards and notes: in the order in which it happened, each until it was
// heard. What gathers while a request is under way goes with the next one, so that the telling is not behind what it tells
// of. Nothing of a run waits for this, and the bot's end waits for all of it.

import { LIMIT } from "#core/budgets.ts";
import type { LedgerClient } from "#client/ledger.ts";
import { problemIn, TidegateError, type Problem } from "#wire/errors.ts";
import type { Word } from "#wire/ledgerWords.ts";
import type { Log } from "./log.ts";
import { isNotOurs, NotOurs, type Steady } from "./steady.ts";

/** A word, and what is done once the ledger has it. */
interface Post {
  readonly word: Word;
  readonly heard: () => void;
}

/** How much one request carries; what is about it fits beside. */
const MOST_BYTES = LIMIT.bodyBytes / 2;

const sizeOf = ({ word }: Post): number => Buffer.byteLength(JSON.stringify(word));

/** Words on their way to the ledger. */
export class Outbox {
  readonly #steady: Steady;
  readonly #log: Log;
  readonly #generation: number;
  #waiting: Post[] = [];
  /** How many were sent. */
  #sent = 0;
  #sending: Promise<void> | undefined;

  constructor(steady: Steady, log: Log, generation: number) {
    this.#steady = steady;
    this.#log = log;
    this.#generation = generation;
  }

  /** Sends this once everything before it was heard. What the ledger refuses is logged and dropped. */
  post(word: Word, heard: () => void = () => undefined): void {
    this.#waiting.push({ word, heard });
    this.#sending ??= Promise.resolve().then(() => this.#send());
  }

  /** Resolves once everything was heard, or was dropped. */
  async flushed(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      const posts = this.#next();
      try {
        await this.#say(posts);
      } catch (error) {
        this.#dropped(error);
      }
    }
    this.#sending = undefined;
  }

  /** As many as one request carries. */
  #next(): Post[] {
    let [count, bytes] = [0, 0];
    for (const post of this.#waiting.slice(0, LIMIT.wordsAtOnce)) {
      bytes += sizeOf(post);
      if (count > 0 && bytes > MOST_BYTES) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #say(posts: readonly Post[]): Promise<void> {
    const body = { generation: this.#generation, first: this.#sent + 1, words: posts.map(({ word }) => word) };
    this.#sent += posts.length;
    try {
      const { refused } = await this.#steady.do((ledger) => ledger.words(body));
      const why = new Map(refused.map(({ at, problem }) => [at, problem]));
      for (const [at, { heard }] of posts.entries()) {
        const problem = why.get(at);
        if (problem === undefined) heard();
        else this.#refused(problem);
      }
    } catch (error) {
      if (problemIn(error) === undefined) throw error;
      // An older ledger takes them singly, and of those that it takes at once one that cannot be read spoils no other.
      for (const post of posts) await this.#alone(post);
    }
  }

  async #alone({ word, heard }: Post): Promise<void> {
    try {
      await this.#steady.do((ledger) => alone(ledger, this.#generation, word));
      heard();
    } catch (error) {
      this.#dropped(error);
    }
  }

  #refused(problem: Problem): void {
    const error = new TidegateError(problem);
    this.#dropped(isNotOurs(problem.code) ? new NotOurs(error.message, { cause: error }) : error);
  }

  #dropped(error: unknown): void {
    if (!(error instanceof NotOurs) || error.isUnreadable) this.#log("error", "the ledger refused a word", { error });
  }
}

/** One word at its own route. */
function alone(ledger: LedgerClient, generation: number, said: Word): Promise<unknown> {
  switch (said.word) {
    case "card":
      return ledger.card({ id: said.event.id, generation, event: said.event });
    case "note":
      return ledger.note({ ...said, generation });
    case "told":
      return ledger.told({ ...said, generation });
  }
}
