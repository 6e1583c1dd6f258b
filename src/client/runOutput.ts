// Follows a run's output and its cards through the bot, over any number of cut streams and rolls: each byte is handed on
// once, in order. Only the stream's own last word ends it.

import { REAL } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import type { Ms } from "#core/time.ts";
import type { OutputEvent, OutputFrom } from "#wire/bot.ts";
import { TidegateError, type ErrorCode } from "#wire/errors.ts";
import type { OutputStream } from "#wire/ledger.ts";
import type { BotClient } from "./bot.ts";
import type { Clock } from "./ports.ts";

/** What a bot says, or somebody in its place, while one bot makes room for the next: asked again, nothing is done twice. */
const AWAY: readonly ErrorCode[] = ["UNREACHABLE", "ROLLING", "FENCED", "UNREADABLE"];

/** Whether an error means that the bot is away for now, and not that it refuses. */
export function isAway(error: unknown): error is TidegateError {
  return error instanceof TidegateError && AWAY.includes(error.problem.code);
}

/** How long to pause before a bot that is away is asked again: longer with each try. */
export function pauseMs(tries: number): Ms {
  return Math.min(REAL.recheckMs * 2 ** tries, REAL.heartbeatMs);
}

/** Where the output goes; a promise holds the stream back. */
export interface OutputSink {
  bytes(stream: OutputStream, bytes: Uint8Array, from: number): void | Promise<void>;
  /** So many bytes of a stream are not kept any more. */
  leftOut(stream: OutputStream, bytes: number): void;
  /** Each card, at each connection the newest again. */
  card(card: CardEvent): void;
  /** The bot did not let the reader in; it is asked again unless this throws. */
  away(error: TidegateError, awayMs: Ms): void;
  /** It answers. */
  back(): void;
}

/** What is followed, from which byte of each stream on. */
export interface OutputAsk {
  readonly id: string;
  readonly from: OutputFrom;
  readonly signal: AbortSignal;
}

type Offsets = { -readonly [S in OutputStream]: number };

async function take(at: Offsets, event: Extract<OutputEvent, { type: "output" }>, sink: OutputSink): Promise<void> {
  const { stream, from, data } = event;
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  if (from > at[stream]) sink.leftOut(stream, from - at[stream]);
  const fresh = bytes.subarray(Math.max(0, at[stream] - from));
  at[stream] = Math.max(at[stream], from + bytes.length);
  if (fresh.length > 0) await sink.bytes(stream, fresh, at[stream] - fresh.length);
}

/** Follows it to its end. Rejects with the signal's reason, with what refuses it, and with what the sink throws. */
export async function followOutput(bot: BotClient, real: Clock, ask: OutputAsk, sink: OutputSink): Promise<void> {
  const { id, signal } = ask;
  const at: Offsets = { ...ask.from };
  let heardAt = real.now();
  for (let tries = 0; ; tries += 1) {
    let isHeard = false;
    try {
      for await (const { data: event } of bot.output(id, at, signal)) {
        if (!isHeard) sink.back();
        isHeard = true;
        if (event.type === "end") return;
        if (event.type === "card") sink.card(event.card);
        else await take(at, event, sink);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!isAway(error)) throw error;
      if (!isHeard) sink.away(error, real.now() - heardAt);
    }
    if (isHeard) {
      heardAt = real.now();
      tries = 0;
    }
    await real.sleep(pauseMs(tries), signal);
  }
}
