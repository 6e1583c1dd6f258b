// The acts of the evening, in their order. Each waits for its instant and for what it builds on, so that a slow machine
// makes the evening later and not another one. What happened is kept as it was seen and judged afterwards.

import { MINUTE, SECOND, type Instant } from "#core/time.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow, Health, Residents, WatchFrame } from "#wire/fleet.ts";
import type { Inside } from "#wire/host.ts";
import type { Receipt } from "#wire/receipt.ts";
import { listReceipts } from "#deploy/receiptFile.ts";
import type { Actor } from "./actor.ts";
import type { Evening } from "./evening.ts";
import { REPO, type Cue, type Leads, type Stage } from "./stage.ts";

/** `drained` is the evening; the others are its controls: the same one without the guard. */
export const VARIANTS = ["drained", "undrained", "forced"] as const;
export type Variant = (typeof VARIANTS)[number];

export interface Roll {
  readonly at: Instant;
  readonly before: { readonly bootId: string | null; readonly processes: readonly Inside[] };
  readonly after: { readonly bootId: string | null; readonly processes: readonly Inside[] };
  readonly stillAlive: readonly number[];
}

/** Everything that was seen of an evening. */
export interface Seen {
  readonly variant: Variant;
  readonly coding: Actor;
  readonly review: Actor;
  readonly deploy: Actor;
  readonly ask: Actor;
  readonly second: Actor;
  readonly roll: Roll | null;
  readonly frames: readonly WatchFrame[];
  readonly audit: readonly AuditRow[];
  readonly before: Health;
  readonly after: Health;
  /** The residents at the end, and what became of each in the reconcile of the deploy. */
  readonly residents: Residents;
  readonly reconciled: ReconcileAnswer | undefined;
  readonly receipt: Receipt | undefined;
}

const THREADS = {
  coding: "evening:coding",
  review: "evening:review",
  ask: "evening:ask",
  second: "evening:second",
} as const;
export { THREADS };

/**
 * Gives a run the cue to end at its instant, and not before what the evening needs of it: on a busy machine that makes
 * it later. A run whose cue never comes is ended by its lease, and the facts differ.
 */
function cueAt(stage: Stage, cue: Cue, instant: Instant, needed: Promise<unknown>): void {
  const due = Promise.all([stage.until(instant), needed]).then(() => stage.give(cue));
  // A night that is over before the cue is one whose run was ended some other way.
  due.catch(() => undefined);
}

const minutesOf = (span: number): string => `${Math.max(1, Math.round(span / SECOND))}s`;

function startCoding(stage: Stage, evening: Evening): Actor {
  const lease = minutesOf(evening.codingLeaseUntil - stage.clock.now());
  const resume = stage.livesUntil("coding", "resumed");
  const first = stage.livesUntil("coding", "coding");
  return stage.command([
    "run",
    "switchboard",
    "--kind",
    "coding",
    "--thread",
    THREADS.coding,
    "--lease",
    lease,
    "--resume",
    resume,
    "--",
    "sh",
    "-c",
    first,
  ]);
}

/** The lease that an ask of each kind brings, as the seed's callers do: it holds the wait at the door too. */
const LEASE = { coding: "45m", review: "25m" } as const;

const run = (stage: Stage, kind: keyof typeof LEASE, thread: string, line: string): Actor =>
  stage.command([
    "run",
    "switchboard",
    "--kind",
    kind,
    "--thread",
    thread,
    "--lease",
    LEASE[kind],
    "--",
    "sh",
    "-c",
    line,
  ]);

const DEPLOY: Readonly<Record<Variant, readonly string[]>> = {
  drained: ["deploy", "all", "--reason", "the third release of the evening"],
  undrained: ["deploy", "all", "--reason", "the third release of the evening"],
  forced: ["deploy", "all", "--force", "--yes", "--reason", "the third release of the evening"],
};

const hasRun =
  (thread: string, state: "running" | null = "running") =>
  (frame: WatchFrame): boolean =>
    frame.runs.some((row) => row.threadKey === thread && (state === null || row.state === state));

