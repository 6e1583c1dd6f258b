// What the ledger's pieces work with: one value made once an object, with everything that it stores.

import { messageOf, type Root } from "./root.ts";
import type { Cards } from "./cards.ts";
import type { Heard } from "./heard.ts";
import type { History } from "./history.ts";
import type { Outputs } from "./outputs.ts";
import type { ReceiptBook } from "./receipts.ts";
import type { EntryStorage } from "./store.ts";
import { fail, ok, type Result } from "#core/result.ts";
import type { Entry } from "#core/ask.ts";
import type { LedgerStore, Step } from "#core/ledger.ts";
import type { Instant } from "#core/time.ts";
import { problemIn, raise, type Problem } from "#wire/errors.ts";
import { refuseFenced, type RunEnd } from "#wire/ledgerAnswers.ts";

export interface Ledger {
  readonly root: Root;
  readonly entries: EntryStorage;
  readonly history: History;
  readonly outputs: Outputs;
  readonly cards: Cards;
  readonly heard: Heard;
  readonly receipts: ReceiptBook;
}

/** What a piece answers, or what it refused with; anything else that is thrown is an error of this object. */
export function answered<T>(ledger: Ledger, work: () => T): Result<T, Problem> {
  try {
    return ok(work());
  } catch (error) {
    const problem = problemIn(error);
    if (problem !== undefined) return fail(problem);
    ledger.root.log("error", "a step failed", { error: messageOf(error) });
    throw error;
  }
}

/** A step of a bot's: refused, with nothing written, once a newer one has begun. */
export function botStep<T>(ledger: Ledger, generation: number, run: (store: LedgerStore, now: Instant) => Step<T>): T {
  return ledger.entries.step((store) => {
    refuseFenced(store, generation);
    return run(store, ledger.root.now());
  });
}

/** Refuses to touch an entry that cannot be read: it is written over by nobody. */
export function refuseUnreadable(ledger: Ledger, id: string): void {
  if (ledger.entries.unreadable().includes(id))
    raise("RECORD_UNREADABLE", `${id} is a record that this build cannot read: it stands until an admin ends it`);
}

/** Writes an end into the history, in the step that takes the entry away. */
export function bury(ledger: Ledger, entry: Entry, end: RunEnd, now: Instant): void {
  ledger.history.add(entry, end, now);
  ledger.outputs.prune();
}
