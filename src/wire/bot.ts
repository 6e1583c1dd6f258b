// The bot's routes, once, for both ends, and what crosses them: asks and their runs, what is said to a run, the cards, and
// the copy of a deploy's drain.

import * as z from "zod";
import { CHANNELS, MESSAGE_KINDS } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import { CARD_CAUSES } from "#core/card.ts";
import { gitRef } from "./agent.ts";
import { askTextSchema } from "./askText.ts";
import { buildSchema, drainAnswerSchema, drainSchema, undrainAnswerSchema } from "./drain.ts";
import { cardSchema, keptSchema, messageSchema, noteSchema, OUTPUT_STREAMS } from "./ledger.ts";
import { idSchema, resourceSchema, threadKeySchema } from "./names.ts";
import type { Route } from "./routes.ts";

const keySchema = z.string("is missing").min(1, "is empty").max(LIMIT.threadKeyChars, "is too long");
/** Blanks alone ask for nothing. */
const textSchema = askTextSchema.min(1, "is empty").refine((text) => text.trim() !== "", "is empty");
const kindSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, "is no kind, such as `coding`");

/** A repository as people name it: its resource, `owner/name`, or its name alone where that is unique. */
const repositorySchema = z
  .string("is missing: a repository such as app")
  .max(LIMIT.threadKeyChars, `is longer than ${LIMIT.threadKeyChars} characters`)
  .regex(
    /^(repo:)?([A-Za-z0-9_][A-Za-z0-9_.-]*\/)?[A-Za-z0-9_][A-Za-z0-9_.-]*$/,
    "is no repository such as app, local/app or repo:local/app",
  );

/** `POST /asks`. Without a thread it gets one of its own; the same key is the same ask. */
export const askBodySchema = z.object({
  key: keySchema,
  resource: repositorySchema,
  text: textSchema,
  kind: kindSchema.default("shell"),
  threadKey: threadKeySchema.nullable().default(null),
  leaseMs: z
    .number("must be whole milliseconds")
    .int("must be whole milliseconds")
    .positive("must be more than 0")
    .nullable()
    .default(null),
  ref: gitRef.nullable().default(null),
  by: z
    .string()
    .min(1, "is empty")
    .max(LIMIT.byChars, `is longer than ${LIMIT.byChars} characters`)
    .default("somebody"),
  channel: z.enum(CHANNELS).default("web"),
  parent: idSchema.nullable().default(null),
});
export type AskBody = z.infer<typeof askBodySchema>;

/** The answer to `POST /asks`: at once, with what it waits for in words. */
export const askAnswerSchema = z.object({
  now: z.number(),
  id: z.string(),
  kind: z.enum(["admitted", "queued", "added", "known"]),
  threadKey: z.string(),
  position: z.number().nullable(),
  waitingFor: z.array(z.enum(CARD_CAUSES)),
  until: z.number().nullable(),
  card: cardSchema,
  /** What the person reads at once, such as `deploy pending, 12 minutes · place 3`. */
  says: z.string(),
  /** What the run is: of an ask that was `added` to it, or is `known`, what it wants otherwise does not count. */
  run: z
    .object({ kind: z.string(), ref: z.string().nullable(), leaseMs: z.number().nullable(), by: z.string() })
    .optional(),
  /** Of one that is `known`: its key was given before with another text, which stands. */
  otherText: z.boolean().default(false),
});
export type AskAnswer = z.infer<typeof askAnswerSchema>;

/** `POST /runs/:id/steer` (a message) and `POST /runs/:id/stop`. */
export const messageBodySchema = z.object({
  key: keySchema,
  text: textSchema,
  kind: z.enum(MESSAGE_KINDS).exclude(["stop"]).default("steer"),
});
export const stopBodySchema = z.object({ key: keySchema });
export const messageAnswerSchema = z.object({
  now: z.number(),
  id: z.string(),
  kind: z.enum(["taken", "known", "added", "ended", "over"]),
});
export type MessageAnswer = z.infer<typeof messageAnswerSchema>;

