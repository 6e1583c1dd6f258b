// The closure that is replayed: its three repositories, what may be set of it, and the incident's own figures, which are
// quoted from its record and never measured here. Nothing of what then happens is written in this file.

import { CLOCK } from "#core/budgets.ts";
import { MINUTE, SECOND, type Instant, type Ms } from "#core/time.ts";
import { resourceOf } from "#wire/names.ts";
import { REPO } from "./stage.ts";

/** `bound`: nobody does anything, and the cycle bound ends the hold. `rebuild`: an admin rebuilds the stale one before it. */
export const CLOSURES = ["bound", "rebuild"] as const;
export type ClosureVariant = (typeof CLOSURES)[number];

/** The repository whose container the platform never cycles. */
export const STALE = REPO;
/** The others. */
export const OTHERS: readonly string[] = [resourceOf("local", "atlas"), resourceOf("local", "beacon")];
export const PLACES: readonly string[] = [STALE, ...OTHERS];

/** When the stage is opened; the deploy follows as soon as its runs are in flight. */
export const BEGINS: Instant = Date.UTC(2026, 8, 20, 4, 45);

/** What the incident's record says of itself, in minutes since the fleet closed. */
export const RECORD = {
  closedMinutes: 34,
  rebuildMinute: 10,
  stillOldMinute: 20,
  backstopMinutes: 65,
  boundMinutes: "ten-to-fifteen",
} as const;

/** What may be set of a closure. */
export interface Closure {
  /** When the rebuild is asked for, counted from the reconcile, as the cycle bound is. */
  readonly rebuildAfter: Ms;
}

const NAME = "rebuild.at";
const REBUILD_MINUTE = 8;

/** A closure with these changes; a failure says which word is wrong and what would be right. */
export function closureOf(sets: readonly string[]): Closure | { readonly wrong: string } {
  let minutes = REBUILD_MINUTE;
  for (const set of sets) {
    const [name = "", value = ""] = set.split("=");
    if (name !== NAME) return { wrong: `--set ${set}: "${name}" is not ${NAME}` };
    minutes = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    const within = minutes * MINUTE < CLOCK.cycleBoundMs;
    if (!within)
      return {
        wrong: `--set ${set}: "${value}" is no number of minutes below ${CLOCK.cycleBoundMs / MINUTE}, the cycle bound, both counted from the reconcile`,
      };
  }
  return { rebuildAfter: Math.round(minutes * (MINUTE / SECOND)) * SECOND };
}
