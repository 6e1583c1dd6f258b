// Up to which of its words a bot was heard: what it says again, since the answer was lost, is heard once. Of older bots, which
// are heard no more, nothing is kept.

import * as z from "zod";

export interface Heard {
  /** The number of the last word of this bot that was heard; 0 before the first. */
  upTo(generation: number): number;
  hear(generation: number, n: number): void;
}

const rowsSchema = z.array(z.object({ n: z.number() }));

/** What was heard, over one object's SQL storage. */
export function heardOf(sql: SqlStorage): Heard {
  sql.exec("CREATE TABLE IF NOT EXISTS heard (generation INTEGER PRIMARY KEY, n INTEGER NOT NULL)");
  return {
    upTo: (generation) =>
      rowsSchema.parse(sql.exec("SELECT n FROM heard WHERE generation = ?", generation).toArray())[0]?.n ?? 0,
    hear(generation, n) {
      sql.exec("INSERT OR REPLACE INTO heard (generation, n) VALUES (?,?)", generation, n);
      sql.exec("DELETE FROM heard WHERE generation < ?", generation);
    },
  };
}
