// A table in a terminal that is narrower than it: no line wraps. The text at its end is cut first, then columns go that say
// what another one says too, and what is still too long is cut.

import { shortened } from "./plain.ts";
import { table } from "./table.ts";

/** Where a table goes: the terminal's width, null where there is none, and its columns that go first, in this order. */
export interface Place {
  readonly width: number | null;
  readonly spare: readonly string[];
}

/** The least of the last column that is worth its place. */
const LEAST = 12;

const longest = (lines: readonly string[]): number => Math.max(0, ...lines.map((line) => line.length));

/** Lays rows out under their headers, no line longer than the terminal is wide. */
export function fittedTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  headers: boolean,
  { width, spare }: Place,
): string[] {
  const lines = table(columns, rows, headers);
  if (width === null || longest(lines) <= width) return lines;
  const allButLast = (cells: readonly string[]): readonly string[] => cells.slice(0, -1);
  const before = longest(table(allButLast(columns), rows.map(allButLast), headers));
  const [first, ...rest] = spare;
  if (first === undefined || width - before > LEAST) return lines.map((line) => shortened(line, width));
  const left = columns.indexOf(first);
  const without = (cells: readonly string[]): string[] => cells.filter((_, index) => index !== left);
  return fittedTable(without(columns), rows.map(without), headers, { width, spare: rest });
}
