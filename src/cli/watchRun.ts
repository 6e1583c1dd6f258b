// A run followed on this process's streams: its output untouched, its cards as lines of tidegate's own on stderr. Who stops
// watching leaves the run alone.

import { CLOCK } from "#core/budgets.ts";
import { cardWords, type CardEvent } from "#core/card.ts";
import { followOutput, type OutputSink } from "#client/runOutput.ts";
import type { OutputFrom, RunDetail } from "#wire/bot.ts";
import { Away, keepAsking } from "./botCalls.ts";
import type { Cli } from "./cli.ts";
import { EXIT, exitOfVerdict } from "./exit.ts";
import { cardLine, doorWords, stopCommand, watchCommand } from "./render/cardLines.ts";
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

/** Tells a run's cards: each once, a wait each minute, and who closed a door once a record. */
class CardTeller {
  readonly #cli: Cli;
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

  /** A minute has passed. */
  minute(): void {
    if (this.#card !== null && isWaiting(this.#card)) this.#tell(this.#card);
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

/** Where the run's output is shown stdout is its alone, and the document of the end is the last line of stderr. */
function tellEnd(cli: Cli, run: RunDetail, { exit, shows }: { readonly exit: number; readonly shows: boolean }): void {
  const { output, options } = cli;
  const { id, leftId, ranMs, card } = run;
  const { verdict } = card;
  if (options().ndjson) return output.data(JSON.stringify({ type: "end", id, verdict, leftId, exit }));
  if (options().json) {
    const end = JSON.stringify({ id, verdict, leftId, exit });
    return shows ? output.say(end) : output.data(end);
  }
  if (options().quiet) return;
  const ran = ranMs === null ? "it never ran" : `it ran ${spanWords(ranMs)}`;
  output.say(`tidegate: ${ran}; what it left: npx tidegate runs show ${id}`);
  if (leftId !== null) output.say(`tidegate: what was said to it and did not reach it is run ${leftId}`);
}

/** Follows a run to its end and sets the process's exit code to the run's. Rejects with the signal's reason. */
export async function watchRun(cli: Cli, ask: WatchAsk, signal: AbortSignal): Promise<void> {
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
  const run = await keepAsking(cli, { signal, again: watchCommand(id) }, (stop) => bot.client.run(id, stop));
  const exit = run.card.verdict === null ? EXIT.own : exitOfVerdict(run.card.verdict);
  tellEnd(cli, run, { exit, shows: ask.shows });
  cli.exit(exit);
}
