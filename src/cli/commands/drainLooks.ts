// What `tidegate drain` shows and records beside closing and opening: who holds the fleet, the one hold that a person
// gives up, and the log of all of it.

import { LIMIT } from "#core/budgets.ts";
import { shortNameOf } from "#wire/names.ts";
import type { Cli } from "../cli.ts";
import { CliError } from "../exit.ts";
import { logTable } from "../render/eventLine.ts";
import { bannerLines } from "../render/fleetBanner.ts";
import { holdTable, parted, runTable, suspectLines, waitingTable } from "../render/statusScreen.ts";
import { resolveRepo } from "../repoName.ts";

/** `drain status`: who closes it, since when, why, to when; each run in flight, who is held, and who waits, in order. */
export async function drainStatus(cli: Cli): Promise<void> {
  const { fleet, url } = cli.access();
  const residents = await fleet.residents({ fresh: true });
  const { now, draining, drains, runs, waiting, attaching, quietBy } = residents;
  if (cli.options().json) {
    const holds = residents.residents.flatMap(({ resource, hold }) => (hold === null ? [] : [{ resource, ...hold }]));
    const suspects = runs.filter((run) => run.suspect).map((run) => run.runId);
    const shown = { now, draining, drains, runs, suspects, attaching, quietBy, holds, waiting };
    return cli.output.data(JSON.stringify(shown, null, 2));
  }
  const inFlight = runs.length === 0 ? [] : [...runTable(runs, now), ...suspectLines(runs, now)];
  const waits = waiting.length === 0 ? [] : waitingTable({ waiting }, now);
  const lines = [
    ...bannerLines({ kind: "read", residents, url }),
    ...parted(inFlight, holdTable(residents.residents, now), waits),
  ];
  for (const line of lines) cli.output.data(line);
}

/** A reason as the log takes it; refused before anything is asked. */
function checkedReason(reason: string, example: string): string {
  if (reason !== "" && reason.length <= LIMIT.reasonChars) return reason;
  throw new CliError(`--reason: wants 1 to ${LIMIT.reasonChars} characters`, example);
}

/** `drain release`: the reopening waits for this resident no more. */
export async function drainRelease(cli: Cli, typed: string, wishes: { readonly reason: string }): Promise<void> {
  const reason = checkedReason(wishes.reason, `npx tidegate drain release ${typed} --reason "it is being repaired"`);
  const { fleet } = cli.access();
  const { residents } = await fleet.residents();
  const resource = resolveRepo(
    typed,
    residents.map((row) => row.resource),
  );
  const said = await fleet.releaseHold({ resource, reason });
  if (cli.options().json) return cli.output.data(JSON.stringify(said, null, 2));
  const held =
    said.held.length === 0 ? "nobody is held any more" : `held still: ${said.held.map(shortNameOf).join(", ")}`;
  cli.output.data(`${shortNameOf(resource)} is open again without its report; ${held}`);
  cli.output.data(`its container is restarted at its next quiet attach, or: npx tidegate repo rebuild ${typed}`);
}

const LONGEST_LOG = 1_000;

function limitOf(typed: string): number {
  const limit = /^\d+$/.test(typed) ? Number(typed) : 0;
  if (limit >= 1 && limit <= LONGEST_LOG) return limit;
  throw new CliError(`--limit: must be a whole number from 1 to ${LONGEST_LOG}`, "npx tidegate drain log --limit 50");
}

/** `drain log`: the audit log's newest rows, the newest last. */
export async function drainLog(cli: Cli, wishes: { readonly limit: string }): Promise<void> {
  const limit = limitOf(wishes.limit);
  const { json, ndjson, headers } = cli.options();
  const rows = await cli.access().fleet.audit({ after: -1, limit });
  if (json) return cli.output.data(JSON.stringify(rows, null, 2));
  if (ndjson) return rows.forEach((row) => cli.output.data(JSON.stringify(row)));
  for (const line of logTable(rows, headers)) cli.output.data(line);
  if (rows.length === 0) cli.output.say("tidegate: nothing has happened yet");
}
