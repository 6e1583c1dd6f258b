// What every screen of the fleet says first: open, or closed by whom, why, since when and until when. What could not be
// read is unknown, never open.

import { endOf, saidEnd, type Drain } from "#core/drain.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Residents } from "#wire/fleet.ts";
import type { Instant } from "#core/time.ts";
import { shortened } from "./plain.ts";
import { instantWords } from "./times.ts";

/** A fleet as it was read, or why it could not be. */
export type FleetRead =
  | { readonly kind: "read"; readonly residents: Residents; readonly url: string }
  | { readonly kind: "unknown"; readonly url: string; readonly why: string; readonly next: string };

const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

/** The one word of the fleet's state. */
export function fleetWord(read: FleetRead): string {
  if (read.kind === "unknown") return "unknown";
  const { drains } = read.residents;
  if (drains.length === 0) return "open";
  return drains.some((drain) => drain.phase !== "reopening")
    ? "drained — attach refused"
    : "reopening — some residents still closed";
}

/** When a record ends by itself. A deploy's ends sooner than it says when its deployer falls silent, and at its phase's bound. */
function endWords(drain: Drain, now: Instant): string {
  const last = `ends by itself ${instantWords(saidEnd(drain), now)}`;
  const end = endOf(drain);
  if (end.cause === "pulse") return `${last} (by ${instantWords(end.at, now)} if its deployer falls silent)`;
  return end.cause === "bound" ? `${last}; backstop ${instantWords(drain.until, now)}` : last;
}

/** One drain in words: who, why, since when, in which phase since when, and its end. */
export function drainWords(drain: Drain, now: Instant): string[] {
  const what = drain.deploy ? `deploy, ${drain.phase}` : "drain";
  const phase =
    drain.deploy && drain.phase !== "draining" ? `, ${drain.phase} since ${instantWords(drain.phaseSince, now)}` : "";
  const holds =
    drain.holds.length > 0 ? [`waits for the image report of ${drain.holds.map(shortNameOf).join(", ")}`] : [];
  const without = drain.without.map(
    ({ resource, reason }) => `without ${shortNameOf(resource)}: ${shortened(reason, 200)}`,
  );
  return [
    `${what} by ${shortened(drain.by, 80)}: ${shortened(drain.reason, 200)}`,
    `since ${instantWords(drain.since, now)}${phase}   ${endWords(drain, now)}`,
    ...holds,
    ...without,
    `id ${drain.id}`,
  ];
}

/** What is in flight, and when it has ended at the latest. */
export function flightWords(residents: Residents): string {
  const { runs, attaching, quietBy, now } = residents;
  const running = runs.filter((run) => run.state === "running").length;
  if (running === 0 && attaching === 0) return "nothing in flight";
  const coming = attaching > 0 ? `, ${attaching} attaching` : "";
  return `${count(running, "run")} in flight${coming}${quietBy === null ? "" : `, quiet by ${instantWords(quietBy, now)}`}`;
}

/** The banner's lines. */
export function bannerLines(read: FleetRead): string[] {
  const word = fleetWord(read);
  if (read.kind === "unknown")
    return [`fleet     ${word}   ${read.url}`, `          ${read.why}`, `          next: ${read.next}`];
  const { residents, url } = read;
  const { build, generation, drains, now, unreadableDrains } = residents;
  const served = `build ${shortened(build.commit, 20)}, bundle ${build.bundle.slice(0, 7)}, image ${build.image.slice(0, 7)}, generation ${generation}`;
  const told = drains.flatMap((drain) => drainWords(drain, now)).map((line) => `          ${line}`);
  const unreadable =
    unreadableDrains > 0
      ? [`          ${count(unreadableDrains, "drain record")} cannot be read: no run is refused by it, a deploy is`]
      : [];
  return [`fleet     ${word}   ${url}   ${served}`, ...told, ...unreadable, `          ${flightWords(residents)}`];
}
