// A world as a test: it is explored to its end and nothing is broken; together the worlds of a file take every step that
// they claim to be about.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { counterExampleText, report } from "./report.ts";
import { explore, type Explored } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import type { World } from "./world.ts";

const ENOUGH = 2_000_000;

/** Explores a world and tells it; `states` is where the search is cut off. */
export function exploredWell(world: World, states: number): Explored {
  const found = explore(SHIPPED, world, { states });
  console.log(report(world, found));
  const { counterExample } = found;
  assert.equal(counterExample, null, counterExample === null ? "" : counterExampleText(counterExample));
  return found;
}

/** Registers a test for each world, and one that each of `telling` is a step that was taken in some of them. */
export function testWorlds(worlds: readonly World[], telling: readonly RegExp[]): void {
  const explored: Explored[] = [];
  for (const world of worlds) {
    test(`${world.name}: ${world.says}`, () => {
      const found = exploredWell(world, ENOUGH);
      explored.push(found);
      assert.ok(found.complete, `${world.name} was not explored to its end: ${found.states} states`);
    });
  }

  test("together the worlds take every kind of step", () => {
    const labels = explored.flatMap(({ taken }) => [...taken.keys()]);
    const missing = telling.filter((step) => !labels.some((label) => step.test(label)));
    assert.deepEqual(missing.map(String), []);
  });

  after(() => {
    const sum = (of: (one: Explored) => number): number => explored.reduce((total, one) => total + of(one), 0);
    const figures = `${sum((one) => one.states).toLocaleString("en")} states, ${sum((one) => one.transitions).toLocaleString("en")} steps`;
    console.log(
      `explored ${figures} in ${sum((one) => one.seconds).toFixed(0)} s of processor time, ${Math.max(...explored.map((one) => one.megabytes))} MB`,
    );
  });
}
