// How much the ledger takes: of one ask, of what is said to one run, of asks, and how much of it goes to a bot at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { APP, T0 } from "../../test/unit/coreSamples.ts";
import type { Ask } from "./ask.ts";
import { bytesOf } from "./askSize.ts";
import { LIMIT } from "./budgets.ts";
import {
  askStep,
  EMPTY_LEDGER,
  endRunStep,
  generationStep,
  messageStep,
  reclaimStep,
  type AskFound,
  type LedgerStore,
  type MessageFound,
} from "./ledger.ts";
import { liveIn } from "./turn.ts";

const askOf = (n: number, more: Partial<Ask> = {}): Ask => ({
  id: `run-${n}`,
  key: `key-${n}`,
  threadKey: `web:T${n}`,
  resource: APP,
  kind: "shell",
  text: `text ${n}`,
  by: "ada",
  channel: "web",
  leaseMs: null,
  ref: null,
  parent: null,
  ...more,
});

const BEGUN = generationStep(EMPTY_LEDGER).store;

const asked = (store: LedgerStore, ask: Ask, open = true): { store: LedgerStore; found: AskFound } =>
  askStep(store, ask, { generation: 1, open, leaseMs: 1 }, T0);

const said = (
  store: LedgerStore,
  id: string,
  key: string,
  kind: "steer" | "stop" = "steer",
): { store: LedgerStore; found: MessageFound } => messageStep(store, id, { key, kind, text: `said ${key}` }, T0);

/** One run in flight. */
const FREE = asked(BEGUN, askOf(1)).store;
const held = liveIn(FREE, "web:T1") ?? assert.fail();

test("there is an end to how much is kept of one ask, of one run's messages, and of asks", () => {
  const long = "x".repeat(LIMIT.joinedChars);
  const full = messageStep(FREE, "run-1", { key: "said-1", kind: "steer", text: long }, T0).store;
  const size = (text: string, messages: number) => ({
    chars: LIMIT.joinedChars + text.length,
    bytes: LIMIT.joinedChars + text.length + 2,
    messages,
  });
  assert.deepEqual(said(full, "run-1", "said-2"), {
    store: full,
    found: { kind: "full", of: "entry", size: size("said said-2", 2) },
  });
  assert.equal(said(full, "run-1", "stop-1", "stop").found.kind, "taken", "a stop is always taken");
  const waits = asked(BEGUN, askOf(1, { text: long }), false).store;
  const over = said(waits, "run-1", "said-1");
  assert.deepEqual([over.store, over.found.kind], [waits, "full"]);
  const more = asked(waits, askOf(2, { threadKey: "web:T1" }));
  const longer = { ...size("\ntext 2", 1), bytes: LIMIT.joinedChars + 8 };
  assert.deepEqual(more, { store: waits, found: { kind: "full", of: "entry", size: longer } });
  const many = Array.from({ length: LIMIT.messages }, (_, n) => n).reduce(
    (store, n) => messageStep(store, "run-1", { key: `m-${n}`, kind: "steer", text: "" }, T0).store,
    FREE,
  );
  assert.equal(said(many, "run-1", "said-2").found.kind, "full");
  const crowd = {
    ...BEGUN,
    entries: Array.from({ length: LIMIT.ledgerEntries }, (_, n) => ({ ...held, ask: askOf(n + 9) })),
  };
  assert.deepEqual(asked(crowd, askOf(1)), { store: crowd, found: { kind: "full", of: "ledger" } });
});

test("all texts together have an end too, for an ask and for what is said; a stop passes, and what ends makes room", () => {
  const text = "x".repeat(LIMIT.askChars);
  const crowd = {
    ...BEGUN,
    entries: Array.from({ length: LIMIT.ledgerChars / LIMIT.askChars }, (_, n) => ({
      ...held,
      ask: askOf(n, { text }),
    })),
  };
  const full = { kind: "full", of: "ledger" };
  assert.deepEqual(asked(crowd, askOf(9_999)), { store: crowd, found: full });
  assert.deepEqual(said(crowd, "run-1", "said-1"), { store: crowd, found: full });
  assert.equal(said(crowd, "run-1", "stop-1", "stop").found.kind, "taken");
  const { store } = endRunStep(crowd, "run-2", { generation: 1, leftId: "left-2" }, T0);
  assert.equal(asked(store, askOf(9_999)).found.kind, "admitted");
  assert.equal(said(store, "run-1", "said-1").found.kind, "taken");
});

test("what is said in dear characters finds as much room as its bytes leave, and what is left of it is one ask", () => {
  const third = "漢".repeat(LIMIT.joinedBytes / 9 - 1);
  const say = (store: LedgerStore, n: number) =>
    messageStep(store, "run-1", { key: `m-${n}`, kind: "followUp", text: third }, T0);
  const full = [1, 2, 3].reduce((store, n) => say(store, n).store, FREE);
  assert.deepEqual(say(full, 4).found.kind, "full");
  const { left } = endRunStep(full, "run-1", { generation: 1, leftId: "left-1" }, T0).found ?? assert.fail();
  assert.equal(bytesOf(left?.ask.text ?? ""), 3 * 3 * third.length + 2 * 2);
  assert.ok(bytesOf(left?.ask.text ?? "") <= LIMIT.joinedBytes);
});

test("of many runs that are free as many are taken over at once as one answer holds, and the rest by the next", () => {
  const entries = Array.from({ length: LIMIT.reclaimedAtOnce + 2 }, (_, n) => ({
    ...held,
    ask: askOf(n),
    state: "handedOff" as const,
  }));
  let store: LedgerStore = { ...BEGUN, generation: 2, entries };
  const taken = [1, 2, 3].map(() => {
    const step = reclaimStep(store, 2, T0);
    store = step.store;
    return step.found.length;
  });
  assert.deepEqual(taken, [LIMIT.reclaimedAtOnce, 2, 0]);
});
