// `tidegate runs …`: the runs in flight, and the end of one that nobody else ends.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { EXIT } from "../exit.ts";
import { runTable, suspectLines } from "../render/statusScreen.ts";

async function list(cli: Cli): Promise<void> {
  const { runs, now, attaching } = await cli.access().fleet.residents({ fresh: true });
  const { json, headers } = cli.options();
  if (json) return cli.output.data(JSON.stringify({ now, runs, attaching }, null, 2));
  for (const line of runTable(runs, now, headers)) cli.output.data(line);
  for (const line of suspectLines(runs, now)) cli.output.say(line);
  if (runs.length === 0) cli.output.say("tidegate: nothing in flight");
}

async function release(cli: Cli, runId: string, reason: string): Promise<void> {
  const { kind } = await cli.access().fleet.releaseRun({ runId, reason });
  if (cli.options().json) cli.output.data(JSON.stringify({ runId, kind }));
  else cli.output.data(kind === "released" ? `run ${runId} is ended and its thread is free` : `run ${runId}: ${kind}`);
  if (kind === "superseded") cli.exit(EXIT.refused);
}

/** Adds the commands. */
export function addRuns(program: Command, cli: Cli): void {
  const runs = program.command("runs").description("the runs in flight");
  runs
    .command("list")
    .description("each run with its thread and the lease it has left")
    .action(() => list(cli));
  runs
    .command("release")
    .description("end one run, wherever its caller is (admin)")
    .argument("<run>", "its id, as `runs list` shows it")
    .requiredOption("--reason <text>", "why, for the audit log")
    .action((runId: string, wishes: { reason: string }) => release(cli, runId, wishes.reason));
}
