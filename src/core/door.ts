// The bot's doors: may an ask for this repository start now? A deploy that is pending closes them all, and a drain of the
// fleet those that it closes. What the bot holds of a deploy is a copy with ends of its own, and never a flag.

import {
  buried,
  closes,
  isDeploying,
  liveDrain,
  liveDrains,
  nextEnd,
  readDrain,
  saidEnd,
  type Drain,
  type DrainBook,
  type DrainPhase,
} from "./drain.ts";
import { CLOCK } from "./budgets.ts";
import { closesToChildren } from "./look.ts";
import type { Instant } from "./time.ts";

/** Why an ask waits at the door, and until when at the latest. */
export interface Closed {
  readonly cause: "deploy" | "drain";
  readonly drainId: string;
  readonly by: string;
  readonly reason: string;
  readonly until: Instant;
  /** Whether it ends with the last run in flight: a deploy that waits for its fleet to be quiet. */
  readonly endsQuiet: boolean;
}

/** What a refused attach taught of one resident, which may know more than the registry has told so far. */
export interface Met {
  readonly closed: Closed;
  /** Whether it was refused a part of a run in flight too, as in a swap, or where its resident does not know that run. */
  readonly closesToChildren: boolean;
  /** When it is tried again, although nobody has said that it reopened. */
  readonly tryAt: Instant;
}

/** What the bot knows as it is asked. */
export interface DoorFacts {
  readonly copy: DrainBook;
  /** What the registry told last, empty where it cannot be read: that is no drain for an ask. */
  readonly fleet: readonly Drain[];
  /**
   * What the registry told last, also while it is silent, as in its own swap. It closes nothing: it says in which phase a drain
   * is that the copy closes by.
   */
  readonly told: readonly Drain[];
  readonly met: Met | null;
  readonly resource: string;
}

/** What of a drain's record says why a door is closed. */
interface Said {
  readonly id: string;
  readonly by: string;
  readonly reason: string;
  readonly deploy: boolean;
  readonly phase: DrainPhase;
}

function closedBy({ id, by, reason, deploy, phase }: Said, until: Instant): Closed {
  const endsQuiet = deploy && phase === "draining";
  return { cause: deploy ? "deploy" : "drain", drainId: id, by, reason, until, endsQuiet };
}

/**
 * Everything that closes this repository's door, what ends last first (protocol.md, "The bot's door"). Of a drain that the
 * registry tells too, or told last, its own record speaks: the copy knows no phase.
 */
export function closersOf({ copy, fleet, told, met, resource }: DoorFacts, now: Instant): readonly Closed[] {
  const standing = liveDrains({ ...copy, drains: fleet }, now).filter((drain) => closes(drain, resource));
  const pending = liveDrains(copy, now).filter((drain) => !standing.some((one) => one.id === drain.id));
  const last = liveDrains({ ...copy, drains: told }, now);
  const copied = pending.map((drain) => last.find((one) => one.id === drain.id) ?? drain);
  const known = [...copied, ...standing].map((drain) => closedBy(drain, saidEnd(drain)));
  const all = met !== null && now < met.tryAt ? [...known, met.closed] : known;
  return all.toSorted((a, b) => b.until - a.until);
}

/** What closes this repository's door, the one that ends last; null while it is open. */
export function doorOf(facts: DoorFacts, now: Instant): Closed | null {
  return closersOf(facts, now)[0] ?? null;
}

/** Whether a part of a run in flight passes this repository's door where it is closed, as far as anybody has told. */
export function passesChild({ copy, fleet, met, resource }: DoorFacts, now: Instant): boolean {
  if (met !== null && now < met.tryAt && met.closesToChildren) return false;
  return !liveDrains({ ...copy, drains: fleet }, now).some((drain) => closesToChildren(drain, resource));
}

/** An attach that was refused: with the end that its record says, and whether it was a part of a run in flight that asked. */
export interface Refused extends Said {
  readonly until: Instant;
  readonly wasChild: boolean;
}

/** What a refused attach teaches; it is tried again after a poll, whoever is silent. */
export function metOf(refused: Refused, now: Instant): Met {
  const { until, phase, wasChild } = refused;
  return {
    closed: closedBy(refused, until),
    closesToChildren: wasChild || phase === "swapping",
    tryAt: now + CLOCK.pollMs,
  };
}

/** When some door may open by itself, so that the queue is looked at then; null when nothing ends. */
export function nextOpening(
  { copy, fleet, met }: Pick<DoorFacts, "copy" | "fleet"> & { readonly met: readonly Met[] },
  now: Instant,
): Instant | null {
  const end = nextEnd({ ...copy, drains: [...copy.drains, ...fleet] }, now);
  const tries = met.map(({ tryAt }) => tryAt).filter((at) => at > now);
  const all = end === undefined ? tries : [end, ...tries];
  return all.length === 0 ? null : Math.min(...all);
}

/**
 * The copy without those ids of which the registry says that they live no more, or that their deployer has lifted them:
 * what such a one still holds, it holds by the registry's own record. An id that the registry was never seen to know may
 * be on its way there still, and ends by its own pulse.
 */
export function settleCopy(
  copy: DrainBook,
  seen: ReadonlySet<string>,
  fleet: readonly Drain[],
  now: Instant,
): DrainBook {
  const alive = new Set(fleet.filter((drain) => !drain.deploy || isDeploying(drain)).map((drain) => drain.id));
  return liveDrains(copy, now)
    .filter((drain) => seen.has(drain.id) && !alive.has(drain.id))
    .reduce((rest, drain) => buried(rest, drain.id, now), copy);
}

/**
 * The copy as a renewal of this id is judged over: one that fell silent for its bound is forgotten where the registry tells
 * that its drain lives, so that a bot which was stalled closes again with the next pulse. What was lifted stays over.
 */
export function copyBefore(copy: DrainBook, id: string, fleet: readonly Drain[], now: Instant): DrainBook {
  if (!liveDrains({ ...copy, drains: fleet }, now).some((drain) => drain.id === id)) return copy;
  const isSilent = (stored: unknown): boolean => readDrain(stored)?.id === id && liveDrain(stored, now) === undefined;
  return { ...copy, drains: copy.drains.filter((stored) => !isSilent(stored)) };
}
