// What the Worker says to its one object. Values only: an error's class does not survive the trip, so a refusal is an
// answer. A fresh stub is taken for each call, since a stub stays broken after an abort.

import type { Scope } from "#core/scopes.ts";
import type { Result } from "#core/result.ts";
import type { Problem } from "#wire/errors.ts";
import type * as wire from "#wire/ledger.ts";
import type { LedgerLook } from "#wire/ledgerLook.ts";
import type { WordsAnswer, WordsBody } from "#wire/ledgerWords.ts";
import type { Env } from "./root.ts";

/** An answer, or what refuses the request. */
export type Answer<T> = Promise<Result<T, Problem>>;

export interface LedgerPort {
  begin(by: string): Answer<wire.GenerationAnswer>;
  ask(body: wire.LedgerAskBody): Answer<wire.LedgerAskAnswer>;
  dispatch(body: wire.DispatchBody): Answer<wire.DispatchAnswer>;
  giveBack(body: wire.ReturnBody): Answer<wire.ReturnAnswer>;
  progress(body: wire.ProgressBody): Answer<wire.EntryAnswer>;
  output(body: wire.OutputBody): Answer<wire.OutputAnswer>;
  heartbeat(generation: number): Answer<wire.HeldAnswer>;
  handOff(generation: number, since?: number): Answer<wire.HeldAnswer>;
  reclaim(generation: number): Answer<wire.ReclaimAnswer>;
  say(body: wire.LedgerMessageBody): Answer<wire.LedgerMessageAnswer>;
  /** `scope` is whose bearer asked: an entry that cannot be read is an admin's to end. */
  end(body: wire.EndBody, scope: Scope): Answer<wire.EndAnswer>;
  note(body: wire.NoteBody): Answer<wire.Done>;
  told(body: wire.ToldBody): Answer<wire.Done>;
  words(body: WordsBody): Answer<WordsAnswer>;
  entries(): Answer<wire.LedgerEntries>;
  look(): Answer<LedgerLook>;
  history(query: wire.HistoryQuery): Answer<wire.History>;
  run(id: string): Answer<wire.LedgerRun>;
  outputFrom(query: wire.OutputQuery): Answer<wire.OutputPart>;
  card(body: wire.CardBody): Answer<wire.CardAnswer>;
  cards(query: wire.CardQuery): Answer<wire.CardPage>;
  keepReceipt(receipt: wire.KeptReceipt): Answer<wire.Done>;
  receipts(query: wire.ReceiptQuery): Answer<wire.Receipts>;
}

/** The one ledger. */
export function ledgerOf(env: Env): LedgerPort {
  return env.LEDGER.get(env.LEDGER.idFromName("ledger")) as unknown as LedgerPort;
}
