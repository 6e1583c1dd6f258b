// `tidegate completion <shell>`: the one file that knows the completion library.

import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";

/** The commands whose `--kind` is one of tidegate.jsonc. */
const OF_A_KIND = ["ask", "run"];

/** Adds `completion` and the hidden command that shells ask. To be called when all other commands are there. */
export function addCompletion(program: Command, cli: Cli): void {
  const completion = tab(program, { completionCommandName: "completion" });
  for (const name of OF_A_KIND) {
    const option = completion.commands.get(name)?.options.get("kind");
    if (option === undefined) continue;
    option.handler = (complete) => {
      for (const kind of Object.keys(cli.access().config.kinds)) complete(kind, "");
    };
  }
}
