// `tidegate run`: one command in a repository's resident, its output and its exit code as if it ran here.

import type { Command } from "commander";
import { shortNameOf } from "#wire/names.ts";
import { nearestWord } from "#node/nearestWord.ts";
import type { Cli } from "../cli.ts";
import { asRunFailure, CliError } from "../exit.ts";
import { mintShortId } from "../ids.ts";
import { leaseOf, threadOf } from "../person.ts";
import { resolveRepo } from "../repoName.ts";
import { runInFleet } from "../runInFleet.ts";

interface RunWishes {
  readonly thread?: string;
  readonly lease?: string;
  readonly kind: string;
  readonly ref?: string;
  readonly resume?: string;
  readonly replace?: boolean;
  readonly push?: boolean;
}

const HELP = `
The command's stdout and stderr are its own; everything tidegate says goes to stderr.
A command line with pipes or quotes: -- sh -c 'make && echo done'

Exit codes: the command's own (128 + n when signal n ended it) · 124 its lease was over · 125 tidegate failed or the run
was refused · 127 the command could not be started · 2 usage · 4 not allowed · 130/143 stopped by Ctrl-C or SIGTERM`;

function checkedKind(kind: string, known: readonly string[]): string {
  if (known.includes(kind)) return kind;
  const near = nearestWord(kind, known);
  throw new CliError(
    `--kind: "${kind}" is none of ${known.join(", ")}`,
    near === undefined ? `--kind ${known[0] ?? "shell"}` : `--kind ${near}`,
  );
}

async function resourceOfTyped(cli: Cli, repo: string): Promise<string> {
  if (/^repo:[^/]+\/[^/]+$/.test(repo)) return repo;
  const { residents } = await cli.access().fleet.residents();
  return resolveRepo(
    repo,
    residents.map((row) => row.resource),
  );
}

async function run(cli: Cli, typed: { repo: string; command: readonly string[]; wishes: RunWishes }): Promise<void> {
  const { repo, command, wishes } = typed;
  const { config, budgets } = cli.access();
  const runKind = checkedKind(wishes.kind, Object.keys(config.leases));
  const leaseMs = wishes.lease === undefined ? null : leaseOf(wishes.lease, budgets.longestLeaseMs);
  const threadKey = wishes.thread === undefined ? `cli:${mintShortId("x").slice(2, 8)}` : threadOf(wishes.thread);
  if (command[0] === "") throw new CliError("the command is empty", `npx tidegate run ${repo} -- date`);
  const resource = await resourceOfTyped(cli, repo);
  if (cli.options().verbose) cli.output.say(`tidegate: ${shortNameOf(resource)} is ${resource}`);
  const resume = wishes.resume === undefined ? null : ["sh", "-c", wishes.resume];
  const { ref = null, replace = false, push = false } = wishes;
  await runInFleet(cli, { resource, threadKey, runKind, leaseMs, ref, command, resume, replace, push, wait: true });
}

/** Adds the command. */
export function addRun(program: Command, cli: Cli): void {
  program
    .command("run")
    .description("run a command in a repository's resident, in a worktree of its own")
    .argument("<repo>", "a repository of `repo list`; its name alone is enough")
    .argument("<command...>", "after --: the command and its arguments")
    .usage("<repo> [options] -- <command...>")
    .option("--thread <key>", "the thread that the work belongs to; its branch goes on where an earlier run left it")
    .option("--lease <span>", "how long the run may live, such as 45m; its wait for the fleet counts")
    .option("--kind <kind>", "a kind of tidegate.jsonc, whose lease is used", "shell")
    .option("--ref <ref>", "the branch, tag or commit to begin at")
    .option("--resume <line>", "the shell line that goes on after the container was replaced")
    .option("--replace", "end the run that holds the thread first")
    .option("--push", "push the thread's branch when the command has succeeded")
    .addHelpText("after", HELP)
    .action((repo: string, command: string[], wishes: RunWishes) =>
      run(cli, { repo, command, wishes }).catch((error: unknown) => {
        throw asRunFailure(error);
      }),
    );
}
