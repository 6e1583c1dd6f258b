// Registrations that nobody else gives back: of runs that have ended by the ledger's word, as after a release which the fleet
// did not hear, or an attach of a bot that died which came in behind its run's end. A deploy waits for whatever is registered.

import { CLOCK } from "#core/budgets.ts";
import { release } from "#client/release.ts";
import { problemIn } from "#wire/errors.ts";
import type { RunRow } from "#wire/fleet.ts";
import { Again } from "./again.ts";
import type { Desk } from "./dispatcher/desk.ts";

/** What a bot looks for beside its own runs. */
export class Leftovers {
  readonly #desk: Desk;
  readonly #looks = new Again(() => this.#look());
  /** Registered runs that the ledger does not know, or cannot read: not asked for again while they are registered. */
  #strangers: ReadonlySet<string> = new Set();

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  /** Looks at what is registered now; settles once what was left over is given back, or the next look is to try it again. */
  look(): Promise<void> {
    return this.#looks.ask();
  }

  async #look(): Promise<void> {
    const { parts, runs } = this.#desk;
    const { frame } = parts.watch;
    if (frame === null) return;
    const registered = frame.runs;
    this.#strangers = new Set(registered.map(({ runId }) => runId).filter((id) => this.#strangers.has(id)));
    // Whoever is about to end has given back first: what was let in just now is nobody's leftover yet.
    const old = registered.filter(({ since }) => parts.clock.now() - since >= CLOCK.ledgerLeaseMs);
    for (const row of old) {
      if (runs.isLetGo) return;
      if (runs.get(row.runId) === undefined && !this.#strangers.has(row.runId)) await this.#judge(row);
    }
  }

  async #judge(row: RunRow): Promise<void> {
    const { parts, number } = this.#desk;
    const { runId, resource, threadKey } = row;
    try {
      const { ended } = await parts.ledger.run(runId);
      if (ended === null) return;
      const { notReleased } = await release(parts, { resource, threadKey, runId, generation: number }, true);
      parts.log("warn", "a run that has ended was registered still", { id: runId, notReleased });
    } catch (error) {
      const code = problemIn(error)?.code;
      if (code === "NO_SUCH_RUN" || code === "RECORD_UNREADABLE")
        this.#strangers = new Set([...this.#strangers, runId]);
      else parts.log("info", "a registered run cannot be looked up", { id: runId, error });
    }
  }
}
