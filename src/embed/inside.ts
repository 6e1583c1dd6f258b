// What is inside a container, as seen from outside: everything below its process, everything in its pid namespace, and
// everything that carries its mark. What dies of a stop is counted from here, never from a registration.

import { readFileSync, readlinkSync } from "node:fs";
import type { Inside, ProcessId } from "#wire/host.ts";
import { REAL } from "#core/budgets.ts";
import {
  allProcesses,
  commandLineOf,
  descendantsOf,
  environOf,
  isSameProcess,
  killExactly,
  readProcess,
  sendSignal,
  waitUntil,
  type ProcessRow,
} from "#node/processes.ts";

/** The variable that marks every process of a container, inherited by what they start. */
export const MARK = "TIDEGATE_CONTAINER";

/** A container as its processes show it. `outer` is the process that the host started: unshare, or the agent itself. */
export interface Marked {
  readonly outer: ProcessId;
  readonly mark: string;
  readonly agentPid: number | null;
}

const COMMAND_CHARS = 200;
const FREEZE_ROUNDS = 8;

function pidNamespace(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

/** A process's number as it sees itself, inside the innermost namespace. */
function ownPidOf(pid: number): number | undefined {
  try {
    const line = readFileSync(`/proc/${pid}/status`, "utf8")
      .split("\n")
      .find((text) => text.startsWith("NSpid:"));
    return line === undefined ? undefined : Number(line.trim().split(/\s+/).at(-1));
  } catch {
    return undefined;
  }
}

/** The init of a container's namespace, or `undefined` when it has none of its own. */
function initOf(outer: ProcessId, table: readonly ProcessRow[]): ProcessRow | undefined {
  const here = pidNamespace(process.pid);
  return table.find((row) => row.parent === outer.pid && pidNamespace(row.pid) !== here && ownPidOf(row.pid) === 1);
}

function tagsOf(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name.startsWith("TIDEGATE_") && !name.includes("TOKEN")),
  );
}

/** Every process that lives inside now. The host's own `unshare` around a namespace is not one of them. */
export function insideOf(container: Marked): Inside[] {
  const table = allProcesses();
  const outerLives = isSameProcess(container.outer);
  const init = outerLives ? initOf(container.outer, table) : undefined;
  const space = init === undefined ? undefined : pidNamespace(init.pid);
  const below = new Set(outerLives ? descendantsOf(container.outer.pid, table).map((row) => row.pid) : []);
  const found: Inside[] = [];
  for (const row of table) {
    const environment = environOf(row.pid);
    const isOuter = outerLives && row.pid === container.outer.pid;
    const belongs =
      isOuter ||
      below.has(row.pid) ||
      environment[MARK] === container.mark ||
      (space !== undefined && pidNamespace(row.pid) === space);
    if (!belongs || (isOuter && init !== undefined)) continue;
    const role = row.pid === init?.pid ? "init" : row.pid === container.agentPid ? "agent" : "inside";
    found.push({
      pid: row.pid,
      startTicks: row.startTicks,
      role,
      command: commandLineOf(row, COMMAND_CHARS),
      tags: tagsOf(environment),
    });
  }
  return found;
}

/** Whether this process of a list still lives. */
export function isAlive(one: Inside): boolean {
  return readProcess(one.pid)?.startTicks === one.startTicks;
}

/** Stops everything inside where it stands and lists it, so that nothing starts between the count and the end. */
export async function freezeInside(container: Marked): Promise<Inside[]> {
  const stopped = new Set<string>();
  for (let round = 0; ; round += 1) {
    const found = insideOf(container);
    const fresh = found.filter((one) => !stopped.has(`${one.pid}:${one.startTicks}`));
    if (fresh.length === 0 || round === FREEZE_ROUNDS) return found;
    for (const one of fresh) {
      sendSignal(one.pid, "SIGSTOP");
      stopped.add(`${one.pid}:${one.startTicks}`);
    }
  }
}

/** Lets a container go on that was stopped by a supervisor which then died. */
export function thawInside(container: Marked): void {
  for (const one of insideOf(container)) sendSignal(one.pid, "SIGCONT");
}

/** Ends everything inside by SIGKILL and waits until all of it is gone; answers what does not go within the bound. */
export async function endInside(container: Marked, listed: readonly Inside[]): Promise<Inside[]> {
  const end = performance.now() + REAL.processGoneMs;
  killExactly(container.outer);
  for (let known = listed.filter(isAlive); ; known = insideOf(container).filter(isAlive)) {
    for (const one of known) sendSignal(one.pid, "SIGKILL");
    const gone = await waitUntil(
      () => !known.some(isAlive) && !isSameProcess(container.outer),
      end - performance.now(),
    );
    if (!gone) return known.filter(isAlive);
    // What was started between the list and the kill shows only now; a look that finds nothing more is the last one.
    if (insideOf(container).length === 0) return [];
  }
}

/** Finds the agent from outside by the number it has inside. */
export async function findAgent(container: Marked, ownPid: number): Promise<number | null> {
  let found: number | null = null;
  await waitUntil(() => {
    found = insideOf(container).find((one) => one.role === "inside" && ownPidOf(one.pid) === ownPid)?.pid ?? null;
    return found !== null;
  }, REAL.connectMs);
  return found;
}
