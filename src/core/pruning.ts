// What may go of what piles up on a disk: never what is in use, never one of the newest, and nothing at all while nobody
// can tell what is in use.

import { CLOCK, REAL } from "./budgets.ts";
import type { Instant } from "./time.ts";

/** One thing of a kind, and when it was made or last asked for. */
export interface Piled {
  readonly name: string;
  readonly at: Instant;
}

/** The names of a kind that are in use, or why that cannot be told. */
export type InUse =
  | { readonly kind: "known"; readonly names: ReadonlySet<string> }
  | { readonly kind: "unreadable"; readonly why: string };

export type Pruning =
  /** These go, the newest of them first. */
  { readonly kind: "letGo"; readonly names: readonly string[] } | { readonly kind: "leave"; readonly why: string };

/** Decides what goes of one kind: what is not in use and none of the newest `keep`. What nobody can tell matters only beyond those. */
export function decidePruning(piled: readonly Piled[], inUse: InUse, keep: number, now: Instant): Pruning {
  // An instant that lies well ahead is of a clock that was set back since: taken as new, it would outlive all that is made now.
  const madeAt = ({ at }: Piled): Instant => (at > now + REAL.requestMs ? 0 : at);
  const newestFirst = piled.toSorted((a, b) => madeAt(b) - madeAt(a) || (a.name < b.name ? -1 : 1));
  const older = newestFirst.slice(keep).map(({ name }) => name);
  if (older.length === 0) return { kind: "letGo", names: [] };
  if (inUse.kind === "unreadable") return { kind: "leave", why: inUse.why };
  return { kind: "letGo", names: older.filter((name) => !inUse.names.has(name)) };
}

/** Whether what a rebuild set aside has had its time: as long as a worktree with uncommitted files is kept. */
export function isAsideSpent(setAsideAt: Instant, now: Instant): boolean {
  return now - setAsideAt >= CLOCK.keepDirtyMs;
}
