// The registry's own sum: whatever order the residents' words come in, and however often, what counts is the newest one,
// and an attach that was told *open* is counted until a word of its own boot has answered for it.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { APP, at, rowOf, T0, WEB } from "../../test/unit/coreSamples.ts";
import {
  applyWord,
  countLook,
  emptyEntry,
  isQuiet,
  registeredUntil,
  sumOf,
  wordOf,
  type Counted,
  type Entry,
  type Word,
} from "./quiet.ts";
import { EMPTY_RESIDENT } from "./resident.ts";

const looks = (last: number, open: readonly number[] = []): Word["looks"] => ({ last, open });
const wordAt = (incarnation: number, seq: number, more: Partial<Word> = {}): Word => ({
  resource: APP,
  incarnation,
  seq,
  rows: [],
  looks: looks(0),
  ...more,
});
const counted = (incarnation: number, n: number): Counted => ({ incarnation, n, runId: `run-${n}`, at: T0 });
const entryOf = (more: Partial<Entry> = {}): Entry => ({ ...emptyEntry(APP), incarnation: 2, seq: 5, ...more });

test("a resident's word is its rows and its questions, under its boot and seq", () => {
  const store = { ...EMPTY_RESIDENT, incarnation: 3, seq: 8, rows: [rowOf()] };
  assert.deepEqual(wordOf(APP, store, looks(4, [4])), wordAt(3, 8, { rows: [rowOf()], looks: looks(4, [4]) }));
});

const words: readonly (readonly [says: string, word: Word, taken: boolean])[] = [
  ["a later one of the same boot is taken", wordAt(2, 6, { rows: [rowOf()] }), true],
  ["the same one again is taken", wordAt(2, 5, { rows: [rowOf()] }), true],
  ["an earlier one of the same boot is not", wordAt(2, 4, { rows: [rowOf()] }), false],
  ["the first one of a later boot is taken, whatever its seq", wordAt(3, 0, { rows: [rowOf()] }), true],
  ["a late one of an earlier boot is not", wordAt(1, 99, { rows: [rowOf()] }), false],
];
for (const [says, word, taken] of words)
  test(`a resident's word: ${says}`, () => {
    const entry = entryOf({ counted: [counted(3, 1)] });
    const after = applyWord(entry, word);
    if (!taken) return assert.equal(after, entry);
    assert.deepEqual(after.rows, word.rows);
    assert.deepEqual([after.incarnation, after.seq], [word.incarnation, word.seq]);
  });

const kept: readonly (readonly [says: string, look: Counted, word: Word, stays: boolean])[] = [
  ["stays while its question is open", counted(2, 3), wordAt(2, 6, { looks: looks(4, [3]) }), true],
  ["stays while its boot has not said so much", counted(2, 5), wordAt(2, 6, { looks: looks(4) }), true],
  ["goes once its question is answered", counted(2, 4), wordAt(2, 6, { looks: looks(4, [3]) }), false],
  ["goes with its boot", counted(2, 9), wordAt(3, 0), false],
  ["of a later boot stays", counted(3, 1), wordAt(2, 6, { looks: looks(9) }), true],
  ["stays at a word that was overtaken", counted(2, 3), wordAt(2, 4, { looks: looks(9) }), true],
];
for (const [says, look, word, stays] of kept)
  test(`an attach told *open* ${says}`, () => {
    const after = applyWord(countLook(entryOf(), look), word);
    assert.deepEqual(after.counted, stays ? [look] : []);
  });

test("a question that is sent again is counted once, and one of another boot beside it", () => {
  const once = countLook(entryOf(), counted(2, 1));
  assert.equal(countLook(once, counted(2, 1)), once);
  assert.equal(countLook(once, counted(2, 2)).counted.length, 2);
  assert.equal(countLook(once, counted(3, 1)).counted.length, 2);
});

test("a sum is what runs, what is on its way in, and when all its leases are over", () => {
  const rows = [rowOf(), rowOf({ runId: "run-b", threadKey: "web:T2", state: "attaching", leaseUntil: at(40) })];
  const busy = sumOf([entryOf({ rows, counted: [counted(2, 1)] }), emptyEntry(WEB)]);
  assert.deepEqual(busy, { runsInFlight: 1, attaching: 2, quietBy: at(40) });
  assert.equal(isQuiet(busy), false);
  assert.equal(isQuiet(sumOf([entryOf({ counted: [counted(2, 1)] })])), false);
  const quiet = sumOf([emptyEntry(APP), emptyEntry(WEB)]);
  assert.deepEqual(quiet, { runsInFlight: 0, attaching: 0, quietBy: null });
  assert.equal(isQuiet(quiet), true);
});

test("a parent is registered while its row runs, anywhere in the fleet", () => {
  const entries = [emptyEntry(WEB), entryOf({ rows: [rowOf(), rowOf({ runId: "run-b", state: "attaching" })] })];
  assert.equal(registeredUntil(entries, "run-a"), at(30));
  assert.equal(registeredUntil(entries, "run-b"), null);
  assert.equal(registeredUntil(entries, "run-c"), null);
});

/** Words of one resident over two boots, in the order in which it said them. */
const saidWords = fc
  .array(fc.tuple(fc.boolean(), fc.nat(2), fc.nat(3)), { minLength: 1, maxLength: 8 })
  .map((turns) => {
    let [incarnation, seq, last] = [1, 0, 0];
    return turns.map(([boots, rows, asks]) => {
      if (boots) [incarnation, last] = [incarnation + 1, 0];
      seq += 1;
      last += asks;
      return wordAt(incarnation, seq, { rows: Array.from({ length: rows }, () => rowOf({ seq })), looks: looks(last) });
    });
  });

test("words in any order and repeated at will give the sum of the newest", () => {
  const arbitrary = saidWords.chain((said) =>
    fc.tuple(fc.constant(said), fc.array(fc.constantFrom(...said), { maxLength: 12 }), fc.nat(said.length * 2)),
  );
  fc.assert(
    fc.property(arbitrary, ([said, others, where]) => {
      const newest = said.at(-1) ?? wordAt(1, 0);
      const came = [...others.slice(0, where), newest, ...others.slice(where)];
      const { rows, incarnation, seq } = came.reduce(applyWord, emptyEntry(APP));
      assert.deepEqual(
        { rows, incarnation, seq },
        { rows: newest.rows, incarnation: newest.incarnation, seq: newest.seq },
      );
    }),
  );
});

test("a counted attach is never lost before a word of its boot answers for it, whatever else comes", () => {
  const arbitrary = fc.tuple(saidWords, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 6 }), fc.nat(8));
  fc.assert(
    fc.property(arbitrary, ([said, incarnation, n, where]) => {
      const look = counted(incarnation, n);
      const first = said.slice(0, where).reduce(applyWord, emptyEntry(APP));
      let entry = countLook(first, look);
      for (const word of [...said.slice(where), ...said]) {
        const news =
          word.incarnation > entry.incarnation || (word.incarnation === entry.incarnation && word.seq >= entry.seq);
        const answers = word.incarnation > incarnation || (word.incarnation === incarnation && word.looks.last >= n);
        const was = entry.counted.length;
        entry = applyWord(entry, word);
        assert.equal(entry.counted.length, news && answers ? 0 : was);
      }
    }),
  );
});
