// When everything of a bot's night happened, read from the registry's log, the ledger's rows, the supervisor's parts and the
// frames of the watch.

import type { Instant, Ms } from "#core/time.ts";
import type { LedgerRun } from "#wire/ledger.ts";
import type { BotSeen } from "./botActs.ts";

/** The instants of the deploy. */
export interface BotTimes {
  readonly begun: Instant;
  readonly closed: Instant | undefined;
  /** When the bot first said that its own door is closed; an ask just before is sent back to the queue by the fleet. */
  readonly shut: Instant | undefined;
  /** When the last run in flight had ended. */
  readonly quiet: Instant | undefined;
  readonly ledgerRolled: Instant | undefined;
  readonly botRolled: Instant | undefined;
  readonly lifted: Instant | undefined;
  /** When the first that had waited was admitted. */
  readonly first: Instant | undefined;
  readonly ended: Instant | undefined;
}

/** A run that was asked for while the door was closed. */
export const waited = ({ entry }: LedgerRun, { shut, lifted }: BotTimes): boolean =>
  shut !== undefined && lifted !== undefined && entry.askedAt >= shut && entry.askedAt < lifted;

/** What was at work, or on its way there, at this instant. */
export const inFlightAt = ({ runs }: BotSeen, at: Instant): LedgerRun[] =>
  runs.filter(({ entry, ended }) => (entry.admittedAt ?? at + 1) <= at && (ended?.endedAt ?? at) >= at);

/** When what happened. */
export function botTimes(seen: BotSeen): BotTimes {
  const { audit, receipt, before, after, deploy } = seen;
  const rows = audit.filter((row) => receipt !== undefined && row.drainId === receipt.drainId);
  const [closed, lifted] = ["drain", "lift"].map((what) => rows.find((row) => row.what === what)?.at);
  const rolled = (part: "ledger" | "bot"): Instant | undefined =>
    after[part]?.generation === before[part]?.generation ? undefined : after[part]?.since;
  const ends = closed === undefined ? [] : inFlightAt(seen, closed).map(({ ended }) => ended?.endedAt ?? closed);
  const shut = seen.looks.find(({ draining }) => draining !== null)?.at;
  const base = {
    begun: deploy.startedAt,
    closed,
    shut,
    lifted,
    ledgerRolled: rolled("ledger"),
    botRolled: rolled("bot"),
  };
  const times: BotTimes = {
    ...base,
    quiet: ends.length === 0 ? undefined : Math.max(...ends),
    first: undefined,
    ended: deploy.over?.at,
  };
  const admitted = seen.runs.filter((run) => waited(run, times)).map(({ entry }) => entry.admittedAt ?? Infinity);
  return { ...times, first: admitted.length === 0 ? undefined : Math.min(...admitted) };
}

/** How long after the end of one of its runs the feeder had asked for the next, in the ledger's own instants. */
export function gapsOf({ fed, runs }: BotSeen): Ms[] {
  const byId = new Map(runs.map((run) => [run.entry.ask.id, run]));
  return fed.flatMap(({ after, answer }) => {
    const [ended, asked] = [byId.get(after ?? "")?.ended?.endedAt, byId.get(answer.id)?.entry.askedAt];
    return ended === undefined || asked === undefined ? [] : [asked - ended];
  });
}
