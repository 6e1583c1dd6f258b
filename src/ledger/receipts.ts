// The receipts of deploys, each under its drain's id as the deployer wrote it; the oldest go past the limit.

import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { keptReceiptSchema, type KeptReceipt, type ReceiptQuery } from "#wire/ledger.ts";
import { jsonOf } from "#wire/parse.ts";

const rowSchema = z.object({ receipt: z.string() });
const receiptSchema = z.string().transform(jsonOf).pipe(keptReceiptSchema);

export interface ReceiptBook {
  keep(receipt: KeptReceipt): void;
  /** Newest first, as many as one answer holds. */
  list(query: ReceiptQuery): KeptReceipt[];
}

/** The receipts over one object's SQL storage. */
export function receiptsOf(sql: SqlStorage): ReceiptBook {
  sql.exec(
    `CREATE TABLE IF NOT EXISTS receipts (n INTEGER PRIMARY KEY AUTOINCREMENT, drainId TEXT NOT NULL UNIQUE,
     receipt TEXT NOT NULL)`,
  );
  return {
    keep(receipt) {
      const text = JSON.stringify(receipt);
      sql.exec("INSERT OR REPLACE INTO receipts (drainId, receipt) VALUES (?,?)", receipt.drainId, text);
      sql.exec("DELETE FROM receipts WHERE n NOT IN (SELECT n FROM receipts ORDER BY n DESC LIMIT ?)", LIMIT.receipts);
    },
    list({ id, limit }) {
      const rows =
        id === undefined
          ? sql.exec("SELECT receipt FROM receipts ORDER BY n DESC LIMIT ?", limit)
          : sql.exec("SELECT receipt FROM receipts WHERE drainId = ?", id);
      const receipts: KeptReceipt[] = [];
      let chars = 0;
      for (const row of rows) {
        const { receipt } = rowSchema.parse(row);
        receipts.push(receiptSchema.parse(receipt));
        if ((chars += receipt.length) > LIMIT.receiptsPageBytes) break;
      }
      return receipts;
    },
  };
}
