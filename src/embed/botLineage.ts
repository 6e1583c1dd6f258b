// Which bots of this supervisor are known to have ended. What a dead one held is nobody's, and its successor may hand it off in its
// name; of one that may live that is never said.

import { isSameProcess } from "#node/processes.ts";
import type { ProcessId } from "#wire/host.ts";
import type { ServingBot } from "#embed/botProcess.ts";

/** The bots that were begun, from the last one on whose number is known. */
export class BotLineage {
  readonly #lives: (id: ProcessId) => boolean;
  #number: number | null = null;
  #begun: ProcessId[] = [];

  constructor(lives: (id: ProcessId) => boolean = isSameProcess) {
    this.#lives = lives;
  }

  /** A bot's process exists; it may take a number before it answers, or dies. */
  began(id: ProcessId): void {
    this.#begun.push(id);
  }

  /** A bot answers; its number is null where it does not say it. */
  answers({ number }: Pick<ServingBot, "number">): void {
    this.#number = number;
  }

  /** The number of the last bot that answered, once its process and each that was begun behind it are gone; else null. */
  gone(): number | null {
    this.#begun = this.#begun.filter((id) => this.#lives(id));
    return this.#begun.length === 0 ? this.#number : null;
  }
}
