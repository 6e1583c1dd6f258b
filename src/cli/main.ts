// The command line's composition root: the one place here that reads the environment and makes a clock, a fetch and the
// streams. The exit code is set and never forced, so that nothing written is cut.

import { writeSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import packageJson from "../../package.json" with { type: "json" };
import { accessOf, type FleetAccess } from "./access.ts";
import type { Cli } from "./cli.ts";
import { exitOf } from "./exit.ts";
import { processInterrupts } from "./interrupts.ts";
import { outputOf } from "./output.ts";
import { completed, exitOfUsage, globalOptionsOf, programOf } from "./program.ts";
import { problemJson, problemLines, problemWords } from "./render/problem.ts";

function leave(code: number, words: string): never {
  try {
    if (words !== "") writeSync(2, `${words}\n`);
  } catch {
    // Nobody reads any more.
  }
  process.exit(code);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return process.env["USER"] ?? "somebody";
  }
}

function makeCli(): Cli {
  const { env } = process;
  const interrupts = processInterrupts(leave);
  const packageRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const ask = { cwd: process.cwd(), env, packageRoot, real: clockOf(REAL_TIME) };
  let access: FleetAccess | undefined;
  return {
    ...ask,
    version: packageJson.version,
    who: `${userName()}@${hostname()}`.slice(0, 80),
    output: outputOf(process, env, interrupts.brokenPipe),
    interrupts,
    options: () => globalOptionsOf(program, env),
    access: () => (access ??= accessOf(ask)),
    exit: (code) => {
      process.exitCode = code;
    },
  };
}

const cli = makeCli();
const program = programOf(cli, []);

try {
  await program.parseAsync(completed(process.argv.slice(2)), { from: "user" });
} catch (error) {
  const usage = exitOfUsage(error);
  process.exitCode = usage ?? exitOf(error);
  if (usage === undefined) {
    const words = problemWords(error);
    const { json, verbose } = cli.options();
    process.stderr.write(`${json ? problemJson(words) : problemLines(words)}\n`);
    if (verbose && error instanceof Error) process.stderr.write(`${error.stack ?? ""}\n`);
  }
}
