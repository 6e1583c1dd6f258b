// The night of the bot's door that is replayed: what may be set of it, and the record's own words, which are quoted and never
// measured here. Nothing of what then happens is written in this file.

import { MINUTE, SECOND, type Instant, type Ms } from "#core/time.ts";

/** `door`: the deploy closes the bot's admission. `undrained`: its control, the same night without the drain's bearer. */
export const BOT_NIGHTS = ["door", "undrained"] as const;
export type BotVariant = (typeof BOT_NIGHTS)[number];

/** When the stage is opened; the record gives no time of day. */
export const BOT_BEGINS: Instant = Date.UTC(2026, 8, 18, 2);

/** What the record says of its night, in its order. */
export const BOT_RECORD = {
  inFlight: "the bot step begins with one run in flight: a plan unit's review",
  spawns: "the runner spawns the next unit's coding child within seconds of the review's release",
  looks: "every later poll meets one or two runs in flight: the preflight never reads zero",
  ends: "the step gives up at its budget's end, and the release lands split: the memory Worker new, the bot old",
} as const;

/** What the plan runner's units are. */
export const UNIT_KINDS = ["coding", "review"] as const;
export type UnitKind = (typeof UNIT_KINDS)[number];

/** How long a unit of each kind works at least. */
export type BotNight = Readonly<Record<UnitKind, Ms>>;

const SEED: Readonly<Record<UnitKind, number>> = { coding: 4, review: 2 };
/** Its lease must hold it, whatever this machine takes to begin and to end a run. */
const LONGEST_MINUTES = 12;

/** A night with these changes; a failure says which word is wrong and what would be right. */
export function botNightOf(sets: readonly string[]): BotNight | { readonly wrong: string } {
  const minutes = { ...SEED };
  for (const set of sets) {
    const [name = "", value = ""] = set.split("=");
    const kind = UNIT_KINDS.find((one) => `${one}.minutes` === name);
    if (kind === undefined)
      return { wrong: `--set ${set}: "${name}" is none of ${UNIT_KINDS.map((one) => `${one}.minutes`).join(", ")}` };
    minutes[kind] = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN;
    const within = minutes[kind] >= 1 && minutes[kind] <= LONGEST_MINUTES;
    if (!within) return { wrong: `--set ${set}: "${value}" is no number of minutes from 1 to ${LONGEST_MINUTES}` };
  }
  const spanOf = (kind: UnitKind): Ms => Math.round(minutes[kind] * (MINUTE / SECOND)) * SECOND;
  return { coding: spanOf("coding"), review: spanOf("review") };
}
