// What changed between two states of the watch, as event lines: runs that began and runs that ended.

import { clockOf } from "#core/time.ts";
import type { RunRow, WatchFrame } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import { spanWords } from "./times.ts";

const line = (at: number, run: RunRow, what: string, details: string): string =>
  `${clockOf(at).slice(0, 8)}  ${shortNameOf(run.resource).padEnd(8)}  ${what.padEnd(16)}  run ${run.runId}, ${details}`;

const isRunning = (run: RunRow): boolean => run.state === "running" && run.kind !== "provision";

/** The lines of what happened between two frames. */
export function runChanges(before: WatchFrame | null, after: WatchFrame): string[] {
  const was = (before?.runs ?? []).filter(isRunning);
  const is = after.runs.filter(isRunning);
  const has = (runs: readonly RunRow[], run: RunRow): boolean => runs.some((other) => other.runId === run.runId);
  const ended = was
    .filter((run) => !has(is, run))
    .map((run) => line(after.now, run, "run ended", `after ${spanWords(after.now - run.since)}`));
  const lease = (run: RunRow): string => `thread ${run.threadKey}, lease until ${clockOf(run.leaseUntil).slice(0, 5)}Z`;
  const began = is.filter((run) => !has(was, run)).map((run) => line(after.now, run, "run started", lease(run)));
  return before === null ? began : [...ended, ...began];
}
