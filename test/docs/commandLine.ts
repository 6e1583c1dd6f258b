// The commands that documents name, and the command line's own word on whether they exist.

import type { Command } from "commander";
import type { Cli } from "#cli/cli.ts";
import { deployCommand } from "#cli/commands/deploy.ts";
import { programOf } from "#cli/program.ts";

/** A command as a document names it: its words, then its options. */
export interface NamedCommand {
  readonly words: readonly string[];
  readonly options: readonly string[];
}

const ends = new Set([";", "|", "&", "&&", "||", "#", "--", ">", "2>"]);

/** The command lines of tidegate in a line of code. */
export function commandsIn(code: string): NamedCommand[] {
  return [...code.matchAll(/(?:npx tidegate|bin\/tidegate)(?![\w/-])(.*?)(?=npx tidegate|bin\/tidegate|`|$)/g)].map(
    ([, rest = ""]) => {
      const [own = ""] = rest.split(/ {2,}/);
      const tokens = own
        .replaceAll(/'[^']*'|"[^"]*"/g, "…")
        .replaceAll(/([;&|])/g, " $1 ")
        .trim()
        .split(/\s+/);
      const end = tokens.findIndex((token) => ends.has(token));
      const given = (end < 0 ? tokens : tokens.slice(0, end)).filter((token) => token !== "");
      const firstOption = given.findIndex((token) => token.startsWith("-"));
      return {
        words: firstOption < 0 ? given : given.slice(0, firstOption),
        options: given.filter((token) => token.startsWith("-")).map((token) => token.split("=")[0] ?? token),
      };
    },
  );
}

/** The command line as its own code builds it; nothing of it is run. */
function commandTree(): Command {
  const unused = new Proxy({} as Cli, {
    get: (_, name) => {
      throw new Error(`a command asked for ${String(name)} before it was run`);
    },
  });
  return programOf(unused, [], [(program, cli) => program.addCommand(deployCommand(cli))]);
}

const tree = commandTree();

/** The first words that there are, but the one that shells ask, which no help lists. */
export const topCommands = (): string[] =>
  tree.commands
    .map((command) => command.name())
    .filter((name) => name !== "complete")
    .toSorted();

const optionsOf = (command: Command): string[] =>
  command.options.flatMap(({ long, short }) => [long, short]).filter((option) => typeof option === "string");

/** What is wrong with a command; undefined when it exists as named. `deploy` alone is `deploy all`. */
export function wrongWith({ words, options }: NamedCommand): string | undefined {
  const [first, second] = words;
  const found = tree.commands.find((command) => command.name() === first);
  if (first === undefined) return undefined;
  if (found === undefined) return `there is no command ${first}`;
  const named = first === "deploy" && second === undefined ? "all" : second;
  const below = found.commands.find((command) => command.name() === named);
  if (found.commands.length > 0 && named !== undefined && below === undefined) return `${first} has no ${named}`;
  const known = [tree, found, ...(below === undefined ? [] : [below])].flatMap(optionsOf);
  const unknown = options.find((option) => !known.includes(option) && option !== "--help");
  return unknown === undefined ? undefined : `${words.slice(0, 2).join(" ")} has no ${unknown}`;
}
