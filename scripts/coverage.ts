// Every line, branch and function of core/ is run by a test: what is not is named by file and line.

import path from "node:path";

interface Line {
  readonly line: number;
  readonly count: number;
}

/** The part of node:test's coverage summary that is read here. */
export interface Coverage {
  readonly files: readonly {
    readonly path: string;
    readonly lines: readonly Line[];
    readonly branches: readonly Line[];
    readonly functions: readonly (Line & { readonly name: string })[];
  }[];
}

function missed(of: readonly Line[]): number[] {
  return of.filter((one) => one.count === 0).map((one) => one.line);
}

/** Numbers as ranges: `3-5, 9`. */
function ranges(lines: readonly number[]): string {
  const sorted = [...new Set(lines)].toSorted((a, b) => a - b);
  const starts = sorted.filter((line) => !sorted.includes(line - 1));
  const ends = sorted.filter((line) => !sorted.includes(line + 1));
  return starts.map((start, index) => (start === ends[index] ? `${start}` : `${start}-${ends[index]}`)).join(", ");
}

/** One sentence for each file that is not covered whole. Empty when all are. */
export function coverageGaps(summary: Coverage): string[] {
  return summary.files.flatMap((file) => {
    const functions = file.functions
      .filter((one) => one.count === 0)
      .map((one) => `${one.name || "(unnamed)"} at ${one.line}`);
    const parts = [
      ["lines", ranges(missed(file.lines))],
      ["branches at", ranges(missed(file.branches))],
      ["functions", functions.join(", ")],
    ].filter(([, what]) => what !== "");
    const name = path.relative(process.cwd(), file.path);
    return parts.length === 0 ? [] : [`${name}: no test runs ${parts.map((part) => part.join(" ")).join("; ")}`];
  });
}
