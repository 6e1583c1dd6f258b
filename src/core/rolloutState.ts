// What a deploy is made of: its modes, its effects, the facts that answer them and where one stands. The step machine
// over these is core/rollout.ts.

import { CLOCK, type Budgets } from "./budgets.ts";
import type { Drain, UploadOutcome } from "./drain.ts";
import type { FleetView, Preflight } from "./preflight.ts";
import type { Instant, Ms } from "./time.ts";

/**
 * `drained`: close, wait, seal, swap. `handoff`: close, swap under the runs, which live on in their containers; only for
 * a release that keeps the image. `undrained`: no drain bearer, wait for a quiet look. `forced`: swap over what runs.
 */
export const DEPLOY_MODES = ["drained", "handoff", "undrained", "forced"] as const;
export type DeployMode = (typeof DEPLOY_MODES)[number];

/** Every effect by name; a test kills the deployer before and after each. */
export const DEPLOY_EFFECTS = [
  "preflight",
  "drain",
  "mint",
  "look",
  "pause",
  "pulse",
  "roll",
  "rollGate",
  "seal",
  "confirm",
  "upload",
  "readBack",
  "liveGate",
  "reconcile",
  "lift",
  "holds",
  "done",
] as const;
export type DeployEffectName = (typeof DEPLOY_EFFECTS)[number];

/** What is swapped beside the fleet, in this order (protocol.md: `drain → quiet → [ledger] → [bot] → seal → …`). */
export const PARTS = ["ledger", "bot"] as const;
export type PartName = (typeof PARTS)[number];

/** Which steps a deploy has. `waits`: its parts are swapped only when nothing is in flight; else as soon as the door is closed. */
export interface Steps {
  readonly parts: readonly PartName[];
  readonly waits: boolean;
  readonly resident: boolean;
}

/** The fleet alone. */
export const RESIDENT_ONLY: Steps = { parts: [], waits: true, resident: true };

export type DeployEffect =
  /** Read the fleet before anything is asked of it. */
  | { readonly do: "preflight" }
  /** `POST /drain` under `drainId`. */
  | { readonly do: "drain" }
  /** Mint a new drain id, because the old one is over. */
  | { readonly do: "mint" }
  /** Read the fleet, asking the residents afresh that the sum calls busy. */
  | { readonly do: "look" }
  /** Wait for the watch, at the latest until `at`. */
  | {
      readonly do: "pause";
      readonly at: Instant;
      readonly then: "look" | "readBack" | "liveGate" | "rollGate" | "reconcile" | "holds" | "drain" | "pulse" | "seal";
    }
  /** Renew the drain. */
  | { readonly do: "pulse" }
  /** Swap the ledger or the bot under the drain. */
  | { readonly do: "roll"; readonly part: PartName }
  /** Wait until that part's `/healthz` serves this upload. */
  | { readonly do: "rollGate"; readonly part: PartName }
  /** Every resident promises to be quiet; for a handoff only the registry begins the swap. */
  | { readonly do: "seal" }
  /** Ask the registry once more, right before the upload. */
  | { readonly do: "confirm" }
  | { readonly do: "upload" }
  /** What does the fleet serve? The upload's own answer was lost. */
  | { readonly do: "readBack" }
  /** Wait until `/healthz` serves this upload. */
  | { readonly do: "liveGate" }
  /** `POST /reconcile`: every container is brought onto the image, and held until it reports. */
  | { readonly do: "reconcile" }
  /** `POST /undrain` with the outcome. */
  | { readonly do: "lift"; readonly outcome: UploadOutcome }
  /** Read which residents are still held; the others are open. */
  | { readonly do: "holds" }
  | { readonly do: "done" };

export type DeployStop =
  | { readonly kind: "deployed" }
  | {
      readonly kind: "refused";
      readonly by:
        | Exclude<Preflight, { kind: "clear" }>
        | { readonly kind: "uploadRefused"; readonly why: string }
        | { readonly kind: "sealTaken" };
    }
  | { readonly kind: "failed"; readonly why: string }
  | { readonly kind: "denied"; readonly why: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "stopped"; readonly signal: "SIGINT" | "SIGTERM" };

/** What the fleet serves, as `/healthz` says it. */
export interface Served {
  readonly drainId: string | null;
  readonly generation: number;
}

/** A deploy that closes nothing: of the ledger alone, whose swap no run feels. */
export const closesNothing = ({ parts, resident }: Steps): boolean => !resident && !parts.includes("bot");

