// The audit log: who closed, sealed, lifted or opened what, when and why. Rows are only added, and the oldest go past the limit.

import { LIMIT } from "#core/budgets.ts";
import type { Instant } from "#core/time.ts";
import { auditRowSchema, type AuditRow } from "#wire/fleet.ts";

export interface Happening {
  readonly what: string;
  readonly principal: string;
  readonly drainId?: string | null;
  readonly resource?: string | null;
  readonly runId?: string | null;
  readonly by?: string | null;
  readonly reason?: string | null;
  readonly cause?: string | null;
}

export interface Audit {
  add(happening: Happening, at: Instant): void;
  after(id: number, limit: number): AuditRow[];
  /** The id of the newest row, 0 for none. */
  newest(): number;
}

const COLUMNS = "id, at, what, principal, drainId, resource, runId, cause, reason, asker";

function readRow(row: Record<string, unknown>): AuditRow {
  return auditRowSchema.parse({ ...row, by: row["asker"] });
}

/** The log over one object's SQL storage. */
export function auditOf(sql: SqlStorage): Audit {
  sql.exec(
    `CREATE TABLE IF NOT EXISTS audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, what TEXT NOT NULL,
     principal TEXT NOT NULL, drainId TEXT, resource TEXT, runId TEXT, cause TEXT, reason TEXT, asker TEXT)`,
  );
  return {
    add(one, at) {
      sql.exec(
        "INSERT INTO audit (at, what, principal, drainId, resource, runId, cause, reason, asker) VALUES (?,?,?,?,?,?,?,?,?)",
        at,
        one.what,
        one.principal,
        one.drainId ?? null,
        one.resource ?? null,
        one.runId ?? null,
        one.cause ?? null,
        one.reason ?? null,
        one.by ?? null,
      );
      sql.exec("DELETE FROM audit WHERE id <= (SELECT max(id) FROM audit) - ?", LIMIT.auditRows);
    },
    after: (id, limit) =>
      id < 0
        ? sql.exec(`SELECT ${COLUMNS} FROM audit ORDER BY id DESC LIMIT ?`, limit).toArray().map(readRow).reverse()
        : sql.exec(`SELECT ${COLUMNS} FROM audit WHERE id > ? ORDER BY id LIMIT ?`, id, limit).toArray().map(readRow),
    newest: () => Number(sql.exec("SELECT coalesce(max(id), 0) AS id FROM audit").one()["id"]),
  };
}
