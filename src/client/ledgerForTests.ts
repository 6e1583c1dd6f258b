// The ledger without a Worker: the port of client/ledger.ts over the core's own steps, in this process. The contract suite
// runs over it and over the real one, so that what is simulated with it is evidence.

import type { Entry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import { readFrom } from "#core/keptOutput.ts";
import {
  askStep,
  dispatchStep,
  EMPTY_LEDGER,
  endRunStep,
  entryOf,
  generationStep,
  handOffStep,
  heartbeatStep,
  ledgerBootStep,
  messageStep,
  positionOf,
  progressStep,
  reclaimStep,
  returnStep,
  toldStep,
  type LedgerStore,
  type Step,
} from "#core/ledger.ts";
import { PROTOCOL } from "#core/preflight.ts";
import type { Instant } from "#core/time.ts";
import { problemIn, raise } from "#wire/errors.ts";
import * as wire from "#wire/ledger.ts";
import type { LedgerLook } from "#wire/ledgerLook.ts";
import { wordsBodySchema, type Word, type WordsAnswer, type WordsBody } from "#wire/ledgerWords.ts";
import * as answers from "#wire/ledgerAnswers.ts";
import { parsed } from "#wire/parse.ts";
import type { Health } from "#wire/fleet.ts";
import type * as z from "zod";
import type { LedgerClient } from "./ledger.ts";

interface Ended {
  readonly row: wire.EndedRow;
  readonly entry: Entry;
  readonly writeUp: string;
}

const endOf = ({ n, endedAt, verdict, leftId }: wire.EndedRow) => ({ n, endedAt, verdict, leftId });
const bytesOf = (base64: string): number[] =>
  atob(base64)
    .split("")
    .map((char) => char.charCodeAt(0));
const base64Of = (bytes: readonly number[]): string => btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""));

/** One ledger in memory. Its clock is given; `restart` is what a new process of the Worker is to the real one. */
export class LedgerInMemory implements LedgerClient {
  readonly #clock: () => Instant;
  #store: LedgerStore = EMPTY_LEDGER;
  readonly #ended: Ended[] = [];
  readonly #keys = new Map<string, string>();
  readonly #notes = new Map<string, wire.Note[]>();
  readonly #outputs = new Map<string, number[]>();
  readonly #cards: wire.KeptCard[] = [];
  readonly #heard = new Map<number, number>();
  readonly #untold = new Set<string>();
  readonly #receipts = new Map<string, wire.KeptReceipt>();

  constructor(clock: () => Instant) {
    this.#clock = clock;
  }

  /** The store as it stands, for what checks it. */
  get store(): LedgerStore {
    return this.#store;
  }

  /** A new process over the same storage. */
  restart(): void {
    this.#store = ledgerBootStep(this.#store, this.#clock());
  }

