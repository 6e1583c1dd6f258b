// The embedded swap: the supervisor, asked over its own socket, ends the old workerd and starts the new bundle over the
// same storage. Everything slow was done before; what it answers is believed, and what it does not answer is unknown.

import { HOST_ERRORS, type Ended, type HostBuild, type StepName, type SwapAnswer, type SwapAsk } from "#wire/host.ts";
import { Failure } from "#node/failure.ts";
import type { HostControl } from "#node/hostClient.ts";
import type { Released } from "#node/released.ts";
import type { DeployMode } from "#core/rolloutState.ts";
import type { Killed, Swap, Uploaded } from "#deploy/steps.ts";

/** The word of the supervisor for each way to deploy. */
const SWAP_MODE = {
  drained: "sealed",
  handoff: "handoff",
  undrained: "undrained",
  forced: "forced",
} as const satisfies Record<DeployMode, string>;

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The runs' processes among those that a container's end took along; the container's own are no run. */
export function killedIn(ended: readonly Ended[]): Killed[] {
  return ended.flatMap(({ resource, processes }) =>
    processes
      .filter((process) => process.role === "inside")
      .map(({ pid, startTicks, command, tags }) => ({
        pid,
        startTicks,
        resource,
        threadKey: tags["TIDEGATE_THREAD"] ?? null,
        command,
      })),
  );
}

/** The supervisor's answer as the outcome of an upload. */
export function uploadedOf(answer: SwapAnswer): Uploaded {
  switch (answer.outcome) {
    case "landed": {
      const notes = [
        ...(answer.finishedLater ? ["finished by a later supervisor"] : []),
        ...(answer.notStarted.length > 0
          ? [`the container of ${answer.notStarted.join(", ")} starts at its next attach`]
          : []),
      ];
      return { outcome: "landed", why: notes.join("; "), killed: killedIn(answer.killed), ms: answer.ms };
    }
    case "failed":
      return { outcome: "failed", why: answer.detail, killed: killedIn(answer.killed), ms: null };
    default:
      return { outcome: answer.outcome, why: answer.detail, killed: [], ms: null };
  }
}

/** A request that the supervisor turned away touched nothing; one without an answer may have been carried out. */
function uploadedOfFailure(error: unknown): Uploaded {
  const decided = error instanceof Failure && error.code !== "NOT_UP" && HOST_ERRORS[error.code].status < 500;
  return decided
    ? { outcome: "refused", why: error.message, killed: [], ms: null }
    : { outcome: "unknown", why: wordsOf(error), killed: null, ms: null };
}

/** Answers for an upload that is no longer waited for. */
function givenUp(signal: AbortSignal): Promise<Uploaded> {
  const answer = (): Uploaded => ({ outcome: "unknown", why: wordsOf(signal.reason), killed: null, ms: null });
  return new Promise((resolve) => {
    if (signal.aborted) resolve(answer());
    else signal.addEventListener("abort", () => resolve(answer()), { once: true });
  });
}

/** What is swapped: a step, its build, and what of the configuration is released with it. */
export interface Swapping {
  readonly step: StepName;
  readonly build: HostBuild;
  readonly released: Released;
}

/**
 * The configuration as its step takes it. A bot that is to hand its runs off by now does so also when it was started to wait for
 * them, and by force each does.
 */
function configured({ step, released }: Swapping, mode: DeployMode): Pick<SwapAsk, "leases" | "config" | "leaves"> {
  const { leases, bot } = released;
  if (step === "resident") return leases === null ? {} : { leases };
  if (step !== "bot") return {};
  const atOnce = mode === "forced" || bot?.roll === "handoff";
  return { ...(bot === null ? {} : { config: bot }), ...(atOnce ? { leaves: "handoff" } : {}) };
}

/** The swap of one step of a stack on this machine. `find` answers its supervisor's control anew each time, since one may follow another. */
export function embeddedSwap(find: () => HostControl, swapping: Swapping): Swap {
  const { step, build } = swapping;
  return {
    async upload({ drainId, mode }, signal) {
      let control: HostControl;
      try {
        control = find();
      } catch (error) {
        return { outcome: "none", why: wordsOf(error), killed: [], ms: null };
      }
      const ask = { step, drainId, mode: SWAP_MODE[mode], build, ...configured(swapping, mode) };
      const asked = control.swap(ask, signal).then(uploadedOf, uploadedOfFailure);
      return Promise.race([asked, givenUp(signal)]);
    },
    async recall(drainId) {
      const { lastSwap, parts } = await find().status();
      const last = step === "resident" ? lastSwap : (parts[step]?.last ?? null);
      return last?.drainId === drainId ? uploadedOf(last) : undefined;
    },
  };
}
