// Which processes are alive and to whom they belong, read from /proc. A zombie is not alive: signal 0 says it is,
// the state in its stat line says it is not.

import { readdirSync, readFileSync } from "node:fs";
import { errnoOf } from "./errors.ts";

/** One line of /proc/<pid>/stat, as far as it tells families apart. */
export interface ProcStat {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Ticks since the machine's boot at which it started: pid and ticks name one process for ever. */
  readonly startTicks: number;
}

/** A family of processes: those led by a pid that started then, and those whose environment holds the mark. */
export interface Family {
  readonly leaders: readonly { readonly pid: number; readonly startTicks: number }[];
  /** `NAME=value` up to where it may differ within the family. */
  readonly mark: string;
  /** Nobody who started earlier can carry the mark; 0 when that is not known. */
  readonly sinceTicks: number;
}

/** Reads one process; undefined when there is none. */
export function statOf(pid: number): ProcStat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    if (isGoneError(error)) return undefined;
    throw error;
  }
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const number = (index: number): number => Number(fields[index] ?? Number.NaN);
  return {
    pid,
    state: fields[0] ?? "?",
    parent: number(1),
    group: number(2),
    session: number(3),
    startTicks: number(19),
  };
}

/** Whether this very process still runs: alive, no zombie, and started when said. */
export function isAlive(pid: number, startTicks: number): boolean {
  const stat = statOf(pid);
  return stat !== undefined && isRunning(stat) && stat.startTicks === startTicks;
}

/**
 * Everyone of a family who is alive: by process group, by session (job control makes new groups), by the mark (a
 * daemon leaves both), those `known` from an earlier look (pid and start ticks: one that is ending has lost its
 * environment already), and the descendants of all these (a child started with an empty environment).
 */
export function aliveOf(family: Family, known: ReadonlyMap<number, number> = new Map()): ProcStat[] {
  const all = living();
  const byPid = new Map(all.map((stat) => [stat.pid, stat]));
  const leaders = new Set(
    family.leaders
      .filter((leader) => {
        // A pid that started at another time is somebody else's: then so is its group.
        const now = byPid.get(leader.pid);
        return now === undefined || now.startTicks === leader.startTicks;
      })
      .map((leader) => leader.pid),
  );
  const members = new Set<number>();
  const belongs = (stat: ProcStat): boolean =>
    leaders.has(stat.group) ||
    leaders.has(stat.session) ||
    known.get(stat.pid) === stat.startTicks ||
    (stat.startTicks >= family.sinceTicks && hasMark(stat.pid, family.mark));
  for (const stat of all) if (belongs(stat)) members.add(stat.pid);
  for (let before = -1; before !== members.size;) {
    before = members.size;
    for (const stat of all) if (members.has(stat.parent)) members.add(stat.pid);
  }
  return all.filter((stat) => members.has(stat.pid));
}

/** When this process itself started: nothing it starts is older. */
export function ownStartTicks(): number {
  return statOf(process.pid)?.startTicks ?? 0;
}

function living(): ProcStat[] {
  const stats: ProcStat[] = [];
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    const stat = statOf(pid);
    if (stat && isRunning(stat)) stats.push(stat);
  }
  return stats;
}

function isRunning(stat: ProcStat): boolean {
  return stat.state !== "Z" && stat.state !== "X" && stat.state !== "x";
}

function hasMark(pid: number, mark: string): boolean {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    return environment.indexOf(`\0${mark}`) >= 0 || environment.subarray(0, mark.length).toString("latin1") === mark;
  } catch (error) {
    if (isGoneError(error) || errnoOf(error) === "EACCES" || errnoOf(error) === "EPERM") return false;
    throw error;
  }
}

/** A look that fails for another reason (no descriptor left) is never taken for a process that is gone. */
function isGoneError(error: unknown): boolean {
  return errnoOf(error) === "ENOENT" || errnoOf(error) === "ESRCH";
}
