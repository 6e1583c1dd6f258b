// What a deploy would do, from read routes alone: what the release needs and why, which runs it would wait for, and
// whether that can end within its budget.

import { CLOCK, type Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { decidePreflight, outlasting, type FleetView, type InFlight, type Preflight } from "#core/preflight.ts";
import type { DeployMode } from "#core/rolloutState.ts";
import { formatDuration, hourMinuteOf, MINUTE, type Instant, type Ms } from "#core/time.ts";
import { inFlightWords, runWords, shapeLine, withoutWords } from "#deploy/lines.ts";
import type { Superseding } from "#deploy/supersede.ts";

/** What a release changes; `unknown` when nobody can say what is served. */
export type Changes = "image" | "worker" | "nothing" | "unknown";

/** What a release changes of what is served. */
export function changesOf(from: Build | null, to: Build): Changes {
  if (from === null) return "unknown";
  if (from.image !== to.image) return "image";
  return from.bundle === to.bundle ? "nothing" : "worker";
}

/** How a release is to be swapped, as far as a person has not said otherwise: by what it changes and what is configured. */
export function swapFor(changes: Changes, configured: "drain" | "handoff"): "drained" | "handoff" {
  const keepsImage = changes === "worker" || changes === "nothing";
  return keepsImage && configured === "handoff" ? "handoff" : "drained";
}

/** A deploy that has not been begun. */
export interface DeployPlan {
  readonly step: string;
  readonly mode: DeployMode;
  readonly changes: Changes;
  /** Why it is swapped in this mode. */
  readonly why: string;
  readonly from: Build | null;
  readonly to: Build;
  /** Whether the image has to be built first. */
  readonly imageWasBuilt: boolean;
  readonly superseding: Superseding["kind"];
  readonly preflight: Preflight["kind"];
  readonly waitsFor: readonly InFlight[];
  readonly attaching: number;
  readonly without: readonly Without[];
  readonly quietBy: Instant | null;
  readonly budgetMs: Ms;
  readonly budgetUntil: Instant;
  /** Runs whose leases reach beyond the budget. */
  readonly outlasting: readonly InFlight[];
  readonly longestLeaseMs: Ms;
  /** The longest that a drain of this fleet can stand. */
  readonly capMinutes: number;
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
  readonly without: readonly Without[];
  readonly budgets: Budgets;
}

const HANDOFF_HINT = '"resident": {"swap": "handoff"} in tidegate.jsonc would need no wait';

function whyOf(mode: DeployMode, changes: Changes, from: Build | null, to: Build): string {
  if (mode === "forced") return "--force: neither drained nor waited for";
  if (mode === "undrained") return "RESIDENT_DRAIN_TOKEN is not set: waits for a quiet moment and closes nothing";
  const image = `image ${from?.image ?? "unknown"} → ${to.image}`;
  const keeps =
    changes === "nothing"
      ? "nothing changes: this very build is served, and would be swapped for itself"
      : "only Worker code changes";
  if (changes === "unknown") return "what is served is unknown, so the fleet is drained";
  if (changes === "image") return `the image changes (${image}): containers restart, so the fleet is drained`;
  if (mode === "handoff") return `${keeps}; "resident.swap" is "handoff", so runs live on in their containers: no wait`;
  return `${keeps}; the default is to drain, and ${HANDOFF_HINT}`;
}

/** Whom a deploy of this mode waits for: under a handoff only for workspaces that are being made. */
function waitedFor(mode: DeployMode, view: FleetView): readonly InFlight[] {
  if (mode === "forced") return [];
  return mode === "handoff" ? view.runs.filter((run) => run.state === "attaching") : view.runs;
}

/** The plan of a deploy that would begin now. */
export function planOf(sources: PlanSources, now: Instant): DeployPlan {
  const { step, mode, from, to, imageWasBuilt, superseding, view, without, budgets } = sources;
  const budgetMs = mode === "undrained" ? CLOCK.undrainedWaitMs : budgets.deployWaitMs;
  const waitsFor = waitedFor(mode, view);
  const changes = changesOf(from, to);
  return {
    step,
    mode,
    changes,
    why: whyOf(mode, changes, from, to),
    from,
    to,
    imageWasBuilt,
    superseding,
    preflight: decidePreflight(view, "").kind,
    waitsFor,
    attaching: view.attaching,
    without,
    quietBy: waitsFor.length === view.runs.length ? view.quietBy : quietByOf(waitsFor),
    budgetMs,
    budgetUntil: now + budgetMs,
    outlasting: outlasting(waitsFor, now + budgetMs),
    longestLeaseMs: budgets.longestLeaseMs,
    capMinutes: budgets.capMinutes,
  };
}

const quietByOf = (runs: readonly InFlight[]): Instant | null =>
  runs.length === 0 ? null : Math.max(...runs.map((run) => run.leaseUntil));

const MODE_WORDS: Readonly<Record<DeployMode, string>> = {
  drained: "drain → wait for quiet → seal → swap → live gate → reconcile → lift",
  handoff: "drain → swap under the runs → live gate → reconcile → lift",
  undrained: "wait without a drain → swap → live gate",
  forced: "swap over what runs → live gate",
};

function waitWords(plan: DeployPlan): string[] {
  if (plan.mode === "forced") return [];
  const budget = `budget ${formatDuration(plan.budgetMs)}, until ${hourMinuteOf(plan.budgetUntil)}`;
  if (plan.waitsFor.length === 0 && plan.attaching === 0) return [`would wait for nothing (${budget})`];
  const quietBy = plan.quietBy === null ? "" : `, quiet by ${hourMinuteOf(plan.quietBy)}`;
  return [
    `would wait for ${inFlightWords(plan.waitsFor, plan.attaching)}${quietBy} (${budget})`,
    ...plan.waitsFor.map((run) => `  ${runWords(run)} until ${hourMinuteOf(run.leaseUntil)}`),
    ...plan.outlasting.map(
      (run) => `beyond the budget: ${runWords(run)} — unless it ends sooner nothing would be deployed`,
    ),
  ];
}

/** What the leases of this fleet cost: the longest wait, and what a drain costs that nobody lifts. */
function costWords({ mode, longestLeaseMs, capMinutes }: DeployPlan): string[] {
  if (mode === "forced" || mode === "undrained") return [];
  const lease = `the longest lease is ${formatDuration(longestLeaseMs)}`;
  const dead = `a dead deployer costs ${formatDuration(CLOCK.pulseBoundMs)}`;
  return [`${lease}, so a drain stands at most ${formatDuration(capMinutes * MINUTE)} (its cap); ${dead}`];
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
    plan.why,
    plan.imageWasBuilt ? `image ${plan.to.image} is built already` : `would build image ${plan.to.image}`,
    `${MODE_WORDS[plan.mode]}${withoutWords(plan.without)}`,
    ...waitWords(plan),
    ...costWords(plan),
    ...refused,
    ...older,
    "dry run: nothing was closed, built or swapped",
  ];
}
