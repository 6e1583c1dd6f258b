// What a run is started as: its kind's command, or its text by `sh -c`, with the ask and the inbox in its environment.

import type { Ask } from "#core/ask.ts";
import type { Kind } from "#wire/config.ts";
import { INBOX } from "./inbox.ts";

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

/** A process's id: the same run and try mint the same one, so that starting it again is finding it. */
export function processIdOf(runId: string, tries: number): string {
  return `p-${runId}-${tries}`;
}
