// `tidegate ask`: something is asked of the bot, which answers at once and runs it when its doors are open. What is wrong is
// refused naming the option; asking again with the same key is asking once.

import type { Command } from "commander";
import { formatDuration } from "#core/time.ts";
import { askBodySchema, type AskAnswer, type AskBody } from "#wire/bot.ts";
import { ERRORS, problemIn, type Problem } from "#wire/errors.ts";
import { parseWith } from "#wire/parse.ts";
import { keepAsking, untilStopped } from "../botCalls.ts";
import type { Cli } from "../cli.ts";
import { asRunFailure, CliError } from "../exit.ts";
import { mintShortId } from "../ids.ts";
import { leaseOf } from "../person.ts";
import { askedWords, doorWords, stopCommand, watchCommand } from "../render/cardLines.ts";
import { plain } from "../render/plain.ts";
import { textTyped } from "../textTyped.ts";
import { leftAloneWords, watchRun } from "../watchRun.ts";

interface AskWishes {
  readonly repo: string;
  readonly kind?: string;
  readonly thread?: string;
  readonly lease?: string;
  readonly ref?: string;
  readonly key?: string;
  readonly by?: string;
  readonly wait?: boolean;
  readonly watch?: boolean;
}

const HELP = `
It is answered at once: admitted, or queued with what it waits for, for how long, and its place. A queued ask outlives a
deploy and starts by itself. The text is run by the kind's command of tidegate.jsonc; the kind shell runs it as a shell line.
With - as the text it is read from stdin: npx tidegate ask - --repo app < task.txt

Exit codes: 0 it is admitted or queued · with --watch and --wait as the run does: its command's own · 124 its lease was over
· 125 tidegate failed, or the run was refused · 127 it could not be started · 130 it was stopped, or Ctrl-C left it alone`;

const LONGER =
  "shorten it, or name a file of the repository in it; from a file: npx tidegate ask - --repo app < task.txt";

/** The option that a field of the wire is typed as, and what fits. */
const OPTIONS: Readonly<Record<string, { readonly name: string; readonly next: string }>> = {
  text: { name: "<text>", next: 'npx tidegate ask "what is to be done" --repo app' },
  resource: { name: "--repo", next: "npx tidegate repo list" },
  kind: { name: "--kind", next: '--kind shell, or a kind under "kinds" in tidegate.jsonc' },
  threadKey: { name: "--thread", next: "--thread cli:mine" },
  leaseMs: { name: "--lease", next: '--lease 45m, or a kind with a longer lease under "kinds" in tidegate.jsonc' },
  ref: { name: "--ref", next: "--ref main" },
  key: { name: "--key", next: "--key mine-1" },
  by: { name: "--by", next: "--by ann" },
};

/** A refusal of a field in the words of whoever typed its option; any other is what it is. */
function asTyped(problem: Problem): CliError | null {
  const field = problem.field ?? "";
  const option = Object.hasOwn(OPTIONS, field) ? OPTIONS[field] : undefined;
  if (option === undefined) return null;
  const why = problem.detail.startsWith(`${field}: `) ? problem.detail.slice(field.length + 2) : problem.detail;
  // Whoever refused it may know better than this table what to do.
  const isKnown = problem.next !== ERRORS.BAD_FIELD.next && problem.code === "BAD_FIELD";
  const next = field === "text" && why.startsWith("is longer") ? LONGER : option.next;
  return new CliError(`${option.name}: ${why}`, isKnown ? problem.next : next);
}

/** The ask as it is sent; what does not fit is refused before anything is asked. */
function bodyOf(cli: Cli, text: string, wishes: AskWishes): AskBody {
  const { repo, kind, thread = null, lease, ref = null, key, by = cli.who } = wishes;
  const leaseMs = lease === undefined ? null : leaseOf(lease, Number.MAX_SAFE_INTEGER);
  const parsed = parseWith(askBodySchema, {
    key: key ?? mintShortId("cli"),
    resource: repo,
    text,
    ...(kind === undefined ? {} : { kind }),
    threadKey: thread,
    leaseMs,
    ref,
    by,
    channel: "cli",
  });
  if (parsed.ok) return parsed.value;
  throw asTyped(parsed.error) ?? new CliError(parsed.error.detail, "npx tidegate ask --help");
}

async function answered(cli: Cli, body: AskBody, signal: AbortSignal): Promise<AskAnswer> {
  const again = `the same command with --key ${body.key}: the same key is the same ask`;
  try {
    return await keepAsking(cli, { signal, again }, (stop) => cli.access().bot.client.ask(body, stop));
  } catch (error) {
    const problem = problemIn(error);
    throw (problem === undefined ? null : asTyped(problem)) ?? error;
  }
}

