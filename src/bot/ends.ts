// An end that is written and that nobody has told: its bot was gone, or the answer which said so. It is told from what the
// ledger keeps of it, in the same words and the same order as by whoever ended it, so that told twice it is told once.

import type { LedgerRun } from "#wire/ledger.ts";
import { endedCard } from "./cards.ts";
import type { Desk } from "./dispatcher/desk.ts";
import { noteDrainWait } from "./dispatcher/pipeline.ts";

/** Tells the end of an ask that has ended: the note of what it waited, then its card. */
export function tellEnd(desk: Desk, { entry, ended, card }: LedgerRun): void {
  if (ended === null) return;
  noteDrainWait(desk, entry, ended.endedAt);
  desk.cards.tell(endedCard(entry, card ?? undefined, { verdict: ended.verdict, at: ended.endedAt }));
}
