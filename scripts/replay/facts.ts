// What the seed says of the evening, held against what was seen of it. Each fact is found, never assumed: who was in flight,
// what died, who waited, on which generation it started, in which order everything came.

import type { Instant } from "#core/time.ts";
import { THREADS, type Seen } from "./acts.ts";
import { nightTime } from "./evening.ts";
import type { Fact } from "./fact.ts";
import { closedFrame, goneAt, startedIn, threadsIn } from "./flights.ts";

/** The instants of a deploy by the registry's own log; `reopened` is when the last resident was open again. */
export interface DeployTimes {
  readonly swapped: Instant | undefined;
  readonly reconciled: Instant | undefined;
  readonly reopened: Instant | undefined;
  readonly cause: string | null;
}

/** What the registry wrote down of the deploy that is served at the end. */
export function timesOf({ audit, after }: Seen): DeployTimes {
  const rows = audit.filter((row) => row.drainId === after.drainId && after.drainId !== null);
  const reopen = rows.findLast((row) => row.what === "reopen");
  return {
    swapped: rows.find((row) => row.what === "swapped")?.at,
    reconciled: rows.find((row) => row.what === "reconcile")?.at,
    reopened: reopen?.at,
    cause: reopen?.cause ?? null,
  };
}

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((one, index) => one === b[index]);
const time = (instant: Instant | undefined): string => (instant === undefined ? "never" : nightTime(instant));

function inFlightFact(seen: Seen): Fact {
  const threads = threadsIn(closedFrame(seen.frames));
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
  const { swapped } = timesOf(seen);
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
  const { reopened } = timesOf(seen);
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

function killedFact({ receipt, reconciled, coding, review }: Seen): Fact {
  const swap = receipt?.killed ?? "unknown";
  const entries = reconciled?.operation.entries ?? [];
  const restarts = entries.reduce((sum, entry) => sum + entry.killed, 0);
  const ends = [coding, review].map((actor) => actor.over?.exit);
  return {
    says: "nobody is killed, neither by the swap nor by the restart behind it",
    found: `killed ${swap} by the swap, ${restarts} by ${entries.length} restart; the coding child ended with ${ends[0] ?? "?"}, the review with ${ends[1] ?? "?"}`,
    holds:
      swap === 0 &&
      receipt?.killedProcesses.length === 0 &&
      entries.length > 0 &&
      restarts === 0 &&
      ends.every((exit) => exit === 0),
    proof: { killed: swap, processes: receipt?.killedProcesses, entries },
  };
}

function orderFact(seen: Seen): Fact {
  const { swapped, reconciled, reopened, cause } = timesOf(seen);
  const released = goneAt(seen.frames, THREADS.coding);
  const instants = [released, swapped, reconciled, reopened];
  const ordered = instants.every(
    (instant, index) => instant !== undefined && (index === 0 || instant >= (instants[index - 1] ?? instant + 1)),
  );
  return {
    says: "the swap comes after the last release, the reconcile behind it, and the reopening last",
    found: `release ${time(released)}, swap ${time(swapped)}, reconcile ${time(reconciled)}, reopened ${time(reopened)} (${cause ?? "?"})`,
    holds: ordered && (cause === "lifted" || cause === "reported"),
    proof: { released, swapped, reconciled, reopened, cause },
  };
}

function imageFact({ before, after, residents, reconciled, roll }: Seen): Fact {
  const { image } = after.build;
  const reports = residents.residents.map((row) => ({
    resource: row.resource,
    says: row.imageReport,
    image: row.image,
    bootId: row.bootId,
    state: reconciled?.operation.entries.find((entry) => entry.resource === row.resource)?.state ?? null,
  }));
  const all = reports.every(
    (one) =>
      one.image === image && one.says === "current" && one.state === "restarted" && one.bootId !== roll?.after.bootId,
  );
  return {
    says: "the release changes the image, and each resident reports it itself, from a boot behind the live gate",
    found: `${before.build.image.slice(0, 6)} → ${image.slice(0, 6)}: ${reports.map((one) => `${one.state ?? "?"}, ${one.says}`).join("; ")}`,
    holds: before.build.image !== image && reports.length > 0 && all && after.generation === before.generation + 1,
    proof: { before: before.build, after: after.build, reports },
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
