// The bench's arithmetic: quantiles, seeded intervals, and blocks whose order treats equal arms alike.

import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as holds, double, integer, nat, property } from "fast-check";
import { ABBA, MIRRORED, orderOf, runBlocks, type ArmName } from "../../scripts/bench/blocks.ts";
import { estimate, isQuietEnough, median, p99, quantile, seeded } from "../../scripts/bench/statistics.ts";

const samples = array(integer({ min: 1, max: 1_000_000 }), { minLength: 1, maxLength: 60 });

test("a quantile falls between its neighbours", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 2, 3]), 2.5);
  assert.equal(quantile([10, 20], 0.25), 12.5);
  assert.equal(quantile([7], 0.95), 7);
  assert.throws(() => median([]), RangeError);
  assert.equal(p99(Array.from({ length: 499 }, () => 1)), undefined);
  assert.equal(p99(Array.from({ length: 500 }, () => 1)), 1);
});

test("a quantile stays within its samples and grows with p, whatever their order", () => {
  holds(
    property(samples, double({ min: 0, max: 1, noNaN: true }), (some, p) => {
      const value = quantile(some, p);
      assert.ok(value >= Math.min(...some) && value <= Math.max(...some));
      assert.ok(quantile(some, p / 2) <= value);
      assert.equal(quantile(some.toReversed(), p), value);
    }),
  );
});

test("a seed fixes every draw, and draws are spread", () => {
  const [one, same, other] = [seeded(7), seeded(7), seeded(8)];
  const drawn = Array.from({ length: 2_000 }, one);
  assert.deepEqual(Array.from({ length: 2_000 }, same), drawn);
  assert.notDeepEqual(Array.from({ length: 2_000 }, other), drawn);
  assert.ok(drawn.every((value) => value >= 0 && value < 1));
  assert.ok(Math.abs(drawn.reduce((sum, value) => sum + value, 0) / drawn.length - 0.5) < 0.03);
});

test("an interval holds the median, comes again with its seed, and is a point when nothing varies", () => {
  holds(
    property(samples, nat(), (ratios, seed) => {
      const found = estimate(ratios, seed);
      assert.equal(found.value, median(ratios));
      assert.ok(found.low <= found.value && found.value <= found.high);
      assert.deepEqual(estimate(ratios, seed), found);
    }),
    { numRuns: 20 },
  );
  assert.deepEqual(estimate([2, 2, 2], 1), { value: 2, low: 2, high: 2 });
});

test("an interval covers the truth about as often as it says", () => {
  const draw = seeded(42);
  const trials = 200;
  const covered = Array.from({ length: trials }, (_, n) => {
    const found = estimate(
      Array.from({ length: 15 }, () => 1 + (draw() - 0.5)),
      n,
    );
    return found.low <= 1 && 1 <= found.high;
  }).filter(Boolean).length;
  assert.ok(covered >= trials * 0.88, `covered ${covered} of ${trials}`);
});

test("equal arms are equal by both far ends, and where there is a gate they would pass it", () => {
  const rows: readonly [number, number, number | null, boolean][] = [
    [0.8, 1.25, null, true],
    [0.79, 1.1, null, false],
    [0.9, 1.26, null, false],
    [0.8, 1.25, 1.5, true],
    [0.9, 1.12, 1.15, true],
    [0.9, 1.2, 1.15, false],
    [0.85, 1.1, 1.15, false],
  ];
  for (const [low, high, gate, quiet] of rows) {
    assert.equal(isQuietEnough({ value: 1, low, high }, gate), quiet, `${low}–${high} at ${gate}`);
  }
});

test("each arm stands as early as it stands late, within a block or over two", () => {
  const meanPlace = (orders: readonly (readonly ArmName[])[], arm: ArmName): number => {
    const places = orders.flatMap((order) => order.flatMap((one, place) => (one === arm ? [place] : [])));
    return places.reduce((sum, place) => sum + place, 0) / places.length;
  };
  for (const order of [MIRRORED, ABBA]) {
    const two = [orderOf(order, 0), orderOf(order, 1)];
    const middle = (order.length - 1) / 2;
    for (const arm of ["a", "b", "again"] as const)
      assert.equal(meanPlace(two, arm), middle, `${arm} of ${order.join("")}`);
  }
});

interface Counted {
  readonly blocks: number;
  readonly ran: ArmName[];
}

async function blocksWithin(budgetMs: number, expectedMs: number): Promise<Counted> {
  const ran: ArmName[] = [];
  const run = async (arm: ArmName): Promise<number[]> => {
    ran.push(arm);
    return [1];
  };
  const { signal } = new AbortController();
  const plan = { order: ABBA, blocks: 3, budgetMs, run, signal, onBlock: () => undefined };
  const measured = await runBlocks(plan, expectedMs);
  return { blocks: measured.length, ran };
}

test("blocks stop at their number, and none begins that would not end in time", async () => {
  const all = await blocksWithin(60_000, 0);
  assert.equal(all.blocks, 3);
  assert.deepEqual(all.ran, ["a", "b", "b", "again", "again", "b", "b", "a", "a", "b", "b", "again"]);
  assert.deepEqual(await blocksWithin(60_000, 60_001), { blocks: 0, ran: [] });
});

test("a bench that is stopped begins no arm more", async () => {
  const stop = new AbortController();
  let ran = 0;
  const run = async (): Promise<number[]> => {
    ran += 1;
    stop.abort(new Error("stopped"));
    return [1];
  };
  const plan = { order: MIRRORED, blocks: 3, budgetMs: 60_000, run, signal: stop.signal, onBlock: () => undefined };
  await assert.rejects(runBlocks(plan, 0), /stopped/);
  assert.equal(ran, 1);
});
