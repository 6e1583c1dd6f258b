// `tidegate version`: what this command line is, and what the fleet it reaches serves.

import type { Command } from "commander";
import { PROTOCOL } from "#core/preflight.ts";
import type { Cli } from "../cli.ts";

async function version(cli: Cli): Promise<void> {
  const own = { version: cli.version, protocol: PROTOCOL, node: process.version };
  if (!cli.options().json && !cli.options().verbose) return cli.output.data(`tidegate ${cli.version}`);
  const fleet = await cli
    .access()
    .fleet.health()
    .catch(() => null);
  if (cli.options().json) return cli.output.data(JSON.stringify({ ...own, fleet }, null, 2));
  cli.output.data(`tidegate ${cli.version}, protocol ${PROTOCOL}, Node ${process.version}`);
  const served =
    fleet === null
      ? "cannot be reached"
      : `protocol ${fleet.protocol}, generation ${fleet.generation}, build ${fleet.build.commit.slice(0, 12)}`;
  cli.output.data(`fleet ${cli.access().url}: ${served}`);
}

/** Adds the command. */
export function addVersion(program: Command, cli: Cli): void {
  program
    .command("version")
    .description("this tidegate's version; with --verbose also the fleet's")
    .action(() => version(cli));
}
