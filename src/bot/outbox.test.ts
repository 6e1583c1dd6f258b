// What the bot tells the ledger: together while it is behind, in order, and one that is refused takes no other with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { LedgerInMemory } from "#client/ledgerForTests.ts";
import { raise, type ErrorCode } from "#wire/errors.ts";
import type { Word, WordsBody } from "#wire/ledgerWords.ts";
import { cardOfEntry } from "./cards.ts";
import { Outbox } from "./outbox.ts";
import { Steady } from "./steady.ts";

const ask = {
  key: "key-1",
  resource: "repo:local/app",
  kind: "shell",
  text: "true",
  by: "a test",
  channel: "cli",
  leaseMs: null,
  ref: null,
  parent: null,
} as const;
const ids = ["run-000001", "run-000002"] as const;
const noteOf = (text: string, id: string = ids[0]): Word => ({ word: "note", id, kind: "remark", text, ms: null });

async function scene(ledger = new LedgerInMemory(() => 1)) {
  const { generation } = await ledger.begin("a test");
  const doors = { generation, open: true, leaseMs: 1_000, passed: [] };
  for (const [n, id] of ids.entries())
    await ledger.ask({ ask: { ...ask, id, key: `key-${n}`, threadKey: `t:${n}` }, doors });
  const [over, logged] = [new AbortController(), new Array<string>()];
  const real = { now: () => 1, sleep: async () => undefined };
  const steady = new Steady({ ledger, real, over: over.signal, onFenced: () => over.abort() });
  const asked: WordsBody[] = [];
  const words = ledger.words.bind(ledger);
  const refusals: ErrorCode[] = [];
  ledger.words = async (body) => {
    const code = refusals.shift();
    if (code !== undefined) return raise(code, "as the test wants it");
    asked.push(body);
    return await words(body);
  };
  const outbox = new Outbox(steady, (_level, said) => void logged.push(said), generation);
  const heard: string[] = [];
  const tell = (word: Word): void => outbox.post(word, () => void heard.push(word.word === "note" ? word.text : ""));
  const kept = async (): Promise<string[]> => (await ledger.run(ids[0])).notes.map(({ text }) => text);
  return { ledger, outbox, tell, asked, refusals, heard, logged, kept };
}

test("what gathers behind a request goes with the next one, in order, as much as one may carry", async () => {
  const { outbox, tell, asked, heard, kept } = await scene();
  tell(noteOf("0"));
  await Promise.resolve();
  const rest = Array.from({ length: LIMIT.wordsAtOnce + 1 }, (_, n) => `${n + 1}`);
  for (const text of rest) tell(noteOf(text));
  await outbox.flushed();
  assert.deepEqual(
    asked.map(({ words }) => words.length),
    [1, LIMIT.wordsAtOnce, 1],
  );
  assert.deepEqual(heard, ["0", ...rest]);
  assert.deepEqual(await kept(), ["0", ...rest]);
  for (let n = 0; n < LIMIT.wordsAtOnce; n += 1) tell(noteOf("\n".repeat(LIMIT.noteChars - 3) + n));
  await outbox.flushed();
  assert.ok(asked.length > 4, "by their bytes");
  for (const body of asked) assert.ok(JSON.stringify(body).length < LIMIT.bodyBytes);
  await outbox.flushed();
});

test("one that is refused is logged, and what was never ours is not; every other is heard", async () => {
  const { outbox, tell, heard, logged } = await scene();
  tell(noteOf("first"));
  tell(noteOf("of nobody", "nobody-known"));
  tell(noteOf("last"));
  await outbox.flushed();
  assert.deepEqual([heard, logged], [["first", "last"], []]);
  tell(noteOf("x".repeat(LIMIT.noteChars + 1)));
  tell(noteOf("behind"));
  await outbox.flushed();
  assert.deepEqual([heard, logged], [["first", "last", "behind"], ["the ledger refused a word"]]);
});

test("a ledger that is away is asked again, one that does not know of many words takes them singly", async () => {
  const { outbox, tell, asked, refusals, heard, kept } = await scene();
  refusals.push("UNREACHABLE");
  tell(noteOf("one"));
  await outbox.flushed();
  assert.deepEqual([heard, asked.length], [["one"], 1]);
  refusals.push("NO_ROUTE");
  for (const text of ["two", "three"]) tell(noteOf(text));
  await outbox.flushed();
  assert.deepEqual(
    [heard, await kept()],
    [
      ["one", "two", "three"],
      ["one", "two", "three"],
    ],
  );
});

test("what was heard and whose answer was lost is heard once, in its order", async () => {
  const { ledger, outbox, tell, heard } = await scene();
  const words = ledger.words.bind(ledger);
  let isLost = true;
  ledger.words = async (body) => {
    const answer = await words(body);
    if (!isLost) return answer;
    isLost = false;
    return raise("UNREACHABLE", "the answer is lost");
  };
  const { entry } = await ledger.run(ids[0]);
  const positions = [1, 2, 1];
  for (const position of positions) outbox.post({ word: "card", event: { ...cardOfEntry(entry), position } });
  tell(noteOf("behind"));
  await outbox.flushed();
  assert.deepEqual(
    (await ledger.cards()).cards.map(({ event }) => event.position),
    positions,
  );
  assert.deepEqual(heard, ["behind"]);
});

test("a bot that was replaced tells nothing more", async () => {
  const { ledger, outbox, tell, heard, logged, kept } = await scene();
  await ledger.begin("the next");
  tell(noteOf("late"));
  await outbox.flushed();
  assert.deepEqual([heard, logged, await kept()], [[], [], []]);
});
