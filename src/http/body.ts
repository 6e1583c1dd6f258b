// Bodies are capped before they are read whole, and JSON by their content type; what does not fit changes nothing.

import { LIMIT } from "#core/budgets.ts";
import { raise } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";

/**
 * Reads on over a body that is too large without keeping it, as far as that is bearable: a client that is cut while it
 * still writes sees a broken connection and not the refusal.
 */
async function discard(chunks: AsyncIterator<Uint8Array>): Promise<void> {
  let size = 0;
  for (let next = await chunks.next(); next.done !== true && size < LIMIT.discardBytes; next = await chunks.next())
    size += next.value.byteLength;
}

async function* chunksOf(request: Request): AsyncGenerator<Uint8Array, undefined> {
  if (request.body === null) return;
  yield* request.body as AsyncIterable<Uint8Array>;
}

/** Reads a JSON body of at most `limit` bytes; raises what is wrong with it. */
export async function jsonBody(request: Request, limit: number = LIMIT.bodyBytes): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") raise("WRONG_CONTENT_TYPE", `got ${type ?? "none"}`);
  const chunks: Uint8Array[] = [];
  const stream = chunksOf(request);
  let size = 0;
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
    size += next.value.byteLength;
    chunks.push(next.value);
    if (size <= limit) continue;
    await discard(stream);
    raise("TOO_LARGE", `more than the limit of ${limit} bytes`);
  }
  const text = await new Blob(chunks).text();
  const value = jsonOf(text);
  return value === undefined ? raise("BAD_JSON", text === "" ? "the body is empty" : "the body does not parse") : value;
}
