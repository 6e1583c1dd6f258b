// A typed client of the bot, made from its route table: asks, what is said to a run, cards and output as they come, and the
// door. Whatever it answers has been parsed, whatever it throws is a `TidegateError` told apart by its code.

import type * as z from "zod";
import { REAL } from "#core/budgets.ts";
import {
  askAnswerSchema,
  botDrainAnswerSchema,
  botHealthSchema,
  botUndrainAnswerSchema,
  BOT_ROUTES,
  cardEventSchema,
  messageAnswerSchema,
  outputEventSchema,
  runDetailSchema,
  runListSchema,
  type AskAnswer,
  type askBodySchema,
  type BotDrainAnswer,
  type BotHealth,
  type BotUndrainAnswer,
  type MessageAnswer,
  type messageBodySchema,
  type OutputEvent,
  type OutputFrom,
  type RunDetail,
  type RunList,
  type RunsQuery,
  type ToldCard,
} from "#wire/bot.ts";
import type { DrainBody, UndrainBody } from "#wire/drain.ts";
import type { Route } from "#wire/routes.ts";
import { queryOf } from "./query.ts";
import { toldOf, type Told } from "./sse.ts";
import { call, open, type Call, type Transport } from "./transport.ts";

/** An ask as it is written; what it leaves out is the bot's default. */
export type AskWish = z.input<typeof askBodySchema>;
/** A message to a run as it is written. */
export type MessageWish = z.input<typeof messageBodySchema>;

/**
 * The bot's routes. An ask, a message and a stop carry a key of their own, so that what was sent twice was sent once; a stream
 * that is cut throws `UNREACHABLE` and is asked for again behind the last id, or from the offsets that were read.
 */
export interface BotClient {
  health(signal?: AbortSignal): Promise<BotHealth>;
  /** Closes or renews the copy of a deploy's drain; this and its lift answer who waits in the queue under it. */
  drain(body: DrainBody, signal?: AbortSignal): Promise<BotDrainAnswer>;
  undrain(body: UndrainBody, signal?: AbortSignal): Promise<BotUndrainAnswer>;
  ask(body: AskWish, signal?: AbortSignal): Promise<AskAnswer>;
  /** What is live, in the order of arrival, and a page of what has ended, newest first. */
  runs(query?: Partial<RunsQuery>, wishes?: Pick<Call, "signal" | "boundMs">): Promise<RunList>;
  run(id: string, signal?: AbortSignal): Promise<RunDetail>;
  stop(id: string, key: string, signal?: AbortSignal): Promise<MessageAnswer>;
  steer(id: string, body: MessageWish, signal?: AbortSignal): Promise<MessageAnswer>;
  /** Every card at each change; behind `after`, the id of the last that was read. */
  events(after?: string | null, signal?: AbortSignal): AsyncGenerator<Told<ToldCard>, void, void>;
  /** A run's output from these bytes on, as it comes, its card at each change, and last its end. */
  output(id: string, from?: Partial<OutputFrom>, signal?: AbortSignal): AsyncGenerator<Told<OutputEvent>, void, void>;
}

/** The route of one run. */
const ofRun = (route: Route, id: string): Route => ({
  ...route,
  path: route.path.replace(":id", encodeURIComponent(id)),
});

/** Opens a stream and reads what it tells. */
async function* streamed<T>(
  transport: Transport,
  route: Route,
  schema: z.ZodType<T>,
  wishes: Pick<Call, "query" | "headers" | "signal">,
): AsyncGenerator<Told<T>, void, void> {
  const headers = { accept: "text/event-stream, application/problem+json", ...wishes.headers };
  const response = await open(transport, route, { ...wishes, headers, boundMs: REAL.frontHoldMs });
  yield* toldOf(transport, response, schema, wishes.signal);
}

/** The client of one bot. */
export function botClient(transport: Transport): BotClient {
  const { ask, drain, events, healthz, output, run, runs, steer, stop, undrain } = BOT_ROUTES;
  return {
    health: (signal) => call(transport, healthz, botHealthSchema, { signal }),
    drain: (body, signal) => call(transport, drain, botDrainAnswerSchema, { body, signal }),
    undrain: (body, signal) => call(transport, undrain, botUndrainAnswerSchema, { body, signal }),
    ask: (body, signal) => call(transport, ask, askAnswerSchema, { body, signal }),
    runs: (query = {}, wishes = {}) => call(transport, runs, runListSchema, { ...wishes, query: queryOf(query) }),
    run: (id, signal) => call(transport, ofRun(run, id), runDetailSchema, { signal }),
    stop: (id, key, signal) => call(transport, ofRun(stop, id), messageAnswerSchema, { body: { key }, signal }),
    steer: (id, body, signal) => call(transport, ofRun(steer, id), messageAnswerSchema, { body, signal }),
    events: (after = null, signal) => {
      const headers = after === null ? {} : { "last-event-id": after };
      return streamed(transport, events, cardEventSchema, { headers, signal });
    },
    output: (id, from = {}, signal) =>
      streamed(transport, ofRun(output, id), outputEventSchema, { query: queryOf(from), signal }),
  };
}
