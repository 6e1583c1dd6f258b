// The card of an ask that waits, with what this bot knows of the end of its wait: one place, so that whoever is told of it
// (a card, an answer, a list, a page) is told the same.

import type { EntryLine } from "#core/ask.ts";
import type { CardEvent, ThreadHolder } from "#core/card.ts";
import type { Closed } from "#core/door.ts";
import { queuedCard } from "./cards.ts";
import type { Desk, Told } from "./dispatcher/desk.ts";

/** What it waits for, as far as it was asked. */
export interface Waits {
  readonly closed: Closed | null;
  readonly behind: Told["behind"];
  readonly position: number;
}

/** The run in hand that has the thread of an ask. */
function holderOf({ runs }: Desk, { ask: { id, threadKey } }: EntryLine): ThreadHolder | undefined {
  const held = runs.all.find(({ entry }) => entry.ask.threadKey === threadKey);
  if (held === undefined || held.id === id || held.entry.leaseUntil === null) return undefined;
  return { id: held.id, leaseUntil: held.entry.leaseUntil };
}

/** The card of an ask that waits, as things are. */
export function cardOfWait(desk: Desk, entry: EntryLine, { closed, behind, position }: Waits): CardEvent {
  const quietBy = closed === null ? null : desk.doors.quietBy(closed);
  return queuedCard(entry, { closed, quietBy, behind, holder: holderOf(desk, entry), position });
}
