// What crosses the wire to the ledger: asks and the runs they become, what is said to a run, its output, how it ended.
// A body is strict and names its wrong field; what the ledger answers, and what it has stored, is read as it is.

import * as z from "zod";
import {
  CHANNELS,
  ENDINGS,
  ENTRY_STATES,
  KEPT_KINDS,
  MESSAGE_KINDS,
  type Ask,
  type Entry,
  type Verdict,
} from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import { CARD_CAUSES, CARD_STATES, type CardEvent } from "#core/card.ts";
import { gitRef, noNul } from "./agent.ts";
import { askTextSchema } from "./askText.ts";
import { settingsSchema } from "./host.ts";
import { idSchema, resourceSchema, threadKeySchema } from "./names.ts";

/** The part of the binding `SETTINGS` that the ledger reads. */
export const ledgerSettingsSchema = settingsSchema.pick({ clock: true, build: true, generation: true, drainId: true });
export type LedgerSettings = z.infer<typeof ledgerSettingsSchema>;

const text = (chars: number): z.ZodString =>
  z.string("is missing: a text").max(chars, `is longer than ${chars} characters`).refine(noNul, "has a NUL");
const someText = (chars: number): z.ZodString => text(chars).min(1, "is empty");
const keySchema = someText(LIMIT.threadKeyChars);
const kindSchema = z.string("is missing: a kind").regex(/^[a-z][a-z0-9-]{0,31}$/, "is no kind, such as `coding`");
const count = (least: number) =>
  z.number("must be a whole number").int("must be a whole number").min(least, `must be at least ${least}`);
const span = count(1);
const generation = count(1);

/** An ask as it is stored and answered. */
export const askSchema = z.object({
  id: z.string(),
  key: z.string(),
  threadKey: z.string(),
  resource: z.string(),
  kind: z.string(),
  text: z.string(),
  by: z.string(),
  channel: z.enum(CHANNELS),
  leaseMs: z.number().nullable(),
  ref: z.string().nullable(),
  parent: z.string().nullable(),
}) satisfies z.ZodType<Ask>;

export const messageSchema = z.object({
  seq: z.number(),
  key: z.string(),
  kind: z.enum(KEPT_KINDS),
  text: z.string(),
  at: z.number(),
});

export const readingSchema = z.object({ procId: z.string(), bootId: z.string(), out: count(0), err: count(0) });
const saidReadingSchema = readingSchema.extend({
  procId: someText(LIMIT.threadKeyChars),
  bootId: someText(LIMIT.threadKeyChars),
});

/** How a run ended. */
export const verdictSchema = z.object({
  ending: z.enum(ENDINGS, `must be one of ${ENDINGS.join(", ")}`),
  exit: z.number().int().nullable(),
  by: z.enum(["container", "transport"]).nullable(),
  why: text(LIMIT.writeUpChars).nullable(),
}) satisfies z.ZodType<Verdict>;

/** An ask that has not ended, or its run, as it is stored and answered. */
export const entrySchema: z.ZodType<Entry> = z.object({
  ask: askSchema,
  askedAt: z.number(),
  place: z.number(),
  state: z.enum(ENTRY_STATES),
  holder: z.number(),
  heldUntil: z.number(),
  admittedAt: z.number().nullable(),
  leaseUntil: z.number().nullable(),
  tries: z.number(),
  reading: readingSchema.nullable(),
  messages: z.array(messageSchema),
  delivered: z.number(),
  toldOf: z.string().nullable(),
  metDrain: z.string().nullable().default(null),
  verdict: verdictSchema.nullable().default(null),
});

/** A list without what this build cannot read of it. */
function readable<T>(schema: z.ZodType<T>) {
  const one = (value: unknown): T[] => {
    const read = schema.safeParse(value);
    return read.success ? [read.data] : [];
  };
  return z.array(z.unknown()).transform((all) => all.flatMap(one));
}

/** One state of one ask, as every surface gets it. */
export const cardSchema = z.object({
  id: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  state: z.enum(CARD_STATES),
  since: z.number(),
  bound: z.number().nullable(),
  cause: z.enum(CARD_CAUSES).nullable(),
  position: z.number().nullable(),
  quietBy: z.number().nullable(),
  askedAt: z.number(),
  waitedMs: z.number().nullable(),
  waitedBehind: z.enum(["thread", "queue"]).optional(),
  holder: z.object({ id: z.string(), leaseUntil: z.number() }).optional(),
  by: text(LIMIT.byChars).nullable(),
  reason: text(LIMIT.reasonChars).nullable(),
  verdict: verdictSchema.nullable(),
}) satisfies z.ZodType<CardEvent>;

