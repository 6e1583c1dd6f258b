// A step of a deploy is data: its name, how it swaps and what proves that it lives. Another swap
// (a platform's upload, a script) stands in the same place by being another value.

import type { UploadOutcome } from "#core/drain.ts";
import type { DeployMode, Served } from "#core/rolloutState.ts";
import type { StepName } from "#wire/host.ts";

/** A process of a run that a swap ended, as the swap saw it die. */
export interface Killed {
  readonly pid: number;
  readonly startTicks: number;
  readonly resource: string;
  /** The thread it worked for, by its own environment; null when it carried no mark. */
  readonly threadKey: string | null;
  readonly command: string;
}

/** How an upload ended, as far as its own answer says. `killed` is null when nobody counted. */
export interface Uploaded {
  readonly outcome: UploadOutcome;
  readonly why: string;
  readonly killed: readonly Killed[] | null;
  readonly ms: number | null;
}

/** What an upload is asked to do. */
export interface UploadAsk {
  readonly drainId: string;
  readonly mode: DeployMode;
}

/** Puts a prepared release in the place of the one that is served. */
export interface Swap {
  /** Never rejects: what cannot be told is `unknown`. The signal ends the upload where that can be done. */
  upload(ask: UploadAsk, signal: AbortSignal): Promise<Uploaded>;
  /** The answer to the upload of this id, for one that was lost; undefined when nobody has it. */
  recall(drainId: string, signal: AbortSignal): Promise<Uploaded | undefined>;
}

/** One step of a deploy (protocol.md, "The deploy runner"). */
export interface DeployStep {
  readonly name: StepName;
  readonly swap: Swap;
  /** What is served right now. */
  live(signal: AbortSignal): Promise<Served>;
}
