// The swap of the ledger or the bot under the deploy's drain, and the proof of it. Whoever carried it out knows how it ended
// where its answer was lost; only what the part serves proves that it landed.

import { CLOCK, REAL } from "#core/budgets.ts";
import type { DeployFact, DeployMode, DeployState, PartName, Served } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { Beats } from "#deploy/drainEffects.ts";
import { within, wordsOf } from "#deploy/facts.ts";
import type { Performed } from "#deploy/port.ts";
import type { DeployStep, Uploaded } from "#deploy/steps.ts";

/** The parts of this stack, each with its swap and its gate. */
export type PartSteps = Readonly<Partial<Record<PartName, DeployStep>>>;

/** What these effects act with. */
export interface RollParts {
  readonly parts: PartSteps;
  readonly beats: Beats;
  readonly clock: { now(): Instant; sleep(ms: number, signal?: AbortSignal): Promise<void> };
}

const partIn = ({ effect }: DeployState): PartName | undefined =>
  effect.do === "roll" || effect.do === "rollGate" ? effect.part : undefined;

/** A deploy that closed nothing has no drain for a swap to be judged by. */
const modeOf = ({ asked, mode }: DeployState): DeployMode =>
  !asked && (mode === "drained" || mode === "handoff") ? "undrained" : mode;

const factOf = ({ outcome, why }: Uploaded): DeployFact => ({ kind: "uploaded", outcome, why });

const rolled = (part: PartName, uploaded: Uploaded): Performed => ({
  fact: factOf(uploaded),
  seen: [{ kind: "rolled", part, uploaded }],
});

/** Swaps one part; the drain is renewed meanwhile, and right before, since a swap under a drain that is over is refused. */
export async function roll(parts: RollParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const part = partIn(state);
  const step = part === undefined ? undefined : parts.parts[part];
  if (part === undefined || step === undefined)
    return { fact: { kind: "uploaded", outcome: "none", why: "this stack runs none" } };
  if ((await parts.beats.beat(state, signal)) === "over") return { fact: { kind: "over" } };
  const ended = new AbortController();
  const bound = AbortSignal.any([signal, ended.signal]);
  const late = parts.clock.sleep(CLOCK.swapBoundMs, bound).then((): Uploaded => {
    return { outcome: "unknown", why: "no answer within the swap bound", killed: null, ms: null };
  });
  const asked = step.swap.upload({ drainId: state.drainId, mode: modeOf(state) }, bound);
  const beating = parts.beats.keepOn(state, bound);
  try {
    return rolled(part, await Promise.race([asked, late]));
  } finally {
    ended.abort(new Error("the swap has its answer"));
    late.catch(() => undefined);
    await beating;
  }
}

/** What the part serves. While that is not this deploy's, whoever swapped it may know that it ended without landing. */
export async function rollGate(parts: RollParts, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const part = partIn(state);
  const step = part === undefined ? undefined : parts.parts[part];
  if (part === undefined || step === undefined) return { fact: { kind: "unreadable", why: "this stack runs none" } };
  await parts.beats.beat(state, signal);
  const bound = within(REAL.requestMs, signal);
  const fact = await step.live(bound).then(
    (served: Served): DeployFact => ({ kind: "serves", served }),
    (error: unknown): DeployFact => ({ kind: "unreadable", why: wordsOf(error) }),
  );
  if (fact.kind === "serves" && fact.served.drainId === state.drainId) return { fact };
  const uploaded = await step.swap.recall(state.drainId, bound).catch(() => undefined);
  const over = uploaded !== undefined && uploaded.outcome !== "landed" && uploaded.outcome !== "unknown";
  return over ? rolled(part, uploaded) : { fact };
}
