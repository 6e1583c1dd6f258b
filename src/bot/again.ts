// One piece of work that never runs beside itself: whoever asks for it while it runs has it run once more. That it is over
// is noted in the very step in which nobody has asked again, so that no ask falls in between.

/** The work of one owner. */
export class Again {
  readonly #work: () => Promise<void>;
  #running: Promise<void> | null = null;
  #isAsked = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** What is under way; null while nothing is. */
  get running(): Promise<void> | null {
    return this.#running;
  }

  /** Has it run from its beginning, now or as soon as it may; settles with the run that took this ask with it. */
  ask(): Promise<void> {
    this.#isAsked = true;
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    // It is known as under way before it begins, also to itself.
    await Promise.resolve();
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        await this.#work();
      }
    } finally {
      this.#running = null;
    }
  }
}