/** `GET /healthz` of the bot. `inFlight` counts an admission from its first step. */
export const botHealthSchema = z.object({
  ok: z.literal(true),
  protocol: z.number(),
  build: buildSchema,
  generation: z.number(),
  /** Its number in the ledger, the fencing token of all that it writes. */
  number: z.number(),
  drainId: z.string().nullable(),
  now: z.number(),
  inFlight: z.number(),
  queued: z.number(),
  draining: drainSchema.nullable(),
  /** Asked to end: it takes no more. */
  rolling: z.boolean(),
  /** Residents that a reopening holds. */
  held: z.array(z.string()),
});
export type BotHealth = z.infer<typeof botHealthSchema>;

/** An ask that waits in the queue behind a drain, or has waited there. */
const queuedAskSchema = z.object({
  id: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  by: z.string(),
  askedAt: z.number(),
  /** `thread`: behind the live run of its thread too. */
  cause: z.enum(CARD_CAUSES),
  /** When it left the queue, begun or, with `ended`, stopped there; null while it waits. */
  leftAt: z.number().nullable(),
  ended: z.boolean(),
});
export type QueuedAsk = z.infer<typeof queuedAskSchema>;

/** Who waits and has waited under one drain, in the order of arrival; `total` counts those too that the list leaves out. */
const queuedUnderSchema = z.object({ asks: z.array(queuedAskSchema), total: z.number() });
export type QueuedUnder = z.infer<typeof queuedUnderSchema>;

/** Whoever cannot read this list, or is told none by an older bot, has the door's answer all the same. */
const queued = queuedUnderSchema.nullable().catch(null);

/** The answers to `POST /drain` and `POST /undrain` of the bot: as the registry's, and who waits in the queue under it. */
export const botDrainAnswerSchema = drainAnswerSchema.extend({ queued });
export type BotDrainAnswer = z.infer<typeof botDrainAnswerSchema>;
export const botUndrainAnswerSchema = undrainAnswerSchema.extend({ queued });
export type BotUndrainAnswer = z.infer<typeof botUndrainAnswerSchema>;

const channelSchema = z.enum(CHANNELS);
const shownSchema = {
  id: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  kind: z.string(),
  by: z.string(),
  channel: channelSchema,
  askedAt: z.number(),
  admittedAt: z.number().nullable(),
  tries: z.number(),
  card: cardSchema,
  /** The card in words. */
  says: z.string(),
};

/** One ask of a list; `text` is the beginning of it. */
export const askRowSchema = z.object({ ...shownSchema, text: z.string() });
export type AskRow = z.infer<typeof askRowSchema>;

/** `GET /runs`: a page that begins before the `n`-th end has nothing live. */
export const runsQuerySchema = z.object({
  before: z.coerce.number("must be a whole number").int("must be a whole number").min(1).optional(),
  limit: z.coerce
    .number("must be a whole number")
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(LIMIT.rowsAPage, `must be at most ${LIMIT.rowsAPage}`)
    .default(50),
  resource: resourceSchema.optional(),
});
export type RunsQuery = z.infer<typeof runsQuerySchema>;
export const runListSchema = z.object({
  now: z.number(),
  /** In the order of arrival: all of it, which is at most as much as the ledger holds. */
  live: z.array(askRowSchema),
  /** Live ones whose records cannot be read, by their ids: they keep their threads until an admin ends them. */
  unreadable: z.array(z.string()).default([]),
  /** The newest first. */
  ended: z.array(askRowSchema),
  /** `before` of the next page; null on the last one. */
  next: z.number().nullable(),
});
export type RunList = z.infer<typeof runListSchema>;

/** `GET /runs/:id`: everything that is known of one ask. */
export const runDetailSchema = z.object({
  now: z.number(),
  ...shownSchema,
  /** The ask whole, with what was added to it while it waited. */
  text: z.string(),
  ref: z.string().nullable(),
  parent: z.string().nullable(),
  leaseUntil: z.number().nullable(),
  endedAt: z.number().nullable(),
  /** From its admission to its end, or to now. */
  ranMs: z.number().nullable(),
  messages: z.array(messageSchema.extend({ reached: z.boolean() })),
  notes: z.array(noteSchema),
  output: z.object({ out: keptSchema, err: keptSchema }),
  writeUp: z.string().nullable(),
  /** The ask that became of what was said to it and never reached it. */
  leftId: z.string().nullable(),
});
export type RunDetail = z.infer<typeof runDetailSchema>;

