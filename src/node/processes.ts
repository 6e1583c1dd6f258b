// Processes by identity, never by number alone: a pid is used again, so each is named with its start and the machine's
// boot. A zombie has ended and counts as gone, although signal 0 still reaches it.

import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { REAL } from "#core/budgets.ts";
import type { ProcessId } from "#wire/host.ts";

/** A line of the process table. */
export interface ProcessRow {
  readonly pid: number;
  readonly startTicks: number;
  readonly parent: number;
  readonly group: number;
  readonly command: string;
}

/** The machine's boot, which no pid outlives. */
function machineBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "unknown";
  }
}

/** Whether threads of a process still end behind its leader, which is a zombie by then: until they are gone it holds its files and locks. */
function hasThreads(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}

/** The process of this number, or `undefined` when there is none or it has ended and only waits to be collected. */
export function readProcess(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return undefined;
  }
  const open = stat.indexOf("(");
  const close = stat.lastIndexOf(")");
  const fields = stat.slice(close + 2).split(" ");
  const [state, parent, group] = fields;
  const startTicks = fields[19];
  if (state === undefined || parent === undefined || group === undefined || startTicks === undefined) return undefined;
  if (state === "X" || (state === "Z" && !hasThreads(pid))) return undefined;
  return {
    pid,
    startTicks: Number(startTicks),
    parent: Number(parent),
    group: Number(group),
    command: stat.slice(open + 1, close),
  };
}

/** Who this process is, for a file that outlives it; `undefined` when it is already gone. */
export function identityOf(pid: number): ProcessId | undefined {
  const row = readProcess(pid);
  return row === undefined ? undefined : { pid, startTicks: row.startTicks, machineBootId: machineBootId() };
}

/** Whether exactly this process still lives. */
export function isSameProcess(id: ProcessId): boolean {
  return id.machineBootId === machineBootId() && readProcess(id.pid)?.startTicks === id.startTicks;
}

/** Every process that lives, as this machine shows it. */
export function allProcesses(): ProcessRow[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((row) => row !== undefined);
}

/** The environment a process was started with; empty when it may not be read or is gone. */
export function environOf(pid: number): Record<string, string> {
  try {
    const pairs = readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .filter((pair) => pair.includes("="));
    return Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
    );
  } catch {
    return {};
  }
}

/** The command line of a process in one line, at most `length` characters. */
export function commandLineOf(row: ProcessRow, length: number): string {
  try {
    const words = readFileSync(`/proc/${row.pid}/cmdline`, "utf8")
      .split("\0")
      .filter((word) => word !== "");
    return (words.length === 0 ? row.command : words.join(" ")).replaceAll(/\s+/g, " ").slice(0, length);
  } catch {
    return row.command;
  }
}

/** The processes below this one, by the table given: children, theirs, and so on. */
export function descendantsOf(pid: number, table: readonly ProcessRow[]): ProcessRow[] {
  const found: ProcessRow[] = [];
  for (let parents = [pid]; parents.length > 0;) {
    const children = table.filter((row) => parents.includes(row.parent) && !found.includes(row));
    found.push(...children);
    parents = children.map((row) => row.pid);
  }
  return found;
}

/** Sends a signal to a pid, or to a group when negative; `false` when there was nobody to take it. */
export function sendSignal(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false;
  }
}

/** Ends this very process by SIGKILL; one that is gone, or another one under its number, is left alone. */
export function killExactly(id: ProcessId): boolean {
  return isSameProcess(id) && sendSignal(id.pid, "SIGKILL");
}

/** Waits until a condition holds, at most `boundMs`; answers whether it did. */
export async function waitUntil(holds: () => boolean, boundMs: number): Promise<boolean> {
  const end = performance.now() + boundMs;
  while (!holds()) {
    if (performance.now() >= end) return false;
    await pause(REAL.lookEveryMs);
  }
  return true;
}

/** Waits until this very process is gone, at most `boundMs`; answers whether it is. */
export function waitGone(id: ProcessId, boundMs: number): Promise<boolean> {
  return waitUntil(() => !isSameProcess(id), boundMs);
}
