// Tables without borders: headers in capitals, columns as wide as what stands in them, nothing after the last one.

import { plain } from "./plain.ts";

/** Lays rows out under their headers; without `headers` only the rows. */
export function table(columns: readonly string[], rows: readonly (readonly string[])[], headers = true): string[] {
  const clean = rows.map((row) => row.map(plain));
  const all = headers ? [columns, ...clean] : clean;
  const widths = columns.map((_, index) => Math.max(0, ...all.map((row) => (row[index] ?? "").length)));
  return all.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}
