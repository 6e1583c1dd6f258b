// One process that serves behind a front: never two at once, started again when it ends by itself, and replaced while the
// front holds what connects. What it is (a workerd, the bot) is its parts' affair.

import { setTimeout as pause } from "node:timers/promises";
import { REAL } from "#core/budgets.ts";
import { wordsOf } from "#node/failure.ts";
import { logOf } from "#node/log.ts";
import type { ProcessId } from "#wire/host.ts";
import type { Front } from "#embed/front.ts";

/** A process that answers. */
export interface Serving {
  readonly id: ProcessId;
  readonly port: number;
  /** Resolves when the process has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

/** What is served behind one front, and how. */
export interface ServedParts<U> {
  readonly name: string;
  readonly front: Front;
  /** Starts a process of this upload; rejects when it does not come to answer, having ended it. */
  readonly start: (upload: U) => Promise<Serving>;
  /** Whether it answers while it ends, which may take long: then only what comes behind its end is held. */
  readonly lingers: () => boolean;
  /** Ends this very process and waits until it is gone. */
  readonly end: (serving: Serving) => Promise<void>;
  /** Writes down which process lives. */
  readonly onProcess: (id: ProcessId | null) => void;
}

/** The process of one front. */
export class Served<U> {
  readonly #parts: ServedParts<U>;
  #serving: Serving | undefined;
  /** Moves with every wanted start and end, so that a watcher of an older process does nothing. */
  #turn = 0;
  #line: Promise<unknown> = Promise.resolve();

  constructor(parts: ServedParts<U>) {
    this.#parts = parts;
  }

  /** The process that serves, or `undefined`. */
  get serving(): Serving | undefined {
    return this.#serving;
  }

  get url(): string {
    return this.#parts.front.url;
  }

  /** Starts this upload and leads the front to it; the front goes on holding when it does not start. */
  async serve(upload: U): Promise<void> {
    const turn = ++this.#turn;
    await this.#alone(() => this.#serve(turn, upload));
  }

  /** Serves this upload as soon as it can be started, trying again and again, each time after a longer pause. */
  keepTrying(upload: U): void {
    void this.#restart(++this.#turn, upload);
  }

  /** Ends the process that serves and waits until it is gone; new connections are held, by then at the latest. */
  async endServing(): Promise<void> {
    this.#turn += 1;
    await this.#alone(async () => {
      const { front, lingers, end, onProcess } = this.#parts;
      if (!lingers()) front.lead({ kind: "hold" });
      if (this.#serving !== undefined) await end(this.#serving);
      front.lead({ kind: "hold" });
      if (this.#serving === undefined) return;
      this.#serving = undefined;
      onProcess(null);
    });
  }

  /** Holds new connections while something is checked, and leads them on unless the check says that the end has come. */
  async holding(check: () => Promise<"leadOn" | "stay">): Promise<void> {
    const { front } = this.#parts;
    front.lead({ kind: "hold" });
    let next: "leadOn" | "stay" = "leadOn";
    try {
      next = await check();
    } finally {
      if (next === "leadOn" && this.#serving !== undefined) front.lead({ kind: "up", port: this.#serving.port });
    }
  }

  async #serve(turn: number, upload: U): Promise<void> {
    const serving = await this.#parts.start(upload);
    this.#serving = serving;
    this.#parts.front.lead({ kind: "up", port: serving.port });
    logOf("supervisor").info(`the ${this.#parts.name} is served`, { pid: serving.id.pid });
    void serving.ended.then(() => {
      if (turn === this.#turn) void this.#restart(turn, upload);
    });
  }

  /** One start or end at a time, so that there are never two. */
  #alone<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#line.then(act, act);
    this.#line = turn.then(
      () => undefined,
      () => undefined,
    );
    return turn;
  }

  /** A process that ended by itself comes back with what it served. */
  async #restart(turn: number, upload: U): Promise<void> {
    const { name, front } = this.#parts;
    this.#serving = undefined;
    front.lead({ kind: "hold" });
    for (let waitMs: number = REAL.restartFirstMs; ; waitMs = Math.min(REAL.restartLongestMs, waitMs * 2)) {
      logOf("supervisor").warn(`the ${name} is down`, { againInMs: waitMs });
      await pause(waitMs);
      const done = await this.#alone(async () => {
        if (turn !== this.#turn) return true;
        await this.#serve(turn, upload);
        return true;
      }).catch((error: unknown) => {
        logOf("supervisor").error(`the ${name} does not start`, { error: wordsOf(error) });
        return false;
      });
      if (done) return;
    }
  }
}