const now = z.number();
const ofRun = { id: idSchema, generation };

/** `POST /generations`: a bot begins; `by` says which, for the log. */
export const generationBodySchema = z.object({ by: someText(LIMIT.byChars) });
export const generationAnswerSchema = z.object({ now, generation: z.number() });
export type GenerationAnswer = z.infer<typeof generationAnswerSchema>;

/** Which drain closes. An id of whatever shape: no run is refused by the name of what closed its door. */
const closedBy = text(LIMIT.threadKeyChars).nullable().exactOptional();

/** What the bot sees of the doors. `leases` by kind go before `leaseMs`, and an ask's own before both. */
const doorsSchema = z.object({
  generation,
  open: z.boolean("must be true or false"),
  passesChild: z.boolean("must be true or false").exactOptional(),
  passed: z.array(idSchema).readonly().exactOptional(),
  closedBy,
  leaseMs: span,
  leases: z.record(kindSchema, span).exactOptional(),
});

/** `POST /asks`. */
export const ledgerAskBodySchema = z.object({
  ask: z.object({
    id: idSchema,
    key: keySchema,
    threadKey: threadKeySchema,
    resource: resourceSchema,
    kind: kindSchema,
    text: askTextSchema.min(1, "is empty"),
    by: someText(LIMIT.byChars),
    channel: z.enum(CHANNELS, `must be one of ${CHANNELS.join(", ")}`),
    leaseMs: span.nullable(),
    ref: gitRef.nullable(),
    parent: idSchema.nullable(),
  }),
  doors: doorsSchema,
});
export type LedgerAskBody = z.infer<typeof ledgerAskBodySchema>;

/**
 * The answer: admitted with its run's row, or queued behind the door, the thread or the queue; `added` to what the
 * thread waits with; `known`, with the entry while that has not ended.
 */
export const ledgerAskAnswerSchema = z.discriminatedUnion("kind", [
  z.object({ now, kind: z.literal("admitted"), entry: entrySchema }),
  z.object({
    now,
    kind: z.literal("queued"),
    entry: entrySchema,
    position: z.number(),
    behind: z.enum(["door", "thread", "queue"]),
  }),
  z.object({ now, kind: z.literal("added"), entry: entrySchema, position: z.number() }),
  z.object({ now, kind: z.literal("known"), id: z.string(), entry: entrySchema.nullable(), position: z.number() }),
]);
export type LedgerAskAnswer = z.infer<typeof ledgerAskAnswerSchema>;

/** `POST /dispatch`: the next of a repository's queue, null when nobody in it can be admitted. */
export const dispatchBodySchema = z.object({ resource: resourceSchema, doors: doorsSchema });
export type DispatchBody = z.infer<typeof dispatchBodySchema>;
export const dispatchAnswerSchema = z.object({ now, entry: entrySchema.nullable() });
export type DispatchAnswer = z.infer<typeof dispatchAnswerSchema>;

/** `POST /return`: it met a closed door, and waits again at its old place; `ended` when it was told to stop meanwhile. */
export const returnBodySchema = z.object({ ...ofRun, closedBy });
export type ReturnBody = z.infer<typeof returnBodySchema>;
export const returnAnswerSchema = z.object({
  now,
  kind: z.enum(["queued", "ended"]),
  entry: entrySchema,
  position: z.number(),
});
export type ReturnAnswer = z.infer<typeof returnAnswerSchema>;

/** `POST /progress`: what is left out stays. */
export const progressBodySchema = z.object({
  ...ofRun,
  reading: saidReadingSchema.exactOptional(),
  delivered: count(0).exactOptional(),
  tries: span.exactOptional(),
  leaseUntil: count(0).exactOptional(),
  verdict: verdictSchema.exactOptional(),
});
export type ProgressBody = z.infer<typeof progressBodySchema>;
export const entryAnswerSchema = z.object({ now, entry: entrySchema });
export type EntryAnswer = z.infer<typeof entryAnswerSchema>;

export const OUTPUT_STREAMS = ["out", "err"] as const;
export type OutputStream = (typeof OUTPUT_STREAMS)[number];

/** How much there is of one stream of a run, and what is left out of it. */
export const keptSchema = z.object({
  length: z.number(),
  truncated: z.object({ from: z.number(), to: z.number() }).nullable(),
});
export type KeptOutput = z.infer<typeof keptSchema>;

