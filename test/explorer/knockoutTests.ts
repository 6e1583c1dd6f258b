// A guard as a test: without it the explorer finds a broken invariant, by a shortest path that shows the guard's own
// reason. A guard that could be taken out unseen would be a guard or a model too many.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Explored, Limits } from "./breadth.ts";
import type { GuardOf } from "./knockout.ts";
import { counterExampleText } from "./report.ts";
import type { Told } from "./worldTests.ts";

const STATES = 600_000;

/** Registers a test for each guard, over the worlds that it names. */
export function testGuards<C, W extends Told>(
  explore: (core: C, world: W, limits: Limits) => Explored,
  worlds: readonly W[],
  guards: readonly GuardOf<C>[],
): void {
  for (const { guard, core, world, invariant, steps, telling } of guards) {
    test(`without ${guard}, invariant ${invariant} is broken`, () => {
      const where = worlds.find((one) => one.name === world);
      assert.ok(where, `there is a world "${world}"`);
      const { counterExample } = explore(core, where, { states: STATES, only: [invariant] });
      assert.ok(counterExample, `nothing is broken in "${world}": the guard is not needed, or the world cannot tell`);
      const text = counterExampleText(counterExample);
      assert.equal(counterExample.invariant, invariant, text);
      assert.ok(
        counterExample.steps.some((step) => telling.test(step)),
        `no step says ${telling}:\n${text}`,
      );
      assert.equal(counterExample.steps.length, steps, `the shortest way has another length:\n${text}`);
    });
  }
}
