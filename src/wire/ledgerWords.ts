// What a bot tells of its asks without waiting for it, many words in one request: a bot that has much to tell is not behind
// what it tells of. Each word is judged by itself, as if it had been said alone at its own route.

import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { problemSchema } from "./errors.ts";
import { cardBodySchema, doneSchema, noteBodySchema, toldBodySchema } from "./ledger.ts";

const { generation, event } = cardBodySchema.shape;

const wordSchema = z.discriminatedUnion("word", [
  z.object({ word: z.literal("card"), event }),
  noteBodySchema.omit({ generation: true }).extend({ word: z.literal("note") }),
  toldBodySchema.omit({ generation: true }).extend({ word: z.literal("told") }),
]);
/** A card that changes, a remark, or what an ask was told under a drain. */
export type Word = z.infer<typeof wordSchema>;

/** `POST /words`: in order. `first`: the number of the first of them, as this bot counts; what it said before is heard once. */
export const wordsBodySchema = z.object({
  generation,
  first: z.number("is missing: a whole number").int("must be a whole number").min(1, "must be at least 1"),
  words: z
    .array(wordSchema)
    .min(1, "must be at least one")
    .max(LIMIT.wordsAtOnce, `must be at most ${LIMIT.wordsAtOnce}`),
});
export type WordsBody = z.infer<typeof wordsBodySchema>;

/** Which of them the ledger refused, by their place; it has every other. */
export const wordsAnswerSchema = doneSchema.extend({
  refused: z.array(z.object({ at: z.number(), problem: problemSchema })),
});
export type WordsAnswer = z.infer<typeof wordsAnswerSchema>;
