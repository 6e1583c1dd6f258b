// What the bot has, as tables: asks that wait and runs in flight with their card's words, and those that have ended.

import { cardWords } from "#core/card.ts";
import { clockOf, type Instant } from "#core/time.ts";
import type { AskRow, RunList } from "#wire/bot.ts";
import { shortNameOf } from "#wire/names.ts";
import { shortened } from "./plain.ts";
import { fittedTable } from "./fitted.ts";
import { table } from "./table.ts";
import { instantWords, spanWords } from "./times.ts";

/** The bot as it was read: what it has, why it could not be read, or that this stack has none. */
export type BotRead =
  | { readonly kind: "none" }
  | { readonly kind: "read"; readonly url: string; readonly list: RunList }
  | { readonly kind: "unknown"; readonly url: string; readonly why: string; readonly next: string };

const NOTHING = "—";

/** How much of an ask, and of who asked, a row shows. */
const MOST = { ask: 40, by: 24 } as const;

/** A thread that somebody named; one that an ask got for itself says nothing. */
const threadWords = ({ id, channel, threadKey }: AskRow): string =>
  threadKey === `${channel}:${id}` ? "its own" : threadKey;

const isQueued = ({ card }: AskRow): boolean => card.state === "queued";

function leaseWords({ card }: AskRow, now: Instant): string {
  const { state, bound } = card;
  const hasLease = state === "running" || state === "attaching";
  return hasLease && bound !== null ? `${spanWords(bound - now)}, until ${clockOf(bound).slice(0, 5)}Z` : NOTHING;
}

/** How a table is shown: with its headers or without, and how wide its terminal is, null where there is none. */
export interface Shown {
  readonly headers: boolean;
  readonly width: number | null;
}

/** What has not ended, in the order of arrival: its place, the lease it has left, and what it does or waits for. */
export function liveTable(live: readonly AskRow[], now: Instant, { headers, width }: Shown): string[] {
  const rows = live.map((row) => [
    row.id,
    shortNameOf(row.resource),
    row.kind,
    row.card.state,
    row.card.position === null ? NOTHING : String(row.card.position),
    leaseWords(row, now),
    cardWords(row.card, now),
    threadWords(row),
    `${spanWords(now - row.askedAt)} ago, ${shortened(row.by, MOST.by)}`,
    shortened(row.text, MOST.ask),
  ]);
  // The card says what its state, its place and its lease are.
  const spare = ["PLACE", "LEASE LEFT", "STATE", "KIND", "THREAD", "ASKED"];
  return fittedTable(
    ["RUN", "REPO", "KIND", "STATE", "PLACE", "LEASE LEFT", "CARD", "THREAD", "ASKED", "ASK"],
    rows,
    headers,
    { width, spare },
  );
}

/** What has ended, the newest first. */
export function endedTable(ended: readonly AskRow[], now: Instant, { headers, width }: Shown): string[] {
  const rows = ended.map((row) => [
    row.id,
    shortNameOf(row.resource),
    row.kind,
    instantWords(row.card.since, now),
    row.admittedAt === null ? NOTHING : spanWords(row.card.since - row.admittedAt),
    shortened(cardWords(row.card, now), 60),
    threadWords(row),
    shortened(row.by, MOST.by),
    shortened(row.text, MOST.ask),
  ]);
  const spare = ["KIND", "RAN", "BY", "THREAD"];
  return fittedTable(["RUN", "REPO", "KIND", "ENDED", "RAN", "HOW", "THREAD", "BY", "ASK"], rows, headers, {
    width,
    spare,
  });
}

/** How many asks wait for each repository, and what the first of them waits for. */
export function waitingByRepository(read: BotRead): ReadonlyMap<string, string> | null {
  if (read.kind !== "read") return null;
  const { live, now } = read.list;
  const queues = Map.groupBy(live.filter(isQueued), ({ resource }) => resource);
  const words = [...queues].map(([resource, [first, ...more]]) => {
    const says = first === undefined ? "" : cardWords({ ...first.card, position: null }, now);
    return [resource, `${more.length + 1}, ${says}`] as const;
  });
  return new Map(words);
}

/** How many asks of a screen are shown; the rest is a command away. */
const ON_SCREEN = 10;

/** The asks that wait, for a screen that shows more than them. */
export function queuedLines(read: BotRead): string[] {
  if (read.kind !== "read") return [];
  const { live, now } = read.list;
  const queued = live.filter(isQueued);
  if (queued.length === 0) return [];
  const rows = queued
    .slice(0, ON_SCREEN)
    .map((row) => [
      row.id,
      shortNameOf(row.resource),
      threadWords(row),
      spanWords(now - row.askedAt),
      cardWords(row.card, now),
    ]);
  const more = queued.length - rows.length;
  return [
    ...table(["QUEUED", "RESIDENT", "THREAD", "FOR", "CARD"], rows, true),
    ...(more > 0 ? [`and ${more} more: npx tidegate runs list`] : []),
  ];
}

/** The bot's line of a screen; none where there is no bot. */
export function botLines(read: BotRead): string[] {
  switch (read.kind) {
    case "none":
      return [];
    case "unknown":
      return [`bot       unknown   ${read.url}`, `          ${read.why}`, `          next: ${read.next}`];
    case "read": {
      const queued = read.list.live.filter(isQueued).length;
      return [`bot       ${read.list.live.length - queued} in flight, ${queued} queued   ${read.url}`];
    }
  }
}