  #step<T>(step: Step<T>): T {
    this.#store = step.store;
    return step.found;
  }

  #write<T extends { readonly generation: number }>(schema: z.ZodType<T>, body: unknown): T {
    const read = parsed(schema, body);
    answers.refuseFenced(this.#store, read.generation);
    return read;
  }

  #endedOf(id: string): Ended | undefined {
    return this.#ended.find(({ entry }) => entry.ask.id === id);
  }

  #lengths(id: string): wire.LedgerRun["output"] {
    const of = (stream: wire.OutputStream): wire.KeptOutput =>
      answers.keptOutputOf(this.#outputs.get(`${id}/${stream}`)?.length ?? 0);
    return { out: of("out"), err: of("err") };
  }

  #bury(entry: Entry, { verdict, leftId, writeUp }: answers.RunEnd): void {
    const row = answers.endedRowOf(entry, { n: this.#ended.length + 1, endedAt: this.#clock(), verdict, leftId });
    this.#ended.push({ row, entry, writeUp });
    this.#untold.add(entry.ask.id);
    for (const key of [entry.ask.key, ...entry.messages.map((one) => one.key)]) this.#keys.set(key, entry.ask.id);
  }

  async health(): Promise<Health> {
    const build = { commit: "none", bundle: "none", image: "none" };
    return { ok: true, protocol: PROTOCOL, build, generation: 1, drainId: null, now: this.#clock() };
  }

  async begin(by: string): Promise<wire.GenerationAnswer> {
    parsed(wire.generationBodySchema, { by });
    return { now: this.#clock(), generation: this.#step(generationStep(this.#store)) };
  }

  async ask(body: wire.LedgerAskBody): Promise<wire.LedgerAskAnswer> {
    const { ask, doors } = parsed(wire.ledgerAskBodySchema, body);
    const now = this.#clock();
    answers.refuseFenced(this.#store, doors.generation);
    const ended = this.#keys.get(ask.key) ?? this.#endedOf(ask.id)?.entry.ask.id;
    if (ended !== undefined) return answers.knownOf(ended, now);
    const found = this.#step(askStep(this.#store, ask, doors, now));
    return answers.askAnswerOf(this.#store, found, now);
  }

  async dispatch(body: wire.DispatchBody): Promise<wire.DispatchAnswer> {
    const { resource, doors } = parsed(wire.dispatchBodySchema, body);
    const now = this.#clock();
    answers.refuseFenced(this.#store, doors.generation);
    return { now, entry: this.#step(dispatchStep(this.#store, resource, doors, now)) };
  }

  async giveBack(body: wire.ReturnBody): Promise<wire.ReturnAnswer> {
    const { id, generation, closedBy = null } = this.#write(wire.returnBodySchema, body);
    const found = this.#step(returnStep(this.#store, id, generation, closedBy));
    if (found?.kind === "ended") this.#bury(found.entry, answers.STOPPED_WAITING);
    const known = found ?? answers.returnedBefore(this.#store, id, this.#endedOf(id)?.entry);
    return answers.returnAnswerOf(this.#store, known, this.#clock());
  }

  async progress(body: wire.ProgressBody): Promise<wire.EntryAnswer> {
    const { id, generation, ...said } = this.#write(wire.progressBodySchema, body);
    answers.refuseUnsaid(this.#store, said.delivered);
    const entry = this.#step(progressStep(this.#store, id, generation, said));
    return { now: this.#clock(), entry: entry ?? answers.refuseUnheld(this.#store, id) };
  }

  async output(body: wire.OutputBody): Promise<wire.OutputAnswer> {
    const { id, generation, stream, offset, data, reading } = this.#write(wire.outputBodySchema, body);
    const bytes = bytesOf(data);
    const kept = this.#outputs.get(`${id}/${stream}`) ?? [];
    const step = progressStep(this.#store, id, generation, reading === undefined ? {} : { reading });
    if (step.found === null) return answers.refuseUnheld(this.#store, id);
    const append = answers.appendOf(kept.length, offset, bytes.length);
    this.#step(step);
    if (append !== null) this.#outputs.set(`${id}/${stream}`, [...kept, ...bytes.slice(append.skip)]);
    return { now: this.#clock(), ...answers.keptOutputOf(append?.length ?? kept.length) };
  }

  async heartbeat(generation: number): Promise<wire.HeldAnswer> {
    this.#write(wire.holderBodySchema, { generation });
    const now = this.#clock();
    return { now, ids: [...this.#step(heartbeatStep(this.#store, generation, now))] };
  }

  async handOff(generation: number, since?: number): Promise<wire.HeldAnswer> {
    this.#write(wire.holderBodySchema, { generation });
    return { now: this.#clock(), ids: [...this.#step(handOffStep(this.#store, generation, since))] };
  }

  async reclaim(generation: number): Promise<wire.ReclaimAnswer> {
    this.#write(wire.holderBodySchema, { generation });
    const now = this.#clock();
    return { now, entries: [...this.#step(reclaimStep(this.#store, generation, now))] };
  }

  async say(body: wire.LedgerMessageBody): Promise<wire.LedgerMessageAnswer> {
    const { id, generation: _, ...said } = this.#write(wire.ledgerMessageBodySchema, body);
    const now = this.#clock();
    if (entryOf(this.#store, id) === undefined) {
      const ended = this.#endedOf(id) ?? raise("NO_SUCH_RUN", id);
      return { now, kind: this.#keys.get(said.key) === ended.entry.ask.id ? "known" : "over", entry: null };
    }
    const found = this.#step(messageStep(this.#store, id, said, now));
    if (found.kind === "ended") this.#bury(found.entry, answers.STOPPED_WAITING);
    return answers.messageAnswerOf(found, now);
  }

  async end(body: wire.EndBody): Promise<wire.EndAnswer> {
    const { id, generation, leftId, ...how } = this.#write(wire.endBodySchema, body);
    const now = this.#clock();
    if (this.#endedOf(id) !== undefined) return { now, kind: "already", left: null };
    answers.refuseTaken(entryOf(this.#store, leftId) !== undefined || this.#endedOf(leftId) !== undefined, leftId);
    const found = this.#step(endRunStep(this.#store, id, { generation, leftId }, now));
    if (found === null) return answers.refuseUnheld(this.#store, id);
    this.#bury(found.entry, {
      ...how,
      verdict: found.entry.verdict ?? how.verdict,
      leftId: found.left?.ask.id ?? null,
    });
    return { now, kind: "ended", left: found.left };
  }

  async note(body: wire.NoteBody): Promise<wire.Done> {
    const { id, kind, text, ms } = this.#write(wire.noteBodySchema, body);
    const now = this.#clock();
    this.#refuseUnknown(id);
    const notes = this.#notes.get(id) ?? [];
    const isThere = notes.some((one) => one.kind === kind && one.text === text && one.ms === ms);
    if (!isThere) this.#notes.set(id, [...notes, { at: now, kind, text, ms }].slice(-LIMIT.notesARun));
    return { now };
  }

  async told(body: wire.ToldBody): Promise<wire.Done> {
    const { id, drainId } = this.#write(wire.toldBodySchema, body);
    this.#refuseUnknown(id);
    this.#store = toldStep(this.#store, id, drainId);
    return { now: this.#clock() };
  }

  #refuseUnknown(id: string): void {
    if (entryOf(this.#store, id) === undefined && this.#endedOf(id) === undefined) raise("NO_SUCH_RUN", id);
  }

  async words(body: WordsBody): Promise<WordsAnswer> {
    const { generation, first, words } = this.#write(wordsBodySchema, body);
    const known = this.#heard.get(generation) ?? 0;
    this.#heard.set(generation, Math.max(known, first + words.length - 1));
    const refused: WordsAnswer["refused"] = [];
    for (const [at, said] of words.entries())
      if (first + at > known)
        await this.#word(said, generation).catch((error: unknown) => {
          const problem = problemIn(error);
          if (problem === undefined) throw error;
          refused.push({ at, problem });
        });
    return { now: this.#clock(), refused };
  }

  async #word(said: Word, generation: number): Promise<unknown> {
    if (said.word === "card") return this.card({ id: said.event.id, generation, event: said.event });
    return said.word === "note" ? this.note({ ...said, generation }) : this.told({ ...said, generation });
  }

  async entries(): Promise<wire.LedgerEntries> {
    const { generation, entries } = this.#store;
    const inOrder = entries.toSorted((a, b) => a.place - b.place);
    return { now: this.#clock(), generation, entries: inOrder, unreadable: [] };
  }

  async look(): Promise<LedgerLook> {
    const { entries, ...rest } = await this.entries();
    return { ...rest, entries: entries.map(answers.lineOf) };
  }

  async history(query: Partial<wire.HistoryQuery> = {}): Promise<wire.History> {
    const { before, limit, resource, thread, untold } = parsed(wire.historyQuerySchema, query);
    const fits = this.#ended
      .map(({ row }) => row)
      .filter((row) => before === undefined || row.n < before)
      .filter((row) => resource === undefined || row.resource === resource)
      .filter((row) => thread === undefined || row.threadKey === thread)
      .filter((row) => untold === undefined || this.#untold.has(row.id))
      .toReversed();
    const runs = fits.slice(0, limit);
    return { now: this.#clock(), runs, next: fits.length > limit ? (runs.at(-1)?.n ?? null) : null };
  }

  async run(id: string): Promise<wire.LedgerRun> {
    parsed(wire.runQuerySchema, { id });
    const live = entryOf(this.#store, id);
    const ended = this.#endedOf(id);
    const entry = live ?? ended?.entry ?? raise("NO_SUCH_RUN", id);
    return {
      now: this.#clock(),
      entry,
      position: positionOf(this.#store, id),
      ended: ended === undefined ? null : { ...endOf(ended.row), writeUp: ended.writeUp },
      notes: this.#notes.get(id) ?? [],
      card: this.#cardOf(id)?.event ?? null,
      output: this.#lengths(id),
    };
  }

  async outputFrom(query: Partial<wire.OutputQuery> & Pick<wire.OutputQuery, "id">): Promise<wire.OutputPart> {
    const { id, stream, from } = parsed(wire.outputQuerySchema, query);
    this.#refuseUnknown(id);
    const kept = this.#outputs.get(`${id}/${stream}`) ?? [];
    answers.refuseBeyond(kept.length, from);
    const span = readFrom(kept.length, from);
    const data = base64Of(kept.slice(span.from, span.to));
    return { now: this.#clock(), from: span.from, data, ...answers.keptOutputOf(kept.length) };
  }

  #cardOf(id: string): wire.KeptCard | undefined {
    return this.#cards.findLast(({ event }) => event.id === id);
  }

  async card(body: wire.CardBody): Promise<wire.CardAnswer> {
    const { id, event } = this.#write(wire.cardBodySchema, body);
    this.#refuseUnknown(id);
    const newest = this.#cardOf(id);
    const isOver = entryOf(this.#store, id) === undefined;
    if (isOver && event.state !== "ended") return { now: this.#clock(), n: newest?.n ?? 0 };
    if (isOver) this.#untold.delete(id);
    if (newest !== undefined && answers.isSameCard(newest.event, event)) return { now: this.#clock(), n: newest.n };
    const n = (this.#cards.at(-1)?.n ?? 0) + 1;
    this.#cards.push({ n, event });
    if (this.#cards.length > LIMIT.cards) this.#cards.shift();
    return { now: this.#clock(), n };
  }

  async cards(query: Partial<wire.CardQuery> = {}): Promise<wire.CardPage> {
    const { after, limit } = parsed(wire.cardQuerySchema, query);
    const later = this.#cards.filter(({ n }) => after === undefined || n > after);
    const cards = after === undefined ? later.slice(-limit) : later.slice(0, limit);
    return { now: this.#clock(), cards };
  }

  async keepReceipt(receipt: wire.KeptReceipt): Promise<wire.Done> {
    const body = parsed(wire.receiptBodySchema, { receipt });
    this.#receipts.delete(body.receipt.drainId);
    this.#receipts.set(body.receipt.drainId, body.receipt);
    return { now: this.#clock() };
  }

  async receipts(query: Partial<wire.ReceiptQuery> = {}): Promise<wire.Receipts> {
    const { id, limit } = parsed(wire.receiptQuerySchema, query);
    const newest = [...this.#receipts.values()].toReversed();
    const receipts = newest.filter((one) => id === undefined || one.drainId === id).slice(0, limit);
    return { now: this.#clock(), receipts };
  }
}
