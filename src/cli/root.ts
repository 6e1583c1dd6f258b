// The command line's composition root: the one place here that reads the environment and makes a clock, a fetch and the
// streams. The exit code is set and never forced, so that nothing written is cut.

import { readFileSync, writeSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { Failure } from "#node/failure.ts";
import { lookAtSupervisor } from "#node/supervisorFile.ts";
import type { Command } from "commander";
import { deployCommand } from "./commands/deploy.ts";
import { accessOf, type FleetAccess } from "./access.ts";
import type { Cli } from "./cli.ts";
import { exitOf } from "./exit.ts";
import { processInterrupts } from "./interrupts.ts";
import { outputOf } from "./output.ts";
import { completed, exitOfUsage, globalOptionsOf, programOf } from "./program.ts";
import { problemJson, problemLines, problemWords, type ProblemWords } from "./render/problem.ts";

function leave(code: number, words: string): never {
  try {
    if (words !== "") writeSync(2, `${words}\n`);
  } catch {
    // Nobody reads any more.
  }
  process.exit(code);
}

const packageSchema = z.object({ version: z.string() });

function versionOf(packageRoot: string): string {
  const text: unknown = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
  return packageSchema.parse(text).version;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env["USER"] ?? "somebody";
  }
}

function makeCli(packageRoot: string, options: Cli["options"]): Cli {
  const { env } = process;
  const interrupts = processInterrupts(leave);
  const ask = { cwd: process.cwd(), env, packageRoot, real: clockOf(REAL_TIME) };
  let access: FleetAccess | undefined;
  return {
    ...ask,
    version: versionOf(packageRoot),
    who: `${userName()}@${hostname()}`.slice(0, 80),
    output: outputOf(process, interrupts.brokenPipe),
    // Looked at only by who reads it: a stdin that is open keeps a process.
    get stdin() {
      return process.stdin;
    },
    interrupts,
    options,
    access: () => (access ??= accessOf(ask)),
    exit: (code) => {
      process.exitCode = code;
    },
  };
}

/** Adds a command that another room has made, with what every command here has in common. */
function adopt(program: Command, command: Command): void {
  const inherit = (parent: Command, child: Command): void => {
    child.copyInheritedSettings(parent);
    for (const grandchild of child.commands) inherit(child, grandchild);
  };
  inherit(program, command);
  program.addCommand(command);
}

/** The words of an error. A fleet that does not answer since nobody has brought it up is said to be down. */
function wordsFor(cli: Cli, error: unknown): ProblemWords {
  const words = problemWords(error);
  if (words.code !== "UNREACHABLE") return words;
  const { paths, config } = cli.access();
  const isElsewhere = config.fleetUrl !== null || config.botUrl !== null;
  if (isElsewhere || lookAtSupervisor(paths).kind !== "none") return words;
  return problemWords(new Failure("NOT_UP", `no fleet is up in ${paths.home}`));
}

function tell(cli: Cli, error: unknown): void {
  const words = wordsFor(cli, error);
  const { json, verbose } = cli.options();
  process.stderr.write(`${json ? problemJson(words) : problemLines(words)}\n`);
  if (verbose && error instanceof Error) process.stderr.write(`${error.stack ?? ""}\n`);
}

/** Carries out what was typed. Resolves when it is done; the process's exit code is set. */
export async function runCommandLine(packageRoot: string): Promise<void> {
  const cli = makeCli(packageRoot, () => globalOptionsOf(program, process.env));
  const typed = completed(process.argv.slice(2));
  const program = programOf(cli, typed, [(root) => adopt(root, deployCommand(cli))]);
  try {
    await program.parseAsync(typed, { from: "user" });
  } catch (error) {
    const usage = exitOfUsage(error);
    process.exitCode = usage ?? exitOf(error);
    if (usage === undefined) tell(cli, error);
  }
}
