// What the seed says of the evening, held against what was seen of it. Each fact is found, never assumed: who was in flight,
// what died, who waited, on which generation it started, in which order everything came.

import type { Instant } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import { THREADS, type Seen } from "./acts.ts";
import { nightTime } from "./evening.ts";

/** One fact: what it says, what was found, and whether they agree. `proof` has what it was read from. */
export interface Fact {
  readonly says: string;
  readonly found: string;
  readonly holds: boolean;
  readonly proof: Readonly<Record<string, unknown>>;
}

const threadsIn = (frame: WatchFrame | undefined): string[] =>
  (frame?.runs ?? []).map((row) => row.threadKey).toSorted();

/** The first frame without the thread after one with it: its registration has gone. */
export function goneAt(frames: readonly WatchFrame[], thread: string): Instant | undefined {
  const has = (frame: WatchFrame): boolean => frame.runs.some((row) => row.threadKey === thread);
  const last = frames.findLastIndex(has);
  return last < 0 ? undefined : frames[last + 1]?.now;
}

/** The first frame in which the thread runs. */
export function startedIn(frames: readonly WatchFrame[], thread: string): WatchFrame | undefined {
  return frames.find((frame) => frame.runs.some((row) => row.threadKey === thread && row.state === "running"));
}

export const closedFrame = (seen: Seen): WatchFrame | undefined => seen.frames.find((frame) => frame.drains.length > 0);

/** When the new generation first answered, and when the fleet reopened, by the registry's own log. */
export function swapOf({ audit, before }: Seen): {
  swapped: Instant | undefined;
  reopened: Instant | undefined;
  cause: string | null;
} {
  const swapped = audit.find((row) => row.what === "swapped" && row.reason !== `generation ${before.generation}`)?.at;
  const reopen = audit.find((row) => row.what === "reopen");
  return { swapped, reopened: reopen?.at, cause: reopen?.cause ?? null };
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);
const time = (instant: Instant | undefined): string => (instant === undefined ? "never" : nightTime(instant));

function inFlightFact(seen: Seen): Fact {
  const threads = threadsIn(closedFrame(seen));
  const receipt = (seen.receipt?.inFlight ?? []).map((run) => run.threadKey).toSorted();
  const wanted = [THREADS.coding, THREADS.review].toSorted();
  return {
    says: "two runs are in flight at the drain: the coding child and the review",
    found: threads.join(", "),
    holds: same(threads, wanted) && same(receipt, wanted),
    proof: { watch: threads, receipt },
  };
}

function rollFact({ roll, coding, frames }: Seen): Fact {
  const runs = roll?.before.processes.filter((process) => process.tags["TIDEGATE_THREAD"] === THREADS.coding) ?? [];
  const died =
    roll !== null && roll.stillAlive.length === 0 && runs.length > 0 && roll.before.bootId !== roll.after.bootId;
  const resumed = coding.saying(/^resumed$/);
  const closed = resumed !== undefined && frames.findLast((frame) => frame.now <= resumed.at)?.drains.length !== 0;
  return {
    says: "the container rolls under the coding child; its re-attach is admitted while closed, and it goes on by --resume",
    found: `${roll?.before.processes.length ?? 0} processes of boot ${roll?.before.bootId?.slice(0, 6) ?? "?"} ended, resumed ${time(resumed?.at)} in boot ${roll?.after.bootId?.slice(0, 6) ?? "?"}`,
    holds: died && closed && coding.over?.exit === 0 && coding.saying(/^resumed is done$/) !== undefined,
    proof: {
      before: { bootId: roll?.before.bootId, pids: roll?.before.processes.map(({ pid }) => pid) },
      after: { bootId: roll?.after.bootId, pids: roll?.after.processes.map(({ pid }) => pid) },
      stillAlive: roll?.stillAlive,
      ofTheRun: runs.map(({ pid }) => pid),
      closedAtReattach: closed,
      exit: coding.over?.exit,
    },
  };
}

function askFact(seen: Seen): Fact {
  const { ask, frames, before, after } = seen;
  const { swapped } = swapOf(seen);
  const waiting = ask.saying(/waiting for the deploy to finish · \d+ min/);
  const opening = ask.saying(/after waiting (\d+)s for the resident/);
  const started = startedIn(frames, THREADS.ask);
  const onNew =
    started !== undefined &&
    swapped !== undefined &&
    started.now >= swapped &&
    started.generation === before.generation + 1;
  return {
    says: "the ask of 04:46 waits, and starts on the new generation with the wait named",
    found: `waits from ${time(waiting?.at)}, starts ${time(started?.now)} on generation ${started?.generation ?? "?"}: ${opening?.line.replace(/^tidegate: /, "") ?? "no opening line"}`,
    holds: waiting !== undefined && opening !== undefined && onNew && ask.over?.exit === 0,
    proof: {
      waiting: waiting?.line,
      opening: opening?.line,
      generation: { before: before.generation, started: started?.generation, after: after.generation },
    },
  };
}

