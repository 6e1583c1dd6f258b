// What has ended: runs with their verdicts and write-ups, the keys that stay known, and what was remarked on runs. Rows
// are only added, and the oldest go past their limits.

import * as z from "zod";
import type { Entry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Instant } from "#core/time.ts";
import {
  entrySchema,
  verdictSchema,
  type EndedRow,
  type HistoryQuery,
  type LedgerRun,
  type Note,
  type NoteBody,
} from "#wire/ledger.ts";
import { endedRowOf, type RunEnd } from "#wire/ledgerAnswers.ts";
import { jsonOf } from "#wire/parse.ts";

const rowSchema = z.object({
  n: z.number(),
  endedAt: z.number(),
  entry: z.string().transform(jsonOf).pipe(entrySchema),
  verdict: z.string().transform(jsonOf).pipe(verdictSchema),
  leftId: z.string().nullable(),
  writeUp: z.string(),
});
type HistoryRow = z.infer<typeof rowSchema>;

const noteSchema = z.object({ at: z.number(), kind: z.string(), text: z.string(), ms: z.number().nullable() });
const COLUMNS = "n, endedAt, entry, verdict, leftId, writeUp";

/** A run that has ended, whole. */
export interface EndedRun {
  readonly entry: Entry;
  readonly end: NonNullable<LedgerRun["ended"]>;
}

function endedOf({ entry, ...end }: HistoryRow): EndedRun {
  return { entry, end };
}

export interface History {
  add(entry: Entry, end: RunEnd, at: Instant): void;
  /** Whether an ask of this id has ended, also one whose row this build cannot read. */
  has(id: string): boolean;
  of(id: string): EndedRun | undefined;
  /** The ended ask that this was the key of, or that it was said to. */
  byKey(key: string): string | undefined;
  /** One page, newest first; a row that cannot be read is left out. `next` is null on the last one. */
  page(query: HistoryQuery): { readonly runs: EndedRow[]; readonly next: number | null };
  /** The card of its end is told. */
  told(id: string): void;
  note(note: Omit<NoteBody, "generation">, at: Instant): void;
  notes(id: string): Note[];
}

const TABLES = [
  `CREATE TABLE IF NOT EXISTS runs (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, endedAt INTEGER NOT NULL,
   resource TEXT NOT NULL, threadKey TEXT NOT NULL, entry TEXT NOT NULL, verdict TEXT NOT NULL, leftId TEXT,
   writeUp TEXT NOT NULL)`,
  "CREATE INDEX IF NOT EXISTS runsOfResource ON runs (resource, n)",
  "CREATE INDEX IF NOT EXISTS runsOfThread ON runs (threadKey, n)",
  "CREATE TABLE IF NOT EXISTS keys (n INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, id TEXT NOT NULL)",
  `CREATE TABLE IF NOT EXISTS notes (n INTEGER PRIMARY KEY AUTOINCREMENT, run TEXT NOT NULL, at INTEGER NOT NULL,
   kind TEXT NOT NULL, text TEXT NOT NULL, ms INTEGER)`,
  "CREATE INDEX IF NOT EXISTS notesOfRun ON notes (run, n)",
  "CREATE TABLE IF NOT EXISTS untold (run TEXT PRIMARY KEY)",
];

/** Lets go what is past the limits. */
function prune(sql: SqlStorage): void {
  const gone = "SELECT max(n) FROM runs";
  sql.exec(`DELETE FROM notes WHERE run IN (SELECT id FROM runs WHERE n <= (${gone}) - ?)`, LIMIT.historyRuns);
  sql.exec(`DELETE FROM untold WHERE run IN (SELECT id FROM runs WHERE n <= (${gone}) - ?)`, LIMIT.historyRuns);
  sql.exec(`DELETE FROM runs WHERE n <= (${gone}) - ?`, LIMIT.historyRuns);
  sql.exec("DELETE FROM keys WHERE n <= (SELECT max(n) FROM keys) - ?", LIMIT.endedKeys);
}

