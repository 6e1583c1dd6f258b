// Who follows a run's output is woken when there is more of it; what there is they read from the ledger, as after any roll.

/** Wakes by run. */
export class Wakes {
  readonly #sleepers = new Map<string, Set<() => void>>();

  /** Calls at each wake of this run; answers how to stop that. */
  on(id: string, wake: () => void): () => void {
    const mine = this.#sleepers.get(id) ?? new Set();
    this.#sleepers.set(id, mine.add(wake));
    return () => {
      mine.delete(wake);
      if (mine.size === 0) this.#sleepers.delete(id);
    };
  }

  /** There is more of this run. */
  wake(id: string): void {
    for (const wake of this.#sleepers.get(id) ?? []) wake();
  }
}
