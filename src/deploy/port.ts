// The seam between the step machine and the world: one function an effect. A test wraps it to end the process before or
// after any of them; the product has one filling (fleetPort.ts) and no switch.

import type { Drain } from "#core/drain.ts";
import type { DeployEffectName, DeployFact, DeployState, PartName } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { QueuedUnder } from "#wire/bot.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Uploaded } from "#deploy/steps.ts";

/** What an effect saw beside its fact: the receipt's sources. */
export type Seen =
  | { readonly kind: "residents"; readonly residents: Residents }
  /** A frame of the watch. */
  | { readonly kind: "inFlight"; readonly at: Instant; readonly runIds: readonly string[] }
  | { readonly kind: "uploaded"; readonly uploaded: Uploaded }
  /** The answer to the swap of the ledger or the bot. */
  | { readonly kind: "rolled"; readonly part: PartName; readonly uploaded: Uploaded }
  /** The bot's door is closed or opened with the fleet's; `why` it was not. */
  | { readonly kind: "botDoor"; readonly closed: boolean; readonly why: string | null }
  /** Who waits in the bot's queue under this drain; null where the bot does not say. */
  | { readonly kind: "asksQueued"; readonly queued: QueuedUnder | null }
  /** What each resident has answered to the reconcile so far. */
  | { readonly kind: "reconciled"; readonly answer: ReconcileAnswer }
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
