// Releases, as the resident carries them out: walks `nextRelease`. A detach, a lease's end, an admin and a replacement all come here.

import { leaseSpent, type Registration } from "#core/registration.ts";
import {
  nextRelease,
  releaseOf,
  type ReleaseAnswer,
  type ReleaseBy,
  type ReleaseEffect,
  type ReleaseFact,
} from "#core/release.ts";
import { endStep } from "#core/resident.ts";
import { CLOCK, REAL } from "#core/budgets.ts";
import type { Work } from "#wire/attach.ts";
import { raise } from "#wire/errors.ts";
import { registryOf } from "../ports.ts";
import { messageOf, within } from "../root.ts";
import { cycleLater } from "./cycle.ts";
import { agentOf, arm, flushed, takeBack, type Resident } from "./resident.ts";

export interface Released extends ReleaseAnswer {
  /** What the run leaves; null when its container could not say. */
  readonly work: Work | null;
}

/**
 * Ends every process that the thread had while the row stood as it was noted, and reads what its worktree holds. What was
 * let through by then and has not come in yet is taken back. What a newer attach of the run begins meanwhile has moved
 * `seq`, so the row stays and this ends none of it. A container that is not there has nothing alive.
 */
async function stopNoted(resident: Resident, row: Registration): Promise<Work | null> {
  const { storage } = resident;
  const { runId, threadKey, seq } = row;
  const agent = await agentOf(resident, false);
  if (agent === undefined) return null;
  const slug = storage.slug(threadKey) ?? (await agent.slugOf(threadKey));
  if (slug === undefined) return null;
  await takeBack(resident, agent, threadKey, seq);
  const live = (await agent.procs()).filter((proc) => proc.thread === threadKey && proc.end === null);
  if (!storage.now().rows.some((kept) => kept.runId === runId && kept.seq === seq)) return null;
  const stopped = await Promise.all(live.map(({ id }) => agent.stopProc(id)));
  const left = stopped.flatMap((one) => one.left);
  if (left.length > 0) raise("AGENT_FAILED", `processes ${left.join(", ")} of ${threadKey} do not end`);
  return agent.keep(slug).catch(() => null);
}

/**
 * A caller that gives its run back while an attach of it stands at the door waits for what that comes to: whatever it lets in
 * is given back then, and none stays behind until its lease ends.
 */
async function pastDoor({ memory }: Resident, runId: string): Promise<void> {
  const underway = memory.leading.get(runId);
  if (underway !== undefined) await within(REAL.requestMs, underway.flight.refused);
}

/** Walks one release to its answer. Raises when the processes cannot be ended: the row then stays, and its lease ends it. */
export async function release(resident: Resident, runId: string, by: ReleaseBy): Promise<Released> {
  const { storage, root } = resident;
  let work: Work | null = null;
  const perform = async (effect: ReleaseEffect): Promise<ReleaseFact> => {
    switch (effect.do) {
      case "stop":
        work = await stopNoted(resident, effect.row);
        return { kind: "stopped" };
      case "end": {
        const { seq } = effect.row;
        return { kind: "ended", deleted: storage.step((store) => endStep(store, runId, seq)) };
      }
      default:
        return { kind: "noted", row: storage.now().rows.find((row) => row.runId === runId) ?? null };
    }
  };
  if (by.who === "caller") await pastDoor(resident, runId);
  let state = releaseOf(runId, by);
  while (state.effect.do !== "answer") state = nextRelease(state, await perform(state.effect), root.clock.now());
  await flushed(resident);
  arm(resident);
  cycleLater(resident);
  return { ...state.effect.answer, work };
}

/** Ends what is left of every run whose lease and grace are over (protocol.md: the resident's own alarm, whoever is dead). */
export async function endSpentLeases(resident: Resident): Promise<void> {
  const { storage, root, resource, env, memory } = resident;
  memory.leaseRetryAt = null;
  const spent = storage.now().rows.filter((row) => leaseSpent(row, root.clock.now()));
  for (const { runId } of spent) {
    try {
      const { kind } = await release(resident, runId, { who: "lease" });
      root.log("warn", "a lease ended a run", { runId, kind });
      if (kind === "released") await registryOf(env).leaseEnded(resource, runId);
    } catch (error) {
      memory.leaseRetryAt = root.clock.now() + CLOCK.retryMs;
      root.log("error", "a spent lease could not be ended; tried again", { runId, error: messageOf(error) });
    }
  }
}

/** The clean-idle sweep: worktrees whose threads have no registration, once an hour while the container runs. */
export async function sweepIfDue(resident: Resident): Promise<void> {
  const { storage, root } = resident;
  const now = root.clock.now();
  const at = storage.sweepAt();
  if (at !== null && now < at) return;
  storage.writeSweepAt(now + CLOCK.sweepIdleMs);
  try {
    const agent = await agentOf(resident, false);
    const spare = storage.now().rows.map((row) => row.threadKey);
    await agent?.sweep(now - CLOCK.sweepIdleMs, now - CLOCK.keepDirtyMs, spare);
    cycleLater(resident);
  } catch (error) {
    root.log("warn", "the sweep of worktrees failed; the next one tries again", { error: messageOf(error) });
  }
}
