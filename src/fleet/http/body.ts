// Bodies are capped before they are read whole, and JSON by their content type; what does not fit changes nothing.

import { raise } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";

/** Reads a JSON body of at most `limit` bytes; raises what is wrong with it. */
export async function jsonBody(request: Request, limit: number): Promise<unknown> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") raise("WRONG_CONTENT_TYPE", `got ${type ?? "none"}`);
  const declared = Number(request.headers.get("content-length") ?? "0");
  if (declared > limit) raise("TOO_LARGE", `${declared} bytes; the limit is ${limit}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  const stream: AsyncIterable<Uint8Array> | Uint8Array[] = request.body ?? [];
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (size > limit) raise("TOO_LARGE", `more than the limit of ${limit} bytes`);
    chunks.push(chunk);
  }
  const text = await new Blob(chunks).text();
  const value = jsonOf(text);
  return value === undefined ? raise("BAD_JSON", text === "" ? "the body is empty" : "the body does not parse") : value;
}
