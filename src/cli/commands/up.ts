// `tidegate up`: brings the fleet of this folder up, and stays. Loaded when it is typed: it brings the bundler along.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { UpWishes } from "../upFleet.ts";

/** Adds the command. */
export function addUp(program: Command, cli: Cli): void {
  program
    .command("up")
    .description("bring the fleet of this folder up, and stay (npm start)")
    .option("--port <n>", "instead of the configured one; 0 takes any")
    .option("--no-sample", "make and onboard no sample repository")
    .action(async (wishes: UpWishes) => {
      const { up } = await import("../upFleet.ts");
      await up(cli, wishes);
    });
}
