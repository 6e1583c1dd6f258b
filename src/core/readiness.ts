// What a screen says of a resident. Readiness tells the truth: a resident that refuses is never called warm.

import { closes, type Drain } from "./drain.ts";
import type { Instant } from "./time.ts";

export const RESIDENT_STATES = ["starting", "ready", "failed", "unreadable"] as const;
export type ResidentState = (typeof RESIDENT_STATES)[number];

export const IMAGE_REPORTS = ["current", "pending", "stale", "unknown"] as const;
export type ImageReport = (typeof IMAGE_REPORTS)[number];

/** The one word of a resident's row: what closes it comes before how it is. */
export function readinessOf(resource: string, state: ResidentState, drains: readonly Drain[]): string {
  if (state === "unreadable") return "unreadable";
  return drains.some((drain) => closes(drain, resource)) ? "drained — attach refused" : state;
}

/**
 * What a container's own word, read from inside, says beside the image that the deployed Worker pins. `pending`: a
 * reopening waits for this very report.
 */
export function imageReportOf(inside: string | null, pinned: string, held: boolean): ImageReport {
  if (inside === pinned) return "current";
  if (held) return "pending";
  return inside === null ? "unknown" : "stale";
}

/** What an end is expected at: everything in flight over and the swap behind it, where known; else the record's end. */
export function expectedOpen(drain: { readonly until: Instant }, quietBy: Instant | null, swapMs: number): Instant {
  return quietBy === null ? drain.until : Math.min(drain.until, quietBy + swapMs);
}
