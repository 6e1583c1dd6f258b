// What is said to a run at work reaches it as a file in its worktree: the whole list each time, so that writing it twice is
// writing it once, and no bot needs to know what another has written. It has reached somebody who was alive to read it.

import type { Message } from "#core/ask.ts";
import type { FleetClient, OfHeldRun } from "#client/fleet.ts";

/** Where a run finds it, from its worktree's root; the variable TIDEGATE_INBOX says so. */
export const INBOX = ".tidegate/inbox.ndjson";
/** The folder is none of the run's work: git does not see it. */
const IGNORE = ".tidegate/.gitignore";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The messages that reach a run while it works; a follow-up is for its end, and a stop ends it. */
export function steersOf(messages: readonly Message[]): readonly Message[] {
  return messages.filter(({ kind }) => kind === "steer");
}

/**
 * Writes the list of everything that was said so far. Answers whether somebody may have been there to read it once it stood:
 * an older agent does not say, and then somebody was. Rejects with what the fleet refused it with.
 */
export async function writeInbox(fleet: FleetClient, run: OfHeldRun, steers: readonly Message[]): Promise<boolean> {
  const lines = steers.map(({ seq, at, text }) => `${JSON.stringify({ seq, at: new Date(at).toISOString(), text })}\n`);
  await fleet.write({ ...run, path: IGNORE, data: base64("*\n") });
  const { live } = await fleet.write({ ...run, path: INBOX, data: base64(lines.join("")) });
  return live !== 0;
}
