// The text of an ask, or of what is said to a run, as it was typed; `-` alone is stdin, which is read no further than a text may
// be long.

import { LIMIT } from "#core/budgets.ts";
import type { Cli } from "./cli.ts";
import { CliError } from "./exit.ts";

/** No character of a text is more bytes than this. */
const CHARACTER_BYTES = 4;

const decoded = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

async function piped({ stdin, output }: Pick<Cli, "stdin" | "output">, next: string): Promise<string> {
  if (stdin.isTTY === true) output.say("tidegate: the text is read from this terminal; Ctrl-D ends it");
  const most = LIMIT.askChars * CHARACTER_BYTES;
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of stdin) {
    const bytes = Buffer.from(part);
    parts.push(bytes);
    length += bytes.length;
    if (length > most)
      throw new CliError(`<text>: stdin has more than the ${LIMIT.askChars} characters of a text`, next);
  }
  const text = decoded(Buffer.concat(parts));
  if (text === undefined) throw new CliError("<text>: stdin is no UTF-8 text", next);
  // As a shell's own $(…) has it.
  return text.replace(/[\r\n]+$/, "");
}

/** The text that was typed in these words, or that stdin has. */
export async function textTyped(
  cli: Pick<Cli, "stdin" | "output">,
  words: readonly string[],
  next: string,
): Promise<string> {
  return words.length === 1 && words[0] === "-" ? await piped(cli, next) : words.join(" ");
}
