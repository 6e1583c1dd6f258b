// `tidegate runs …`: what was asked for and what runs, one run from near, what is said to it, and the end of one that nobody
// else ends.

import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { asRunFailure, EXIT } from "../exit.ts";
import { runsList, type ListWishes } from "./runsList.ts";
import { runsShow, runsWatch } from "./runsLooks.ts";
import { releasedIdOf } from "../runId.ts";
import { runsSteer, runsStop, type SteerWishes } from "./runsSay.ts";

const RUN = "its id, the beginning of it, or `last`";

const WATCH_HELP = `
The run's stdout and stderr are its own; everything tidegate says goes to stderr. Ctrl-C leaves the run alone.

Exit codes: the run's command's own · 124 its lease was over · 125 tidegate failed, or the run was refused · 127 it could
not be started · 130 it was stopped, or Ctrl-C left it alone · 2 usage · 4 not allowed`;

const STEER_HELP = `
A run hears it in its inbox: the file that TIDEGATE_INBOX names, from the root of its worktree, with a line of JSON for each
that was said so far, {"seq", "at", "text"}. The kind's command has to read it; nothing is written to its stdin. A stop that
is said later drops what has not been heard by then, a follow-up too.`;

async function release(cli: Cli, typed: string, reason: string): Promise<void> {
  const runId = await releasedIdOf(cli, typed, new AbortController().signal);
  const { kind } = await cli.access().fleet.releaseRun({ runId, reason });
  if (cli.options().json) cli.output.data(JSON.stringify({ runId, kind }));
  else cli.output.data(kind === "released" ? `run ${runId} is ended and its thread is free` : `run ${runId}: ${kind}`);
  if (kind === "superseded") cli.exit(EXIT.refused);
}

function addLooks(runs: Command, cli: Cli): void {
  runs
    .command("list")
    .description("what is queued and in flight: its place, what it waits for, the lease it has left")
    .option("--all", "what has ended, too")
    .option("--repo <name>", "of one repository")
    .option("--limit <rows>", "with --all: how many that have ended", "50")
    .action((wishes: ListWishes) => runsList(cli, wishes));
  runs
    .command("show")
    .description("everything that is known of one ask: its card, its notes, how it ended, its write-up")
    .argument("<run>", RUN)
    .action((typed: string) => runsShow(cli, typed));
  runs
    .command("watch")
    .description("follow one run's output and card to its end, and end with its code")
    .argument("<run>", RUN)
    .option("--from-now", "what it writes from now on, without what it has written")
    .addHelpText("after", WATCH_HELP)
    .action((typed: string, wishes: { fromNow?: boolean }) =>
      runsWatch(cli, typed, wishes).catch((error: unknown) => {
        throw asRunFailure(error);
      }),
    );
}

/** Adds the commands. */
export function addRuns(program: Command, cli: Cli): void {
  const runs = program.command("runs").description("what was asked for: what waits, what runs, what has ended");
  addLooks(runs, cli);
  runs
    .command("stop")
    .description("stop a run, or take an ask out of the queue")
    .argument("<run>", RUN)
    .action((typed: string) => runsStop(cli, typed));
  runs
    .command("steer")
    .description("say something to a run in flight; to an ask that waits it is added")
    .argument("<run>", RUN)
    .argument("<text...>", "what is to be said; - reads it from stdin")
    .option(
      "--follow-up",
      "it is to be done after the run: it becomes an ask of its thread, unless a stop is said later",
    )
    .option("--key <key>", "the same key is said once, however often it is typed")
    .addHelpText("after", STEER_HELP)
    .action((typed: string, text: string[], wishes: SteerWishes) => runsSteer(cli, typed, text, wishes));
  runs
    .command("release")
    .description("end one run, wherever its caller is (admin)")
    .argument("<run>", RUN)
    .requiredOption("--reason <text>", "why, for the audit log")
    .action((typed: string, wishes: { reason: string }) => release(cli, typed, wishes.reason));
}