function secondFact(seen: Seen): Fact {
  const { second, receipt } = seen;
  const said = second.words("err");
  const until =
    receipt?.closed === null || receipt === undefined ? undefined : nightTime(receipt.closed.until).slice(0, 5);
  const waitedSeconds = Number(/is drained.*waited (\d+) s/.exec(said)?.[1] ?? "0");
  // Its lease begins as the command is read, so a command that took up to a second to ask has a minute of the evening less.
  const spent = waitedSeconds > 14 * 60 && waitedSeconds < 16 * 60;
  const named = spent && until !== undefined && said.includes(until);
  const { reopened } = swapOf(seen);
  const left = seen.audit.find((row) => row.what === "gaveUp")?.at;
  const before = left !== undefined && reopened !== undefined && left < reopened;
  return {
    says: "the second arrival spends its 15 minutes of wait and ends refused, naming its wait and the drain's end",
    found: `exit ${second.over?.exit ?? "?"} at ${time(second.over?.at)}`,
    holds: second.over?.exit === 125 && named && before,
    proof: {
      exit: second.over?.exit,
      gaveUp: left,
      reopened,
      waitedSeconds,
      said: said.split("\n").slice(-4),
      drainUntil: until,
    },
  };
}

function killedFact({ receipt, coding, review }: Seen): Fact {
  const killed = receipt?.killed ?? "unknown";
  return {
    says: "nobody is killed",
    found: `killed ${killed}; the coding child ended with ${coding.over?.exit ?? "?"}, the review with ${review.over?.exit ?? "?"}`,
    holds: killed === 0 && receipt?.killedProcesses.length === 0 && coding.over?.exit === 0 && review.over?.exit === 0,
    proof: { killed, processes: receipt?.killedProcesses },
  };
}

function orderFact(seen: Seen): Fact {
  const { swapped, reopened, cause } = swapOf(seen);
  const released = goneAt(seen.frames, THREADS.coding);
  const ordered =
    released !== undefined &&
    swapped !== undefined &&
    reopened !== undefined &&
    released <= swapped &&
    swapped <= reopened;
  return {
    says: "the swap comes after the last release and before the reopening",
    found: `release ${time(released)}, swap ${time(swapped)}, reopened ${time(reopened)} (${cause ?? "?"})`,
    holds: ordered && cause === "lifted",
    proof: { released, swapped, reopened, cause },
  };
}

function imageFact({ before, after, receipt }: Seen): Fact {
  const residents = receipt === undefined || receipt.residents === "unknown" ? [] : receipt.residents;
  const all = residents.length > 0 && residents.every((one) => one.imageAfter === after.build.image);
  return {
    says: "the release changes the image, and each resident reports it itself",
    found: `${before.build.image.slice(0, 6)} → ${after.build.image.slice(0, 6)}, ${residents.length} resident on it`,
    holds: before.build.image !== after.build.image && all && after.generation === before.generation + 1,
    proof: { before: before.build, after: after.build, residents },
  };
}

function undrainedFacts(seen: Seen): Fact[] {
  const { deploy, ask, before, after, frames } = seen;
  const said = deploy.words("err");
  const started = startedIn(frames, THREADS.ask);
  return [
    {
      says: "without the bearer nothing closes: the ask of 04:46 starts at once, on the old generation",
      found: `starts ${time(started?.now)} on generation ${started?.generation ?? "?"}`,
      holds:
        started !== undefined &&
        started.generation === before.generation &&
        frames.every((frame) => frame.drains.length === 0),
      proof: { started: started?.now, said: ask.words("err") },
    },
    {
      says: "the deploy waits without a drain, refuses at its budget's end and names why",
      found: `exit ${deploy.over?.exit ?? "?"} at ${time(deploy.over?.at)}`,
      holds:
        deploy.over?.exit === 3 &&
        /RESIDENT_DRAIN_TOKEN is not set/.test(said) &&
        said.includes(THREADS.ask) &&
        after.generation === before.generation,
      proof: { exit: deploy.over?.exit, said: said.split("\n").slice(-8), generation: after.generation },
    },
  ];
}

function forcedFacts(seen: Seen): Fact[] {
  const { receipt, before, after, coding, review } = seen;
  const processes = receipt?.killedProcesses ?? [];
  const threads = [...new Set(processes.map((process) => process.threadKey))].toSorted();
  return [
    {
      says: "with --force the swap kills both, counted from the processes that died",
      found: `killed ${receipt?.killed ?? "unknown"}: ${processes.length} processes of ${threads.join(", ")}`,
      holds:
        receipt?.killed === 2 &&
        same(threads, [THREADS.coding, THREADS.review].toSorted()) &&
        after.generation === before.generation + 1,
      proof: {
        killed: receipt?.killed,
        processes,
        coding: coding.words("err").split("\n").slice(-3),
        review: review.words("err").split("\n").slice(-3),
      },
    },
  ];
}

/** The facts of what was seen, by the variant that was played. */
export function factsOf(seen: Seen): Fact[] {
  if (seen.variant === "undrained") return undrainedFacts(seen);
  if (seen.variant === "forced") return forcedFacts(seen);
  return [
    inFlightFact(seen),
    rollFact(seen),
    askFact(seen),
    secondFact(seen),
    killedFact(seen),
    orderFact(seen),
    imageFact(seen),
  ];
}
