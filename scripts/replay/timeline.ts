// The evening's timeline, as it was seen, beside the seed's.

import type { Instant } from "#core/time.ts";
import { THREADS, type Seen } from "./acts.ts";
import { nightTime } from "./evening.ts";
import { timesOf } from "./facts.ts";
import { closedFrame, goneAt, startedIn } from "./flights.ts";

/** One line: the seed's time and words, and when it was seen here; undefined where it was not. */
export interface Beat {
  readonly seed: string;
  readonly what: string;
  readonly at: Instant | undefined;
  readonly seenAs: string;
}

const minutes = (span: number): string => `${Math.round(span / 60_000)} min`;

const statesOf = ({ reconciled }: Seen): string =>
  (reconciled?.operation.entries ?? []).map((entry) => entry.state).join(", ");

/** The drained evening, beat by beat. */
export function timelineOf(seen: Seen): Beat[] {
  const { ask, second, roll, frames, coding } = seen;
  const closed = closedFrame(frames);
  const waiting = ask.saying(/waiting for the deploy to finish/);
  const { swapped, reconciled, reopened, cause } = timesOf(seen);
  const started = startedIn(frames, THREADS.ask);
  const released = goneAt(frames, THREADS.coding);
  const waited = started === undefined ? "" : `after ${minutes(started.now - ask.startedAt)} at the door`;
  return [
    {
      seed: "04:44",
      what: "the drain",
      at: closed?.now,
      seenAs: closed?.runs.map((row) => row.threadKey).join(", ") ?? "",
    },
    {
      seed: "04:46",
      what: "a new ask waits",
      at: waiting?.at,
      seenAs: waiting?.line.match(/waiting for[^;—]*/)?.[0].trim() ?? "",
    },
    { seed: "04:49", what: "the review ends", at: goneAt(frames, THREADS.review), seenAs: "" },
    {
      seed: "04:50",
      what: "the container rolls",
      at: roll?.at,
      seenAs: `${roll?.before.processes.length ?? 0} processes end`,
    },
    {
      seed: "04:50",
      what: "the coding child goes on",
      at: coding.saying(/^resumed$/)?.at,
      seenAs: "admitted while closed",
    },
    {
      seed: "04:52",
      what: "the second arrival waits",
      at: second.saying(/waiting for the deploy to finish/)?.at,
      seenAs: "",
    },
    {
      seed: "05:07",
      what: "the second arrival is refused",
      at: second.over?.at,
      seenAs: `exit ${second.over?.exit ?? "?"}`,
    },
    { seed: "05:07:30", what: "the coding child releases", at: released, seenAs: "" },
    { seed: "05:08", what: "the swap", at: swapped, seenAs: `generation ${seen.after.generation}` },
    { seed: "", what: "the containers reconcile", at: reconciled, seenAs: statesOf(seen) },
    { seed: "05:09", what: "the fleet reopens", at: reopened, seenAs: cause ?? "" },
    { seed: "05:09:30", what: "the waiting ask starts", at: started?.now, seenAs: waited },
  ];
}

/** The timeline as lines of text. */
export function timelineLines(beats: readonly Beat[]): string[] {
  const rows = beats.map(({ seed, what, at, seenAs }) => [
    seed.padEnd(8),
    at === undefined ? "never   " : nightTime(at).padEnd(8),
    what.padEnd(30),
    seenAs,
  ]);
  return ["seed      here      what".trimEnd(), ...rows.map((row) => row.join("  ").trimEnd())];
}
