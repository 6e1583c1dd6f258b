// The registration: the row in a resident that makes a run *in flight*. Whatever works in a container and cannot be cut holds one.

import { CLOCK, type Budgets } from "./budgets.ts";
import type { Instant, Ms } from "./time.ts";

export const REGISTRATION_KINDS = ["run", "child", "provision", "rebuild"] as const;
export type RegistrationKind = (typeof REGISTRATION_KINDS)[number];

/** One row (protocol.md, "The gate"). One a thread; `seq` moves with each attach, re-attach and exec. */
export interface Registration {
  readonly runId: string;
  readonly threadKey: string;
  readonly kind: RegistrationKind;
  readonly generation: number;
  readonly state: "attaching" | "running";
  readonly seq: number;
  readonly since: Instant;
  readonly leaseUntil: Instant;
  readonly parent: string | null;
}

/** What a caller brings to `attach`. `remainingMs` is what is left of its lease, or null for its kind's. */
export interface AttachAsk {
  readonly runId: string;
  readonly threadKey: string;
  readonly generation: number;
  readonly kind: RegistrationKind;
  readonly runKind: string;
  readonly remainingMs: Ms | null;
  readonly parent: string | null;
  /** Who says that the run registered on this thread is over: nobody, a person, or the ledger naming that run. */
  readonly replace:
    | { readonly by: "nobody" }
    | { readonly by: "person" }
    | { readonly by: "ledger"; readonly runId: string };
}

/**
 * The lease's end by the resident's clock: what the caller has left, else its kind's, never more than the longest
 * configured; a child's lies within its parent's.
 */
export function leaseUntilOf(ask: AttachAsk, parentUntil: Instant | null, budgets: Budgets, now: Instant): Instant {
  const ofKind = Object.hasOwn(budgets.leases, ask.runKind) ? budgets.leases[ask.runKind] : undefined;
  const wanted = ask.remainingMs ?? ofKind ?? budgets.longestLeaseMs;
  const end = now + Math.max(0, Math.min(wanted, budgets.longestLeaseMs));
  return parentUntil === null ? end : Math.min(end, parentUntil);
}

/** The instant by which everything in these rows has ended, if nobody ends sooner: the latest lease's end. */
export function quietByOf(rows: readonly { readonly leaseUntil: Instant }[]): Instant | null {
  return rows.length === 0 ? null : Math.max(...rows.map((row) => row.leaseUntil));
}

/** Whether the resident must end what is left of this row now: its lease and the grace after it are over. */
export function leaseSpent(row: Registration, now: Instant): boolean {
  return now >= row.leaseUntil + CLOCK.graceMs;
}

/** When the resident's alarm has to look at leases next. */
export function nextLeaseEnd(rows: readonly Registration[]): Instant | null {
  return rows.length === 0 ? null : Math.min(...rows.map((row) => row.leaseUntil + CLOCK.graceMs));
}

/** A row with no operation and no process for a while: named by `drain status`, ended only by its lease or an admin. */
export function isSuspect(
  row: Registration,
  alive: { readonly ops: number; readonly processes: number },
  now: Instant,
): boolean {
  return row.state === "running" && alive.ops === 0 && alive.processes === 0 && now >= row.since + CLOCK.suspectAfterMs;
}
