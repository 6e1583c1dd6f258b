// The command line's grammar. Usage errors end with 2 and with what to type next, before anything is done.

import { Command, CommanderError, Option } from "commander";
import { nearestWord } from "#node/nearestWord.ts";
import type { Cli, GlobalOptions } from "./cli.ts";
import { addAsk } from "./commands/ask.ts";
import { addCompletion } from "./commands/completion.ts";
import { addDown } from "./commands/down.ts";
import { addDrain } from "./commands/drain.ts";
import { addRepo } from "./commands/repo.ts";
import { addRun } from "./commands/run.ts";
import { addRuns } from "./commands/runs.ts";
import { addStatus } from "./commands/status.ts";
import { addUp } from "./commands/up.ts";
import { addVersion } from "./commands/version.ts";
import { problemJson, problemLines } from "./render/problem.ts";

const HELP = `
Exit codes: 0 done · 1 failed · 2 usage or configuration, nothing done · 3 refused, or the wait ran out · 4 not allowed ·
5 deployed in part · 6 deployed, but a container never reported its image · 130/143 ended by a signal after clean-up.
\`run\`, \`runs watch\` and \`ask --watch\` end as their command does: npx tidegate run --help.
Tokens come from RESIDENT_{ADMIN,OPERATOR,READ,DRAIN}_TOKEN or .tidegate/tokens.json, never from an option.`;

/** Reads the global options, wherever they stood. */
export function globalOptionsOf(program: Command, env: Readonly<Record<string, string | undefined>>): GlobalOptions {
  const { json, output, quiet, verbose, headers } = program.opts<{
    json?: boolean;
    output?: string;
    quiet?: boolean;
    verbose?: boolean;
    headers?: boolean;
  }>();
  return {
    json: json === true,
    ndjson: output === "ndjson",
    quiet: quiet === true,
    verbose: verbose === true || (env["TIDEGATE_VERBOSE"] ?? "") !== "",
    headers: headers !== false,
  };
}

/** The commands that were typed, as far as they are commands: what `--help` is to be asked of. */
function commandsTyped(program: Command, typed: readonly string[]): string[] {
  const found: string[] = [];
  let at = program;
  for (const word of typed) {
    const next = at.commands.find((command) => command.name() === word);
    if (next === undefined || word === "help") continue;
    found.push(word);
    at = next;
  }
  return found;
}

/** The options of a command line end at `--`: what follows is another command's own. */
const asksFor = (typed: readonly string[], option: string): boolean => {
  const end = typed.indexOf("--");
  return typed.slice(0, end < 0 ? typed.length : end).includes(option);
};

/** An error of the grammar, as every error is told. */
function usageTold(program: Command, typed: readonly string[], text: string): string {
  const what = text
    .trim()
    .replace(/^error: /, "")
    .replaceAll("\n", " ");
  const next = ["npx tidegate", ...commandsTyped(program, typed), "--help"].join(" ");
  const words = { code: "USAGE", what, next };
  return `${asksFor(typed, "--json") ? problemJson(words) : problemLines(words)}\n`;
}

/** `help <command>` of a group, which names a command that it does not have as every other place does. */
function addHelp(group: Command): void {
  for (const command of group.commands) addHelp(command);
  if (group.commands.length === 0) return;
  group.helpCommand(false);
  group
    .command("help")
    .description("help for a command")
    .argument("[command...]")
    .action((words: string[]) => {
      let at = group;
      for (const word of words) {
        const names = at.commands.map((command) => command.name());
        const meant = nearestWord(word, names);
        const hint = meant === undefined ? "" : ` (Did you mean ${meant}?)`;
        at = at.commands.find((command) => command.name() === word) ?? group.error(`unknown command '${word}'${hint}`);
      }
      at.help();
    });
}

function rootCommand(typed: readonly string[]): Command {
  const program = new Command("tidegate");
  program
    .description("Release several times a day without killing the agents that are working.")
    .option("--json", "one JSON document on stdout")
    .addOption(new Option("--output <form>", "ndjson: one JSON line an event").choices(["ndjson"]))
    .option("--quiet", "nothing but errors on stderr")
    .option("--verbose", "say more on stderr")
    .option("--no-headers", "tables without their headers")
    .configureHelp({ showGlobalOptions: true })
    .addHelpText("after", HELP)
    .showSuggestionAfterError(true)
    .exitOverride()
    .configureOutput({
      writeErr: (text) => process.stderr.write(text),
      outputError: (text, write) => write(usageTold(program, typed, text)),
    });
  return program;
}

/** The whole program. `more` adds commands of other rooms before completion sees them all. */
export function programOf(
  cli: Cli,
  typed: readonly string[],
  more: readonly ((program: Command, cli: Cli) => void)[],
): Command {
  const program = rootCommand(typed);
  const commands = [addStatus, addAsk, addRuns, addRun, addRepo, addDrain, ...more, addUp, addDown, addVersion];
  for (const add of commands) add(program, cli);
  addHelp(program);
  addCompletion(program, cli);
  return program;
}

const GLOBALS = new Set(["--json", "--quiet", "--verbose", "--no-headers", "--output", "ndjson"]);
const HELP_WORDS = new Set(["-h", "--help", "help"]);
/** What a group does when it is named alone. No default of the grammar, which would swallow a misspelt command. */
const ALONE: Readonly<Record<string, string>> = { runs: "list", drain: "status", deploy: "all" };

const isOption = (word: string | undefined): boolean =>
  word === undefined || (word.startsWith("-") && !HELP_WORDS.has(word));

/** What was typed, with what is meant by a name alone: plain `tidegate` is the one screen. */
export function completed(typed: readonly string[]): readonly string[] {
  const first = typed.findIndex((word) => !GLOBALS.has(word) && !word.startsWith("--output="));
  const word = first < 0 ? undefined : typed[first];
  if (word === "--version" || word === "-V") return ["version", ...typed.filter((_, index) => index !== first)];
  if (word === undefined || isOption(word)) return ["status", ...typed];
  const alone = Object.hasOwn(ALONE, word) ? ALONE[word] : undefined;
  if (alone === undefined || !isOption(typed[first + 1])) return typed;
  return [...typed.slice(0, first + 1), alone, ...typed.slice(first + 1)];
}

/** The exit code of an error that commander ended with, or undefined when it is none: help asked for is no error. */
export function exitOfUsage(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  return error.exitCode === 0 ? 0 : 2;
}
