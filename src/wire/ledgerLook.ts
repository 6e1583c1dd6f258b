// A look at everything that has not ended: one line each, so that a ledger which is full is still one answer. It is read
// whichever build of the ledger answers, and what cannot be read of it hides nothing else.

import * as z from "zod";
import { ENTRY_STATES, type SeenEntry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import { askSchema, entriesSchema, readingSchema } from "./ledger.ts";

/** `?brief=1`: one line each. An older ledger does not know of it, and answers with each whole. */
export const entriesQuerySchema = z.object({ brief: z.enum(["1"], "must be 1").optional() });

/** An entry as one line; of a whole one, which an older ledger answers, what a line has. */
const seenSchema: z.ZodType<SeenEntry> = z
  .object({
    ask: askSchema.pick({
      id: true,
      threadKey: true,
      resource: true,
      kind: true,
      text: true,
      by: true,
      channel: true,
      parent: true,
    }),
    askedAt: z.number(),
    place: z.number(),
    state: z.enum(ENTRY_STATES),
    holder: z.number(),
    heldUntil: z.number(),
    admittedAt: z.number().nullable(),
    leaseUntil: z.number().nullable(),
    tries: z.number(),
    reading: readingSchema.nullable(),
    delivered: z.number(),
    toldOf: z.string().nullable(),
    said: z.number().optional(),
    messages: z.array(z.unknown()).optional(),
  })
  .transform(({ messages = [], said = messages.length, ...line }) => {
    const text = line.ask.text.slice(0, LIMIT.shownChars);
    return { ...line, ask: { ...line.ask, text }, said };
  });

const nameless = z.object({ ask: z.object({ id: z.string() }) });

/** The answer to `?brief=1`. A line that this build cannot read is named beside those that the ledger cannot read. */
export const ledgerLookSchema = entriesSchema
  .extend({ entries: z.array(z.unknown()) })
  .transform(({ entries: all, unreadable, ...rest }) => {
    const entries: SeenEntry[] = [];
    const unread = new Set(unreadable);
    for (const one of all) {
      const read = seenSchema.safeParse(one);
      if (read.success) entries.push(read.data);
      else unread.add(nameless.safeParse(one).data?.ask.id ?? "an entry without an id");
    }
    return { ...rest, entries, unreadable: [...unread] };
  });
export type LedgerLook = z.infer<typeof ledgerLookSchema>;