const offsetSchema = z.coerce
  .number("must be a whole number")
  .int("must be a whole number")
  .min(0, "must be at least 0");

/** `GET /runs/:id/output`: from which byte of each stream on. */
export const outputFromSchema = z.object({ out: offsetSchema.default(0), err: offsetSchema.default(0) });
export type OutputFrom = z.infer<typeof outputFromSchema>;

/** The data of an event of that route: bytes at their offset, the card, and last that there is no more. */
export const outputEventSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("output"),
    stream: z.enum(OUTPUT_STREAMS),
    /** Behind what was asked for where that is left out. */
    from: z.number(),
    data: z.base64(),
  }),
  z.object({ type: z.literal("card"), card: cardSchema, says: z.string() }),
  z.object({ type: z.literal("end"), out: z.number(), err: z.number() }),
]);
export type OutputEvent = z.infer<typeof outputEventSchema>;

/** The data of an event of `GET /events`; its id is the number of the card. */
export const cardEventSchema = z.object({ card: cardSchema, says: z.string() });
export type ToldCard = z.infer<typeof cardEventSchema>;

/** The table. `:id` is a run's. */
export const BOT_ROUTES = {
  healthz: {
    method: "GET",
    path: "/healthz",
    scopes: "public",
    body: null,
    answers: "botHealthSchema",
    says: "Which bot answers, what it has in flight and queued, and what closes its door.",
  },
  drain: {
    method: "POST",
    path: "/drain",
    scopes: ["drain"],
    body: "drainBodySchema",
    answers: "botDrainAnswerSchema",
    says: "A copy of a deploy's drain: new asks are queued until it is lifted, or ends by itself. Answers who waits under it.",
  },
  undrain: {
    method: "POST",
    path: "/undrain",
    scopes: ["drain"],
    body: "undrainBodySchema",
    answers: "botUndrainAnswerSchema",
    says: "Lift that copy; idempotent. Answers who waits, and has waited, under it.",
  },
  ask: {
    method: "POST",
    path: "/asks",
    scopes: ["operator"],
    body: "askBodySchema",
    answers: "askAnswerSchema",
    says: "Ask for a run: admitted or queued, answered at once; the same key is the same ask.",
  },
  runs: {
    method: "GET",
    path: "/runs",
    scopes: ["read", "operator"],
    body: null,
    answers: "runListSchema",
    says: "What is queued and in flight, one line each, then what has ended, newest first. `?before=`, `?limit=`, `?resource=`.",
  },
  run: {
    method: "GET",
    path: "/runs/:id",
    scopes: ["read", "operator"],
    body: null,
    answers: "runDetailSchema",
    says: "One ask: its card, its notes, how it ended, its write-up.",
  },
  output: {
    method: "GET",
    path: "/runs/:id/output",
    scopes: ["read", "operator"],
    body: null,
    answers: "outputEventSchema",
    says: "SSE: the run's output from `?out=` and `?err=` on, as it comes, and its card at each change. An id resumes it.",
  },
  stop: {
    method: "POST",
    path: "/runs/:id/stop",
    scopes: ["operator"],
    body: "stopBodySchema",
    answers: "messageAnswerSchema",
    says: "Stop a run, or take an ask out of the queue.",
  },
  steer: {
    method: "POST",
    path: "/runs/:id/steer",
    scopes: ["operator"],
    body: "messageBodySchema",
    answers: "messageAnswerSchema",
    says: "Say something to a run in flight, at any time; to a queued ask it is added.",
  },
  events: {
    method: "GET",
    path: "/events",
    scopes: ["read", "operator"],
    body: null,
    answers: "cardEventSchema",
    says: "SSE: every card at each change, from `Last-Event-ID` on.",
  },
} as const satisfies Record<string, Route>;

export type BotRouteName = keyof typeof BOT_ROUTES;
export const BOT_ROUTE_NAMES = Object.keys(BOT_ROUTES).filter((name): name is BotRouteName => name in BOT_ROUTES);
