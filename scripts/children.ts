// Every process that the runner starts has a group and a mark of its own, so that it ends with everything it started,
// also what has left the group.

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { root } from "./stages.ts";

const MARK = "TIDEGATE_TEST_STAGE";
const LOOK_MS = 50;
const GONE_WITHIN_MS = 3000;

/** A child and the mark that its descendants carry in their environment. */
export interface Marked {
  readonly child: ChildProcess;
  readonly mark: string;
}

const alive = new Set<Marked>();

/** Starts a program of this package, by name or as this Node's arguments. `onText` gets what it prints. */
export function start(argv: readonly string[], onText: (text: string) => void): Marked {
  const [first = "", ...rest] = argv;
  const bin = path.join(root, "node_modules", ".bin");
  const command = first === "node" ? process.execPath : path.join(bin, first);
  const mark = randomUUID();
  const env = { ...process.env, [MARK]: mark, PATH: `${bin}${path.delimiter}${process.env.PATH ?? ""}`, NO_COLOR: "1" };
  const child = spawn(command, rest, { cwd: root, env, detached: true, stdio: ["ignore", "pipe", "pipe", "ipc"] });
  child.stdout?.setEncoding("utf8").on("data", onText);
  child.stderr?.setEncoding("utf8").on("data", onText);
  const marked = { child, mark };
  alive.add(marked);
  child.once("close", () => alive.delete(marked));
  return marked;
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // The group has ended already.
  }
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** The processes that carry a mark, by pid with their command line. Linux only; elsewhere none are seen. */
function carriers(mark: string): Map<number, string> {
  const found = new Map<number, string>();
  if (process.platform !== "linux") return found;
  for (const name of fs.readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || !read(`/proc/${name}/environ`).includes(`${MARK}=${mark}`)) continue;
    const isZombie = /\) Z /.test(read(`/proc/${name}/stat`));
    if (!isZombie) found.set(Number(name), read(`/proc/${name}/cmdline`).replaceAll("\0", " ").trim().slice(0, 160));
  }
  return found;
}

/** Waits a moment for all carriers of a mark to end; answers those that have not. */
async function leftOf(mark: string): Promise<Map<number, string>> {
  const last = Date.now() + GONE_WITHIN_MS;
  let left = carriers(mark);
  while (left.size > 0 && Date.now() < last) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    left = carriers(mark);
  }
  return left;
}

/** Waits a moment for all carriers of a mark to end, then ends the rest. Answers those that had to be ended. */
export async function sweep(mark: string): Promise<string[]> {
  const left = await leftOf(mark);
  for (const pid of left.keys()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
  if (left.size > 0) await leftOf(mark);
  return [...left].map(([pid, command]) => `${pid} ${command}`);
}

/** Ends one child with its group: first asks, then insists. */
export async function end({ child, mark }: Marked): Promise<void> {
  signalGroup(child, "SIGTERM");
  const insist = setTimeout(() => signalGroup(child, "SIGKILL"), GONE_WITHIN_MS);
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once("exit", resolve));
  clearTimeout(insist);
  signalGroup(child, "SIGKILL");
  await sweep(mark);
}

/** Ends every child there is. */
export async function endAll(): Promise<void> {
  await Promise.all([...alive].map(end));
}
