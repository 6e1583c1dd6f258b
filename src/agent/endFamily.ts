// Ends a family of processes and answers only once none of it is left, or the bound has passed. Two looks in a row
// must find nobody: a child can be born behind a look that is under way, but not of parents that are all gone.

import { REAL } from "#core/budgets.ts";
import { AGENT_BOUNDS } from "./bounds.ts";
import type { Clock } from "./clock.ts";
import { aliveOf, type Family } from "./procfs.ts";

/** Which pids the call saw alive and ended, and which are left (a process in the kernel's hands). */
export interface Ended {
  readonly ended: number[];
  readonly left: number[];
}

export interface Ending {
  readonly family: Family;
  /** On the stack's clock; 0 kills at once. */
  readonly graceMs: number;
  readonly clock: Clock;
  /** Real time, for the pauses between two looks. */
  readonly machine: Clock;
}

/** SIGTERM, the grace, SIGKILL, and the wait until nobody is left (protocol.md, "The gate": kill, wait). */
export async function endFamily(ending: Ending): Promise<Ended> {
  const seen = new Set<number>();
  if (ending.graceMs > 0 && signalAll(ending.family, "SIGTERM", seen)) {
    await untilGone(ending, seen);
  }
  const deadline = ending.machine.now() + REAL.processGoneMs;
  let empty = 0;
  for (let pause: number = AGENT_BOUNDS.goneLookMs; empty < 2; pause = Math.min(pause * 2, AGENT_BOUNDS.goneLookMaxMs)) {
    empty = signalAll(ending.family, "SIGKILL", seen) ? 0 : empty + 1;
    if (empty > 0) continue;
    if (ending.machine.now() >= deadline) break;
    await ending.machine.sleep(pause);
  }
  const left = empty < 2 ? aliveOf(ending.family).map((stat) => stat.pid) : [];
  return { ended: [...seen].filter((pid) => !left.includes(pid)), left };
}

/** Signals everyone alive; answers whether anyone was. */
function signalAll(family: Family, signal: "SIGTERM" | "SIGKILL", seen: Set<number>): boolean {
  const alive = aliveOf(family);
  const groups = new Set(alive.filter((stat) => family.leaders.some(({ pid }) => pid === stat.group)).map((stat) => stat.group));
  // A group is signalled as one step, so that no member forks between two kills.
  for (const group of groups) send(-group, signal);
  for (const stat of alive) {
    seen.add(stat.pid);
    if (!groups.has(stat.group)) send(stat.pid, signal);
    if (signal === "SIGTERM") send(stat.pid, "SIGCONT");
  }
  return alive.length > 0;
}

async function untilGone({ family, graceMs, clock, machine }: Ending, seen: Set<number>): Promise<void> {
  const graceEnd = clock.now() + graceMs;
  for (let pause: number = AGENT_BOUNDS.goneLookMs; clock.now() < graceEnd; pause = Math.min(pause * 2, AGENT_BOUNDS.goneLookMaxMs)) {
    await machine.sleep(pause);
    const alive = aliveOf(family);
    for (const stat of alive) seen.add(stat.pid);
    if (alive.length === 0) return;
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // It ended between the look and the signal.
  }
}
