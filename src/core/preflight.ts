// What a deployer reads before and while it waits. The deploy fails closed: what it cannot read refuses the deploy, never a run.

import { isDeploying, type Drain } from "./drain.ts";
import type { Instant } from "./time.ts";

/** One run in flight as a deploy names it. */
export interface InFlight {
  readonly resource: string;
  readonly runId: string;
  readonly threadKey: string;
  readonly state: "attaching" | "running";
  readonly leaseUntil: Instant;
  readonly suspect: boolean;
}

/** The fleet as the registry sums it, read by a deployer. */
export interface FleetView {
  readonly protocol: number;
  readonly now: Instant;
  readonly drains: readonly Drain[];
  readonly unreadableDrains: number;
  readonly runs: readonly InFlight[];
  readonly attaching: number;
  readonly quietBy: Instant | null;
  /** Residents that could not be read, by resource; the bot by its name. */
  readonly unreadable: readonly string[];
  /** Runs that the bot has in hand, each from the first step of its admission on; 0 where no bot is part of the deploy. */
  readonly botInFlight: number;
}

/** The protocol that this build speaks; `/healthz` names the fleet's. */
export const PROTOCOL = 1;

export type Preflight =
  | { readonly kind: "clear" }
  | {
      readonly kind: "busy";
      readonly runs: readonly InFlight[];
      readonly attaching: number;
      readonly botInFlight: number;
    }
  | { readonly kind: "unreadable"; readonly what: readonly string[] }
  | { readonly kind: "deployInProgress"; readonly drain: Drain }
  | { readonly kind: "protocolApart"; readonly theirs: number };

/** Judges one look of a deployer (protocol.md, "The deploy runner", "Generations reading each other"). */
export function decidePreflight(view: FleetView, ownId: string): Preflight {
  if (Math.abs(view.protocol - PROTOCOL) >= 2) return { kind: "protocolApart", theirs: view.protocol };
  const other = view.drains.find((drain) => isDeploying(drain) && drain.id !== ownId);
  if (other !== undefined) return { kind: "deployInProgress", drain: other };
  if (view.unreadableDrains > 0) return { kind: "unreadable", what: [`${view.unreadableDrains} drain records`] };
  if (view.unreadable.length > 0) return { kind: "unreadable", what: view.unreadable };
  const { runs, attaching, botInFlight } = view;
  if (runs.length > 0 || attaching > 0 || botInFlight > 0) return { kind: "busy", runs, attaching, botInFlight };
  return { kind: "clear" };
}

/** The runs whose leases reach to a wait's end or beyond it: unless they end sooner, the wait runs out on them. */
export function outlasting(runs: readonly InFlight[], waitUntil: Instant): readonly InFlight[] {
  return runs.filter((run) => run.leaseUntil >= waitUntil);
}
