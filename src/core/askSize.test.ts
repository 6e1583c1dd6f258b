// What is counted is what is sent: the bytes of a text in a JSON body, and never fewer than the kernel counts.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { bytesOf, hasRoom, sizeOf } from "./askSize.ts";
import type { Ask, Message } from "./ask.ts";
import { LIMIT } from "./budgets.ts";

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

test("a text has the bytes that JSON makes of it, and no fewer than its UTF-8", () => {
  const whole = fc.string({ unit: "binary" });
  const units = fc.array(fc.integer({ min: 0, max: 0xffff })).map((all) => String.fromCharCode(...all));
  fc.assert(
    fc.property(fc.oneof(whole, units), (text) => {
      assert.equal(bytesOf(text), jsonBytes(text));
      assert.ok(bytesOf(text) >= Buffer.byteLength(text));
    }),
  );
});

const each: readonly (readonly [says: string, text: string, bytes: number])[] = [
  ["a letter", "a", 1],
  ["a letter with a mark", "ü", 2],
  ["a CJK character", "漢", 3],
  ["one beyond the first plane", "😀", 4],
  ["half of such a one", "\ud83d", 6],
  ["another half", "\udc00", 6],
  ["the last before the halves", "\ud7ff", 3],
  ["the first behind them", "\ue000", 3],
  ["a quote", '"', 2],
  ["a backslash", "\\", 2],
  ["a line's end", "\n", 2],
  ["another control character", "\u001b", 6],
  ["a deleted one", "\u007f", 1],
];
for (const [says, text, bytes] of each)
  test(`${says} has ${bytes} bytes`, () => {
    assert.equal(bytesOf(text), bytes);
    assert.equal(jsonBytes(text), bytes);
  });

const askOf = (text: string): Ask => ({
  id: "run-1",
  key: "key-1",
  threadKey: "web:T1",
  resource: "repo:local/app",
  kind: "shell",
  text,
  by: "ada",
  channel: "web",
  leaseMs: null,
  ref: null,
  parent: null,
});
const message = (text: string): Message => ({ seq: 1, key: "k", kind: "steer", text, at: 0 });

test("an entry is as large as its ask, or as the one ask that may become of all that was said to it", () => {
  const ask = askOf("漢字");
  assert.deepEqual(sizeOf({ ask, messages: [] }), { chars: 2, bytes: 6, messages: 0 });
  const messages = ["漢", "ü", "x"].map(message);
  const joined = messages.map(({ text }) => text).join("\n");
  assert.deepEqual(sizeOf({ ask, messages }), { chars: 3, bytes: jsonBytes(joined), messages: 3 });
  assert.deepEqual(sizeOf({ ask: askOf(""), messages: [] }), { chars: 0, bytes: 0, messages: 0 });
});

test("there is room up to each of the limits, and not beyond any", () => {
  const most = { chars: LIMIT.joinedChars, bytes: LIMIT.joinedBytes, messages: LIMIT.messages };
  assert.ok(hasRoom(most));
  for (const over of ["chars", "bytes", "messages"] as const)
    assert.equal(hasRoom({ ...most, [over]: most[over] + 1 }), false, over);
});
