// When everything of a closure happened, read from the registry's own log and from the frames of the watch.

import type { Instant, Ms } from "#core/time.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { OTHERS, STALE } from "./closure.ts";
import type { ClosureSeen, Placed } from "./closureActs.ts";
import { goneAt, startedIn } from "./flights.ts";

/** The rows of the deploy's own drain with this word, and of this resident where one is named. */
export function rowsOf(seen: ClosureSeen, what: string, resource?: string): AuditRow[] {
  const { drainId } = seen.after.health;
  return seen.audit.filter(
    (row) => row.drainId === drainId && row.what === what && (resource === undefined || row.resource === resource),
  );
}

/** The instants of a closure. */
export interface ClosureTimes {
  readonly closed: Instant | undefined;
  readonly quiet: Instant | undefined;
  readonly sealed: Instant | undefined;
  readonly swapped: Instant | undefined;
  readonly reconcile: Instant | undefined;
  readonly lifted: Instant | undefined;
  /** When the stale resident was open again, and by which word of the log. */
  readonly staleOpen: Instant | undefined;
  readonly by: "stale" | "freed" | null;
}

/** When what happened. */
export function closureTimes(seen: ClosureSeen): ClosureTimes {
  const first = (what: string): Instant | undefined => rowsOf(seen, what)[0]?.at;
  const end = [...rowsOf(seen, "stale", STALE), ...rowsOf(seen, "freed", STALE)][0];
  const gone = seen.working.map(({ thread }) => goneAt(seen.frames, thread));
  const quiet = gone.some((at) => at === undefined) ? undefined : Math.max(...gone.map((at) => at ?? 0));
  return {
    closed: first("drain"),
    quiet,
    sealed: first("seal"),
    swapped: first("swapped"),
    reconcile: first("reconcile"),
    lifted: first("lift"),
    staleOpen: end?.at,
    by: end?.what === "stale" || end?.what === "freed" ? end.what : null,
  };
}

/** When a run was first seen running. */
export const startOf = (seen: ClosureSeen, { thread }: Placed): Instant | undefined =>
  startedIn(seen.frames, thread)?.now;

/** When one of the others was open: at the lift, or at its own report where a slow machine brings that only behind it. */
export function openOf(seen: ClosureSeen, resource: string): Instant | undefined {
  const { lifted } = closureTimes(seen);
  const reported = rowsOf(seen, "freed", resource)[0]?.at;
  return lifted === undefined ? undefined : Math.max(lifted, reported ?? lifted);
}

/** How long each resident was closed, by its resource. */
export function closedFor(seen: ClosureSeen): ReadonlyMap<string, Ms | undefined> {
  const { closed, staleOpen } = closureTimes(seen);
  const span = (end: Instant | undefined): Ms | undefined =>
    closed === undefined || end === undefined ? undefined : end - closed;
  return new Map([...OTHERS.map((one) => [one, span(openOf(seen, one))] as const), [STALE, span(staleOpen)]]);
}
