// The cards of asks as they changed, numbered in their order, so that whoever follows them resumes where it stood. Rows are
// only added, and the oldest go past the limit.

import * as z from "zod";
import type { CardEvent } from "#core/card.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Instant } from "#core/time.ts";
import { cardSchema, type CardQuery, type KeptCard } from "#wire/ledger.ts";
import { isSameCard } from "#wire/ledgerAnswers.ts";
import { jsonOf } from "#wire/parse.ts";

const cardRowSchema = z.object({ n: z.number(), event: z.string().transform(jsonOf).pipe(cardSchema) });

export interface Cards {
  /** Keeps a card; the same as its run's newest is that one. Answers its number. */
  add(event: CardEvent, at: Instant): number;
  /** The newest card of a run. */
  of(id: string): CardEvent | null;
  /** Its number; 0 where there is none. */
  newest(id: string): number;
  /** A page in order: from after a number on, else the newest. One that cannot be read is left out. */
  page(query: CardQuery): KeptCard[];
}

function newestOf(sql: SqlStorage, id: string): KeptCard | undefined {
  const [row] = sql.exec("SELECT n, event FROM cards WHERE run = ? ORDER BY n DESC LIMIT 1", id).toArray();
  const read = cardRowSchema.safeParse(row);
  return read.success ? read.data : undefined;
}

function add(sql: SqlStorage, event: CardEvent, at: Instant): number {
  const newest = newestOf(sql, event.id);
  if (newest !== undefined && isSameCard(newest.event, event)) return newest.n;
  sql.exec("INSERT INTO cards (run, at, event) VALUES (?,?,?)", event.id, at, JSON.stringify(event));
  sql.exec("DELETE FROM cards WHERE n <= (SELECT max(n) FROM cards) - ?", LIMIT.cards);
  return z.object({ n: z.number() }).parse(sql.exec("SELECT max(n) AS n FROM cards").toArray()[0]).n;
}

function page(sql: SqlStorage, { after, limit }: CardQuery): KeptCard[] {
  const rows =
    after === undefined
      ? sql.exec("SELECT n, event FROM cards ORDER BY n DESC LIMIT ?", limit).toArray().toReversed()
      : sql.exec("SELECT n, event FROM cards WHERE n > ? ORDER BY n LIMIT ?", after, limit).toArray();
  return rows.flatMap((row) => {
    const read = cardRowSchema.safeParse(row);
    return read.success ? [read.data] : [];
  });
}

/** The cards over one object's SQL storage. */
export function cardsOf(sql: SqlStorage): Cards {
  sql.exec(
    `CREATE TABLE IF NOT EXISTS cards (n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, at INTEGER NOT NULL,
     event TEXT NOT NULL)`,
  );
  sql.exec("CREATE INDEX IF NOT EXISTS cardsOfRun ON cards (run, n)");
  return {
    add: (event, at) => add(sql, event, at),
    of: (id) => newestOf(sql, id)?.event ?? null,
    newest: (id) => newestOf(sql, id)?.n ?? 0,
    page: (query) => page(sql, query),
  };
}
