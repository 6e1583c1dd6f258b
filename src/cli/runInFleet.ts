// A run from the command line: the caller's run with its output on this process's streams and everything of tidegate's
// own on stderr.

import { constants } from "node:os";
import { callRun, type RunAsk, type RunEnd, type RunEvents, type Verdict } from "#client/run.ts";
import type { Ms } from "#core/time.ts";
import type { Cli } from "./cli.ts";
import { EXIT, exitOfCode } from "./exit.ts";
import { mintShortId } from "./ids.ts";
import { problemLines, problemWords } from "./render/problem.ts";
import { endLines, notStartedHint, openingWords, startWords, waitWords } from "./render/runLines.ts";
import { TidegateError } from "#wire/errors.ts";

/** A run as it was typed. */
export interface TypedRun {
  readonly resource: string;
  readonly threadKey: string;
  readonly runKind: string;
  readonly leaseMs: Ms | null;
  readonly ref: string | null;
  readonly command: readonly string[];
  readonly resume: readonly string[] | null;
  /** A person's word that the run that holds the thread is over. */
  readonly replace: boolean;
  readonly push: boolean;
  readonly wait: boolean;
}

function signalNumber(name: string): number {
  const found = Object.entries(constants.signals).find(([known]) => known === name);
  return found?.[1] ?? 9;
}

/** Bad input is usage and a bad bearer is 4, as everywhere; every other refusal of a run is tidegate's own failure. */
function exitOfRefusal(verdict: Extract<Verdict, { kind: "refused" }>): number {
  const exit = verdict.problem === null ? EXIT.own : exitOfCode(verdict.problem.code);
  return exit === EXIT.usage || exit === EXIT.denied ? exit : EXIT.own;
}

/** What the process ends with. */
export function exitOfRun({ verdict, pushed }: RunEnd, signalCode: number): number {
  switch (verdict.kind) {
    case "finished":
      return verdict.exit === 0 && pushed?.ok === false ? EXIT.own : verdict.exit;
    case "notStarted":
      return EXIT.notStarted;
    case "stopped":
      return signalCode === 0 ? EXIT.interrupted : signalCode;
    case "leaseSpent":
      return EXIT.leaseSpent;
    case "refused":
      return exitOfRefusal(verdict);
    case "replaced":
    case "failed":
      return EXIT.own;
  }
}

function eventsOf(cli: Cli, say: (line: string) => void): RunEvents {
  const { output } = cli;
  const { clock } = cli.access();
  const { verbose } = cli.options();
  let waited = false;
  return {
    out: (bytes) => output.bytes("out", bytes),
    err: (bytes) => output.bytes("err", bytes),
    onWait: (note) => {
      waited = true;
      say(waitWords(note, clock.now()));
    },
    onProgress: (line) => {
      if (verbose) say(line);
    },
    onStart: (attached) => {
      if (waited) say(openingWords(attached));
      say(startWords(attached, clock.now()));
      if (verbose) say(`worktree ${attached.binding.workspace}`);
    },
    onCut: (why) => {
      if (verbose) say(`the stream was cut (${why}); attaching again`);
    },
    onReplaced: (command) => {
      if (command !== null) say("the container was replaced: going on with the --resume command");
    },
  };
}

function refusalLines({ verdict }: RunEnd): string | null {
  if (verdict.kind !== "refused") return null;
  const { problem, draining } = verdict;
  return problemLines(problemWords(problem === null ? draining : new TidegateError(problem)));
}

/** Runs it and sets the process's exit code. */
export async function runInFleet(cli: Cli, typed: TypedRun): Promise<void> {
  const { fleet, attach, clock } = cli.access();
  const { quiet, json } = cli.options();
  const say = (line: string): void => {
    if (!quiet) cli.output.say(`tidegate: ${line}`);
  };
  const runId = mintShortId("r");
  const ask: RunAsk = {
    ...typed,
    runId,
    generation: 0,
    parent: null,
    replace: typed.replace ? { by: "person" } : { by: "nobody" },
    env: {},
  };
  const leaving = `tidegate: left at once; run ${runId} ends with its lease, or: npx tidegate runs release ${runId} --reason "left"`;
  const { stop, release } = cli.interrupts.take(() => leaving);
  stop.addEventListener("abort", () => say("stopping: ending the run's processes (once more leaves at once)"), {
    once: true,
  });
  try {
    const end = await callRun(
      { fleet, attach, clock, real: cli.real, mintId: mintShortId, signalNumber },
      ask,
      eventsOf(cli, say),
      stop,
    );
    const refusal = refusalLines(end);
    if (refusal !== null) cli.output.say(refusal);
    for (const line of endLines(end, typed.leaseMs)) say(line);
    const hint = end.verdict.kind === "notStarted" ? notStartedHint(typed.command) : null;
    if (hint !== null) say(hint);
    const exit = exitOfRun(end, cli.interrupts.code());
    if (json) cli.output.say(JSON.stringify({ runId, verdict: end.verdict, work: end.work, exit }));
    cli.exit(exit);
  } finally {
    release();
  }
}
