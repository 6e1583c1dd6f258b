// Work under one key runs one after the other; work under different keys runs at once.

/** A lock by name within this process. The agent is the only one over its data folder (soleAgent). */
export class KeyedLock {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs the work once all earlier work under the key is done, however that ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(work);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
