// What a row of docs/bench.md says follows from the samples of docs/bench.json by the rules that the page names. That the
// page is those samples' own, word for word, is held with every other generated document.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import type { Block } from "../../scripts/bench/blocks.ts";
import { benchPage, benchText } from "../../scripts/bench/page.ts";
import { newResults, parseResults, textOfResults, type PartId, type Results } from "../../scripts/bench/results.ts";
import { hasFailed, ratioRow, timeRows } from "../../scripts/bench/rows.ts";
import { patched, WITHOUT_GATE } from "../../scripts/bench/sources.ts";
import { root } from "../tidy/source.ts";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");

/** Blocks whose arms take these microseconds, with a spread around each. */
function blocksOf(count: number, micros: { a: number; b: number; again: number }): Block[] {
  const around = (middle: number): number[] => [-10, 0, 10].map((off) => middle + off);
  return Array.from({ length: count }, () => ({
    a: around(micros.a),
    b: around(micros.b),
    again: around(micros.again),
  }));
}

function resultsOf(id: PartId, blocks: Block[]): Results {
  const machine = { platform: "linux-x64", cpu: "a cpu", cores: 2, memoryGb: 4, node: "24.0.0", workerd: "1.0.0" };
  return newResults({
    takenAt: "2026-01-01T00:00:00.000Z",
    command: "npm run bench",
    commit: "abcdef0",
    full: false,
    seed: 1,
    machine: { ...machine, loadBefore: 0, loadAfter: 1 },
    parts: [{ id, blocks, firstStarts: [], tookMs: 1 }],
  });
}

const verdictOf = (id: PartId, blocks: Block[]): string =>
  ratioRow({ id, blocks, firstStarts: [], tookMs: 1 }, 1).verdict;

test("what is kept is read again as it was", () => {
  const results = parseResults(read("docs/bench.json"));
  assert.equal(textOfResults(results), read("docs/bench.json"));
});

test("one sample changed by hand is seen", () => {
  const results = resultsOf("M8", blocksOf(6, { a: 1_100, b: 1_000, again: 1_100 }));
  const forged = resultsOf("M8", blocksOf(6, { a: 1_000, b: 1_000, again: 1_100 }));
  assert.notEqual(benchPage(results), benchPage(forged));
});

test("a row passes, fails or says why it does neither", () => {
  const rows: readonly [string, Block[], string][] = [
    ["a ratio below the gate passes", blocksOf(6, { a: 1_100, b: 1_000, again: 1_100 }), "pass"],
    ["a ratio above the gate fails", blocksOf(6, { a: 1_200, b: 1_000, again: 1_200 }), "fail"],
    ["equal arms that differ make it noisy", blocksOf(6, { a: 1_200, b: 1_000, again: 1_600 }), "noisy"],
    ["four blocks are too few", blocksOf(4, { a: 1_200, b: 1_000, again: 1_200 }), "few"],
    ["no blocks are too few", [], "few"],
  ];
  for (const [says, blocks, verdict] of rows) assert.equal(verdictOf("M8", blocks), verdict, says);
  assert.equal(verdictOf("M1", blocksOf(6, { a: 9_000, b: 1_000, again: 9_000 })), "shown");
});

test("a gate looks at the interval's far end", () => {
  const cheap = blocksOf(5, { a: 1_000, b: 1_000, again: 1_000 });
  const dear = blocksOf(4, { a: 1_300, b: 1_000, again: 1_300 });
  const row = ratioRow({ id: "M8", blocks: [...cheap, ...dear], firstStarts: [], tookMs: 1 }, 1);
  assert.equal(row.ratio?.value, 1);
  assert.equal(row.verdict, "fail");
});

test("a check fails on a row past its gate alone", () => {
  assert.equal(hasFailed(resultsOf("M8", blocksOf(6, { a: 1_200, b: 1_000, again: 1_200 }))), true);
  assert.equal(hasFailed(resultsOf("M8", blocksOf(6, { a: 1_200, b: 1_000, again: 1_600 }))), false);
  assert.equal(hasFailed(resultsOf("M1", blocksOf(6, { a: 9_000, b: 1_000, again: 9_000 }))), false);
});

test("the arms of a reopening are compared by the run, and the one long arm is both of its trials", () => {
  const blocks = Array.from({ length: 6 }, () => ({ a: [9_000_000], b: [900_000, 1_100_000], again: [11_000_000] }));
  const row = ratioRow({ id: "M4", blocks, firstStarts: [], tookMs: 1 }, 1);
  assert.equal(row.ratio?.value, 1);
  assert.equal(row.equal?.value, 11 / 9);
});

test("without an equal arm nothing is judged", () => {
  const row = ratioRow(
    { id: "M4", blocks: [{ a: [20_000], b: [900, 1_100], again: [] }], firstStarts: [], tookMs: 1 },
    1,
  );
  assert.deepEqual([row.ratio?.value, row.equal, row.verdict], [2, null, "few"]);
});

test("a peer that did not run is absent, and a part that was not measured says so", () => {
  const page = benchPage(resultsOf("M1", blocksOf(6, { a: 1_000, b: 2_000, again: 1_000 })));
  assert.match(page, /\| M1 \| [^|]+ \| absent \| – \| ≤ 5 \| ≤ 1\.5 \| – \| – \| absent: BullMQ \|/);
  assert.match(page, /\| M1 · own \| [^|]+ \| 0\.50 \| 0\.50–0\.50 \|/);
  assert.match(benchText(resultsOf("M8", [])), /not measured .* few/);
});

test("a p99 wants 500 samples", () => {
  const [few] = timeRows({
    id: "M8",
    blocks: blocksOf(83, { a: 1_000, b: 1_000, again: 1_000 }),
    firstStarts: [],
    tookMs: 1,
  });
  const [many] = timeRows({
    id: "M8",
    blocks: blocksOf(84, { a: 1_000, b: 1_000, again: 1_000 }),
    firstStarts: [],
    tookMs: 1,
  });
  assert.deepEqual([few?.samples, few?.p99], [498, undefined]);
  assert.deepEqual([many?.samples, many?.p99], [504, 1.01]);
});

test("the patch that makes the arm without the gate finds its one place", () => {
  const source = read(WITHOUT_GATE.file);
  assert.notEqual(patched(source, WITHOUT_GATE), source);
  assert.throws(() => patched("nothing", WITHOUT_GATE), /has 0 places/);
  assert.throws(() => patched(`${WITHOUT_GATE.from};${WITHOUT_GATE.from}`, WITHOUT_GATE), /has 2 places/);
});
