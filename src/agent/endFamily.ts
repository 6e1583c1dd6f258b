// Ends a family of processes and answers only once none of it is left, or the bound has passed. Two looks in a row
// must find nobody, with a pause between them: a child can be born behind a look that is under way, and has no
// environment to be known by in the instant of its exec.

import { REAL } from "#core/budgets.ts";
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
  const seen = new Map<number, number>();
  if (ending.graceMs > 0 && signalAll(ending.family, "SIGTERM", seen)) await untilGone(ending, seen);
  const deadline = ending.machine.now() + REAL.processGoneMs;
  let pause: number = REAL.endLookMs;
  for (let empty = 0; empty < 2;) {
    empty = signalAll(ending.family, "SIGKILL", seen) ? 0 : empty + 1;
    if (ending.machine.now() >= deadline) break;
    if (empty < 2) await ending.machine.sleep(pause);
    pause = Math.min(pause * 2, REAL.endLookLongestMs);
  }
  const left = aliveOf(ending.family, seen).map((stat) => stat.pid);
  return { ended: [...seen.keys()].filter((pid) => !left.includes(pid)), left };
}

/** Signals everyone alive; answers whether anyone was. */
function signalAll(family: Family, signal: "SIGTERM" | "SIGKILL", seen: Map<number, number>): boolean {
  const alive = aliveOf(family, seen);
  const groups = new Set(
    alive.filter((stat) => family.leaders.some(({ pid }) => pid === stat.group)).map((stat) => stat.group),
  );
  // A group is signalled as one step, so that no member forks between two kills.
  for (const group of groups) send(-group, signal);
  for (const stat of alive) {
    seen.set(stat.pid, stat.startTicks);
    if (!groups.has(stat.group)) send(stat.pid, signal);
    if (signal === "SIGTERM") send(stat.pid, "SIGCONT");
  }
  return alive.length > 0;
}

async function untilGone({ family, graceMs, clock, machine }: Ending, seen: Map<number, number>): Promise<void> {
  const graceEnd = clock.now() + graceMs;
  for (let pause: number = REAL.endLookMs; clock.now() < graceEnd; pause = Math.min(pause * 2, REAL.endLookLongestMs)) {
    await machine.sleep(pause);
    const alive = aliveOf(family, seen);
    for (const stat of alive) seen.set(stat.pid, stat.startTicks);
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
