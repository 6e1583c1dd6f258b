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
import { rotateLog } from "#node/log.ts";
import { identityOf, isSameProcess, killExactly, sendSignal, waitGone } from "#node/processes.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import type { BotSettings } from "#wire/host.ts";
import { bundleFile } from "#embed/bundles.ts";
import type { Serving } from "#embed/served.ts";

/** What a bot is started with. */
export interface BotAsk {
  readonly paths: StatePaths;
  readonly settings: BotSettings;
  /** The host's environment with the bearers in it: what a kind's `env` may name is read there. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

const saidSchema = z.object({ event: z.literal("listen"), port: z.int().positive() });

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
  const logFile = join(paths.log, "bot.log");
  rotateLog(logFile);
  const log = openSync(logFile, "a", 0o600);
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

/** The port in the one line that the bot says once it answers; what else it says there is nobody's. */
function portIn(out: Readable, child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve) => {
    let seen = "";
    out.setEncoding("utf8");
    out.on("data", (chunk: string) => {
      seen += chunk;
      const lines = seen.split("\n");
      seen = lines.pop() ?? "";
      for (const line of lines) {
        const said = saidSchema.safeParse(parsed(line));
        if (said.success) resolve(said.data.port);
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
export async function startBot(ask: BotAsk): Promise<Serving> {
  const child = spawnBot(ask);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const id = child.pid === undefined ? undefined : identityOf(child.pid);
  const port = child.stdout === null ? undefined : await portIn(child.stdout, child);
  if (id !== undefined && port !== undefined && isSameProcess(id)) return { id, port, ended };
  if (id !== undefined) {
    killExactly(id);
    await waitGone(id, REAL.processGoneMs);
  }
  throw new Failure("BOT_FAILED", `the bot ended before it answered\n${tailOf(join(ask.paths.log, "bot.log"), 6)}`);
}

/**
 * Asks the bot to end and waits at most for `boundMs`; one that stays is killed, and its runs are the next one's once their
 * ledger lease is over. `hurry`: it hands its runs off at once.
 */
export async function endBot({ id }: Serving, boundMs: number, hurry: boolean): Promise<void> {
  sendSignal(id.pid, "SIGTERM");
  if (hurry) sendSignal(id.pid, "SIGTERM");
  if (await waitGone(id, boundMs)) return;
  killExactly(id);
  if (!(await waitGone(id, REAL.processGoneMs))) throw new Failure("BOT_FAILED", `the bot ${id.pid} does not end`);
}
