// What a deploy would do, from read routes alone: what would be built, which runs it would wait for, and whether that
// can end within its budget.

import { CLOCK, type Budgets } from "#core/budgets.ts";
import type { Build } from "#core/drain.ts";
import { decidePreflight, outlasting, type FleetView, type InFlight, type Preflight } from "#core/preflight.ts";
import type { DeployMode } from "#core/rollout.ts";
import { formatDuration, hourMinuteOf, type Instant, type Ms } from "#core/time.ts";
import { inFlightWords, runWords, shapeLine } from "#deploy/lines.ts";
import type { Superseding } from "#deploy/supersede.ts";

/** A deploy that has not been begun. */
export interface DeployPlan {
  readonly step: string;
  readonly mode: DeployMode;
  readonly from: Build | null;
  readonly to: Build;
  /** Whether the image has to be built first. */
  readonly imageWasBuilt: boolean;
  readonly superseding: Superseding["kind"];
  readonly preflight: Preflight["kind"];
  readonly waitsFor: readonly InFlight[];
  readonly attaching: number;
  readonly quietBy: Instant | null;
  readonly budgetMs: Ms;
  readonly budgetUntil: Instant;
  /** Runs whose leases reach beyond the budget. */
  readonly outlasting: readonly InFlight[];
}

/** What a plan is made from. */
export interface PlanSources {
  readonly step: string;
  readonly mode: DeployMode;
  readonly from: Build | null;
  readonly to: Build;
  readonly imageWasBuilt: boolean;
  readonly superseding: Superseding["kind"];
  readonly view: FleetView;
  readonly budgets: Budgets;
}

/** The plan of a deploy that would begin now. */
export function planOf(sources: PlanSources, now: Instant): DeployPlan {
  const { step, mode, from, to, imageWasBuilt, superseding, view, budgets } = sources;
  const budgetMs = mode === "undrained" ? CLOCK.undrainedWaitMs : budgets.deployWaitMs;
  const waitsFor = mode === "forced" ? [] : view.runs;
  return {
    step,
    mode,
    from,
    to,
    imageWasBuilt,
    superseding,
    preflight: decidePreflight(view, "").kind,
    waitsFor,
    attaching: view.attaching,
    quietBy: view.quietBy,
    budgetMs,
    budgetUntil: now + budgetMs,
    outlasting: outlasting(waitsFor, now + budgetMs),
  };
}

const MODE_WORDS: Readonly<Record<DeployMode, string>> = {
  drained: "drain → wait for quiet → seal → swap → live gate → lift",
  undrained: "RESIDENT_DRAIN_TOKEN is not set: wait without a drain → swap → live gate",
  forced: "swap over what runs → live gate",
};

function waitWords(plan: DeployPlan): string[] {
  if (plan.mode === "forced") return [];
  const budget = `budget ${formatDuration(plan.budgetMs)}, until ${hourMinuteOf(plan.budgetUntil)}`;
  if (plan.quietBy === null) return [`would wait for nothing (${budget})`];
  return [
    `would wait for ${inFlightWords(plan.waitsFor, plan.attaching)}, quiet by ${hourMinuteOf(plan.quietBy)} (${budget})`,
    ...plan.waitsFor.map((run) => `  ${runWords(run)} until ${hourMinuteOf(run.leaseUntil)}`),
    ...plan.outlasting.map(
      (run) => `beyond the budget: ${runWords(run)} — unless it ends sooner nothing would be deployed`,
    ),
  ];
}

/** The plan for a person. */
export function planWords(plan: DeployPlan): readonly string[] {
  const refused =
    plan.preflight === "clear" || plan.preflight === "busy" ? [] : [`would be refused now: ${plan.preflight}`];
  const older =
    plan.superseding === "older"
      ? ["would be refused: the live release is newer (--rollback deploys it all the same)"]
      : [];
  return [
    shapeLine(plan.step, plan.from, plan.to).text,
    plan.imageWasBuilt ? `image ${plan.to.image} is built already` : `would build image ${plan.to.image}`,
    MODE_WORDS[plan.mode],
    ...waitWords(plan),
    ...refused,
    ...older,
    "dry run: nothing was closed, built or swapped",
  ];
}