/**
 * `POST /output`: bytes of a stream at their offset in the run's output. `reading` is noted in the same step, so that
 * what was appended and how far the process was read never differ.
 */
export const outputBodySchema = z.object({
  ...ofRun,
  stream: z.enum(OUTPUT_STREAMS, "must be out or err"),
  offset: count(0),
  data: z
    .base64("must be base64")
    .max(Math.ceil(LIMIT.outputPartBytes / 3) * 4, `is more than ${LIMIT.outputPartBytes} bytes`),
  reading: saidReadingSchema.exactOptional(),
});
export type OutputBody = z.infer<typeof outputBodySchema>;
export const outputAnswerSchema = keptSchema.extend({ now });
export type OutputAnswer = z.infer<typeof outputAnswerSchema>;

/** `GET /output`: `data` begins at `from`, which lies behind what was asked for where that is left out. */
export const outputQuerySchema = z.object({
  id: idSchema,
  stream: z.enum(OUTPUT_STREAMS, "must be out or err").default("out"),
  from: z.coerce.number("must be a whole number").pipe(count(0)).default(0),
});
export type OutputQuery = z.infer<typeof outputQuerySchema>;
export const outputPartSchema = keptSchema.extend({ now, from: z.number(), data: z.base64() });
export type OutputPart = z.infer<typeof outputPartSchema>;

/** `POST /heartbeat` and `/reclaim`: a bot speaks of all that it holds. */
export const holderBodySchema = z.object({ generation });
/** `POST /handoff`. `since`: what each bot from that number on holds is left too, since it is known to have ended. */
export const handOffBodySchema = holderBodySchema.extend({ since: generation.optional() });
export const heldAnswerSchema = z.object({ now, ids: z.array(z.string()) });
export type HeldAnswer = z.infer<typeof heldAnswerSchema>;
/** What this build cannot read of it is left out: it stands, and a look names it. */
export const reclaimAnswerSchema = z.object({ now, entries: readable(entrySchema) });
export type ReclaimAnswer = z.infer<typeof reclaimAnswerSchema>;

/** `POST /messages`: something said to a run in flight or to an ask that waits. */
export const ledgerMessageBodySchema = z.object({
  ...ofRun,
  key: keySchema,
  kind: z.enum(MESSAGE_KINDS, `must be one of ${MESSAGE_KINDS.join(", ")}`),
  text: askTextSchema,
});
export type LedgerMessageBody = z.infer<typeof ledgerMessageBodySchema>;
/** `ended`: a stop took the ask out of the queue. `over`: the run has ended. */
export const ledgerMessageAnswerSchema = z.object({
  now,
  kind: z.enum(["taken", "known", "added", "ended", "over"]),
  /** As it is now, or was when a stop ended it; null when the run is over. */
  entry: entrySchema.nullable(),
});
export type LedgerMessageAnswer = z.infer<typeof ledgerMessageAnswerSchema>;

/** `POST /end`: what is left of its messages becomes one ask of the id `leftId`. */
export const endBodySchema = z.object({
  ...ofRun,
  verdict: verdictSchema,
  leftId: idSchema,
  writeUp: text(LIMIT.writeUpChars),
});
export type EndBody = z.infer<typeof endBodySchema>;
/** `already`: it has ended before; `left` is then null, since that ask goes its own way. */
export const endAnswerSchema = z.object({ now, kind: z.enum(["ended", "already"]), left: entrySchema.nullable() });
export type EndAnswer = z.infer<typeof endAnswerSchema>;

/** `POST /notes`: a remark on a run, live or ended; the same remark twice is one. */
export const noteBodySchema = z.object({
  ...ofRun,
  kind: z.string("is missing: a kind").regex(/^[a-z][a-z0-9_]{0,31}$/, "is no kind of note, such as drain_wait"),
  text: text(LIMIT.noteChars),
  /** How long what it tells of took, where that is a span. */
  ms: count(0).nullable(),
});
export type NoteBody = z.infer<typeof noteBodySchema>;
export const noteSchema = z.object({ at: z.number(), kind: z.string(), text: z.string(), ms: z.number().nullable() });
export type Note = z.infer<typeof noteSchema>;
export const doneSchema = z.object({ now });
export type Done = z.infer<typeof doneSchema>;

