// Bodies are capped before they are read whole, and JSON by their content type; what does not fit is named by its field and
// changes nothing.

import type * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { raise } from "#wire/errors.ts";
import { jsonOf, parseWith } from "#wire/parse.ts";

/** The parsed value, or the refusal that names the field. */
export function parsed<T>(schema: z.ZodType<T>, given: unknown): T {
  const read = parseWith(schema, given);
  if (read.ok) return read.value;
  const { code, detail, ...more } = read.error;
  return raise(code, detail, more);
}

async function* chunksOf(request: Request): AsyncGenerator<Uint8Array, undefined> {
  if (request.body === null) return;
  yield* request.body;
}

/** A client that is cut while it still writes sees a broken connection and not the refusal, so that some of it is read on. */
async function discard(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  let size = 0;
  for (let next = await chunks.next(); next.done !== true && size < LIMIT.discardBytes; next = await chunks.next())
    size += next.value.byteLength;
}

/** Reads a JSON body; raises what is wrong with it. */
export async function jsonBody(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") raise("WRONG_CONTENT_TYPE", `got ${type ?? "none"}`);
  const chunks: Uint8Array[] = [];
  const stream = chunksOf(request);
  let size = 0;
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
    size += next.value.byteLength;
    chunks.push(next.value);
    if (size <= LIMIT.bodyBytes) continue;
    await discard(stream);
    raise("TOO_LARGE", `more than the limit of ${LIMIT.bodyBytes} bytes`);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  const value = jsonOf(text);
  return value === undefined ? raise("BAD_JSON", text === "" ? "the body is empty" : "the body does not parse") : value;
}
