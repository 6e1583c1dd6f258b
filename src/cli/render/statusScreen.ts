// The one screen: the banner, residents, runs in flight, suspects, the last events, and when all this was read.

import { closes, type Drain } from "#core/drain.ts";
import { clockOf, type Instant } from "#core/time.ts";
import type { AuditRow, ResidentRow, Residents, RunRow } from "#wire/fleet.ts";
import type { HostStatus } from "#wire/host.ts";
import { shortNameOf } from "#wire/names.ts";
import { botLines, queuedLines, waitingByRepository, type BotRead, type Shown } from "./askTables.ts";
import { eventLine } from "./eventLine.ts";
import { fittedTable } from "./fitted.ts";
import { bannerLines, fleetWord, flightWords, type FleetRead } from "./fleetBanner.ts";
import { table } from "./table.ts";
import { instantWords, spanWords } from "./times.ts";

/** Everything on the screen. */
export interface StatusView {
  readonly fleet: FleetRead;
  /** The supervisor of this folder; null when none lives here or it does not answer. */
  readonly host: HostStatus | null;
  readonly bot: BotRead;
  readonly events: readonly AuditRow[];
  readonly readAt: Instant;
}

/** What closes a resident comes before how it is: also one that cannot be read refuses. */
function stateWords({ resource, readable, readiness }: ResidentRow, drains: readonly Drain[]): string {
  const isClosed = drains.some((drain) => closes(drain, resource));
  return isClosed && !readable ? "drained — attach refused, unreadable" : readiness;
}

/** The residents' rows; `waiting` says of each how many asks the bot has queued for it, null where there is no bot. */
export function residentTable(
  { residents, drains }: Pick<Residents, "residents" | "drains">,
  waiting: ReadonlyMap<string, string> | null = null,
  headers = true,
): string[] {
  const rows = residents.map((row) => [
    shortNameOf(row.resource),
    stateWords(row, drains),
    row.image === null ? row.imageReport : `${row.image.slice(0, 7)} ${row.imageReport}`,
    `${row.runsInFlight}${row.attaching > 0 ? ` +${row.attaching} attaching` : ""}`,
    ...(waiting === null ? [] : [waiting.get(row.resource) ?? "0"]),
    row.resource,
  ]);
  const queued = waiting === null ? [] : ["QUEUED"];
  return table(["RESIDENT", "STATE", "IMAGE", "IN FLIGHT", ...queued, "RESOURCE"], rows, headers);
}

/** The runs in flight. */
export function runTable(
  runs: readonly RunRow[],
  now: Instant,
  { headers, width }: Shown = { headers: true, width: null },
): string[] {
  const rows = runs.map((run) => [
    run.runId,
    shortNameOf(run.resource),
    run.threadKey,
    `${run.kind}, ${run.state}${run.suspect ? ", suspect" : ""}`,
    spanWords(now - run.since),
    `${spanWords(run.leaseUntil - now)}, until ${clockOf(run.leaseUntil).slice(0, 5)}Z`,
  ]);
  const spare = ["AGE", "THREAD"];
  return fittedTable(["RUN", "RESIDENT", "THREAD", "STATE", "AGE", "LEASE LEFT"], rows, headers, { width, spare });
}

/** The residents whose report a reopening waits for: for how long, to when at the latest, and what they last said. */
export function holdTable(residents: readonly ResidentRow[], now: Instant): string[] {
  const rows = residents.flatMap(({ resource, hold }) =>
    hold === null
      ? []
      : [
          [
            shortNameOf(resource),
            spanWords(now - hold.since),
            instantWords(hold.until, now),
            hold.askedAt === null ? "not yet" : `${spanWords(now - hold.askedAt)} ago`,
            hold.said ?? "nothing yet",
          ],
        ],
  );
  return rows.length === 0 ? [] : table(["HELD", "FOR", "OPENS AT THE LATEST", "ASKED", "SAID"], rows, true);
}

/** The runs that wait at the closed door, in order of arrival. */
export function waitingTable({ waiting }: Pick<Residents, "waiting">, now: Instant): string[] {
  const rows = waiting.map((one, index) => [
    String(index + 1),
    one.runId,
    shortNameOf(one.resource),
    one.threadKey,
    spanWords(now - one.since),
  ]);
  return table(["WAITS", "RUN", "RESIDENT", "THREAD", "FOR"], rows, true);
}

/** What a suspect is, and how to end it. */
export function suspectLines(runs: readonly RunRow[], now: Instant): string[] {
  return runs
    .filter((run) => run.suspect)
    .flatMap((run) => [
      `suspect   run ${run.runId} on ${shortNameOf(run.resource)} has no process; its lease ends it ${instantWords(run.leaseUntil, now)}`,
      `          end it now: npx tidegate runs release ${run.runId} --reason "…"`,
    ]);
}

function hostLines(host: HostStatus | null, now: Instant): string[] {
  if (host === null) return [];
  const swap = host.swapping === null ? "" : `   swapping under drain ${host.swapping}`;
  const up = `supervisor ${host.pid}, up since ${instantWords(host.since, now)}`;
  return [`host      ${up}   workerd ${host.workerdPid ?? "down"}   containers: ${host.isolation}${swap}`];
}

/** Each of these parts that has lines, with an empty line before it. */
export const parted = (...parts: readonly (readonly string[])[]): string[] =>
  parts.flatMap((lines) => (lines.length === 0 ? [] : ["", ...lines]));

/** The screen's lines. */
export function statusScreen(view: StatusView, hostNow: Instant): string[] {
  const { fleet, host, bot, events, readAt } = view;
  const head = [...bannerLines(fleet), ...hostLines(host, hostNow), ...botLines(bot)];
  const foot = [`read ${clockOf(readAt)}`];
  if (fleet.kind === "unknown") return [...head, ...parted(queuedLines(bot)), "", ...foot];
  const { residents, runs, waiting, now } = fleet.residents;
  const empty = ["no repository yet: npx tidegate repo add <path or url>"];
  return [
    ...head,
    "",
    ...(residents.length === 0 ? empty : residentTable(fleet.residents, waitingByRepository(bot))),
    ...parted(
      runs.length === 0 ? [] : [...runTable(runs, now), ...suspectLines(runs, now)],
      holdTable(residents, now),
      waiting.length === 0 ? [] : waitingTable({ waiting }, now),
      queuedLines(bot),
      events.length === 0 ? [] : ["EVENTS", ...events.map(eventLine)],
    ),
    "",
    ...foot,
  ];
}

/** The screen in one line, for where it cannot be redrawn. */
export function statusLine({ fleet, readAt }: StatusView): string {
  const rest = fleet.kind === "unknown" ? fleet.why : flightWords(fleet.residents);
  return `${clockOf(readAt)} ${fleetWord(fleet)} — ${rest}`;
}

/** The screen as the one document of `--json`. */
export function statusJson({ fleet, host, bot, events, readAt }: StatusView): unknown {
  const state = fleetWord(fleet);
  const asks = bot.kind === "read" ? bot.list.live : null;
  if (fleet.kind === "unknown") {
    const { url, why, next } = fleet;
    return { state, url, why, next, host, bot: bot.kind, asks, readAt };
  }
  return { state, url: fleet.url, ...fleet.residents, host, bot: bot.kind, asks, events, readAt };
}
