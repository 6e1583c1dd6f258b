// The first stage: what was asked becomes an ask with an id of its own. Its key is the asker's, so that asking twice, also
// of two bots, is asking once: which of the two ids stands is the ledger's word.

import type { Ask } from "#core/ask.ts";
import type { AskBody } from "#wire/bot.ts";
import type { Desk } from "./desk.ts";

/** An ask as it came in: its repository is still what a person typed. */
export type Draft = Ask;

/** Takes in what was asked. Without a thread it gets one of its own. */
export function intake({ parts }: Desk, body: AskBody): Draft {
  const { key, resource, text, kind, leaseMs, ref, by, channel, parent } = body;
  const id = parts.mintId("r");
  const threadKey = body.threadKey ?? `${channel}:${id}`;
  return { id, key, threadKey, resource, kind, text, by, channel, leaseMs, ref, parent };
}
