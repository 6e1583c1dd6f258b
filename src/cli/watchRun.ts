// A run followed on this process's streams: its output untouched, its cards as lines of tidegate's own on stderr. Who stops
// watching leaves the run alone.

import { CLOCK } from "#core/budgets.ts";
import { cardWords, type CardEvent } from "#core/card.ts";
import { followOutput, isAway, type OutputSink } from "#client/runOutput.ts";
import { Failure } from "#node/failure.ts";
import type { OutputFrom, RunDetail } from "#wire/bot.ts";
import { shortNameOf } from "#wire/names.ts";
import { Away, keepAsking } from "./botCalls.ts";
import type { Cli } from "./cli.ts";
import { CliError, EXIT, exitOf, exitOfVerdict } from "./exit.ts";
import { cardLine, doorWords, stopCommand, watchCommand } from "./render/cardLines.ts";
import { problemWords } from "./render/problem.ts";
import { spanWords } from "./render/times.ts";

/** What is followed: from which byte of each stream on, and whether its output is shown. */
export interface WatchAsk {
  readonly id: string;
  readonly from: OutputFrom;
  readonly shows: boolean;
}

/** What is said when a watch is left before its end. */
export const leftAloneWords = (id: string): string =>
  `run ${id} is left alone and goes on; watch it again: ${watchCommand(id)}   stop it: ${stopCommand(id)}`;

const isWaiting = ({ state }: CardEvent): boolean => state === "queued" || state === "waiting";

/** Tells a run's cards: each once, again each minute in which nothing else was shown, and who closed a door once a record. */
class CardTeller {
  readonly #cli: Cli;
  #isQuiet = true;
  #card: CardEvent | null = null;
  #said = "";
  #door = "";

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  card(card: CardEvent): void {
    const isNews = JSON.stringify(card) !== JSON.stringify(this.#card);
    this.#card = card;
    if (isNews) this.#tell(card);
  }

  /** Something of the run was shown. */
  shown(): void {
    this.#isQuiet = false;
  }

  /** A minute has passed: how a wait goes on, and that a run which writes nothing does. */
  minute(): void {
    if (this.#card !== null && (this.#isQuiet || isWaiting(this.#card))) this.#tell(this.#card);
    this.#isQuiet = true;
  }

  #tell(card: CardEvent): void {
    const now = this.#cli.access().clock.now();
    const line = cardLine(card, now);
    const door = isWaiting(card) ? (doorWords(card, now) ?? "") : "";
    const record = `${card.by ?? ""} ${card.reason ?? ""}`;
    if (this.#cli.options().ndjson && line !== this.#said)
      this.#cli.output.data(JSON.stringify({ type: "card", card, says: cardWords(card, now) }));
    if (!this.#cli.options().quiet && line !== this.#said) {
      this.#cli.output.say(`tidegate: ${line}`);
      if (door !== "" && record !== this.#door) this.#cli.output.say(`tidegate:   ${door}`);
    }
    this.#said = line;
    if (door !== "") this.#door = record;
  }
}

function sinkOf(cli: Cli, { id, shows }: WatchAsk, teller: CardTeller): OutputSink {
  const { output, options } = cli;
  const away = new Away(cli, watchCommand(id));
  return {
    bytes: async (stream, bytes, from) => {
      if (!shows) return;
      teller.shown();
      if (!options().ndjson) return await output.bytes(stream, bytes);
      const data = Buffer.from(bytes).toString("base64");
      output.data(JSON.stringify({ type: "output", stream, from, data }));
    },
    leftOut: (stream, bytes) => {
      if (shows && !options().quiet) output.say(`tidegate: ${bytes} bytes of ${stream} are not kept and left out`);
    },
    card: (card) => teller.card(card),
    away: (error, awayMs) => away.away(error, awayMs),
    back: () => away.back(),
  };
}

async function eachMinute(cli: Cli, teller: CardTeller, over: AbortSignal): Promise<void> {
  const { clock } = cli.access();
  while (!over.aborted) {
    await clock.sleep(CLOCK.noteEveryMs, over).catch(() => undefined);
    if (!over.aborted) teller.minute();
  }
}

/** What to look at, or to type, once a run is over: one that the fleet has refused was never begun, however long that took. */
function endWords({ id, ranMs, card, resource, threadKey }: RunDetail): string {
  if (card.verdict?.ending === "refused") {
    const again = `npx tidegate ask "…" --repo ${shortNameOf(resource)} --thread ${threadKey}`;
    return `it never ran; correct what was refused, and ask again: ${again}`;
  }
  const ran = ranMs === null ? "it never ran" : `it ran ${spanWords(ranMs)}`;
  return `${ran}; what it left: npx tidegate runs show ${id}`;
}

/** Where the run's output is shown stdout is its alone, and the document of the end is the last line of stderr. */
function tellEnd(cli: Cli, run: RunDetail, { exit, shows }: { readonly exit: number; readonly shows: boolean }): void {
  const { output, options } = cli;
  const { id, leftId, card } = run;
  const { verdict } = card;
  if (options().ndjson) return output.data(JSON.stringify({ type: "end", id, verdict, leftId, exit }));
  if (options().json) {
    const end = JSON.stringify({ id, verdict, leftId, exit });
    return shows ? output.say(end) : output.data(end);
  }
  if (options().quiet) return;
  output.say(`tidegate: ${endWords(run)}`);
  if (leftId !== null) output.say(`tidegate: what was said to it and did not reach it is run ${leftId}`);
}

/** Whoever cannot watch on, since the stack went away or the bearer is refused, is told that the run is left alone. */
function leftBehind(id: string, error: unknown): unknown {
  if (exitOf(error) === EXIT.denied) {
    const { what, next } = problemWords(error);
    return new CliError(`${what}; run ${id} is taken and goes on, and only its watch is refused`, next, EXIT.denied);
  }
  const isGone = isAway(error) || (error instanceof Failure && error.code === "NOT_UP");
  if (!isGone) return error;
  const what = `${problemWords(error).what}; run ${id} is left alone`;
  return new CliError(what, `bring it up (npm start), then watch it again: ${watchCommand(id)}`, EXIT.failed);
}

async function followed(cli: Cli, ask: WatchAsk, signal: AbortSignal): Promise<RunDetail> {
  const { bot } = cli.access();
  const { id, from } = ask;
  const teller = new CardTeller(cli);
  const over = new AbortController();
  const minutes = eachMinute(cli, teller, AbortSignal.any([signal, over.signal]));
  try {
    await followOutput(bot.client, cli.real, { id, from, signal }, sinkOf(cli, ask, teller));
  } finally {
    over.abort();
    await minutes;
  }
  return await keepAsking(cli, { signal, again: watchCommand(id) }, (stop) => bot.client.run(id, stop));
}

/** Follows a run to its end and sets the process's exit code to the run's. Rejects with the signal's reason. */
export async function watchRun(cli: Cli, ask: WatchAsk, signal: AbortSignal): Promise<void> {
  const run = await followed(cli, ask, signal).catch((error: unknown) => {
    throw leftBehind(ask.id, error);
  });
  const exit = run.card.verdict === null ? EXIT.own : exitOfVerdict(run.card.verdict);
  tellEnd(cli, run, { exit, shows: ask.shows });
  cli.exit(exit);
}
