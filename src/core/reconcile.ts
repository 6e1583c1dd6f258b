// The operation behind `POST /reconcile`: who was asked, what each resident answered, and who is asked again when. The
// registry's alarm drives it from storage, so a restart of the registry goes on where it stood.

import { CLOCK } from "./budgets.ts";
import type { Instant } from "./time.ts";

/** What a resident says of its container; `asked` is one that has not answered yet. */
export const RECONCILE_STATES = ["asked", "restarted", "current", "inactive", "deferred", "stale", "error"] as const;
export type ReconcileState = (typeof RECONCILE_STATES)[number];

/** One resident's part of the operation. `killed`: processes of runs that ended with the old container. */
export interface ReconcileEntry {
  readonly resource: string;
  readonly state: ReconcileState;
  readonly image: string | null;
  readonly bootId: string | null;
  readonly why: string | null;
  readonly killed: number;
  /** When it was last asked, and how often. */
  readonly askedAt: Instant;
  readonly asks: number;
}

/** The operation of one deploy. `until` is the cycle bound: past it a resident looks after its container by itself. */
export interface Reconcile {
  readonly drainId: string;
  readonly image: string;
  readonly since: Instant;
  readonly until: Instant;
  readonly entries: readonly ReconcileEntry[];
}

/** A resident's answer to being asked. */
export type ReconcileWord = Pick<ReconcileEntry, "state" | "image" | "bootId" | "why" | "killed">;

/** A new operation over these residents, none of which has been asked. */
export function reconcileOf(
  begun: { readonly drainId: string; readonly image: string; readonly until: Instant },
  residents: readonly string[],
  now: Instant,
): Reconcile {
  const entries = residents.map((resource) => ({
    resource,
    state: "asked" as const,
    image: null,
    bootId: null,
    why: null,
    killed: 0,
    askedAt: now,
    asks: 0,
  }));
  return { ...begun, since: now, entries };
}

const SETTLED: readonly ReconcileState[] = ["restarted", "current", "inactive"];

/** Whether nothing more is asked of this resident. */
export const isSettled = (entry: ReconcileEntry): boolean => SETTLED.includes(entry.state);

const dueAt = (entry: ReconcileEntry): Instant => (entry.asks === 0 ? entry.askedAt : entry.askedAt + CLOCK.holdAskMs);

/** The residents that are to be asked now: those that never were, and those whose answer settled nothing, each after a while. */
export function dueEntries(operation: Reconcile, now: Instant): readonly ReconcileEntry[] {
  if (now >= operation.until) return [];
  return operation.entries.filter((entry) => !isSettled(entry) && now >= dueAt(entry));
}

/** When somebody has to be asked next, for the registry's alarm; null once nobody will be. */
export function nextAskAt(operation: Reconcile, now: Instant): Instant | null {
  const due = operation.entries.filter((entry) => !isSettled(entry)).map(dueAt);
  const at = due.length === 0 ? null : Math.min(...due);
  return at === null || Math.max(at, now) >= operation.until ? null : at;
}

function withEntry(
  operation: Reconcile,
  resource: string,
  change: (entry: ReconcileEntry) => ReconcileEntry,
): Reconcile {
  return {
    ...operation,
    entries: operation.entries.map((entry) => (entry.resource === resource ? change(entry) : entry)),
  };
}

/** These residents are being asked: written before the question goes out, so that a restart asks again and not twice at once. */
export function noteAsked(operation: Reconcile, resources: readonly string[], now: Instant): Reconcile {
  return resources.reduce(
    (rest, resource) => withEntry(rest, resource, (entry) => ({ ...entry, askedAt: now, asks: entry.asks + 1 })),
    operation,
  );
}

/** What a container is that is on the image now: restarted, if another image was ever read inside it, else current. */
function onImage(entry: ReconcileEntry, image: string | null): "restarted" | "current" {
  const wasOther = entry.image !== null && entry.image !== image;
  return entry.state === "restarted" || wasOther ? "restarted" : "current";
}

/**
 * A resident's answer. What was restarted stays restarted, also when a later answer says only that it is current; and an
 * answer that failed takes nothing back of what a report has settled meanwhile.
 */
export function noteWord(operation: Reconcile, resource: string, word: ReconcileWord): Reconcile {
  return withEntry(operation, resource, (entry) => {
    const killed = entry.killed + word.killed;
    if (isSettled(entry) && word.state === "error") return { ...entry, killed };
    const state = word.state === "current" ? onImage(entry, word.image) : word.state;
    return { ...entry, ...word, state, killed };
  });
}

/** A report that comes by another way (an attach, a rebuild, the outbox) settles the resident too. */
export function noteImage(
  operation: Reconcile,
  word: { resource: string; image: string; bootId: string | null },
): Reconcile {
  if (word.image !== operation.image) return operation;
  const { resource, image, bootId } = word;
  return withEntry(operation, resource, (entry) =>
    isSettled(entry) ? entry : { ...entry, state: onImage(entry, image), image, bootId, why: null },
  );
}

/** The operation without a resident that left the fleet. */
export function withoutResident(operation: Reconcile, resource: string): Reconcile {
  return { ...operation, entries: operation.entries.filter((entry) => entry.resource !== resource) };
}
