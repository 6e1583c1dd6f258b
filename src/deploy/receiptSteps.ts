// A receipt's steps: from which build to which, and what came of each swap. One that was answered has landed only once its
// live gate has seen it; until then, and where nobody heard of it, it is unknown.

import type { UploadOutcome } from "#core/drain.ts";
import type { DeployState } from "#core/rolloutState.ts";
import type { StepName } from "#wire/host.ts";
import type { Receipt, ReceiptStep } from "#wire/receipt.ts";
import type { DeployTurn } from "#deploy/run.ts";
import type { StepShape } from "#deploy/shapes.ts";

/** The steps before any of them has begun. */
export function receiptStepsOf(shapes: readonly StepShape[]): ReceiptStep[] {
  return shapes.map(({ step, from, to }) => ({
    step,
    from: from ?? "unknown",
    to,
    outcome: "none",
    why: null,
    since: null,
    until: null,
    generation: null,
  }));
}

/** Which step a turn swapped or proved. */
function stepIn({ before }: DeployTurn): StepName | undefined {
  const doing = before.effect.do === "pause" ? before.effect.then : before.effect.do;
  if (doing === "roll" || doing === "rollGate") return before.steps.parts[0];
  return doing === "upload" || doing === "readBack" || doing === "liveGate" ? "resident" : undefined;
}

/** What is known of a part's swap after this turn: what ended it, else that its gate has seen it, else nothing. */
function partOutcome({ fact, after }: DeployTurn, { step }: ReceiptStep): UploadOutcome {
  if (after.landed.includes(step)) return "landed";
  const isOver = fact.kind === "uploaded" && fact.outcome !== "landed";
  return isOver ? fact.outcome : "unknown";
}

function noted(one: ReceiptStep, turn: DeployTurn): ReceiptStep {
  const { fact, after, since, until } = turn;
  // A drain that was over, or a bearer that may not: the swap was not begun.
  if (fact.kind === "over" || fact.kind === "denied") return one;
  const why = fact.kind === "uploaded" && fact.outcome !== "landed" && fact.why !== "" ? fact.why : one.why;
  const generation = fact.kind === "serves" && after.landed.includes(one.step) ? fact.served?.generation : undefined;
  return {
    ...one,
    outcome: one.step === "resident" ? after.outcome : partOutcome(turn, one),
    why: after.landed.includes(one.step) ? null : why,
    since: one.since ?? since,
    until,
    generation: generation ?? one.generation,
  };
}

/** The steps after one more turn. */
export function noteSteps(steps: readonly ReceiptStep[], turn: DeployTurn): ReceiptStep[] {
  const step = stepIn(turn);
  return steps.map((one) => (one.step === step ? noted(one, turn) : one));
}

/** How the whole deploy's swaps came out: the fleet's own, or without it the first of the others that has not landed. */
export function overallOutcome({ steps }: Pick<Receipt, "steps">, { outcome }: DeployState): UploadOutcome {
  if (steps.length === 0 || steps.some((one) => one.step === "resident")) return outcome;
  return steps.find((one) => one.outcome !== "landed")?.outcome ?? "landed";
}
