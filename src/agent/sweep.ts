// The clean-idle sweep (protocol.md, "The gate": it clears worktrees, which are retention and no registration).
// Never one with a live process; dirty ones stay for their longer time.

import type { SweepRequest, SweepResult } from "#wire/agent.ts";
import { markOf, type Surroundings } from "./environment.ts";
import { AgentError } from "./errors.ts";
import { aliveOf, ownStartTicks } from "./procfs.ts";
import type { Procs } from "./procs.ts";
import type { Worktrees } from "./worktrees.ts";

interface Hands {
  readonly worktrees: Worktrees;
  readonly procs: Procs;
  readonly around: Surroundings;
}

type Stay = SweepResult["stayed"][number]["why"];

/** Removes what is idle since before the instants, which are the caller's on the stack's clock. */
export async function sweepWorktrees(hands: Hands, ask: SweepRequest): Promise<SweepResult> {
  const removed: string[] = [];
  const stayed: SweepResult["stayed"] = [];
  for (const { slug } of await hands.worktrees.all()) {
    const why = await hands.worktrees.exclusively(slug, async () => await sweepOne(hands, slug, ask));
    if (why === undefined) removed.push(slug);
    else stayed.push({ slug, why });
  }
  return { removed, stayed, procsForgotten: await hands.procs.forgetBefore(ask.keepBeforeMs) };
}

async function sweepOne(hands: Hands, slug: string, ask: SweepRequest): Promise<Stay | undefined> {
  const { worktrees } = hands;
  const record = await worktrees.require(slug).catch(() => undefined);
  if (record === undefined) return undefined;
  if (ask.spare.includes(record.thread)) return "spared";
  if (record.lastUsedAt >= ask.idleBeforeMs) return "recent";
  if (hasLife(hands, slug)) return "live";
  if (record.lastUsedAt >= ask.keepBeforeMs && (await worktrees.isDirty(record))) return "dirty";
  await worktrees.remove(slug);
  return undefined;
}

function hasLife({ procs, around }: Hands, slug: string): boolean {
  return (
    procs.liveCount(slug) > 0 ||
    aliveOf({ leaders: [], mark: markOf(around, slug), sinceTicks: ownStartTicks() }).length > 0
  );
}

/** Ends every process of the thread, waits, then removes its worktree; STILL_ALIVE when one outlived the bound. */
export async function removeWorktree(
  hands: Hands,
  slug: string,
  graceMs: number,
): Promise<{ removed: boolean; ended: number[] }> {
  return await hands.worktrees.exclusively(slug, async () => {
    const { ended, left } = await hands.procs.stopThread(slug, graceMs);
    if (left.length > 0) throw new AgentError("STILL_ALIVE", `pids ${left.join(", ")} of ${slug}`);
    return { removed: await hands.worktrees.remove(slug), ended };
  });
}
