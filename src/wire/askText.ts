// The text of an ask, and of what is said to one: the edge counts its characters, and any text of so many fits where its
// bytes count (core/budgets.ts). Whoever sent too much is told how much that was.

import * as z from "zod";
import { bytesOf } from "#core/askSize.ts";
import { LIMIT } from "#core/budgets.ts";
import { noNul } from "./agent.ts";

function tooLong(input: unknown): string {
  const text = typeof input === "string" ? input : "";
  const most = `is longer than ${LIMIT.askChars} characters`;
  return `${most}: it has ${text.length}, which are ${bytesOf(text)} bytes`;
}

/** A text that is no longer than an ask may be. */
export const askTextSchema = z
  .string("is missing: what is to be done")
  .max(LIMIT.askChars, { error: ({ input }) => tooLong(input) })
  .refine(noNul, "has a NUL");