async function rollContainer(stage: Stage): Promise<Roll> {
  const before = await stage.control.inside(REPO);
  const at = stage.clock.now();
  await stage.control.roll(REPO);
  const dead = before.processes.map(({ pid, startTicks }) => ({ pid, startTicks }));
  const after = await stage.control.inside(REPO);
  const stillAlive = dead
    .filter((one) => after.processes.some((now) => now.pid === one.pid && now.startTicks === one.startTicks))
    .map(({ pid }) => pid);
  const bootOf = ({ container }: typeof before): string | null =>
    container.state === "running" ? container.bootId : null;
  return {
    at,
    before: { bootId: bootOf(before), processes: before.processes },
    after: { bootId: bootOf(after), processes: after.processes },
    stillAlive,
  };
}

/** Waits for the deployer's effect on the fleet: closed, or, without a drain, over its first look. */
async function deployUnderWay(stage: Stage, deploy: Actor, variant: Variant): Promise<void> {
  if (variant === "drained") return void (await stage.sees("the drain", (frame) => frame.drains.length > 0, 20));
  if (variant === "forced") return void (await deploy.ended);
  for (
    const end = stage.clock.now() + 20 * MINUTE;
    deploy.saying(/waiting without a drain/) === undefined && stage.clock.now() < end;
  ) {
    await stage.clock.sleep(MINUTE / 10);
  }
}

async function scene(
  stage: Stage,
  evening: Evening,
  variant: Variant,
  leads: Leads,
): Promise<Pick<Seen, "variant" | "coding" | "review" | "deploy" | "ask" | "second" | "roll">> {
  const early = (instant: Instant, leadMs = leads.runMs): Promise<void> => stage.until(instant - leadMs);
  await early(evening.codingStarts);
  const coding = startCoding(stage, evening);
  await early(evening.reviewStarts);
  const review = run(stage, "review", THREADS.review, stage.livesUntil("review", "review"));
  await stage.sees(
    "both runs in flight",
    (frame) => hasRun(THREADS.coding)(frame) && hasRun(THREADS.review)(frame),
    20,
  );
  stage.configure("2");
  await early(evening.deployStarts, leads.deployMs);
  const deploy = stage.command(DEPLOY[variant], variant === "undrained" ? { RESIDENT_DRAIN_TOKEN: "" } : {});
  const underWay = deployUnderWay(stage, deploy, variant);
  cueAt(stage, "review", evening.reviewEnds, underWay);
  await underWay;
  await early(evening.askArrives);
  const ask = run(stage, "coding", THREADS.ask, variant === "drained" ? "echo started" : "echo started; sleep 60");
  const roll = variant === "drained" ? await rolled(stage, evening) : null;
  await early(evening.secondArrives);
  const second = run(stage, "review", THREADS.second, "echo started");
  cueAt(stage, "coding", evening.codingEnds, variant === "drained" ? second.ended : underWay);
  const ends = variant === "forced" ? [deploy] : [deploy, coding, review, second];
  await Promise.all(ends.map((actor) => actor.ended));
  if (variant === "drained") await ask.ended;
  if (variant === "forced") await stage.clock.sleep(2 * MINUTE);
  return { variant, coding, review, deploy, ask, second, roll };
}

async function rolled(stage: Stage, evening: Evening): Promise<Roll> {
  await stage.sees("the review's end", (frame) => !hasRun(THREADS.review, null)(frame), 30);
  await stage.until(evening.containerRolls);
  return rollContainer(stage);
}

/** Plays the evening and answers what was seen. */
export async function play(stage: Stage, evening: Evening, variant: Variant, leads: Leads): Promise<Seen> {
  const { asks, frames, paths } = stage;
  const before = await asks.health();
  const acted = await scene(stage, evening, variant, leads);
  await stage.clock.sleep(MINUTE / 2);
  const [audit, after, residents] = [await asks.audit(), await asks.health(), await asks.residents()];
  const reconciled = await asks.reconciled(after.drainId);
  return { ...acted, frames, audit, before, after, residents, reconciled, receipt: listReceipts(paths)[0] };
}
