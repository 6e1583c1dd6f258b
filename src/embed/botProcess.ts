// The bot as a process of its own: started with its settings and bearers in the environment, known by the port that it
// says, and asked to end by SIGTERM, which it answers by handing its runs off. The kernel ends it with its supervisor.

import { spawn, type ChildProcess } from "node:child_process";
import { accessSync, closeSync, constants, mkdirSync, openSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { Failure } from "#node/failure.ts";
import { tailOf } from "#node/files.ts";
import { identityOf, isSameProcess, killExactly, sendSignal, waitGone } from "#node/processes.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import type { BotSettings, ProcessId } from "#wire/host.ts";
import { bundleFile } from "#embed/bundles.ts";
import type { Serving } from "#embed/served.ts";

/** What a bot is started with. */
export interface BotAsk {
  readonly paths: StatePaths;
  readonly settings: BotSettings;
  /** The host's environment with the bearers in it: what a kind's `env` may name is read there. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told as soon as the process exists: whether it has ended is asked of it later, however its start went. */
  readonly onSpawned: (id: ProcessId) => void;
}

/** A bot that answers, and its number in the ledger; null of one that does not say it, as an older one. */
export interface ServingBot extends Serving {
  readonly number: number | null;
}

const saidSchema = z.object({
  event: z.literal("listen"),
  port: z.int().positive(),
  number: z.int().positive().nullable().default(null),
});
type Said = z.infer<typeof saidSchema>;

function hasSetpriv(path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, "setpriv"), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function spawnBot({ paths, settings, env }: BotAsk): ChildProcess {
  mkdirSync(paths.log, { recursive: true, mode: 0o700 });
  const log = openSync(join(paths.log, "bot.log"), "a", 0o600);
  const words = [process.execPath, bundleFile(paths, settings.build.bundle)];
  if (hasSetpriv(env["PATH"] ?? "")) words.unshift("setpriv", "--pdeathsig", "KILL");
  const [command = "", ...args] = words;
  const child = spawn(command, args, {
    cwd: paths.home,
    detached: true,
    stdio: ["ignore", "pipe", log],
    env: { ...env, TIDEGATE_BOT: JSON.stringify(settings) },
  });
  closeSync(log);
  return child;
}

/** The one line that the bot says once it answers; what else it says there is nobody's. */
function saidIn(out: Readable, child: ChildProcess): Promise<Said | undefined> {
  return new Promise((resolve) => {
    let seen = "";
    out.setEncoding("utf8");
    out.on("data", (chunk: string) => {
      seen += chunk;
      const lines = seen.split("\n");
      seen = lines.pop() ?? "";
      for (const line of lines) {
        const said = saidSchema.safeParse(parsed(line));
        if (said.success) resolve(said.data);
      }
    });
    child.once("exit", () => resolve(undefined));
    child.once("error", () => resolve(undefined));
    setTimeout(() => resolve(undefined), REAL.startMs).unref();
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Starts the bot and waits until it answers; BOT_FAILED with the end of its log when it does not. */
export async function startBot(ask: BotAsk): Promise<ServingBot> {
  const child = spawnBot(ask);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const id = child.pid === undefined ? undefined : identityOf(child.pid);
  if (id !== undefined) ask.onSpawned(id);
  const said = child.stdout === null ? undefined : await saidIn(child.stdout, child);
  if (id !== undefined && said !== undefined && isSameProcess(id)) {
    const { port, number } = said;
    return { id, port, number, ended };
  }
  // One that nobody can tell apart from a later process is a child still, and nobody else's.
  if (id === undefined) child.kill("SIGKILL");
  if (id !== undefined) {
    killExactly(id);
    await waitGone(id, REAL.processGoneMs);
  }
  throw new Failure("BOT_FAILED", `the bot ended before it answered\n${tailOf(join(ask.paths.log, "bot.log"), 6)}`);
}

/**
 * Asks the bot to hand its runs off at once, also while it waits for them: to be asked twice is to be hurried. Each time is a
 * signal of its own, since two of one kind that wait to be delivered are one.
 */
export function hurryBot({ id }: Serving): void {
  if (!isSameProcess(id)) return;
  sendSignal(id.pid, "SIGTERM");
  sendSignal(id.pid, "SIGINT");
}

/**
 * Asks the bot to end and waits at most for `boundMs`; one that stays is killed, and the next one hands its runs off. `hurry`: it
 * hands them off at once.
 */
export async function endBot(serving: Serving, boundMs: number, hurry: boolean): Promise<void> {
  const { id } = serving;
  if (hurry) hurryBot(serving);
  else sendSignal(id.pid, "SIGTERM");
  if (await waitGone(id, boundMs)) return;
  killExactly(id);
  if (!(await waitGone(id, REAL.processGoneMs))) throw new Failure("BOT_FAILED", `the bot ${id.pid} does not end`);
}
