// The third stage, and the one question of everyone: may it start now? The bot brings what it knows of the doors, the
// ledger answers in one step with the run's row: admitted, or queued behind door, thread or queue.

import type { Ask, EntryLine } from "#core/ask.ts";
import type { Closed } from "#core/door.ts";
import type { Doors as DoorsAsked } from "#core/turn.ts";
import type { LedgerAskAnswer } from "#wire/ledger.ts";
import { cardOfWait } from "../waitCard.ts";
import type { Desk, Told } from "./desk.ts";

/** What the ledger decided, and what closed the door as it was asked. */
export interface Admission {
  readonly answer: LedgerAskAnswer;
  readonly closed: Closed | null;
}

/** The doors of a repository as the ledger is told of them, with whoever is past them: it may know of more who are not. */
export function doorsFor({ parts, number, doors, runs }: Desk, resource: string): DoorsAsked {
  const { leases, longestLeaseMs } = parts.budgets;
  const closed = doors.closed(resource);
  return {
    generation: number,
    open: closed === null,
    passesChild: doors.passesChild(resource),
    passed: runs.hasRoom(resource) ? runs.passed(resource) : [],
    closedBy: closed?.drainId ?? null,
    leaseMs: longestLeaseMs,
    leases,
  };
}

/** What is told of a wait: of a drain also whether the last run in flight ends it, or the bound of a swap. */
function toldOf({ closed, behind }: { readonly closed: Closed | null; readonly behind: Told["behind"] }): Told {
  if (closed === null) return { key: behind, drainId: null, behind };
  const { drainId, endsQuiet } = closed;
  return { key: `${drainId} ${endsQuiet ? "quiet" : "bound"}`, drainId, behind };
}

/**
 * Tells a queued ask what it waits for: once under a drain, which the ledger notes, once more where its end is another one,
 * and once where it waits for something else.
 */
export function tellQueued(
  desk: Desk,
  entry: EntryLine,
  wait: { readonly closed: Closed | null; readonly behind: "thread" | "queue"; readonly position: number },
): void {
  const { cards, outbox, told } = desk;
  const { id } = entry.ask;
  const tells = toldOf(wait);
  const { drainId } = tells;
  const last = cards.last(id);
  const said = told.get(id);
  // What an earlier bot told counts until this one has told something itself.
  const isKnown = said?.key === tells.key || (said === undefined && drainId !== null && entry.toldOf === drainId);
  told.set(id, tells);
  if (isKnown && (last === undefined || last.state === "queued")) return;
  cards.tell(cardOfWait(desk, entry, wait));
  if (drainId !== null && said?.drainId !== drainId) outbox.post({ word: "told", id, drainId });
}

/** Asks the ledger. The door is read in the very step in which the question leaves, and the caller counts it as in flight. */
export async function admission(desk: Desk, ask: Ask): Promise<Admission> {
  const closed = desk.doors.closed(ask.resource);
  const answer = await desk.steady.once((ledger) => ledger.ask({ ask, doors: doorsFor(desk, ask.resource) }));
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
