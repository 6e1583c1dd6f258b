// A streamed answer as lines (application/x-ndjson). A stream that falls silent for three heartbeats was cut, and a cut
// is an error: the end of a stream is never taken for the end of what it told of.

import type * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { problemOf, TidegateError } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { unreachable, type Transport } from "./transport.ts";

/** How long a stream may be silent, in real ms. */
export const SILENCE_MS = 3 * REAL.heartbeatMs;

/** Reads chunks; whoever stops it, or a silence, ends the pending read at once. */
interface Pump {
  next(): Promise<Uint8Array | undefined>;
  close(): void;
}

function pumpOf(transport: Transport, reader: ReadableStreamDefaultReader<Uint8Array>, signal?: AbortSignal): Pump {
  let silent = false;
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  signal?.addEventListener("abort", cancel, { once: true });
  return {
    async next() {
      const heard = new AbortController();
      transport.real.sleep(SILENCE_MS, heard.signal).then(
        () => {
          silent = true;
          cancel();
        },
        () => undefined,
      );
      try {
        const chunk = await reader.read();
        signal?.throwIfAborted();
        if (silent) throw new Error(`the stream was silent for ${SILENCE_MS / 1_000} s`);
        return chunk.done ? undefined : chunk.value;
      } finally {
        heard.abort();
      }
    },
    close() {
      signal?.removeEventListener("abort", cancel);
      cancel();
    },
  };
}

/** One line or event of a stream; what this build cannot read is an error that shows its beginning. */
export function parsed<T>(schema: z.ZodType<T>, text: string): T {
  const line = schema.safeParse(jsonOf(text));
  if (line.success) return line.data;
  throw new TidegateError(problemOf("INTERNAL", `a line of the stream cannot be read: ${text.slice(0, 200)}`));
}

/** Reads a response's text as it comes; returns at the stream's end and throws UNREACHABLE when it is cut. */
export async function* textOf(
  transport: Transport,
  response: Response,
  signal?: AbortSignal,
): AsyncGenerator<string, void, void> {
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = response.body?.getReader();
  if (reader === undefined) return;
  const pump = pumpOf(transport, reader, signal);
  const decoder = new TextDecoder();
  try {
    for (;;) {
      const chunk = await pump.next();
      if (chunk === undefined) return;
      yield decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw error instanceof TidegateError ? error : unreachable(transport, error, true);
  } finally {
    pump.close();
  }
}

/** Reads a response's lines, each parsed by the schema. */
export async function* linesOf<T>(
  transport: Transport,
  response: Response,
  schema: z.ZodType<T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, void> {
  let rest = "";
  for await (const text of textOf(transport, response, signal)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield parsed(schema, line);
  }
}
