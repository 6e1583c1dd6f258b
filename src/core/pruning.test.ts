// Whatever has piled up, what is in use and the newest stay, and nothing goes while it cannot be told what is in use.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { CLOCK, REAL } from "./budgets.ts";
import { decidePruning, isAsideSpent, type InUse, type Piled, type Pruning } from "./pruning.ts";

const NOW = 50;
const using = (...names: string[]): InUse => ({ kind: "known", names: new Set(names) });
const piled = (names: string): Piled[] => names.split("").map((name, at) => ({ name, at }));
const letGo = (...names: string[]): Pruning => ({ kind: "letGo", names });

const decisions: readonly (readonly [
  says: string,
  args: readonly [readonly Piled[], InUse, number],
  found: Pruning,
])[] = [
  ["nothing has piled up", [[], using("a"), 2], letGo()],
  ["no more than are kept", [piled("ab"), using(), 2], letGo()],
  ["the oldest go", [piled("abcd"), using(), 2], letGo("b", "a")],
  ["what is in use stays, however old", [piled("abcd"), using("a"), 2], letGo("b")],
  ["what is in use counts among the newest", [piled("abcd"), using("c", "d"), 2], letGo("b", "a")],
  [
    "of two of one instant the first by name is the newer",
    [piled("ba").map((one) => ({ ...one, at: 7 })), using(), 1],
    letGo("b"),
  ],
  ["of which the order does not matter", [piled("ab").map((one) => ({ ...one, at: 7 })), using(), 1], letGo("b")],
  ["none of the newest is kept for its own sake", [piled("abc"), using("b"), 0], letGo("c", "a")],
  [
    "nobody can tell what is in use, and nothing would go",
    [piled("ab"), { kind: "unreadable", why: "it is spoiled" }, 2],
    letGo(),
  ],
  [
    "nobody can tell what is in use",
    [piled("abcd"), { kind: "unreadable", why: "it is spoiled" }, 0],
    { kind: "leave", why: "it is spoiled" },
  ],
];
for (const [says, args, found] of decisions)
  test(`pruning: ${says}`, () => assert.deepEqual(decidePruning(...args, NOW), found));

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 30 });

test("what goes is there, in use by nobody and older than at least so many; and of the rest no more could go", () => {
  const pile = names.chain((all) =>
    fc.tuple(...all.map((name) => fc.record({ name: fc.constant(name), at: fc.nat(9) }))),
  );
  fc.assert(
    fc.property(pile, names, fc.nat(10), (all, used, keep) => {
      const decided = decidePruning(all, using(...used), keep, NOW);
      assert.ok(decided.kind === "letGo");
      const gone = new Set(decided.names);
      const at = new Map(all.map((one) => [one.name, one.at]));
      const stay = all.filter(({ name }) => !gone.has(name));
      assert.equal(gone.size, decided.names.length, "none goes twice");
      for (const name of gone) {
        const instant = at.get(name);
        assert.ok(instant !== undefined && !used.includes(name), name);
        assert.ok(stay.filter((one) => one.at >= instant).length >= keep, `${name} is one of the newest`);
      }
      assert.ok(
        stay.filter(({ name }) => !used.includes(name)).length <= keep,
        "what is left is in use or among the newest",
      );
    }),
  );
});

test("pruning twice is pruning once, in whatever order the folder is read", () => {
  const pile = fc.uniqueArray(fc.record({ name: fc.string({ maxLength: 3 }), at: fc.nat(5) }), {
    selector: ({ name }) => name,
  });
  fc.assert(
    fc.property(pile, names, fc.nat(6), (all, used, keep) => {
      const first = decidePruning(all, using(...used), keep, NOW);
      assert.ok(first.kind === "letGo");
      const left = all.filter(({ name }) => !first.names.includes(name));
      assert.deepEqual(decidePruning(left, using(...used), keep, NOW), letGo());
      assert.deepEqual(decidePruning(all.toReversed(), using(...used), keep, NOW), first);
    }),
  );
});

test("what is of a clock that was set back since counts as the oldest, and what is made this very moment does not", () => {
  const ahead = { name: "ahead", at: NOW + REAL.requestMs + 1 };
  const made = { name: "made", at: NOW + REAL.requestMs };
  const old = { name: "old", at: 1 };
  assert.deepEqual(decidePruning([ahead, made, old], using(), 2, NOW), letGo("ahead"));
  assert.deepEqual(decidePruning([ahead, made, old], using(), 1, NOW), letGo("old", "ahead"));
});

test("what was set aside is kept for its time to the last ms", () => {
  assert.equal(isAsideSpent(5, 5 + CLOCK.keepDirtyMs - 1), false);
  assert.equal(isAsideSpent(5, 5 + CLOCK.keepDirtyMs), true);
  assert.equal(isAsideSpent(5, 0), false, "one from the future stays");
});