/** What was typed and does not count: the run was asked for before, and stays what it is. */
function dropped({ id, kind, run, otherText }: AskAnswer, body: AskBody, wishes: AskWishes): string[] {
  if (run === undefined || (kind !== "added" && kind !== "known")) return [];
  const stays = [
    { option: "--kind", is: `kind ${run.kind}`, isOther: wishes.kind !== undefined && body.kind !== run.kind },
    {
      option: "--ref",
      is: run.ref === null ? "on the default branch" : `ref ${run.ref}`,
      isOther: body.ref !== null && body.ref !== run.ref,
    },
    {
      option: "--lease",
      is: `lease ${run.leaseMs === null ? "of its kind" : formatDuration(run.leaseMs)}`,
      isOther: body.leaseMs !== null && body.leaseMs !== run.leaseMs,
    },
    { option: "--by", is: `asked by ${plain(run.by)}`, isOther: wishes.by !== undefined && body.by !== run.by },
  ].filter(({ isOther }) => isOther);
  const options = stays.map(({ option }) => option).join(", ");
  const verb = stays.length === 1 ? "does" : "do";
  const text = `run ${id} was asked for with another text under this key; that one stands`;
  const stay = `run ${id} stays ${stays.map(({ is }) => is).join(", ")}: ${options} of this one ${verb} not count`;
  return [...(otherText ? [text] : []), ...(stays.length > 0 ? [stay] : [])];
}

function tell(
  cli: Cli,
  answer: AskAnswer,
  asked: { readonly isFollowed: boolean; readonly dropped: readonly string[] },
): void {
  const { output, options } = cli;
  const { quiet, json, ndjson } = options();
  if (!quiet) for (const line of asked.dropped) output.say(`tidegate: ${line}`);
  if (asked.isFollowed) {
    if (ndjson) output.data(JSON.stringify({ type: "ask", ...answer }));
    if (!quiet) output.say(`tidegate: ${askedWords(answer)}`);
    return;
  }
  if (json || ndjson) return output.data(JSON.stringify(ndjson ? { type: "ask", ...answer } : answer));
  const door = doorWords(answer.card, answer.now);
  output.data(askedWords(answer));
  if (quiet) return;
  if (door !== null) output.say(`tidegate: ${door}`);
  output.say(`tidegate: watch it: ${watchCommand(answer.id)}   stop it: ${stopCommand(answer.id)}`);
}

async function ask(cli: Cli, words: readonly string[], wishes: AskWishes): Promise<void> {
  const isFollowed = wishes.wait === true || wishes.watch === true;
  const body = bodyOf(cli, await textTyped(cli, words, LONGER), wishes);
  let id: string | null = null;
  const leaving = (): string =>
    id === null
      ? `stopped asking; it may have been taken: the same command with --key ${body.key} is the same ask`
      : leftAloneWords(id);
  await untilStopped(cli, leaving, async (stop) => {
    const answer = await answered(cli, body, stop);
    id = answer.id;
    tell(cli, answer, { isFollowed, dropped: dropped(answer, body, wishes) });
    if (isFollowed) await watchRun(cli, { id, from: { out: 0, err: 0 }, shows: wishes.watch === true }, stop);
  });
}

/** Adds the command. */
export function addAsk(program: Command, cli: Cli): void {
  program
    .command("ask")
    .description("ask the bot for a run: answered at once, also while a deploy is pending, and started by itself")
    .argument("<text...>", "what is to be done; - reads it from stdin")
    .requiredOption("--repo <name>", "a repository of `repo list`; its name alone is enough")
    .option("--kind <kind>", "a kind of tidegate.jsonc (default: shell)")
    .option("--thread <key>", "the thread that it belongs to; its branch goes on where an earlier run left it")
    .option("--lease <span>", "how long the run may live, such as 45m; waiting in the queue does not count")
    .option("--ref <ref>", "the branch, tag or commit to begin at")
    .option("--key <key>", "the same key is the same ask, however often it is typed")
    .option("--by <who>", "who asks (default: you)")
    .option("--watch", "follow its card and its output to the end, and end with its code; Ctrl-C leaves it alone")
    .option("--wait", "the same without its output")
    .addHelpText("after", HELP)
    .action((text: string[], wishes: AskWishes) =>
      ask(cli, text, wishes).catch((error: unknown) => {
        throw wishes.wait === true || wishes.watch === true ? asRunFailure(error) : error;
      }),
    );
}
