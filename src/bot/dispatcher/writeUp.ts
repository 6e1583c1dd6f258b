// The sixth stage: a run's last output is its write-up. It is read from the ledger, so that it is whole over any roll, and
// masked there already.

import { LIMIT } from "#core/budgets.ts";
import type { LiveRun } from "../runs.ts";
import type { Desk } from "./desk.ts";

/** The text of bytes that may begin in the middle of a character, without what no text holds. */
function textOf(bytes: Uint8Array): string {
  let start = 0;
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
  return new TextDecoder().decode(bytes.subarray(start)).replaceAll("\0", "\uFFFD");
}

async function tailOf({ steady }: Desk, id: string, stream: "out" | "err"): Promise<string> {
  const { output } = await steady.do((ledger) => ledger.run(id));
  const from = Math.max(0, output[stream].length - LIMIT.writeUpChars);
  const { data } = await steady.do((ledger) => ledger.outputFrom({ id, stream, from }));
  return textOf(Buffer.from(data, "base64")).trim();
}

/** The last that it said: on its output, or where it said nothing there on its other one. */
export async function writeUp(desk: Desk, { id }: LiveRun): Promise<string> {
  const said = await tailOf(desk, id, "out");
  return said === "" ? await tailOf(desk, id, "err") : said;
}
