// The acts of the closure, in their order. Each begins when what it builds on was seen; only the rebuild and the last look
// have an instant, and both are counted from what the registry wrote down.

import { MINUTE, type Instant } from "#core/time.ts";
import type { Drain } from "#core/drain.ts";
import { listReceipts } from "#deploy/receiptFile.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow, Health, ResidentRow, Residents, WatchFrame } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Receipt } from "#wire/receipt.ts";
import type { Actor } from "./actor.ts";
import { OTHERS, PLACES, STALE, type Closure, type ClosureVariant } from "./closure.ts";
import type { DoorWord, RebuildWord } from "./fleetAsks.ts";
import type { Stage } from "./stage.ts";

/** One person's program at one repository. */
export interface Placed {
  readonly resource: string;
  readonly thread: string;
  readonly actor: Actor;
}

/** What the stale resident said of itself at one instant, and what its door said to a new run. */
export interface Look {
  readonly at: Instant;
  readonly row: ResidentRow | undefined;
  readonly door: DoorWord;
}

/** A rebuild: when it was asked for and answered, and what was said. */
export interface Rebuilt extends RebuildWord {
  readonly askedAt: Instant;
  readonly endedAt: Instant;
}

/** Everything that was seen of a closure. */
export interface ClosureSeen {
  readonly variant: ClosureVariant;
  readonly deploy: Actor;
  /** A run in flight at each repository when the fleet closes. */
  readonly working: readonly Placed[];
  /** A run asked at each repository while the fleet is closed. */
  readonly waiting: readonly Placed[];
  /** A run asked at each of the others behind the lift. */
  readonly later: readonly Placed[];
  readonly looks: readonly Look[];
  readonly rebuilt: Rebuilt | null;
  readonly frames: readonly WatchFrame[];
  readonly audit: readonly AuditRow[];
  readonly before: { readonly health: Health; readonly residents: Residents };
  readonly after: { readonly health: Health; readonly residents: Residents };
  readonly reconciled: ReconcileAnswer | undefined;
  readonly receipt: Receipt | undefined;
  /** What the Worker logged of containers that are stale. */
  readonly warnings: readonly string[];
}

type Acted = Pick<ClosureSeen, "deploy" | "working" | "waiting" | "later" | "looks" | "rebuilt">;

function runAt(stage: Stage, resource: string, word: string, line: string): Placed {
  const thread = `closure:${word}-${shortNameOf(resource)}`;
  const actor = stage.command(["run", shortNameOf(resource), "--thread", thread, "--", "sh", "-c", line]);
  return { resource, thread, actor };
}

const isRunning = (frame: WatchFrame, thread: string): boolean =>
  frame.runs.some((row) => row.threadKey === thread && row.state === "running");

const reopening = (frame: WatchFrame): Drain | undefined => frame.drains.find((drain) => drain.phase === "reopening");

/** The run that knocks is one and the same each time: it never waits, and nothing of it is ever admitted here. */
async function lookAt(stage: Stage): Promise<Look> {
  const { residents } = await stage.asks.residents();
  const door = await stage.asks.knock(STALE, "r-knocks", "closure:knocks");
  return { at: stage.clock.now(), row: residents.find((one) => one.resource === STALE), door };
}

async function rebuild(stage: Stage, at: Instant): Promise<Rebuilt> {
  await stage.until(at);
  const askedAt = stage.clock.now();
  const word = await stage.asks.rebuild(STALE);
  return { ...word, askedAt, endedAt: stage.clock.now() };
}

async function untilClosed(stage: Stage): Promise<Omit<Acted, "later" | "looks" | "rebuilt">> {
  const line = stage.livesUntil("working", "working");
  const working = PLACES.map((resource) => runAt(stage, resource, "working", line));
  const all = (frame: WatchFrame): boolean => working.every(({ thread }) => isRunning(frame, thread));
  await stage.sees("a run in flight everywhere", all, 20);
  stage.configure("2");
  const deploy = stage.command(["deploy", "all", "--reason", "a release that changes the image"]);
  await stage.sees("the drain", (frame) => frame.drains.length > 0, 20);
  const waiting = PLACES.map((resource) => runAt(stage, resource, "waiting", "echo started"));
  await Promise.all(waiting.map(({ actor }) => stage.hears(actor, /waiting for the deploy to finish/, 20)));
  stage.give("working");
  return { deploy, working, waiting };
}

async function scene(stage: Stage, variant: ClosureVariant, closure: Closure): Promise<Acted> {
  const { deploy, working, waiting } = await untilClosed(stage);
  const isHeldAlone = (frame: WatchFrame): boolean => reopening(frame)?.holds.length === 1;
  const lifted = await stage.sees("the lift, with the stale one held", isHeldAlone, 30);
  const later = OTHERS.map((resource) => runAt(stage, resource, "later", "echo started"));
  const looks = [await lookAt(stage)];
  const reconcile = (await stage.asks.audit()).findLast((row) => row.what === "reconcile");
  const isRebuild = variant === "rebuild";
  const end = reopening(lifted)?.phaseUntil ?? lifted.now;
  const rebuildAt = (reconcile?.at ?? lifted.now) + closure.rebuildAfter;
  await stage.until((isRebuild ? rebuildAt : end) - MINUTE);
  looks.push(await lookAt(stage));
  const rebuilt = isRebuild ? await rebuild(stage, rebuildAt) : null;
  await stage.sees("the last reopening", (frame) => frame.drains.length === 0, 30);
  await Promise.all(
    [deploy, ...[...working, ...waiting, ...later].map((one) => one.actor)].map((actor) => actor.ended),
  );
  return { deploy, working, waiting, later, looks, rebuilt };
}

/** Plays the closure and answers what was seen. */
export async function playClosure(stage: Stage, variant: ClosureVariant, closure: Closure): Promise<ClosureSeen> {
  const { asks } = stage;
  const before = { health: await asks.health(), residents: await asks.residents() };
  const acted = await scene(stage, variant, closure);
  const after = { health: await asks.health(), residents: await asks.residents() };
  return {
    ...acted,
    variant,
    frames: stage.frames,
    audit: await asks.audit(),
    before,
    after,
    reconciled: await asks.reconciled(after.health.drainId),
    receipt: listReceipts(stage.paths)[0],
    warnings: stage.logged("a container is stale"),
  };
}
