// Output stands where it was written, once: whatever is sent again or late, nothing is missing and nothing is there twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LIMIT } from "./budgets.ts";
import { decideAppend, keptOf, readFrom, type AppendFound, type Span } from "./keptOutput.ts";

const { outputHeadBytes: HEAD, outputTailBytes: TAIL, outputPartBytes: PART } = LIMIT;

const appends: readonly (readonly [says: string, args: readonly [number, number, number], found: AppendFound])[] = [
  ["the first bytes are new", [0, 0, 5], { kind: "append", skip: 0, length: 5 }],
  ["bytes at the end are new", [5, 5, 3], { kind: "append", skip: 0, length: 8 }],
  ["an overlap is trimmed", [5, 3, 4], { kind: "append", skip: 2, length: 7 }],
  ["what is known whole adds nothing", [5, 1, 4], { kind: "known" }],
  ["nothing adds nothing", [5, 5, 0], { kind: "known" }],
  ["what begins behind the end leaves a gap", [5, 6, 1], { kind: "gap" }],
];
for (const [says, [length, offset, size], found] of appends)
  test(`an append: ${says}`, () => assert.deepEqual(decideAppend(length, offset, size), found));

const cut: Span = { from: HEAD, to: HEAD + 7 };
const kept: readonly (readonly [says: string, length: number, found: ReturnType<typeof keptOf>])[] = [
  ["nothing", 0, { head: { from: 0, to: 0 }, tail: { from: 0, to: 0 }, cut: null }],
  ["a head alone", 9, { head: { from: 0, to: 9 }, tail: { from: 9, to: 9 }, cut: null }],
  [
    "a head and a tail that meet",
    HEAD + TAIL,
    { head: { from: 0, to: HEAD }, tail: { from: HEAD, to: HEAD + TAIL }, cut: null },
  ],
  [
    "a head, what is left out, and a tail",
    HEAD + TAIL + 7,
    { head: { from: 0, to: HEAD }, tail: { from: HEAD + 7, to: HEAD + TAIL + 7 }, cut },
  ],
];
for (const [says, length, found] of kept) test(`what is kept: ${says}`, () => assert.deepEqual(keptOf(length), found));

const LONG = HEAD + TAIL + 7;
const reads: readonly (readonly [says: string, length: number, from: number, span: Span])[] = [
  ["a short output is read to its end", 9, 2, { from: 2, to: 9 }],
  ["at its end there is nothing", 9, 9, { from: 9, to: 9 }],
  ["no more than one part at once", HEAD, 0, { from: 0, to: PART }],
  ["the head ends where something is left out", LONG, HEAD - 3, { from: HEAD - 3, to: HEAD }],
  ["in what is left out the tail comes next", LONG, HEAD + 1, { from: HEAD + 7, to: HEAD + 7 + PART }],
  ["in the tail it goes on", LONG, LONG - 4, { from: LONG - 4, to: LONG }],
];
for (const [says, length, from, span] of reads)
  test(`a read: ${says}`, () => assert.deepEqual(readFrom(length, from), span));

test("whatever is sent, in whatever pieces and however often, what stands is what was written", () => {
  const piece = fc.record({ from: fc.nat(60), size: fc.nat(20) });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const whole = Array.from({ length: 80 }, (_, n) => n);
      let stands: number[] = [];
      for (const { from, size } of pieces) {
        const found = decideAppend(stands.length, from, size);
        if (found.kind === "append") stands = [...stands, ...whole.slice(from, from + size).slice(found.skip)];
        if (found.kind === "append") assert.equal(found.length, stands.length);
        assert.equal(found.kind === "gap", from > stands.length);
      }
      assert.deepEqual(stands, whole.slice(0, stands.length));
    }),
  );
});

test("a reader that goes on from where it came to sees everything that is kept, once, and comes to the end", () => {
  fc.assert(
    fc.property(fc.nat(4 * (HEAD + TAIL)), (length) => {
      const { head, tail, cut: left } = keptOf(length);
      assert.ok(head.to - head.from <= HEAD && tail.to - tail.from <= TAIL);
      let [at, seen] = [0, 0];
      while (at < length) {
        const span = readFrom(length, at);
        assert.ok(span.from >= at && span.to > span.from && span.to - span.from <= PART);
        if (left !== null) assert.ok(span.to <= left.from || span.from >= left.to, "nothing that is left out");
        seen += span.to - span.from;
        at = span.to;
      }
      assert.equal(seen, head.to - head.from + (tail.to - tail.from));
    }),
  );
});
