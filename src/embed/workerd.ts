// One workerd process: started with a config made for it, ended by SIGKILL and by nothing else, and never a second one
// over the same storage. The kernel ends it with its supervisor; a lock on the storage lives exactly as long as it does.

import { spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { accessSync, constants, mkdirSync, openSync, closeSync } from "node:fs";
import { delimiter, join, relative } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { Failure, wordsOf } from "#node/failure.ts";
import { tailOf, writeFileWhole } from "#node/files.ts";
import { identityOf, isSameProcess, killExactly, waitGone, waitUntil } from "#node/processes.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import type { ProcessId, Settings } from "#wire/host.ts";
import { bundleFile } from "#embed/bundles.ts";
import { FLEET_WORKER, workerdConfig, type WorkerShape } from "#embed/workerdConfig.ts";

/** What a workerd is started with. */
export interface WorkerdAsk {
  /** The fleet's where it is not said. */
  readonly worker?: WorkerShape;
  readonly paths: StatePaths;
  readonly settings: Settings;
  readonly secrets: Readonly<Record<string, string>>;
  /** The PATH on which the helping commands are looked for. */
  readonly path: string;
  /** Told as soon as the process exists, before it answers: whoever comes later must be able to end it. */
  readonly onSpawned: (id: ProcessId) => void;
}

/** A workerd that answers. */
export interface Workerd {
  readonly id: ProcessId;
  readonly port: number;
  /** Resolves when the process has ended, whoever ended it. */
  readonly ended: Promise<void>;
}

const listenSchema = z.object({ event: z.literal("listen"), socket: z.string(), port: z.int() });

/** Whether a command is on this PATH. */
function hasCommand(name: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function binaryPath(): string {
  const loaded: unknown = createRequire(import.meta.url)("workerd");
  return z.object({ default: z.string() }).parse(loaded).default;
}

/** The command that runs workerd: under the storage's lock and the supervisor's life where this machine has the means. */
function commandOf({ paths, path }: WorkerdAsk, config: string): { command: string; args: string[] } {
  const words = [binaryPath(), "serve", config, "--control-fd=3"];
  if (hasCommand("setpriv", path)) words.unshift("setpriv", "--pdeathsig", "KILL");
  if (hasCommand("flock", path))
    words.unshift("flock", "--no-fork", "--nonblock", "--conflict-exit-code", "75", paths.storageLock);
  const [command = "", ...args] = words;
  return { command, args };
}

function portOf(control: Readable, child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    let seen = "";
    control.setEncoding("utf8");
    control.on("data", (chunk: string) => {
      seen += chunk;
      const lines = seen.split("\n");
      seen = lines.pop() ?? "";
      for (const line of lines) {
        const read = listenSchema.safeParse(JSON.parse(line));
        if (read.success) resolve(read.data.port);
      }
    });
    control.on("error", () => resolve(undefined));
    child.once("exit", () => resolve(undefined));
  });
}

async function answersHealth(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(REAL.connectMs) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

/** Asks for its health until it is well, is gone, or it is late. */
async function becomesHealthy(id: ProcessId, port: number, late: AbortSignal): Promise<boolean> {
  while (!late.aborted && isSameProcess(id)) {
    if (await answersHealth(port)) return true;
    await pause(REAL.lookEveryMs);
  }
  return false;
}

function spawnWorkerd(ask: WorkerdAsk): ChildProcess {
  const { paths, settings, worker = FLEET_WORKER } = ask;
  for (const folder of [paths.run, paths.storage, paths.log]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const config = join(paths.run, "config.capnp");
  const embedded = relative(paths.run, bundleFile(paths, settings.build.bundle));
  const secretNames = Object.keys(ask.secrets);
  const plan = { worker, boot: randomUUID(), bundleFile: embedded, storage: paths.storage, settings, secretNames };
  writeFileWhole(config, workerdConfig(plan));
  const log = openSync(logOf(ask), "a", 0o600);
  const { command, args } = commandOf(ask, config);
  const env = { PATH: ask.path, TZ: "UTC", ...ask.secrets };
  // A group of its own: a terminal's Ctrl-C goes to the supervisor's whole group, and it is the supervisor who decides.
  const child = spawn(command, args, { cwd: paths.run, env, detached: true, stdio: ["ignore", log, log, "pipe"] });
  closeSync(log);
  return child;
}

const logOf = ({ paths, worker = FLEET_WORKER }: WorkerdAsk): string => worker.log(paths);

/** Starts workerd and waits until `/healthz` answers; WORKERD_FAILED with the end of its log when it does not. */
export async function startWorkerd(ask: WorkerdAsk): Promise<Workerd> {
  const child = spawnWorkerd(ask);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const id = child.pid === undefined ? undefined : identityOf(child.pid);
  if (id === undefined) throw new Failure("WORKERD_FAILED", await whyOf(child, logOf(ask)));
  ask.onSpawned(id);
  const control = child.stdio[3];
  const late = AbortSignal.timeout(REAL.startMs);
  const port = await Promise.race([
    control !== null && control !== undefined && "setEncoding" in control ? portOf(control, child) : undefined,
    new Promise<undefined>((resolve) => late.addEventListener("abort", () => resolve(undefined))),
  ]);
  if (port !== undefined && (await becomesHealthy(id, port, late))) return { id, port, ended };
  killExactly(id);
  await waitGone(id, REAL.processGoneMs);
  throw new Failure("WORKERD_FAILED", await whyOf(child, logOf(ask)));
}

async function whyOf(child: ChildProcess, logFile: string): Promise<string> {
  await waitUntil(() => child.exitCode !== null || child.signalCode !== null, REAL.recheckMs);
  if (child.exitCode === 75) return "another workerd still holds this storage";
  const tail = tailOf(logFile, 6);
  return `workerd ended with ${child.signalCode ?? child.exitCode ?? "no word"} before it answered\n${tail}`;
}

/** Ends this very process and waits until it is gone; WORKERD_FAILED when it does not go. */
export async function endWorkerd(id: ProcessId): Promise<void> {
  try {
    killExactly(id);
  } catch (error) {
    throw new Failure("WORKERD_FAILED", `workerd ${id.pid} cannot be ended: ${wordsOf(error)}`);
  }
  if (!(await waitGone(id, REAL.processGoneMs))) throw new Failure("WORKERD_FAILED", `workerd ${id.pid} does not end`);
}
