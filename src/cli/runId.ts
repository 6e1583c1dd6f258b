// A run as people type it: its id, the unique beginning of it, or `last`. What names none or several is refused, naming what
// is near; a run that no bot has in hand is told apart from one that never was.

import { LIMIT, REAL } from "#core/budgets.ts";
import type { AskRow, RunList } from "#wire/bot.ts";
import { problemIn } from "#wire/errors.ts";
import { idSchema } from "#wire/names.ts";
import { nearestWord } from "#node/nearestWord.ts";
import { keepAsking } from "./botCalls.ts";
import type { Cli } from "./cli.ts";
import { CliError } from "./exit.ts";

/** An id as the bot mints it: with it in full nothing has to be looked up. */
const WHOLE = /^r-[0-9a-f]{20}$/;

const NEXT = "npx tidegate runs list --all";

/** A run that is at the fleet and not at the bot: undefined where it is no direct caller's. */
async function directCallers(cli: Cli, id: string): Promise<CliError | undefined> {
  const fleet = await cli
    .access()
    .fleet.residents()
    .catch(() => null);
  if (fleet?.runs.some((run) => run.runId === id) !== true) return undefined;
  const release = `npx tidegate runs release ${id} --reason "…"`;
  return new CliError(`run: ${id} is a direct caller's, and nobody asked the bot for it; an admin may end it`, release);
}

const emptyRun = (): CliError => new CliError("run: is empty", "npx tidegate runs show last");

function noneCalled(typed: string, ids: readonly string[]): CliError {
  const near = nearestWord(typed, ids);
  const hint = near === undefined ? "" : `; did you mean "${near}"?`;
  return new CliError(`run: none is called "${typed}"${hint}`, near === undefined ? NEXT : near);
}

/** The id that was meant among all that the bot knows; undefined when there is none. */
function meant(typed: string, ids: readonly string[]): string | undefined {
  if (ids.includes(typed)) return typed;
  const found = ids.filter((id) => id.startsWith(typed) || id.startsWith(`r-${typed}`));
  const [only, another] = found;
  if (only === undefined || another === undefined) return only;
  const some = found.slice(0, 5).join(", ");
  throw new CliError(
    `run: "${typed}" is the beginning of ${found.length} ids: ${some}${found.length > 5 ? " …" : ""}`,
    `more of it, such as ${only}`,
  );
}

async function allRows(cli: Cli, signal: AbortSignal): Promise<AskRow[]> {
  const { client } = cli.access().bot;
  const rows: AskRow[] = [];
  for (let before: number | undefined; ;) {
    const query = { limit: LIMIT.rowsAPage, ...(before === undefined ? {} : { before }) };
    const page = await keepAsking(cli, { signal, again: NEXT }, (stop) => client.runs(query, { signal: stop }));
    rows.push(...page.live, ...page.ended);
    if (page.next === null) return rows;
    before = page.next;
  }
}

function newestOf({ live, ended }: Pick<RunList, "live" | "ended">): string {
  const [last] = [...live, ...ended].toSorted((a, b) => b.askedAt - a.askedAt);
  if (last !== undefined) return last.id;
  throw new CliError("run: nothing has been asked for yet", 'npx tidegate ask "what is to be done" --repo <name>');
}

async function newest(cli: Cli, signal: AbortSignal): Promise<string> {
  const { client } = cli.access().bot;
  return newestOf(await keepAsking(cli, { signal, again: NEXT }, (stop) => client.runs({}, { signal: stop })));
}

/**
 * The id of a run that is to be released: the fleet's word counts first, and a bot that does not answer at once is not waited
 * for. An id that nobody knows is the fleet's to judge.
 */
export async function releasedIdOf(cli: Cli, typed: string, signal: AbortSignal): Promise<string> {
  if (typed === "") throw emptyRun();
  if (WHOLE.test(typed)) return typed;
  const { fleet, bot } = cli.access();
  const inFleet = await fleet.residents({ signal }).then(
    ({ runs }) => runs.map(({ runId }) => runId),
    (error: unknown): string[] => {
      if (typed === "last" || idSchema.safeParse(typed).success) return [];
      throw error;
    },
  );
  if (inFleet.includes(typed)) return typed;
  const list =
    bot.url() === null ? null : await bot.client.runs({}, { signal, boundMs: REAL.sealAskMs }).catch(() => null);
  if (typed === "last" && list !== null) return newestOf(list);
  const ids = [...new Set([...inFleet, ...(list?.live ?? []).map(({ id }) => id)])];
  const found = meant(typed, ids);
  if (found !== undefined) return found;
  if (typed !== "last" && idSchema.safeParse(typed).success) return typed;
  throw noneCalled(typed, ids);
}

/** The id of the run that was typed; throws what is near when there is none or more than one. */
export async function runIdOf(cli: Cli, typed: string, signal: AbortSignal): Promise<string> {
  if (typed === "") throw emptyRun();
  if (typed === "last") return await newest(cli, signal);
  if (WHOLE.test(typed)) return typed;
  const ids = (await allRows(cli, signal)).map(({ id }) => id);
  const id = meant(typed, ids);
  if (id !== undefined) return id;
  throw (await directCallers(cli, typed)) ?? noneCalled(typed, ids);
}

/** The bot's word that it knows no such run, in words that fit; any other error is what it is. */
export async function unknownRun(cli: Cli, id: string, error: unknown): Promise<unknown> {
  if (problemIn(error)?.code !== "NO_SUCH_RUN") return error;
  return (await directCallers(cli, id)) ?? new CliError(`run: the bot knows none of the id ${id}`, NEXT);
}
