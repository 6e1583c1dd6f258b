// How large the largest of what the ledger keeps and tells is: below the bounds that core/budgets.ts reckons with. And a look
// at all entries is read whichever build of the ledger answers it, and whatever it cannot read of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { serialize } from "node:v8";
import type { Ask, Entry } from "#core/ask.ts";
import { hasRoom, sizeOf } from "#core/askSize.ts";
import { LIMIT } from "#core/budgets.ts";
import { reclaimAnswerSchema } from "./ledger.ts";
import { ledgerLookSchema } from "./ledgerLook.ts";
import { lineOf } from "./ledgerAnswers.ts";

/** Text that is as long as JSON can make it, and one that takes two bytes a character where it is kept. */
const texts = { "of control characters": "\u0001", "of CJK characters": "漢" } as const;

const id = "x".repeat(64);
const name = "n".repeat(LIMIT.threadKeyChars);

/** An entry that has room for nothing more, by characters of one kind. */
function largest(character: string): Entry {
  const bytes = Buffer.byteLength(JSON.stringify(character)) - 2;
  const text = character.repeat(Math.min(LIMIT.joinedChars, LIMIT.joinedBytes / bytes));
  const each = Math.floor((LIMIT.joinedBytes / LIMIT.messages - 2) / bytes);
  const ask: Ask = {
    id,
    key: character.repeat(LIMIT.threadKeyChars),
    threadKey: name,
    resource: name,
    kind: "k".repeat(32),
    text,
    by: character.repeat(LIMIT.byChars),
    channel: "slack",
    leaseMs: Number.MAX_SAFE_INTEGER,
    ref: "r".repeat(250),
    parent: id,
  };
  const at = Number.MAX_SAFE_INTEGER;
  const key = character.repeat(LIMIT.threadKeyChars);
  const message = { seq: at, key, kind: "followUp", text: character.repeat(each), at } as const;
  return {
    ask,
    askedAt: at,
    place: at,
    state: "handedOff",
    holder: at,
    heldUntil: at,
    admittedAt: at,
    leaseUntil: at,
    tries: at,
    reading: { procId: name, bootId: name, out: at, err: at },
    messages: Array.from({ length: LIMIT.messages }, () => message),
    delivered: at,
    toldOf: id,
    metDrain: id,
    verdict: { ending: "leaseSpent", exit: null, by: null, why: character.repeat(LIMIT.writeUpChars) },
  };
}

const bytesOfBoth = (value: unknown): readonly number[] => [
  serialize(value).length,
  Buffer.byteLength(JSON.stringify(value)),
];

for (const [says, character] of Object.entries(texts)) {
  test(`the largest entry is as large as is reckoned with, and so is its line: ${says}`, () => {
    const entry = largest(character);
    const size = sizeOf(entry);
    assert.ok(hasRoom(size), JSON.stringify(size));
    assert.equal(hasRoom(sizeOf({ ...entry, messages: [...entry.messages, ...entry.messages.slice(0, 1)] })), false);
    for (const bytes of bytesOfBoth(entry)) assert.ok(bytes <= LIMIT.entryBytes, `${bytes}`);
    for (const bytes of bytesOfBoth(lineOf(entry))) assert.ok(bytes <= LIMIT.lineBytes, `${bytes}`);
  });
}

const entry: Entry = { ...largest("漢"), messages: largest("漢").messages.slice(0, 3) };
const look = { now: 1, generation: 2, unreadable: ["unreadable-1"] };

test("a look is the same lines, whether the ledger answers by lines or, as an older one, with each entry whole", () => {
  const wanted = { ...look, entries: [lineOf(entry)] };
  assert.deepEqual(ledgerLookSchema.parse({ ...look, entries: [lineOf(entry)] }), wanted);
  assert.deepEqual(ledgerLookSchema.parse({ ...look, entries: [entry] }), wanted);
  assert.deepEqual([wanted.entries[0]?.said, wanted.entries[0]?.ask.text.length], [3, LIMIT.shownChars]);
});

test("what a build cannot read of a look is named, and hides nothing else of it", () => {
  const later = { ...lineOf(entry), ask: { ...lineOf(entry).ask, id: "run-000009" }, state: "ofALaterBuild" };
  const read = ledgerLookSchema.parse({ ...look, entries: [later, lineOf(entry), { shape: 9 }] });
  assert.deepEqual(read.entries, [lineOf(entry)]);
  assert.deepEqual(read.unreadable, ["unreadable-1", "run-000009", "an entry without an id"]);
});

test("what a build cannot read of what it takes over is left where it stands", () => {
  const later = { ...entry, state: "ofALaterBuild" };
  assert.deepEqual(reclaimAnswerSchema.parse({ now: 1, entries: [later, entry] }).entries, [entry]);
});
