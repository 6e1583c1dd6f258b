// `runs list`: what the bot has queued and in flight, and what direct callers of the fleet have, told apart. A part that
// cannot be read is said to be unknown, and the rest is shown.

import { LIMIT } from "#core/budgets.ts";
import type { AskRow } from "#wire/bot.ts";
import type { Residents, RunRow } from "#wire/fleet.ts";
import type { FleetAccess } from "../access.ts";
import type { Cli } from "../cli.ts";
import { CliError, EXIT } from "../exit.ts";
import { endedTable, liveTable, type BotRead, type Shown } from "../render/askTables.ts";
import { runTable, suspectLines } from "../render/statusScreen.ts";
import { readBot } from "../readBot.ts";
import { resolveRepo } from "../repoName.ts";

/** The options of `runs list`. */
export interface ListWishes {
  readonly all?: boolean;
  readonly repo?: string;
  readonly limit: string;
}

/** How many rows of the history tell a run that has just ended from a direct caller's. */
const RECENT = 50;

type FleetPart = { readonly residents: Residents } | { readonly error: unknown };

/** Everything that is listed. */
interface Listed {
  readonly now: number;
  readonly bot: BotRead;
  readonly ended: readonly AskRow[];
  readonly next: number | null;
  /** Registrations; null where the fleet cannot be read. */
  readonly runs: readonly RunRow[] | null;
  readonly attaching: number | null;
  /** The ids of what the bot knows, so that the rest is direct callers'. */
  readonly known: ReadonlySet<string>;
}

function limitOf(typed: string): number {
  const limit = /^\d+$/.test(typed) ? Number(typed) : 0;
  if (limit >= 1 && limit <= LIMIT.historyRuns) return limit;
  throw new CliError(
    `--limit: must be a whole number from 1 to ${LIMIT.historyRuns}`,
    "npx tidegate runs list --all --limit 50",
  );
}

/** The repository that was named; while the fleet cannot be read only a resource in full is one. */
function resourceOf(typed: string | undefined, fleet: FleetPart): string | undefined {
  if (typed === undefined) return undefined;
  if ("error" in fleet && /^repo:[^/]+\/[^/]+$/.test(typed)) return typed;
  if ("error" in fleet) throw fleet.error;
  const { residents } = fleet.residents;
  return resolveRepo(
    typed,
    residents.map((row) => row.resource),
    "--repo",
  );
}

/** Reads on in the history until there are enough rows. */
async function history(
  access: FleetAccess,
  first: { readonly ended: readonly AskRow[]; readonly next: number | null },
  query: { readonly resource?: string },
  limit: number,
): Promise<{ ended: readonly AskRow[]; next: number | null }> {
  let { ended, next } = first;
  while (next !== null && ended.length < limit) {
    const page = await access.bot.client.runs({ ...query, before: next, limit: LIMIT.rowsAPage });
    ended = [...ended, ...page.ended];
    next = page.next;
  }
  return { ended: ended.slice(0, limit), next };
}

async function read(cli: Cli, wishes: ListWishes): Promise<Listed> {
  const limit = limitOf(wishes.limit);
  const access = cli.access();
  const fleet: FleetPart = await access.fleet.residents({ fresh: true }).then(
    (residents) => ({ residents }),
    (error: unknown) => ({ error }),
  );
  const resource = resourceOf(wishes.repo, fleet);
  const query = resource === undefined ? {} : { resource };
  const bot = await readBot(access, { ...query, limit: Math.min(LIMIT.rowsAPage, Math.max(RECENT, limit)) });
  if (bot.kind !== "read" && "error" in fleet) throw fleet.error;
  const list = bot.kind === "read" ? bot.list : null;
  const past = { ended: list?.ended ?? [], next: list?.next ?? null };
  const shown = wishes.all === true ? await history(access, past, query, limit) : { ended: [], next: null };
  const known = new Set([...(list?.live ?? []), ...past.ended].map(({ id }) => id));
  const residents = "error" in fleet ? null : fleet.residents;
  const isAsked = (run: RunRow): boolean => resource === undefined || run.resource === resource;
  return {
    now: residents?.now ?? list?.now ?? access.clock.now(),
    bot,
    ...shown,
    runs: residents?.runs.filter(isAsked) ?? null,
    attaching: residents?.attaching ?? null,
    known,
  };
}

function unknownLines({ bot, runs }: Listed): string[] {
  const what = bot.kind === "unknown" ? [`tidegate: asks are unknown: ${bot.why}`, `  next: ${bot.next}`] : [];
  return runs === null ? [...what, "tidegate: the fleet cannot be read: what direct callers run is unknown"] : what;
}

function asJson(listed: Listed, all: boolean): unknown {
  const { now, bot, ended, next, runs, attaching, known } = listed;
  const asks = bot.kind === "read" ? bot.list.live : null;
  const direct = runs?.map((run) => ({ ...run, direct: !known.has(run.runId) })) ?? null;
  const past = all ? { ended, next } : {};
  const unknown = bot.kind === "unknown" ? { botUnknown: { why: bot.why, next: bot.next } } : {};
  return { now, asks, ...past, runs: direct, attaching, ...unknown };
}

function asEvents({ bot, ended, runs, known }: Listed): unknown[] {
  const live = bot.kind === "read" ? bot.list.live : [];
  return [
    ...live.map((row) => ({ type: "ask", ...row })),
    ...ended.map((row) => ({ type: "ended", ...row })),
    ...(runs ?? []).map((run) => ({ type: "run", ...run, direct: !known.has(run.runId) })),
  ];
}

/** The tables, each with an empty line before the next; without headers only rows. */
function tables(listed: Listed, shown: Shown): string[] {
  const { headers } = shown;
  const { now, bot, ended, runs, known } = listed;
  const live = bot.kind === "read" ? bot.list.live : [];
  const direct = (runs ?? []).filter((run) => !known.has(run.runId));
  const title = headers && bot.kind === "read" ? ["runs of direct callers of the fleet:"] : [];
  const parts = [
    live.length === 0 ? [] : liveTable(live, now, shown),
    direct.length === 0 ? [] : [...title, ...runTable(direct, now, shown)],
    ended.length === 0 ? [] : endedTable(ended, now, shown),
  ].filter((part) => part.length > 0);
  return parts.flatMap((part, index) => (index === 0 || !headers ? part : ["", ...part]));
}

/** `runs list`. */
export async function runsList(cli: Cli, wishes: ListWishes): Promise<void> {
  const listed = await read(cli, wishes);
  const { output, options, exit } = cli;
  const { json, ndjson, headers, quiet } = options();
  const unknown = unknownLines(listed);
  if (json) output.data(JSON.stringify(asJson(listed, wishes.all === true), null, 2));
  else if (ndjson) for (const event of asEvents(listed)) output.data(JSON.stringify(event));
  else for (const line of tables(listed, { headers, width: output.width() })) output.data(line);
  const suspect = quiet ? [] : suspectLines(listed.runs ?? [], listed.now);
  for (const line of [...suspect, ...unknown]) output.say(line);
  if (unknown.length > 0) return exit(EXIT.failed);
  const live = listed.bot.kind === "read" ? listed.bot.list.live.length : 0;
  if (live === 0 && listed.runs?.length === 0 && !quiet) output.say("tidegate: nothing in flight");
}
