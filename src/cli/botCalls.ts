// What is asked of the bot outlives a roll: while one bot makes room for the next the same question is asked again, with
// the same key, up to a bound that is said. Ctrl-C stops the asking and nothing else.

import { CLOCK } from "#core/budgets.ts";
import type { Ms } from "#core/time.ts";
import { isAway, pauseMs } from "#client/runOutput.ts";
import type { TidegateError } from "#wire/errors.ts";
import type { Cli } from "./cli.ts";
import { CliError, EXIT } from "./exit.ts";
import { shortened } from "./render/plain.ts";
import { spanWords } from "./render/times.ts";

/** A bot that is away: said once, then each minute, and given up at the bound of a swap. */
export class Away {
  readonly #cli: Cli;
  /** What to type for the same again. */
  readonly #again: string;
  #saidMs: Ms | null = null;

  constructor(cli: Cli, again: string) {
    this.#cli = cli;
    this.#again = again;
  }

  /** It did not answer, for so long by now. Throws once nobody brings it back, or the bound has passed. */
  away(error: TidegateError, awayMs: Ms): void {
    if (!this.#cli.access().bot.isKept()) throw error;
    const why = shortened(error.problem.detail, 160);
    const boundMs = CLOCK.swapBoundMs;
    if (awayMs >= boundMs)
      throw new CliError(`the bot has not answered for ${spanWords(awayMs)}: ${why}`, this.#again, EXIT.failed);
    if (this.#saidMs !== null && awayMs - this.#saidMs < CLOCK.noteEveryMs) return;
    const first = this.#saidMs === null;
    this.#saidMs = awayMs;
    if (first) this.#say(`the bot is away (${why}): asking again for at most ${spanWords(boundMs)}`);
    else this.#say(`the bot is away: waited ${spanWords(awayMs)} of ${spanWords(boundMs)}`);
  }

  /** It answers. */
  back(): void {
    if (this.#saidMs !== null) this.#say("the bot answers again");
    this.#saidMs = null;
  }

  #say(line: string): void {
    if (!this.#cli.options().quiet) this.#cli.output.say(`tidegate: ${line}`);
  }
}

/** Asks until the bot answers. Rejects with the signal's reason, with a refusal, and with CliError at the bound. */
export async function keepAsking<T>(
  cli: Cli,
  asked: { readonly signal: AbortSignal; readonly again: string },
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, again } = asked;
  const away = new Away(cli, again);
  const since = cli.real.now();
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await ask(signal);
      away.back();
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      if (!isAway(error)) throw error;
      away.away(error, cli.real.now() - since);
    }
    await cli.real.sleep(pauseMs(tries), signal);
  }
}

/** Works until a signal stops it: what is left then is said, and the process ends with the signal's code. */
export async function untilStopped(
  cli: Cli,
  leaving: () => string,
  work: (stop: AbortSignal) => Promise<void>,
): Promise<void> {
  const { stop, release } = cli.interrupts.take(() => `tidegate: ${leaving()}`);
  try {
    await work(stop);
  } catch (error) {
    if (!stop.aborted) throw error;
    cli.output.say(`tidegate: ${leaving()}`);
    cli.exit(cli.interrupts.code());
  } finally {
    release();
  }
}
