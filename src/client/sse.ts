// A streamed answer as server-sent events. Each carries the id from which whoever follows asks again: a stream that is cut is
// an error, and its end is never taken for the end of what it tells of.

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type * as z from "zod";
import { parsed, textOf } from "./lines.ts";
import type { Transport } from "./transport.ts";

/** One event; `id` is what a later request resumes behind, null where it has none. */
export interface Told<T> {
  readonly id: string | null;
  readonly data: T;
}

/** Reads a response's events with their ids, each event's data parsed by the schema; UNREACHABLE when it is cut. */
export async function* toldOf<T>(
  transport: Transport,
  response: Response,
  schema: z.ZodType<T>,
  signal?: AbortSignal,
): AsyncGenerator<Told<T>, void, void> {
  let come: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void come.push(event) });
  for await (const text of textOf(transport, response, signal)) {
    parser.feed(text);
    const events = come;
    come = [];
    for (const { id, data } of events) yield { id: id ?? null, data: parsed(schema, data) };
  }
}
