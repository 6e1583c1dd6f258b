// The closure's timeline beside the incident's own. The record's minutes and words are quoted; what is beside them was measured.

import { CLOCK } from "#core/budgets.ts";
import { MINUTE, type Instant } from "#core/time.ts";
import { shortNameOf } from "#wire/names.ts";
import { OTHERS, PLACES, RECORD, STALE } from "./closure.ts";
import type { ClosureSeen } from "./closureActs.ts";
import { closedFor, closureTimes, startOf } from "./closureTimes.ts";
import { secondTime, spanTime } from "./night.ts";

/** One line: the record's minute and words, and what was seen here, when. Null where one of the two has nothing. */
export interface ClosureBeat {
  readonly recordMinute: number | null;
  readonly record: string | null;
  readonly at: Instant | null;
  readonly here: string | null;
}

const stale = shortNameOf(STALE);
const others = OTHERS.map(shortNameOf).join(" and ");

type Half = readonly [minute: number | null, words: string | null];

const NOTHING: Half = [null, null];

const HALVES = {
  closed: [0, "the deploy closes the fleet: /attach refuses new runs"],
  waits: [null, "every attach on every repository waits at the drain"],
  swap: [null, "the swap lands"],
  reconcile: [null, "every container is asked to cycle"],
  lift: [null, "no lift: the fleet stays closed for one container that still reports the pre-deploy image"],
  rebuild: [RECORD.rebuildMinute, "repo rebuild: a fresh container, and the hold stands on"],
  look: [RECORD.stillOldMinute, "repo list still shows it on its pre-deploy start, and says warm"],
  open: [RECORD.closedMinutes, "a person reopens the whole fleet by hand"],
  backstop: [RECORD.backstopMinutes, "where the hold would have ended by itself"],
} as const satisfies Record<string, Half>;

const beat = ([recordMinute, record]: Half, at: Instant | undefined, here: string | null): ClosureBeat => ({
  recordMinute,
  record,
  at: at ?? null,
  here,
});

/** The beats in the record's order. */
export function closureTimelineOf(seen: ClosureSeen): ClosureBeat[] {
  const { closed, quiet, swapped, reconcile, lifted, staleOpen, by } = closureTimes(seen);
  const waits = seen.waiting.map(({ actor }) => actor.saying(/waiting for the deploy to finish/)?.at ?? 0);
  const look = seen.looks.at(-1);
  const rebuilt = seen.rebuilt?.askedAt;
  const waiter = seen.waiting.find((one) => one.resource === STALE);
  const states = (seen.reconciled?.operation.entries ?? []).map((one) => `${shortNameOf(one.resource)} ${one.state}`);
  return [
    beat(HALVES.closed, closed, "the drain: a run is in flight on each of the three"),
    beat(HALVES.waits, Math.max(...waits), "an ask waits at each of the three"),
    beat(NOTHING, quiet, "the runs in flight have ended by themselves"),
    beat(HALVES.swap, swapped, `generation ${seen.after.health.generation}`),
    beat(HALVES.reconcile, reconcile, `${states.join(", ")} at the end`),
    beat(HALVES.lift, lifted, `the lift: ${others} open, ${stale} held`),
    ...(rebuilt === undefined ? [] : [beat(HALVES.rebuild, rebuilt, `repo rebuild of ${stale}`)]),
    beat(
      rebuilt === undefined ? HALVES.look : NOTHING,
      look?.at,
      `${stale}: ${look?.row?.readiness ?? "?"}, image ${look?.row?.imageReport ?? "?"}`,
    ),
    beat(
      HALVES.open,
      staleOpen,
      `${stale} opens: ${by === "freed" ? "its own report" : "the cycle bound, with its name in a warning"}`,
    ),
    beat(NOTHING, waiter && startOf(seen, waiter), `the ask that waited at ${stale} starts`),
    beat(HALVES.backstop, undefined, null),
  ].toSorted((a, b) => (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY));
}

function beatLines(beats: readonly ClosureBeat[], closed: Instant): string[] {
  return beats.flatMap(({ recordMinute, record, at, here }) => {
    const seen = at === null ? [] : [`${secondTime(at)}  ${spanTime(at - closed).padStart(5)}  ${here ?? ""}`];
    const minute = recordMinute === null ? "" : `, minute ${recordMinute}`;
    return record === null ? seen : [...seen, `${" ".repeat(17)}the record${minute}: ${record}`];
  });
}

/** How the rebuild's minute here compares with the record's. */
function rebuildLines(seen: ClosureSeen): string[] {
  const { closed = 0, reconcile = 0 } = closureTimes(seen);
  if (seen.rebuilt === null) return [];
  const { askedAt } = seen.rebuilt;
  const { rebuildMinute, boundMinutes } = RECORD;
  return [
    "",
    `The rebuild here: ${spanTime(askedAt - reconcile)} after the reconcile, minute ${spanTime(askedAt - closed)} of the closure. The record's: minute ${rebuildMinute} after`,
    `the deploy, where by its own estimate the bound would have come at minute ${boundMinutes}. Here it is asked earlier, so`,
    `that it surely lies within the bound of ${CLOCK.cycleBoundMs / MINUTE} minutes from the reconcile: --set rebuild.at moves it.`,
  ];
}

/** The closure as lines of text: timeline, the rebuild's minute, and how long each repository was closed. */
export function closureLines(seen: ClosureSeen): string[] {
  const { closed = 0 } = closureTimes(seen);
  const spans = closedFor(seen);
  const table = PLACES.map((one) => {
    const ms = spans.get(one);
    return `  ${shortNameOf(one).padEnd(14)}${`${RECORD.closedMinutes}:00`.padStart(10)}${(ms === undefined ? "never" : spanTime(ms)).padStart(10)}`;
  });
  return [
    "here      minute  what was seen; below it the incident's own words",
    ...beatLines(closureTimelineOf(seen), closed),
    ...rebuildLines(seen),
    "",
    `  ${"closed for".padEnd(14)}${"the record".padStart(10)}${"here".padStart(10)}`,
    ...table,
    `  The record's ${RECORD.closedMinutes} minutes are its own figure for the whole fleet, quoted and not measured here.`,
  ];
}

/** The same comparison as data. */
export function comparisonOf(seen: ClosureSeen) {
  const spans = closedFor(seen);
  const record = RECORD.closedMinutes * MINUTE;
  return {
    note: "record: the incident's own figure for the whole fleet, quoted and not measured; here: measured",
    closedMs: PLACES.map((resource) => ({ resource, record, here: spans.get(resource) ?? null })),
  };
}
