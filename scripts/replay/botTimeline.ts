// The bot's night, beat by beat, beside the record's own words. Those are quoted; what is beside them was measured.

import type { Instant } from "#core/time.ts";
import type { BotSeen } from "./botActs.ts";
import { BOT_RECORD } from "./botNight.ts";
import { botTimes, gapsOf, inFlightAt, waited } from "./botTimes.ts";
import { secondTime, SCALE } from "./night.ts";

/** One line: the record's words, and what was seen here, when. Null where one of the two has nothing. */
export interface BotBeat {
  readonly record: string | null;
  readonly at: Instant | null;
  readonly here: string | null;
}

const beat = (record: string | null, at: Instant | undefined, here: string): BotBeat => ({
  record,
  at: at ?? null,
  here,
});

/** The plan runner's units, each with how long its run was at work. */
export function unitsOf({ fed, runs }: BotSeen) {
  return fed.map(({ unit, kind, answer: { id } }) => {
    const run = runs.find(({ entry }) => entry.ask.id === id);
    const ms = run?.ended ? run.ended.endedAt - (run.entry.admittedAt ?? run.ended.endedAt) : null;
    return { unit, kind, ms };
  });
}

/** The beats in their order. */
export function botTimelineOf(seen: BotSeen): BotBeat[] {
  const times = botTimes(seen);
  const { begun, closed, quiet, ledgerRolled, botRolled, lifted, first, ended } = times;
  const gap = Math.round(Math.max(...gapsOf(seen)) / SCALE);
  const kinds = inFlightAt(seen, closed ?? begun).map(({ entry }) => entry.ask.kind);
  const begins = beat(BOT_RECORD.inFlight, begun, `the deploy is typed; in flight: ${kinds.join(" and ")}`);
  const spawns = `each ending is followed by the next ask within ${gap} ms`;
  if (seen.variant === "undrained")
    return [
      begins,
      beat(BOT_RECORD.spawns, undefined, spawns),
      beat(BOT_RECORD.looks, undefined, "and so it is here"),
      beat(BOT_RECORD.ends, ended, "the step gives up at its budget's end; nothing has landed"),
    ];
  const late = seen.runs.filter((run) => waited(run, times)).length;
  return [
    begins,
    beat(BOT_RECORD.spawns, undefined, spawns),
    beat(null, closed, "the deploy closes the fleet and the bot's door"),
    beat(null, seen.steered?.reachedAt, "what is said to a run in flight reaches it"),
    beat(BOT_RECORD.looks, quiet, `the last run in flight ends, and ${late} asks wait`),
    beat(null, ledgerRolled, "the ledger is rolled"),
    beat(BOT_RECORD.ends, botRolled, "the bot is rolled"),
    beat(null, lifted, "the door opens"),
    beat(null, first, "the first of the queue is admitted, by the new bot"),
  ];
}

/** The timeline as lines of text. */
export function botLines(beats: readonly BotBeat[]): string[] {
  const lines = beats.flatMap(({ record, at, here }) => [
    `${at === null ? "        " : secondTime(at)}  ${here ?? ""}`,
    ...(record === null ? [] : [`          the record: ${record}`]),
  ]);
  return ["here      what was seen; below it the record's own words", ...lines];
}
