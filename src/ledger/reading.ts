// What the ledger tells: everything that has not ended, pages of what has, one run whole, its output from an offset.

import { entryOf, positionOf } from "#core/ledger.ts";
import { raise } from "#wire/errors.ts";
import type { History, HistoryQuery, LedgerEntries, LedgerRun, OutputPart, OutputQuery } from "#wire/ledger.ts";
import type { LedgerLook } from "#wire/ledgerLook.ts";
import { keptOutputOf, lineOf, refuseBeyond } from "#wire/ledgerAnswers.ts";
import type { Ledger } from "./ledgerParts.ts";

/** Everything that has not ended, in the order of arrival. */
export function entries(ledger: Ledger): LedgerEntries {
  const store = ledger.entries.now();
  return {
    now: ledger.root.now(),
    generation: store.generation,
    entries: store.entries.toSorted((a, b) => a.place - b.place),
    unreadable: [...ledger.entries.unreadable()],
  };
}

/** The same, one line each: as many as the ledger holds are one answer, whatever their texts. */
export function look(ledger: Ledger): LedgerLook {
  const { entries: all, ...rest } = entries(ledger);
  return { ...rest, entries: all.map(lineOf) };
}

/** A page of the history. */
export function history(ledger: Ledger, query: HistoryQuery): History {
  return { now: ledger.root.now(), ...ledger.history.page(query) };
}

/** One ask, live or ended. */
export function run(ledger: Ledger, id: string): LedgerRun {
  const store = ledger.entries.now();
  const ended = ledger.history.of(id);
  const entry = entryOf(store, id) ?? ended?.entry ?? raise("NO_SUCH_RUN", id);
  const lengthOf = (stream: "out" | "err") => keptOutputOf(ledger.outputs.length({ id, stream }));
  return {
    now: ledger.root.now(),
    entry,
    position: positionOf(store, id),
    ended: ended?.end ?? null,
    notes: ledger.history.notes(id),
    card: ledger.cards.of(id),
    output: { out: lengthOf("out"), err: lengthOf("err") },
  };
}

function base64Of(bytes: Uint8Array): string {
  const chars: string[] = [];
  for (const byte of bytes) chars.push(String.fromCharCode(byte));
  return btoa(chars.join(""));
}

/** A part of a run's output. */
export function outputFrom(ledger: Ledger, { id, stream, from }: OutputQuery): OutputPart {
  if (entryOf(ledger.entries.now(), id) === undefined && !ledger.history.has(id)) raise("NO_SUCH_RUN", id);
  const length = ledger.outputs.length({ id, stream });
  refuseBeyond(length, from);
  const part = ledger.outputs.read({ id, stream }, from);
  return { now: ledger.root.now(), from: part.from, data: base64Of(part.bytes), ...keptOutputOf(length) };
}
