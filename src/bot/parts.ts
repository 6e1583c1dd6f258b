// What the bot is made of, given once by its composition root. Nothing below reads the environment, a clock or the network
// but through these.

import type { Budgets } from "#core/budgets.ts";
import type { Build } from "#core/drain.ts";
import type { Attach } from "#client/attach.ts";
import type { FleetClient } from "#client/fleet.ts";
import type { LedgerClient } from "#client/ledger.ts";
import type { Clock, MintId } from "#client/ports.ts";
import type { Kinds } from "#wire/config.ts";
import type { DoorWatch } from "./doors.ts";
import type { Secrets } from "./harness/secrets.ts";
import type { Log } from "./log.ts";

/** Which bot this is: what it answers on `/healthz`. */
export interface Upload {
  readonly build: Build;
  readonly generation: number;
  readonly drainId: string | null;
}

export interface BotParts {
  readonly upload: Upload;
  /** How it leaves its runs when it is asked to end: it waits for them, or hands them off at once. */
  readonly roll: "drain" | "handoff";
  readonly kinds: Kinds;
  readonly budgets: Budgets;
  readonly fleet: FleetClient;
  readonly attach: Attach;
  readonly watch: DoorWatch;
  readonly ledger: LedgerClient;
  /** The stack's clock. */
  readonly clock: Clock;
  /** Real time, for requests and processes. */
  readonly real: Clock;
  readonly mintId: MintId;
  readonly signalNumber: (name: string) => number;
  readonly secrets: Secrets;
  readonly log: Log;
}