/** `POST /told`: what an ask waits for was told to it under this drain. */
export const toldBodySchema = z.object({ ...ofRun, drainId: idSchema });
export type ToldBody = z.infer<typeof toldBodySchema>;

/** `GET /entries`: everything that has not ended, in the order of arrival. What cannot be read stands, and is named. */
export const entriesSchema = z.object({
  now,
  generation: z.number(),
  entries: z.array(entrySchema),
  unreadable: z.array(z.string()),
});
export type LedgerEntries = z.infer<typeof entriesSchema>;

/** The end of a run in the history; `n` grows with each. `leftId` is the ask that became of what it was not told. */
const endedSchema = z.object({
  n: z.number(),
  endedAt: z.number(),
  verdict: verdictSchema,
  leftId: z.string().nullable(),
});

/** A run that has ended, as a list shows it; `text` is the beginning of its ask. */
export const endedRowSchema = endedSchema.extend({
  id: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  kind: z.string(),
  by: z.string(),
  channel: z.enum(CHANNELS),
  text: z.string(),
  askedAt: z.number(),
  admittedAt: z.number().nullable(),
  tries: z.number(),
});
export type EndedRow = z.infer<typeof endedRowSchema>;

const limit = z.coerce
  .number("must be a whole number")
  .pipe(count(1).max(LIMIT.rowsAPage, `must be at most ${LIMIT.rowsAPage}`))
  .default(50);

/** `GET /runs`: the history, newest first; the next page is asked for with `next` as `before`. */
export const historyQuerySchema = z.object({
  before: z.coerce.number("must be a whole number").pipe(count(1)).optional(),
  limit,
  resource: resourceSchema.optional(),
  thread: threadKeySchema.optional(),
  untold: z.enum(["1"], "must be 1").optional(),
});
export type HistoryQuery = z.infer<typeof historyQuerySchema>;
export const historySchema = z.object({ now, runs: z.array(endedRowSchema), next: z.number().nullable() });
export type History = z.infer<typeof historySchema>;

/** `GET /run`: one ask, live or ended, with everything that is known of it. */
export const runQuerySchema = z.object({ id: idSchema });
export const ledgerRunSchema = z.object({
  now,
  /** As it is, or as it was at its end. */
  entry: entrySchema,
  /** Its place in the queue from 1; 0 when it does not wait. */
  position: z.number(),
  ended: endedSchema.extend({ writeUp: z.string() }).nullable(),
  notes: z.array(noteSchema),
  /** The newest of its cards; null when none is kept. */
  card: cardSchema.nullable().default(null),
  output: z.object({ out: keptSchema, err: keptSchema }),
});
export type LedgerRun = z.infer<typeof ledgerRunSchema>;

/** `POST /cards`: an ask's card changes. The same as the newest of its run is that one. */
export const cardBodySchema = z
  .object({ ...ofRun, event: cardSchema })
  .refine(({ id, event }) => event.id === id, { path: ["event", "id"], message: "is another ask's" });
export type CardBody = z.infer<typeof cardBodySchema>;
export const cardAnswerSchema = z.object({ now, n: z.number() });
export type CardAnswer = z.infer<typeof cardAnswerSchema>;

/** `GET /cards`: from after a number on, in order; without one the newest page. */
export const cardQuerySchema = z.object({
  after: z.coerce.number("must be a whole number").pipe(count(0)).optional(),
  limit,
});
export type CardQuery = z.infer<typeof cardQuerySchema>;
const keptCardSchema = z.object({ n: z.number(), event: cardSchema });
export type KeptCard = z.infer<typeof keptCardSchema>;
export const cardPageSchema = z.object({ now, cards: z.array(keptCardSchema) });
export type CardPage = z.infer<typeof cardPageSchema>;

/** A deploy's receipt as it is kept: by its drain's id, and whatever else it says. */
export const keptReceiptSchema = z.looseObject({ drainId: idSchema });
export type KeptReceipt = z.infer<typeof keptReceiptSchema>;

/** `POST /receipts`: the same drain's again replaces it. */
export const receiptBodySchema = z.object({ receipt: keptReceiptSchema });
/** `GET /receipts`: newest first, or the one of `?id=`. */
export const receiptQuerySchema = z.object({ id: idSchema.optional(), limit });
export type ReceiptQuery = z.infer<typeof receiptQuerySchema>;
export const receiptsSchema = z.object({ now, receipts: z.array(keptReceiptSchema) });
export type Receipts = z.infer<typeof receiptsSchema>;
