// A world as a test: it is explored to its end and nothing is broken; together the worlds of a file take every step that
// they claim to be about.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Explored, Limits } from "./breadth.ts";
import { counterExampleText, report } from "./report.ts";

const ENOUGH = 2_000_000;

/** What a world says of itself, whatever it is a world of. */
export interface Told {
  readonly name: string;
  readonly says: string;
}

/** How the worlds of a test are searched. */
export type Search<W extends Told> = (world: W, limits: Limits) => Explored;

/** Explores a world and tells it; `states` is where the search is cut off. */
export function exploredWell<W extends Told>(search: Search<W>, world: W, states: number): Explored {
  const found = search(world, { states });
  console.log(report(world, found));
  const { counterExample } = found;
  assert.equal(counterExample, null, counterExample === null ? "" : counterExampleText(counterExample));
  return found;
}

/** Registers a test for each world, and one that each of `telling` is a step that was taken in some of them. */
export function testWorlds<W extends Told>(search: Search<W>, worlds: readonly W[], telling: readonly RegExp[]): void {
  const explored: Explored[] = [];
  for (const world of worlds) {
    test(`${world.name}: ${world.says}`, () => {
      const found = exploredWell(search, world, ENOUGH);
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
