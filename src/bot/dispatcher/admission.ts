// The third stage, and the one question of everyone: may it start now? The bot brings what it knows of the doors, the
// ledger answers in one step with the run's row: admitted, or queued behind door, thread or queue.

import type { Ask, Entry } from "#core/ask.ts";
import type { Closed } from "#core/door.ts";
import type { Doors as DoorsAsked } from "#core/ledger.ts";
import type { LedgerAskAnswer } from "#wire/ledger.ts";
import { queuedCard } from "../cards.ts";
import type { Desk } from "./desk.ts";

/** What the ledger decided, and what closed the door as it was asked. */
export interface Admission {
  readonly answer: LedgerAskAnswer;
  readonly closed: Closed | null;
}

/** The doors as the ledger is told of them. */
export function doorsFor({ parts, number }: Desk, closed: Closed | null): DoorsAsked {
  const { leases, longestLeaseMs } = parts.budgets;
  return { generation: number, open: closed === null, leaseMs: longestLeaseMs, leases };
}

/** Tells a queued ask what it waits for, and notes under which drain, so that it is told once. */
export function tellQueued(
  desk: Desk,
  entry: Entry,
  wait: { readonly closed: Closed | null; readonly behind: "thread" | "queue"; readonly position: number },
): void {
  const { doors, cards, outbox, number } = desk;
  const quietBy = wait.closed === null ? null : doors.quietBy(wait.closed);
  cards.tell(queuedCard(entry, { ...wait, quietBy }));
  const { id } = entry.ask;
  const drainId = wait.closed?.drainId;
  if (drainId !== undefined && entry.toldOf !== drainId)
    outbox.post((ledger) => ledger.told({ id, generation: number, drainId }));
}

/** Asks the ledger. The door is read in the very step in which the question leaves, and the caller counts it as in flight. */
export async function admission(desk: Desk, ask: Ask): Promise<Admission> {
  const closed = desk.doors.closed(ask.resource);
  const answer = await desk.parts.ledger.ask({ ask, doors: doorsFor(desk, closed) });
  if (answer.kind === "queued") {
    const { entry, position } = answer;
    tellQueued(desk, entry, {
      closed: answer.behind === "door" ? closed : null,
      behind: answer.behind === "thread" ? "thread" : "queue",
      position,
    });
  }
  return { answer, closed };
}
