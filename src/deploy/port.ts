// The seam between the step machine and the world: one function an effect. A test wraps it to end the process before or
// after any of them; the product has one filling (fleetPort.ts) and no switch.

import type { Drain } from "#core/drain.ts";
import type { DeployEffectName, DeployFact, DeployState } from "#core/rollout.ts";
import type { Instant } from "#core/time.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Uploaded } from "#deploy/steps.ts";

/** What an effect saw beside its fact: the receipt's sources. */
export type Seen =
  | { readonly kind: "residents"; readonly residents: Residents }
  /** A frame of the watch. */
  | { readonly kind: "inFlight"; readonly at: Instant; readonly runIds: readonly string[] }
  | { readonly kind: "uploaded"; readonly uploaded: Uploaded }
  | { readonly kind: "lifted"; readonly at: Instant; readonly remaining: readonly Drain[] }
  | { readonly kind: "audit"; readonly rows: readonly AuditRow[] };

/** What came of one effect. */
export interface Performed {
  readonly fact: DeployFact;
  readonly seen?: readonly Seen[];
}

type Effect = (state: DeployState, signal: AbortSignal) => Promise<Performed>;

/** One function an effect that `core/rollout.ts` can name. The signal ends an effect that is no longer wanted. */
export type DeployPort = Readonly<Record<Exclude<DeployEffectName, "done">, Effect>> & {
  /** Collects what is known afterwards and keeps the receipt; the deploy itself is over. */
  readonly done: (state: DeployState, signal: AbortSignal) => Promise<readonly Seen[]>;
};
