// What a run says on stderr, each as one line of tidegate's own.

import { clockOf, hourMinuteOf, formatDuration, type Instant, type Ms } from "#core/time.ts";
import { waitedWords } from "#core/waitWords.ts";
import type { Attached, WaitNote } from "#client/attach.ts";
import { LIMIT } from "#core/budgets.ts";
import type { TransportNote, Verdict } from "#client/work.ts";
import type { RunEnd } from "#client/run.ts";
import type { Work } from "#wire/attach.ts";
import { shortNameOf } from "#wire/names.ts";
import { shortened } from "./plain.ts";
import { instantWords, spanWords } from "./times.ts";

/** A wait: on whom, for how long, how long it has lasted, and what happens at its bound. */
export function waitWords(note: WaitNote, now: Instant): string {
  const waited = `waited ${spanWords(now - note.since)} of ${spanWords(note.bound - note.since)}`;
  const who = note.by === null ? "" : ` — ${shortened(note.by, 80)}: ${shortened(note.reason ?? "", 120)}`;
  const quiet = note.quietBy === null ? "" : `, quiet by ${hourMinuteOf(note.quietBy)}Z`;
  const until = note.until === null ? "" : `, ends by itself ${hourMinuteOf(note.until)}Z`;
  return `${note.line}${who}${quiet}${until}; ${waited}, gives up ${instantWords(note.bound, now)}`;
}

/** The opening line of a run that waited. */
export function openingWords({ wokeAfterMs }: Attached): string {
  return waitedWords(wokeAfterMs);
}

/** That the run has started: its name, its place and its lease. */
export function startWords({ binding }: Attached, now: Instant): string {
  const { runId, resource, threadKey, leaseUntil, branch } = binding;
  return `run ${runId} on ${shortNameOf(resource)}, thread ${threadKey}, branch ${branch}; lease until ${instantWords(leaseUntil, now)}`;
}

/** The way to the container was gone and the container was not: nothing of the run is lost. */
export function resetWords(): string {
  return "control reset — picking up the output where it stood";
}

/** A standing transport failure: what is known of the run, and what is done about it. */
export function transportWords({ silentMs, failures, goesOn, why }: TransportNote): string {
  const next = goesOn ? ` — attaching again, ${failures} of ${LIMIT.tries}` : "";
  return `nothing heard of the run for ${spanWords(silentMs)} (${shortened(why, 200)})${next}`;
}

/** The container was replaced under the run, and what goes on in the new one. A shell's line is said as it was typed. */
export function replacedWords(command: readonly string[]): string {
  const [shell, flag, line = ""] = command;
  const typed = shell === "sh" && flag === "-c" && command.length === 3 ? line : command.join(" ");
  return `container replaced — goes on by ${shortened(typed, 120)}`;
}

const commits = (n: number): string => (n === 1 ? "1 commit" : `${n} commits`);

/** The work that stays. */
export function workWords({ branch, ahead, dirty }: Work): string {
  const committed = ahead === 0 ? "no new commit" : `${commits(ahead)} on it`;
  const open = dirty ? "what is not committed is kept for a week" : "nothing uncommitted";
  return `work stays on branch ${branch}: ${committed}, ${open}`;
}

/** How a run ended, when its own exit does not say it all. */
export function verdictWords(verdict: Verdict, leaseMs: Ms | null): string | null {
  switch (verdict.kind) {
    case "finished":
      return verdict.signal === null ? null : `the command was ended by ${verdict.signal}`;
    case "notStarted":
      return verdict.why;
    case "stopped":
      return "stopped: its processes are ended and the thread is free";
    case "leaseSpent":
      return `the lease${leaseMs === null ? "" : ` of ${formatDuration(leaseMs)}`} is over: its processes are ended`;
    case "replaced":
      return verdict.by === "container"
        ? "container replaced — the run ends here, since it has no --resume command"
        : "the run was out of reach for too long and ends here as replaced; what its command came to is not known";
    case "refused":
      return null;
    case "failed":
      return `the run failed: ${verdict.why}`;
  }
}

/** The last lines of a run. */
export function endLines(end: RunEnd, leaseMs: Ms | null): string[] {
  const { verdict, work, pushed, notReleased, attached } = end;
  const never = verdict.kind === "stopped" && attached === null;
  const words = never ? "stopped before it started" : verdictWords(verdict, leaseMs);
  const runId = attached?.binding.runId ?? "";
  const leaseUntil = attached === null ? "" : ` (${clockOf(attached.binding.leaseUntil)})`;
  return [
    ...(words === null ? [] : [words]),
    ...(notReleased === null
      ? []
      : [
          `the registration could not be given back (${notReleased}); it ends with its lease${leaseUntil}, or: npx tidegate runs release ${runId} --reason "…"`,
        ]),
    ...(pushed === null ? [] : [pushed.said]),
    ...(work === null ? [] : [workWords(work)]),
  ];
}

/** What to try when a command could not be started. */
export function notStartedHint(command: readonly string[]): string | null {
  const [only, ...more] = command;
  if (only === undefined || more.length > 0 || !/\s/.test(only)) return null;
  return `"${only}" was taken as the name of one program; for a shell line: -- sh -c '${only.replaceAll("'", "'\\''")}'`;
}
