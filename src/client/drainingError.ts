// The end of a wait whose budget the drain outlasted. It ends the run `refused`, naming the wait and the drain's end.

import { clockOf, type Instant, type Ms } from "#core/time.ts";

/** The budget of a wait at a closed door is spent (protocol.md, "The caller's wait"). Told apart by `code`. */
export class ResidentDrainingError extends Error {
  override readonly name = "ResidentDrainingError";
  readonly code = "RESIDENT_DRAINING";
  readonly resource: string;
  readonly waitedMs: Ms;
  /** When the drain that held the door ends by itself; null when nobody could say. */
  readonly until: Instant | null;

  constructor(resource: string, waitedMs: Ms, until: Instant | null) {
    const end = until === null ? "" : ` until ${clockOf(until)}`;
    super(
      `${resource} is drained${end}: waited ${Math.floor(waitedMs / 1_000)} s, which is all that this run's lease could hold`,
    );
    this.resource = resource;
    this.waitedMs = waitedMs;
    this.until = until;
  }
}