/** Where one deploy stands. Instants are the deployer's clock, except those inside `drain`. */
export interface DeployState {
  readonly mode: DeployMode;
  /** What is still to be swapped, and what has landed. */
  readonly steps: Steps;
  readonly landed: readonly (PartName | "resident")[];
  readonly drainId: string;
  readonly effect: DeployEffect;
  readonly startedAt: Instant;
  readonly budgetUntil: Instant;
  /** The generation served before; a later one with this id is this upload. */
  readonly fromGeneration: number;
  /** Whether a `/drain` of the present id was asked for: then it is lifted, whatever its answer was. */
  readonly asked: boolean;
  readonly drain: Drain | null;
  readonly view: FleetView | null;
  readonly nextPulseAt: Instant;
  readonly nextLookAt: Instant;
  readonly swapUntil: Instant;
  /** Until when the part that was swapped last may take to be seen. */
  readonly partUntil: Instant;
  readonly tries: number;
  readonly unreadableLooks: number;
  readonly outcome: UploadOutcome;
  readonly stop: DeployStop | null;
  /** How the lift went: the fleet is open, opens by itself at an instant, or nobody knows. */
  readonly lifted: "open" | "deferred" | "lost" | null;
  /** Until when an answer to `/reconcile` is asked for: past it the fleet is lifted without one. */
  readonly reconcileUntil: Instant;
  /** Why the containers were not brought onto the image by this deploy; each then is at its next quiet attach. */
  readonly unreconciled: string | null;
  /** Residents that stay closed after the lift, and until when at the latest. */
  readonly held: readonly string[];
  readonly holdUntil: Instant;
  /** Residents whose container had not reported when their hold ran out. */
  readonly stale: readonly string[];
}

export type DeployFact =
  | { readonly kind: "viewed"; readonly view: FleetView; readonly served: Served }
  | { readonly kind: "unreadable"; readonly why: string }
  | { readonly kind: "drained"; readonly drain: Drain }
  | { readonly kind: "busy"; readonly drain: Drain }
  | { readonly kind: "over" }
  | { readonly kind: "denied"; readonly why: string }
  /** No answer, or one that says nothing: the request may have been carried out. */
  | { readonly kind: "lost"; readonly why: string }
  | { readonly kind: "minted"; readonly id: string }
  /** The pause ended: by its instant, or because the watch said that nothing is in flight. */
  | { readonly kind: "woke"; readonly quiet: boolean }
  /** `leftMs`: how long the swap bound is away, by the registry's clock, which is not the deployer's. */
  | { readonly kind: "sealed"; readonly drain: Drain; readonly leftMs: Ms }
  /** Nobody is sealed: some resident has a row, or could not be read. */
  | { readonly kind: "notSealed"; readonly unreadable: readonly string[] }
  | { readonly kind: "confirmed" }
  | { readonly kind: "uploaded"; readonly outcome: UploadOutcome; readonly why: string }
  | { readonly kind: "serves"; readonly served: Served }
  /** `leftMs`: how long the cycle bound is away, by the registry's clock. */
  | { readonly kind: "reconciling"; readonly drain: Drain; readonly leftMs: Ms }
  | { readonly kind: "lifted"; readonly held: readonly string[]; readonly leftMs: Ms }
  /** Who is held still; `stale`: whose hold ended without their report. */
  | { readonly kind: "heldBy"; readonly held: readonly string[]; readonly stale: readonly string[] }
  | { readonly kind: "deferred"; readonly at: Instant }
  | { readonly kind: "signal"; readonly signal: "SIGINT" | "SIGTERM" };

/** A new deploy. `drainId` is minted by the caller (128 random bits) and kept over its retries. */
export function deployOf(mode: DeployMode, drainId: string, budgets: Budgets, now: Instant): DeployState {
  const wait = mode === "undrained" ? CLOCK.undrainedWaitMs : budgets.deployWaitMs;
  return {
    mode,
    steps: RESIDENT_ONLY,
    landed: [],
    drainId,
    effect: { do: "preflight" },
    startedAt: now,
    budgetUntil: now + wait,
    fromGeneration: 0,
    asked: false,
    drain: null,
    view: null,
    nextPulseAt: 0,
    nextLookAt: 0,
    swapUntil: 0,
    partUntil: 0,
    tries: 0,
    unreadableLooks: 0,
    outcome: "none",
    stop: null,
    lifted: null,
    reconcileUntil: 0,
    unreconciled: null,
    held: [],
    holdUntil: 0,
    stale: [],
  };
}

/** The same deploy with other steps. */
export const withSteps = (state: DeployState, steps: Steps): DeployState => ({ ...state, steps });
