// A typed client of the ledger Worker, made from its route table: whatever it answers has been parsed, whatever it throws
// is a `TidegateError` told apart by its code. Each call may be sent again: its ids make twice once.

import type * as z from "zod";
import { healthSchema, type Health } from "#wire/fleet.ts";
import {
  cardAnswerSchema,
  cardPageSchema,
  dispatchAnswerSchema,
  doneSchema,
  endAnswerSchema,
  entriesSchema,
  entryAnswerSchema,
  generationAnswerSchema,
  heldAnswerSchema,
  historySchema,
  ledgerAskAnswerSchema,
  ledgerMessageAnswerSchema,
  ledgerRunSchema,
  outputAnswerSchema,
  outputPartSchema,
  receiptsSchema,
  reclaimAnswerSchema,
  returnAnswerSchema,
  type CardAnswer,
  type CardBody,
  type CardPage,
  type CardQuery,
  type DispatchAnswer,
  type DispatchBody,
  type Done,
  type EndAnswer,
  type EndBody,
  type EntryAnswer,
  type GenerationAnswer,
  type HeldAnswer,
  type History,
  type HistoryQuery,
  type KeptReceipt,
  type LedgerAskAnswer,
  type LedgerAskBody,
  type LedgerEntries,
  type LedgerMessageAnswer,
  type LedgerMessageBody,
  type LedgerRun,
  type NoteBody,
  type OutputAnswer,
  type OutputBody,
  type OutputPart,
  type OutputQuery,
  type ProgressBody,
  type ReceiptQuery,
  type Receipts,
  type ReclaimAnswer,
  type ReturnAnswer,
  type ReturnBody,
  type ToldBody,
} from "#wire/ledger.ts";
import { ledgerLookSchema, type LedgerLook } from "#wire/ledgerLook.ts";
import { wordsAnswerSchema, type WordsAnswer, type WordsBody } from "#wire/ledgerWords.ts";
import { LEDGER_ROUTES, type LedgerRouteName } from "#wire/ledgerRoutes.ts";
import { queryOf } from "./query.ts";
import { call, type Transport } from "./transport.ts";

/**
 * The port of the ledger: each of its routes. Writers are told `FENCED` once a newer bot has begun, and `RUN_NOT_HELD` or
 * `NO_SUCH_RUN` of a run that is not theirs.
 */
export interface LedgerClient {
  health(): Promise<Health>;
  /** A bot begins; the number is the fencing token of all that it writes from now on. */
  begin(by: string): Promise<GenerationAnswer>;
  ask(body: LedgerAskBody): Promise<LedgerAskAnswer>;
  /** The next of a repository's queue. One whose answer was lost is named by the next heartbeat. */
  dispatch(body: DispatchBody): Promise<DispatchAnswer>;
  /** It met a closed door: it waits again at its old place. */
  giveBack(body: ReturnBody): Promise<ReturnAnswer>;
  progress(body: ProgressBody): Promise<EntryAnswer>;
  /** Appends to a run's output; `OUTPUT_GAP` carries the `length` that the ledger has. */
  output(body: OutputBody): Promise<OutputAnswer>;
  /** Every run that this generation holds is held for one more ledger lease. */
  heartbeat(generation: number): Promise<HeldAnswer>;
  /** `since`: and what each bot from that number on holds, all of which are known to have ended. */
  handOff(generation: number, since?: number): Promise<HeldAnswer>;
  /** As much as one answer holds; there may be more until nothing is given. */
  reclaim(generation: number): Promise<ReclaimAnswer>;
  say(body: LedgerMessageBody): Promise<LedgerMessageAnswer>;
  end(body: EndBody): Promise<EndAnswer>;
  note(body: NoteBody): Promise<Done>;
  told(body: ToldBody): Promise<Done>;
  /** Cards, notes and tellings in order, each judged alone; an older ledger has no such route. */
  words(body: WordsBody): Promise<WordsAnswer>;
  /** Everything that has not ended, each whole: too much for one answer where long asks are many. */
  entries(): Promise<LedgerEntries>;
  /** The same, each as one line. */
  look(): Promise<LedgerLook>;
  history(query?: Partial<HistoryQuery>): Promise<History>;
  run(id: string): Promise<LedgerRun>;
  outputFrom(query: Partial<OutputQuery> & Pick<OutputQuery, "id">): Promise<OutputPart>;
  /** An ask's card changes; the same as its newest is that one. */
  card(body: CardBody): Promise<CardAnswer>;
  cards(query?: Partial<CardQuery>): Promise<CardPage>;
  keepReceipt(receipt: KeptReceipt): Promise<Done>;
  receipts(query?: Partial<ReceiptQuery>): Promise<Receipts>;
}

/** The client of one ledger. */
export function ledgerClient(transport: Transport): LedgerClient {
  const post = <T>(route: LedgerRouteName, schema: z.ZodType<T>, body: unknown): Promise<T> =>
    call(transport, LEDGER_ROUTES[route], schema, { body });
  const get = <T>(route: LedgerRouteName, schema: z.ZodType<T>, query: Parameters<typeof queryOf>[0]): Promise<T> =>
    call(transport, LEDGER_ROUTES[route], schema, { query: queryOf(query) });
  return {
    health: () => get("healthz", healthSchema, {}),
    begin: (by) => post("begin", generationAnswerSchema, { by }),
    ask: (body) => post("ask", ledgerAskAnswerSchema, body),
    dispatch: (body) => post("dispatch", dispatchAnswerSchema, body),
    giveBack: (body) => post("giveBack", returnAnswerSchema, body),
    progress: (body) => post("progress", entryAnswerSchema, body),
    output: (body) => post("output", outputAnswerSchema, body),
    heartbeat: (generation) => post("heartbeat", heldAnswerSchema, { generation }),
    handOff: (generation, since) => post("handOff", heldAnswerSchema, { generation, since }),
    reclaim: (generation) => post("reclaim", reclaimAnswerSchema, { generation }),
    say: (body) => post("say", ledgerMessageAnswerSchema, body),
    end: (body) => post("end", endAnswerSchema, body),
    note: (body) => post("note", doneSchema, body),
    told: (body) => post("told", doneSchema, body),
    words: (body) => post("words", wordsAnswerSchema, body),
    entries: () => get("entries", entriesSchema, {}),
    look: () => get("entries", ledgerLookSchema, { brief: 1 }),
    history: (query = {}) => get("history", historySchema, query),
    run: (id) => get("run", ledgerRunSchema, { id }),
    outputFrom: (query) => get("outputFrom", outputPartSchema, query),
    card: (body) => post("card", cardAnswerSchema, body),
    cards: (query = {}) => get("cards", cardPageSchema, query),
    keepReceipt: (receipt) => post("keepReceipt", doneSchema, { receipt }),
    receipts: (query = {}) => get("receipts", receiptsSchema, query),
  };
}
