// The evening that is replayed, as parameters: when each of its people and programs acts. Nothing of what then happens is
// written here; `--set name=05:12` moves any of them.

import { DAY, MINUTE, SECOND, hourMinuteOf, type Instant } from "#core/time.ts";
import { secondTime } from "./night.ts";

/** The seed's evening. Instants of one night, on the stack's clock. */
export interface Evening {
  readonly codingStarts: Instant;
  readonly codingEnds: Instant;
  readonly codingLeaseUntil: Instant;
  readonly reviewStarts: Instant;
  readonly reviewEnds: Instant;
  readonly deployStarts: Instant;
  readonly askArrives: Instant;
  readonly containerRolls: Instant;
  readonly secondArrives: Instant;
}

const NIGHT: Instant = Date.UTC(2026, 8, 17);

const at = (hours: number, minutes: number, seconds = 0): Instant =>
  NIGHT + ((hours * 60 + minutes) * 60 + seconds) * SECOND;

const SEED = {
  "coding.starts": at(4, 42),
  "coding.ends": at(5, 7, 30),
  "coding.lease": at(5, 9),
  "review.starts": at(4, 43),
  "review.ends": at(4, 49),
  "deploy.starts": at(4, 44),
  "ask.arrives": at(4, 46),
  "container.rolls": at(4, 50),
  "second.arrives": at(4, 52),
} as const;

type Name = keyof typeof SEED;
const NAMES = Object.keys(SEED).filter((name): name is Name => name in SEED);

/** Reads `05:12` or `05:07:30` as an instant of the night; undefined for anything else. */
function parseNightTime(text: string): Instant | undefined {
  const [, hours, minutes, seconds = "0"] = /^(\d\d):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  return hours === undefined || minutes === undefined || Number(hours) > 23
    ? undefined
    : at(Number(hours), Number(minutes), Number(seconds));
}

/** An evening with these changes; a failure says which word is wrong and what would be right. */
export function eveningOf(sets: readonly string[]): Evening | { readonly wrong: string } {
  const times = new Map<Name, Instant>(NAMES.map((name) => [name, SEED[name]]));
  for (const set of sets) {
    const [name = "", value = ""] = set.split("=");
    const known = NAMES.find((one) => one === name);
    const instant = parseNightTime(value);
    if (known === undefined) return { wrong: `--set ${set}: "${name}" is none of ${NAMES.join(", ")}` };
    if (instant === undefined) return { wrong: `--set ${set}: "${value}" is no time of the night, such as 05:12` };
    times.set(known, instant);
  }
  const of = (name: Name): Instant => times.get(name) ?? NIGHT;
  const evening: Evening = {
    codingStarts: of("coding.starts"),
    codingEnds: of("coding.ends"),
    codingLeaseUntil: Math.max(of("coding.lease"), of("coding.ends") + MINUTE),
    reviewStarts: of("review.starts"),
    reviewEnds: of("review.ends"),
    deployStarts: of("deploy.starts"),
    askArrives: of("ask.arrives"),
    containerRolls: of("container.rolls"),
    secondArrives: of("second.arrives"),
  };
  const wrong = outOfOrder(evening);
  return wrong === undefined ? evening : { wrong };
}

function outOfOrder(evening: Evening): string | undefined {
  const { codingStarts, codingEnds, codingLeaseUntil, containerRolls } = evening;
  if (Object.values(evening).some((instant) => instant < codingStarts))
    return "coding.starts has to be the first of all";
  if (codingEnds <= containerRolls) return "coding.ends has to come after container.rolls";
  if (codingLeaseUntil - codingStarts > 45 * MINUTE)
    return `coding.ends: a lease of 45 minutes from ${hourMinuteOf(codingStarts)} cannot hold it`;
  return undefined;
}

/** An instant of the night as the seed writes it; the day only where it is another. */
export const nightTime = (instant: Instant): string =>
  `${secondTime(instant)}${instant - NIGHT >= DAY ? " (next day)" : ""}`;
