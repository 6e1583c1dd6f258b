// A run from the command line: the caller's run with its output on this process's streams and everything of tidegate's
// own on stderr.

import { constants } from "node:os";
import type { Verdict } from "#client/work.ts";
import { callRun, type RunAsk, type RunEnd, type RunEvents } from "#client/run.ts";
import { readDrain } from "#core/drain.ts";
import type { Instant, Ms } from "#core/time.ts";
import type { Cli } from "./cli.ts";
import { EXIT, exitOfCode } from "./exit.ts";
import { mintShortId } from "./ids.ts";
import { drainWords } from "./render/fleetBanner.ts";
import { problemLines, problemWords } from "./render/problem.ts";
import {
  endLines,
  notStartedHint,
  openingWords,
  replacedWords,
  resetWords,
  startWords,
  transportWords,
  waitWords,
} from "./render/runLines.ts";
import { TidegateError, type Problem } from "#wire/errors.ts";

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

/**
 * Bad input is usage and a bad bearer is 4, as everywhere; every other refusal of a run is tidegate's own failure. A caller
 * that does not wait asked whether the door is open: a closed one is an answer, and refused.
 */
function exitOfRefusal({ problem }: Extract<Verdict, { kind: "refused" }>, waits: boolean): number {
  if (problem?.code === "DRAINING" && !waits) return EXIT.refused;
  const exit = problem === null ? EXIT.own : exitOfCode(problem.code);
  return exit === EXIT.usage || exit === EXIT.denied ? exit : EXIT.own;
}

/** What the process ends with. `waits`: whether it would have waited at a closed door. */
export function exitOfRun({ verdict, pushed }: RunEnd, signalCode: number, waits: boolean): number {
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
      return exitOfRefusal(verdict, waits);
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
      if (command !== null) say(replacedWords(command));
    },
    onReset: () => say(resetWords()),
    onTransport: (note) => say(transportWords(note)),
  };
}

/** The record of a closed door: who closed it, why, since when and until when. */
function recordLines(problem: Problem, now: Instant): string[] {
  const drain = problem.code === "DRAINING" ? readDrain(problem["draining"]) : undefined;
  return drain === undefined ? [] : drainWords(drain, now).map((line) => `  ${line}`);
}

/** Why a run was refused. One that does not wait is told the whole record of what closes its door. */
function refusalLines({ verdict }: RunEnd, waits: boolean, now: Instant): string[] {
  if (verdict.kind !== "refused") return [];
  const { problem, draining } = verdict;
  if (problem === null) return [problemLines(problemWords(draining))];
  const [first = "", ...rest] = problemLines(problemWords(new TidegateError(problem))).split("\n");
  return [first, ...(waits ? [] : recordLines(problem, now)), ...rest];
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
    for (const line of refusalLines(end, typed.wait, clock.now())) cli.output.say(line);
    for (const line of endLines(end, typed.leaseMs)) say(line);
    const hint = end.verdict.kind === "notStarted" ? notStartedHint(typed.command) : null;
    if (hint !== null) say(hint);
    const exit = exitOfRun(end, cli.interrupts.code(), typed.wait);
    if (json) cli.output.say(JSON.stringify({ runId, verdict: end.verdict, work: end.work, exit }));
    cli.exit(exit);
  } finally {
    release();
  }
}
