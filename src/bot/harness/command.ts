// What a run is started as: its kind's command, or its text by `sh -c`, with the ask and the inbox in its environment.

import type { Ask } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Kind } from "#wire/config.ts";
import { INBOX } from "./inbox.ts";

/** What else the body of an /exec carries: names of run, thread, process and boot, and offsets. */
const IDS_BYTES = 1_500;

/** The first command of a run, and the one that goes on after its container was replaced. */
export interface Commands {
  readonly command: readonly string[];
  readonly resume: readonly string[] | null;
}

/** The commands of an ask of this kind. */
export function commandsOf({ text }: Pick<Ask, "text">, kind: Kind): Commands {
  return { command: kind.command ?? ["sh", "-c", text], resume: kind.resume };
}

/** Everything that the run finds in its environment beside its container's own. */
export function environmentOf(
  { text }: Pick<Ask, "text">,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  return { ...own, TIDEGATE_ASK: text, TIDEGATE_INBOX: INBOX };
}

const bytes = (text: string): number => Buffer.byteLength(text);

/**
 * Why nothing can be started by these, or null: what is taken now always can be (core/budgets.ts), and an ask that an older
 * build has taken, or a long variable of its kind, may be more than the kernel or the fleet takes.
 */
export function whyTooLarge({ command, resume }: Commands, env: Readonly<Record<string, string>>): string | null {
  const commands = [command, ...(resume === null ? [] : [resume])];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const longest = Math.max(...[...commands.flat(), ...variables].map(bytes)) + 1;
  if (longest > LIMIT.argumentBytes)
    return `an argument or a variable of it has ${longest} bytes, and a process takes at most ${LIMIT.argumentBytes} of one`;
  const body = Math.max(...commands.map((one) => bytes(JSON.stringify({ command: one, env })))) + IDS_BYTES;
  if (body <= LIMIT.bodyBytes) return null;
  return `its text and its variables are ${body} bytes to be sent, and the fleet takes at most ${LIMIT.bodyBytes}`;
}

/** A process's id: the same run and try mint the same one, so that starting it again is finding it. */
export function processIdOf(runId: string, tries: number): string {
  return `p-${runId}-${tries}`;
}