function add(sql: SqlStorage, entry: Entry, { verdict, leftId, writeUp }: RunEnd, at: Instant): void {
  const { id, resource, threadKey, key } = entry.ask;
  sql.exec(
    "INSERT INTO runs (id, endedAt, resource, threadKey, entry, verdict, leftId, writeUp) VALUES (?,?,?,?,?,?,?,?)",
    id,
    at,
    resource,
    threadKey,
    JSON.stringify(entry),
    JSON.stringify(verdict),
    leftId,
    writeUp,
  );
  sql.exec("INSERT OR IGNORE INTO untold (run) VALUES (?)", id);
  for (const one of [key, ...entry.messages.map((message) => message.key)])
    sql.exec("INSERT OR IGNORE INTO keys (key, id) VALUES (?,?)", one, id);
  prune(sql);
}

function page(sql: SqlStorage, { before, limit, resource, thread, untold }: HistoryQuery): ReturnType<History["page"]> {
  const given = [
    ["n < ?", before],
    ["resource = ?", resource],
    ["threadKey = ?", thread],
  ] as const;
  const wanted = given.filter(([, value]) => value !== undefined);
  const words = [...wanted.map(([said]) => said), ...(untold === undefined ? [] : ["id IN (SELECT run FROM untold)"])];
  const where = words.length === 0 ? "" : `WHERE ${words.join(" AND ")}`;
  const rows = sql.exec(
    `SELECT ${COLUMNS} FROM runs ${where} ORDER BY n DESC LIMIT ?`,
    ...wanted.flatMap(([, value]) => value ?? []),
    limit + 1,
  );
  const runs: EndedRow[] = [];
  let [count, last] = [0, 0];
  // One row after the other: each is as long as its ask, and only its line is kept.
  for (const row of rows) {
    if ((count += 1) > limit) return { runs, next: last };
    last = z.number().parse(row["n"]);
    const read = rowSchema.safeParse(row);
    if (read.success) runs.push(endedRowOf(read.data.entry, read.data));
  }
  return { runs, next: null };
}

/** The history over one object's SQL storage. */
export function historyOf(sql: SqlStorage): History {
  for (const table of TABLES) sql.exec(table);
  const ids = z.array(z.object({ id: z.string() }));
  return {
    add: (entry, end, at) => add(sql, entry, end, at),
    has: (id) => sql.exec("SELECT 1 FROM runs WHERE id = ?", id).toArray().length > 0,
    of(id) {
      const [row] = sql.exec(`SELECT ${COLUMNS} FROM runs WHERE id = ?`, id).toArray();
      const read = rowSchema.safeParse(row);
      return read.success ? endedOf(read.data) : undefined;
    },
    byKey: (key) => ids.parse(sql.exec("SELECT id FROM keys WHERE key = ?", key).toArray())[0]?.id,
    page: (query) => page(sql, query),
    told: (id) => void sql.exec("DELETE FROM untold WHERE run = ?", id),
    note({ id, kind, text, ms }, at) {
      sql.exec(
        `INSERT INTO notes (run, at, kind, text, ms) SELECT ?1, ?2, ?3, ?4, ?5
         WHERE NOT EXISTS (SELECT 1 FROM notes WHERE run = ?1 AND kind = ?3 AND text = ?4 AND ms IS ?5)`,
        id,
        at,
        kind,
        text,
        ms,
      );
      sql.exec(
        `DELETE FROM notes WHERE run = ?1 AND n NOT IN (SELECT n FROM notes WHERE run = ?1 ORDER BY n DESC LIMIT ?2)`,
        id,
        LIMIT.notesARun,
      );
    },
    notes: (id) =>
      z
        .array(noteSchema)
        .parse(sql.exec("SELECT at, kind, text, ms FROM notes WHERE run = ? ORDER BY n", id).toArray()),
  };
}
