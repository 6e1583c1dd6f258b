// A table fits the terminal that it is shown in, and is whole where there is none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fittedTable } from "./fitted.ts";

const COLUMNS = ["RUN", "KIND", "CARD", "ASK"];
const ROWS = [
  ["r-1", "shell", "waiting for its turn · place 1", "fix the door that does not close"],
  ["r-2", "coding", "running", "short"],
];
const fitted = (width: number | null, headers = true): string[] =>
  fittedTable(COLUMNS, ROWS, headers, { width, spare: ["KIND"] });

test("it is whole where nobody has a width, or it fits", () => {
  assert.deepEqual(fitted(200), fitted(null));
  assert.match(
    fitted(null)[1] ?? "",
    /^r-1 {3}shell {4}waiting for its turn · place 1 {3}fix the door that does not close$/,
  );
});

test("the text at the end is cut first, then a column goes, and at last the line is cut", () => {
  assert.match(fitted(70)[1] ?? "", /^r-1 {3}shell {4}waiting for its turn · place 1 {3}fix the door that doe…$/);
  assert.deepEqual(fitted(55), [
    "RUN   CARD                             ASK",
    "r-1   waiting for its turn · place 1   fix the door th…",
    "r-2   running                          short",
  ]);
  assert.deepEqual(fitted(20, false), ["r-1   waiting for i…", "r-2   running      …"]);
  for (const width of [1, 10, 20, 40, 60, 80])
    assert.ok(
      fitted(width).every((line) => line.length <= width),
      String(width),
    );
});
