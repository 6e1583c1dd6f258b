// `tidegate completion <shell>`: the one file that knows the completion library.

import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";

/** Adds `completion` and the hidden command that shells ask. To be called when all other commands are there. */
export function addCompletion(program: Command): void {
  tab(program, { completionCommandName: "completion" });
}
