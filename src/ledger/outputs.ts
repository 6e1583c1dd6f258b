// The output of runs in rows: each stream's head and its last part, at their offsets. Rows that lie wholly in what is left
// out go as it grows, and all of a run's once many have ended after it.

import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { keptOf, readFrom } from "#core/keptOutput.ts";
import type { OutputStream } from "#wire/ledger.ts";

const partsSchema = z.array(z.object({ start: z.number(), data: z.instanceof(ArrayBuffer) }));

/** One stream of one run. */
export interface OutputOf {
  readonly id: string;
  readonly stream: OutputStream;
}

export interface Outputs {
  length(of: OutputOf): number;
  /** Appends bytes at the stream's end. */
  append(of: OutputOf, bytes: Uint8Array): void;
  /** What a reader gets from an offset: where it begins, and its bytes. */
  read(of: OutputOf, from: number): { readonly from: number; readonly bytes: Uint8Array };
  /** Lets the output of old runs of the history go. */
  prune(): void;
}

const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function lengthOf(sql: SqlStorage, { id, stream }: OutputOf): number {
  const rows = sql.exec("SELECT length FROM outputLength WHERE run = ? AND stream = ?", id, stream).toArray();
  return z.array(z.object({ length: z.number() })).parse(rows)[0]?.length ?? 0;
}

function append(sql: SqlStorage, { id, stream }: OutputOf, bytes: Uint8Array): void {
  const length = lengthOf(sql, { id, stream });
  const last = partsSchema.parse(
    sql
      .exec("SELECT start, data FROM output WHERE run = ? AND stream = ? ORDER BY start DESC LIMIT 1", id, stream)
      .toArray(),
  )[0];
  const isSmall = last !== undefined && last.data.byteLength + bytes.length <= LIMIT.outputRowBytes;
  const [start, data] = isSmall ? [last.start, joined(new Uint8Array(last.data), bytes)] : [length, bytes];
  sql.exec(
    "INSERT OR REPLACE INTO output (run, stream, start, data) VALUES (?,?,?,?)",
    id,
    stream,
    start,
    bufferOf(data),
  );
  const next = length + bytes.length;
  sql.exec("INSERT OR REPLACE INTO outputLength (run, stream, length) VALUES (?,?,?)", id, stream, next);
  const { cut } = keptOf(next);
  if (cut !== null)
    sql.exec(
      "DELETE FROM output WHERE run = ? AND stream = ? AND start >= ? AND start + length(data) <= ?",
      id,
      stream,
      cut.from,
      cut.to,
    );
}

function read(sql: SqlStorage, { id, stream }: OutputOf, from: number): ReturnType<Outputs["read"]> {
  const span = readFrom(lengthOf(sql, { id, stream }), from);
  const parts = partsSchema.parse(
    sql
      .exec(
        `SELECT start, data FROM output WHERE run = ? AND stream = ? AND start < ? AND start + length(data) > ?
         ORDER BY start`,
        id,
        stream,
        span.to,
        span.from,
      )
      .toArray(),
  );
  const bytes = new Uint8Array(span.to - span.from);
  for (const { start, data } of parts) {
    const part = new Uint8Array(data).subarray(Math.max(0, span.from - start), span.to - start);
    bytes.set(part, Math.max(0, start - span.from));
  }
  return { from: span.from, bytes };
}

/** The outputs over one object's SQL storage, beside its history. */
export function outputsOf(sql: SqlStorage): Outputs {
  sql.exec(
    `CREATE TABLE IF NOT EXISTS output (run TEXT NOT NULL, stream TEXT NOT NULL, start INTEGER NOT NULL,
     data BLOB NOT NULL, PRIMARY KEY (run, stream, start))`,
  );
  sql.exec(
    `CREATE TABLE IF NOT EXISTS outputLength (run TEXT NOT NULL, stream TEXT NOT NULL, length INTEGER NOT NULL,
     PRIMARY KEY (run, stream))`,
  );
  return {
    length: (of) => lengthOf(sql, of),
    append: (of, bytes) => append(sql, of, bytes),
    read: (of, from) => read(sql, of, from),
    prune() {
      const old = `SELECT run FROM outputLength JOIN runs ON runs.id = outputLength.run
                   WHERE runs.n <= (SELECT max(n) FROM runs) - ?`;
      sql.exec(`DELETE FROM output WHERE run IN (${old})`, LIMIT.outputRuns);
      sql.exec(`DELETE FROM outputLength WHERE run IN (${old})`, LIMIT.outputRuns);
    },
  };
}
