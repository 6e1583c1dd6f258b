// What a deploy would do, from read routes alone: which steps it has and why, what the release needs, which runs it would
// wait for, and whether that can end within its budget.

import { CLOCK, type Budgets } from "#core/budgets.ts";
import type { Build, Without } from "#core/drain.ts";
import { decidePreflight, outlasting, type FleetView, type InFlight, type Preflight } from "#core/preflight.ts";
import { closesNothing, type DeployMode, type Steps } from "#core/rolloutState.ts";
import { formatDuration, hourMinuteOf, MINUTE, type Instant, type Ms } from "#core/time.ts";
import { inFlightWords, runWords, withoutWords } from "#deploy/lines.ts";
import { choiceWords } from "#deploy/stepLines.ts";
import { changesOf, shapesOf, type FleetChanges, type StepChoice } from "#deploy/shapes.ts";
import type { Superseding } from "#deploy/supersede.ts";

/** A deploy that has not been begun. */
export interface DeployPlan {
  /** Its steps in words. */
  readonly step: string;
  /** Every step that a deploy can have: done or left out, and why. */
  readonly choices: readonly StepChoice[];
  readonly steps: Steps;
  readonly mode: DeployMode;
  /** What it changes of the fleet. */
  readonly changes: FleetChanges;
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
  /** Runs that the bot has in hand and nobody has registered. */
  readonly botInFlight: number;
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
  readonly choices: readonly StepChoice[];
  readonly steps: Steps;
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

/** Why a deploy that leaves the fleet alone waits, or does not. */
function whyOfParts(steps: Steps): string {
  if (closesNothing(steps)) return "the ledger alone: nothing is closed, and nobody is waited for";
  if (!steps.waits) return '"bot.roll" is "handoff", so its runs live on in their containers: no wait';
  const hint = '"bot": {"roll": "handoff"} in tidegate.jsonc would need no wait';
  return `the bot is swapped once its runs have ended; the default is to drain, and ${hint}`;
}

/** What changes of a fleet that keeps its image. */
function keepsWords(choices: readonly StepChoice[], changes: FleetChanges): string {
  if (changes !== "nothing") return "only Worker code changes";
  const hasLeases = choices.some((one) => one.step === "resident" && one.reconfigured === "leases");
  return hasLeases
    ? "only the leases of its kinds change"
    : "nothing changes: this very build is served, and would be swapped for itself";
}

function whyOf({ mode, steps, from, to, choices }: PlanSources, changes: FleetChanges): string {
  if (mode === "forced") return "--force: neither drained nor waited for";
  if (mode === "undrained" && !closesNothing(steps))
    return "RESIDENT_DRAIN_TOKEN is not set: waits for a quiet moment and closes nothing";
  if (!steps.resident) return whyOfParts(steps);
  const image = `image ${from?.image ?? "unknown"} → ${to.image}`;
  const keeps = keepsWords(choices, changes);
  if (changes === "unknown") return "what is served is unknown, so the fleet is drained";
  if (changes === "image") return `the image changes (${image}): containers restart, so the fleet is drained`;
  if (mode === "handoff") return `${keeps}; "resident.swap" is "handoff", so runs live on in their containers: no wait`;
  return `${keeps}; the default is to drain, and ${HANDOFF_HINT}`;
}

/** Whether a deploy of these steps waits for anybody at all. */
const waitsAtAll = (mode: DeployMode, steps: Steps): boolean =>
  mode !== "forced" && steps.waits && !closesNothing(steps);

/** Whom a deploy of this mode waits for: under a handoff only for workspaces that are being made. */
function waitedFor({ mode, steps, view }: PlanSources): readonly InFlight[] {
  if (!waitsAtAll(mode, steps)) return [];
  return mode === "handoff" ? view.runs.filter((run) => run.state === "attaching") : view.runs;
}

/** The plan of a deploy that would begin now. */
export function planOf(sources: PlanSources, now: Instant): DeployPlan {
  const { choices, steps, mode, from, to, imageWasBuilt, superseding, view, without, budgets } = sources;
  const budgetMs = mode === "undrained" ? CLOCK.undrainedWaitMs : budgets.deployWaitMs;
  const waitsFor = waitedFor(sources);
  const waits = waitsAtAll(mode, steps);
  const changes = changesOf(from, to);
  return {
    step: shapesOf(choices)
      .map((one) => one.step)
      .join(", "),
    choices,
    steps,
    mode,
    changes,
    why: whyOf(sources, changes),
    from,
    to,
    imageWasBuilt,
    superseding,
    preflight: decidePreflight(view, "").kind,
    waitsFor,
    attaching: waits ? view.attaching : 0,
    botInFlight: waits && mode !== "handoff" ? view.botInFlight : 0,
    without,
    quietBy: waits && waitsFor.length === view.runs.length ? view.quietBy : quietByOf(waitsFor),
    budgetMs,
    budgetUntil: now + budgetMs,
    outlasting: outlasting(waitsFor, now + budgetMs),
    longestLeaseMs: budgets.longestLeaseMs,
    capMinutes: budgets.capMinutes,
  };
}

const quietByOf = (runs: readonly InFlight[]): Instant | null =>
  runs.length === 0 ? null : Math.max(...runs.map((run) => run.leaseUntil));

/** The order of what is done. */
function orderWords({ mode, steps }: DeployPlan): string {
  const closes = (mode === "drained" || mode === "handoff") && !closesNothing(steps);
  const swaps: Readonly<Record<DeployMode, readonly string[]>> = {
    drained: ["seal", "swap", "live gate", "reconcile"],
    handoff: ["swap under the runs", "live gate", "reconcile"],
    undrained: ["swap", "live gate"],
    forced: ["swap over what runs", "live gate"],
  };
  const waits = mode === "undrained" ? "wait without a drain" : "wait for quiet";
  return [
    ...(closes ? ["drain"] : []),
    ...(waitsAtAll(mode, steps) && mode !== "handoff" ? [waits] : []),
    ...steps.parts,
    ...(steps.resident ? swaps[mode] : []),
    ...(closes ? ["lift"] : []),
  ].join(" → ");
}

function waitWords(plan: DeployPlan): string[] {
  if (plan.mode === "forced" || closesNothing(plan.steps)) return [];
  const budget = `budget ${formatDuration(plan.budgetMs)}, until ${hourMinuteOf(plan.budgetUntil)}`;
  if (plan.waitsFor.length + plan.attaching + plan.botInFlight === 0) return [`would wait for nothing (${budget})`];
  const quietBy = plan.quietBy === null ? "" : `, quiet by ${hourMinuteOf(plan.quietBy)}`;
  return [
    `would wait for ${inFlightWords(plan.waitsFor, plan.attaching, plan.botInFlight)}${quietBy} (${budget})`,
    ...plan.waitsFor.map((run) => `  ${runWords(run)} until ${hourMinuteOf(run.leaseUntil)}`),
    ...plan.outlasting.map(
      (run) => `beyond the budget: ${runWords(run)} — unless it ends sooner nothing would be deployed`,
    ),
  ];
}

/** What the leases of this fleet cost: the longest wait, and what a drain costs that nobody lifts. */
function costWords({ mode, steps, longestLeaseMs, capMinutes }: DeployPlan): string[] {
  if (mode === "forced" || mode === "undrained" || closesNothing(steps)) return [];
  const lease = `the longest lease is ${formatDuration(longestLeaseMs)}`;
  const dead = `a dead deployer costs ${formatDuration(CLOCK.pulseBoundMs)}`;
  return [`${lease}, so a drain stands at most ${formatDuration(capMinutes * MINUTE)} (its cap); ${dead}`];
}

/** Whether the fleet as it is would refuse the deploy before it does anything. */
function hinders({ preflight, mode, steps }: DeployPlan): boolean {
  const passes = mode === "forced" ? ["unreadable", "protocolApart"] : closesNothing(steps) ? ["unreadable"] : [];
  return ![...passes, "clear", "busy"].includes(preflight);
}

/** What a deployer read, as a reason to refuse. */
const HINDERS: Readonly<Record<Preflight["kind"], string>> = {
  clear: "nothing hinders it",
  busy: "runs are in flight",
  unreadable: "a part of the fleet cannot be read; npx tidegate status names it",
  deployInProgress: "another deploy is under way; npx tidegate drain status names it",
  protocolApart: "this build and the fleet are two protocols apart, which only --force swaps over",
};

const NOTHING_DONE = "dry run: nothing was closed, built or swapped";

/** The plan for a person. */
export function planWords(plan: DeployPlan): readonly string[] {
  if (!plan.steps.resident && plan.steps.parts.length === 0)
    return [...plan.choices.map(choiceWords), "nothing to deploy", NOTHING_DONE];
  const refused = hinders(plan) ? [`would be refused now: ${HINDERS[plan.preflight]}`] : [];
  const older =
    plan.superseding === "older"
      ? ["would be refused: the live release is newer (--rollback deploys it all the same)"]
      : [];
  const image = plan.imageWasBuilt ? `image ${plan.to.image} is built already` : `would build image ${plan.to.image}`;
  return [
    ...plan.choices.map(choiceWords),
    plan.why,
    ...(plan.steps.resident ? [image] : []),
    `${orderWords(plan)}${withoutWords(plan.without)}`,
    ...waitWords(plan),
    ...costWords(plan),
    ...refused,
    ...older,
    NOTHING_DONE,
  ];
}
