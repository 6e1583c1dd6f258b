// What the fleet's answers say to the step machine: each is the one fact that its code means, and an answer that says
// nothing is `lost`, since what it answered may have been carried out all the same.

import type { Drain, Without } from "#core/drain.ts";
import type { FleetView } from "#core/preflight.ts";
import type { DeployFact } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import { drainsSchema } from "#wire/drain.ts";
import { problemIn, titled, type Problem } from "#wire/errors.ts";
import type { Residents, RunRow } from "#wire/fleet.ts";
import type { BotDoor } from "#deploy/fleetDoor.ts";

/** The message of whatever was thrown. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A signal that also fires after `ms` of real time. */
export const within = (ms: number, signal: AbortSignal): AbortSignal =>
  AbortSignal.any([signal, AbortSignal.timeout(ms)]);

/** What the bot says of itself; null where none is part of the stack. */
export type BotLook =
  | { readonly kind: "read"; readonly inFlight: number }
  | { readonly kind: "unreadable"; readonly why: string }
  | null;

/** Reads the bot. What cannot be read is no error here, since the look at the fleet names it. */
export async function lookAtBot(bot: BotDoor | null, signal: AbortSignal): Promise<BotLook> {
  if (bot === null) return null;
  try {
    return { kind: "read", inFlight: (await bot.health(signal)).inFlight };
  } catch (error) {
    return { kind: "unreadable", why: wordsOf(error) };
  }
}

const isLeftOut = (without: readonly Without[], resource: string): boolean =>
  without.some((one) => one.resource === resource);

const quietByOf = (runs: readonly RunRow[]): Instant | null =>
  runs.length === 0 ? null : Math.max(...runs.map((run) => run.leaseUntil));

/**
 * How much the bot has in hand beyond what the registry names already. Which of them are the bot's the registry cannot
 * tell, so each counts as one of them: with nothing registered all that the bot has is counted, and until then the fleet is
 * busy anyway.
 */
function inHands(bot: BotLook, { runs, attaching }: Residents): number {
  if (bot?.kind !== "read") return 0;
  const coming = runs.filter((run) => run.state === "attaching").length;
  return Math.max(0, bot.inFlight - runs.length - Math.max(0, attaching - coming));
}

/** The fleet and the bot as a deployer judges them: residents that a person left out count for nothing in it. */
export function viewOf(residents: Residents, without: readonly Without[] = [], bot: BotLook = null): FleetView {
  const { protocol, now, drains, unreadableDrains } = residents;
  const counts = (one: { resource: string }): boolean => !isLeftOut(without, one.resource);
  const rows = residents.residents;
  const runs = residents.runs.filter(counts);
  const leftOut = rows.filter((row) => !counts(row)).reduce((sum, row) => sum + row.attaching, 0);
  const counted = residents.attaching - leftOut - runs.filter((run) => run.state === "attaching").length;
  const blind = rows.filter((row) => !row.readable && counts(row)).map((row) => row.resource);
  const unreadable = bot?.kind === "unreadable" ? [...blind, `the bot (${bot.why})`] : blind;
  const quietBy = without.length === 0 ? residents.quietBy : quietByOf(runs);
  return {
    protocol,
    now,
    drains,
    unreadableDrains,
    runs,
    attaching: Math.max(0, counted),
    quietBy,
    unreadable,
    botInFlight: inHands(bot, residents),
  };
}

/** The runs and the attaches on their way that a frame of the watch shows, without those of residents left out. */
export function flightIn(
  frame: { readonly runs: readonly RunRow[]; readonly attaching: number },
  without: readonly Without[],
): { readonly runs: number; readonly attaching: number } {
  const isOut = (run: RunRow): boolean => isLeftOut(without, run.resource);
  const coming = frame.runs.filter((run) => isOut(run) && run.state === "attaching").length;
  return { runs: frame.runs.filter((run) => !isOut(run)).length, attaching: Math.max(0, frame.attaching - coming) };
}

const SAYS_WHO: readonly string[] = ["NO_BEARER", "BAD_BEARER", "BEYOND_SCOPE"];

/** The drain that a refusal carries. */
function drainIn(problem: Problem): Drain | undefined {
  return drainsSchema.shape.draining.safeParse(problem["draining"]).data ?? undefined;
}

function unreadableIn(problem: Problem): string[] {
  const named = problem["unreadable"];
  return Array.isArray(named) ? named.filter((one) => typeof one === "string") : [];
}

/** What a request that failed says to the machine. */
export function factOfFailure(error: unknown): DeployFact {
  const problem = problemIn(error);
  if (problem === undefined) return { kind: "lost", why: wordsOf(error) };
  const why = titled(problem);
  const drain = drainIn(problem);
  if (SAYS_WHO.includes(problem.code)) return { kind: "denied", why };
  if (problem.code === "DRAIN_OVER") return { kind: "over" };
  if (problem.code === "DEPLOY_IN_PROGRESS" && drain !== undefined) return { kind: "busy", drain };
  if (problem.code === "SEAL_BUSY") return { kind: "notSealed", unreadable: unreadableIn(problem) };
  return { kind: "lost", why };
}

/** A read that failed: the fleet cannot be judged, unless it is the bearer that may not read. */
export function factOfBlindness(error: unknown): DeployFact {
  const fact = factOfFailure(error);
  return fact.kind === "denied" ? fact : { kind: "unreadable", why: fact.kind === "lost" ? fact.why : wordsOf(error) };
}
