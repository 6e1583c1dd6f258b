// What the ledger stores, over keys and tables as they lie on disk: a step is all or nothing, what cannot be read stands
// and is not written over, and nothing that is kept grows without an end.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { Ask, Entry } from "#core/ask.ts";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import {
  askStep,
  dispatchStep,
  generationStep,
  heartbeatStep,
  progressStep,
  reclaimStep,
  withoutEntry,
  type LedgerStore,
} from "#core/ledger.ts";
import { liveIn } from "#core/turn.ts";
import { cardsOf } from "./cards.ts";
import { historyOf } from "./history.ts";
import { outputsOf } from "./outputs.ts";
import { receiptsOf } from "./receipts.ts";
import { entryStorage, type EntryStorage } from "./store.ts";

type Keys = Readonly<Record<string, unknown>>;

/** An object's storage: keys in a map, tables in a real database, and a transaction over both. */
function storageOf(stored: Keys = {}): { storage: DurableObjectStorage; keys: () => Keys; database: DatabaseSync } {
  let map = new Map(Object.entries(structuredClone(stored)));
  const database = new DatabaseSync(":memory:");
  const kv = {
    get: (key: string) => map.get(key),
    put: (key: string, value: unknown) => void map.set(key, structuredClone(value)),
    delete: (key: string) => map.delete(key),
    list: ({ prefix = "" }) =>
      [...map].filter(([key]) => key.startsWith(prefix)).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
  const sql = {
    exec(query: string, ...given: (string | number | null | ArrayBuffer)[]) {
      const bound = given.map((one) => (one instanceof ArrayBuffer ? new Uint8Array(one) : one));
      const rows = database.prepare(query).all(...bound);
      const read = (value: unknown): unknown => (value instanceof Uint8Array ? new Uint8Array(value).buffer : value);
      const all = rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, one]) => [name, read(one)])));
      return { toArray: () => all, [Symbol.iterator]: () => all[Symbol.iterator]() };
    },
  };
  function transactionSync<T>(run: () => T): T {
    const before = new Map(map);
    database.exec("BEGIN");
    try {
      const found = run();
      database.exec("COMMIT");
      return found;
    } catch (error) {
      database.exec("ROLLBACK");
      map = before;
      throw error;
    }
  }
  const storage: unknown = { kv, sql, transactionSync };
  return { storage: storage as DurableObjectStorage, keys: () => Object.fromEntries(map), database };
}

const askOf = (n: number, more: Partial<Ask> = {}): Ask => ({
  id: `ask-00${n}`,
  key: `key-${n}`,
  threadKey: `web:T${n}`,
  resource: "repo:local/app",
  kind: "shell",
  text: `text ${n}`,
  by: "ada",
  channel: "web",
  leaseMs: null,
  ref: null,
  parent: null,
  ...more,
});

const doorsOf = (store: LedgerStore, open: boolean) => ({ generation: store.generation, open, leaseMs: 1_000 });
const ask = (entries: EntryStorage, n: number, open = true, more: Partial<Ask> = {}) =>
  entries.step((store) => askStep(store, askOf(n, more), doorsOf(store, open), 100));

/** Storage as a ledger leaves it that has one run and one ask that waits. */
function written(): Keys {
  const { storage, keys } = storageOf();
  const entries = entryStorage(storage);
  entries.step(generationStep);
  ask(entries, 1);
  ask(entries, 2, false);
  return keys();
}

test("a first boot reads an empty storage", () => {
  const entries = entryStorage(storageOf().storage);
  assert.deepEqual(entries.now(), { generation: 0, nextPlace: 1, nextSeq: 1, entries: [] });
  assert.deepEqual(entries.unreadable(), []);
});

test("what a step changed is read by the next boot, and what it took away is gone", () => {
  const { storage, keys } = storageOf();
  const entries = entryStorage(storage);
  entries.step(generationStep);
  for (const n of [1, 2]) ask(entries, n);
  assert.deepEqual(entryStorage(storage).now(), entries.now());
  assert.deepEqual(Object.keys(keys()).toSorted(), ["entry:web:T1|ask-001", "entry:web:T2|ask-002", "ledger"]);
  entries.step((store) => ({ store: withoutEntry(store, "ask-001"), found: null }));
  assert.deepEqual(entryStorage(storage).now(), entries.now());
  assert.deepEqual(Object.keys(keys()).toSorted(), ["entry:web:T2|ask-002", "ledger"]);
});

test("a step that fails has changed nothing, in keys, tables or memory", () => {
  const { storage, keys } = storageOf(written());
  const entries = entryStorage(storage);
  const history = historyOf(storage.sql);
  const [before, store] = [keys(), entries.now()];
  const [entry] = store.entries;
  assert.ok(entry);
  assert.throws(() =>
    entries.step((from) => {
      history.add(entry, { verdict: VERDICT, leftId: null, writeUp: "" }, 5);
      const step = askStep(from, askOf(3), doorsOf(from, true), 100);
      if (step.found.kind !== "known") throw new Error("in the middle");
      return step;
    }),
  );
  assert.deepEqual([keys(), entries.now(), history.has(entry.ask.id)], [before, store, false]);
});

test("a process that comes back holds every run for a lease, and an object that comes back within it does not", () => {
  const { storage } = storageOf(written());
  const heldAt = (boot: string | undefined, now: number): number | undefined => {
    const entries = entryStorage(storage);
    entries.begin(boot, now);
    return liveIn(entries.now(), "web:T1")?.heldUntil;
  };
  const lease = CLOCK.ledgerLeaseMs;
  assert.equal(heldAt("boot-1", 5_000), 5_000 + lease);
  assert.equal(heldAt("boot-1", 9_000), 5_000 + lease, "the same process");
  assert.equal(heldAt("boot-2", 9_500), 9_500 + lease);
  assert.equal(heldAt(undefined, 9_900), 9_900 + lease, "nobody says which process it is");
});

const [RUN, WAITS] = ["entry:web:T1|ask-001", "entry:web:T2|ask-002"] as const;

const spoiled: readonly (readonly [says: string, keys: Keys, thread: string])[] = [
  ["one of another shape", { [RUN]: { shape: 9 } }, "web:T1"],
  ["one that waits, too", { [WAITS]: "wax" }, "web:T2"],
  ["one under another's name", { "entry:web:T9|ask-009": written()[RUN] }, "web:T9"],
  ["a second live run of a thread", { "entry:web:T1|ask-009": secondRun() }, "web:T1"],
];
function secondRun(): unknown {
  const run = written()[RUN];
  return typeof run === "object" ? { ...run, place: 9, ask: askOf(9, { threadKey: "web:T1" }) } : undefined;
}
for (const [says, keys, thread] of spoiled)
  test(`an entry that cannot be believed stands, keeps its thread and is not written over: ${says}`, () => {
    const stored = { ...written(), ...keys };
    const { storage, keys: now } = storageOf(stored);
    const entries = entryStorage(storage);
    const [id = ""] = entries.unreadable();
    assert.equal(`entry:${thread}|${id}`, Object.keys(keys)[0], "by its own name");
    const stands = entries.now().entries.find((entry) => entry.ask.id === id);
    assert.deepEqual(
      [stands?.ask.threadKey, stands?.state, liveIn(entries.now(), thread) === undefined],
      [thread, "running", false],
    );
    entries.begin("boot-1", 5_000);
    assert.equal(ask(entries, 7, true, { threadKey: thread, resource: "repo:local/web" }).kind, "queued");
    const name = Object.keys(keys)[0] ?? "";
    assert.deepEqual(now()[name], keys[name], "after a restart of everything live");
    entries.step((store) => ({ store: withoutEntry(store, id), found: null }));
    assert.deepEqual([entries.unreadable(), name in now()], [[], false]);
    assert.deepEqual(entryStorage(storage).unreadable(), []);
    const again = entries.step((store) => askStep(store, { ...askOf(9), id }, doorsOf(store, false), 100));
    assert.ok(again.kind === "queued" || again.kind === "known");
    assert.equal(
      entryStorage(storage).now().entries.length,
      entries.now().entries.length,
      "whoever has its id now is kept",
    );
  });

test("a heartbeat writes how long each run is held, and none of what was asked or said", () => {
  const { storage, keys } = storageOf(written());
  const entries = entryStorage(storage);
  const before = keys();
  for (const now of [200, 300]) entries.step((store) => heartbeatStep(store, 1, now));
  const heldUntil = 300 + CLOCK.ledgerLeaseMs;
  assert.deepEqual(keys(), { ...before, "held:web:T1|ask-001": heldUntil });
  assert.equal(liveIn(entryStorage(storage).now(), "web:T1")?.heldUntil, heldUntil, "and the next boot reads it");
  entries.step((store) => progressStep(store, "ask-001", 1, { tries: 2 }));
  assert.equal("held:web:T1|ask-001" in keys(), false, "what is written whole has it");
  assert.deepEqual(entryStorage(storage).now(), entries.now());
  entries.step((store) => heartbeatStep(store, 1, 400));
  entries.step((store) => ({ store: withoutEntry(store, "ask-001"), found: null }));
  assert.deepEqual(Object.keys(keys()).toSorted(), [WAITS, "ledger"], "and nothing of it is left");
});

test("how long an ask is held that an older build has sent back to wait is not believed", () => {
  const entries = entryStorage(storageOf({ ...written(), "held:web:T2|ask-002": 9_000 }).storage);
  assert.equal(entries.now().entries.find(({ ask: { id } }) => id === "ask-002")?.heldUntil, 0);
});

test("the same id twice is believed once", () => {
  const run = written()[RUN];
  const other = typeof run === "object" ? { ...run, place: 9, ask: askOf(1, { threadKey: "web:T9" }) } : undefined;
  const entries = entryStorage(storageOf({ ...written(), "entry:web:T9|ask-001": other }).storage);
  assert.deepEqual(entries.unreadable(), ["unreadable-1"]);
  assert.equal(liveIn(entries.now(), "web:T1")?.ask.id, "ask-001");
});

test("counters that cannot be read give no number twice", () => {
  for (const ledger of [{ shape: 9 }, undefined]) {
    const { storage } = storageOf({ ...written(), ledger });
    const entries = entryStorage(storage);
    assert.equal(entries.now().nextPlace, 3);
    const generation = entries.step(generationStep);
    assert.ok(generation > 1_000_000, "no bot that lives has this number");
    entries.step((store) => reclaimStep(store, generation, 1e6));
    const next = entries.step((store) => dispatchStep(store, "repo:local/app", doorsOf(store, true), 100));
    assert.deepEqual([next?.ask.id, next?.holder], ["ask-002", generation]);
  }
});

const VERDICT = { ending: "finished", exit: 0, by: null, why: null } as const;
const END = { verdict: VERDICT, leftId: null, writeUp: "done" };

function entryOf(n: number, messages = 0): Entry {
  const { storage } = storageOf();
  const entries = entryStorage(storage);
  entries.step(generationStep);
  const { kind, ...found } = ask(entries, n);
  assert.ok(kind === "admitted" && "entry" in found);
  const said = Array.from({ length: messages }, (_, m) => ({
    seq: m + 1,
    key: `m-${n}-${m}`,
    kind: "steer" as const,
    text: "",
    at: 1,
  }));
  return { ...found.entry, messages: said };
}

test("the history keeps its newest runs, with their notes and keys, and lets the oldest go", () => {
  const { storage, database } = storageOf();
  const history = historyOf(storage.sql);
  const entry = entryOf(1);
  database.exec("BEGIN");
  const total = LIMIT.historyRuns + 2;
  for (let n = 1; n <= total; n += 1) {
    history.note({ id: `ask-00${n}`, kind: "remark", text: "x", ms: null }, n);
    history.add({ ...entry, ask: askOf(n) }, END, n);
  }
  assert.deepEqual([history.has("ask-002"), history.notes("ask-002"), history.of("ask-002")], [false, [], undefined]);
  assert.deepEqual([history.has("ask-003"), history.notes("ask-003").length], [true, 1]);
  assert.equal(history.page({ limit: LIMIT.rowsAPage }).runs[0]?.n, total);
  assert.equal(history.byKey("key-1"), "ask-001", "a key stays known longer than its run");
});

test("keys of ended asks are kept to a limit", () => {
  const { storage, database } = storageOf();
  const history = historyOf(storage.sql);
  const each = LIMIT.messages;
  const runs = Math.ceil(LIMIT.endedKeys / (each + 1)) + 1;
  database.exec("BEGIN");
  for (let n = 1; n <= runs; n += 1) history.add(entryOf(n, each), END, n);
  const [row] = database.prepare("SELECT count(*) AS n FROM keys").all();
  assert.equal(row?.["n"], LIMIT.endedKeys);
  assert.deepEqual([history.byKey("key-1"), history.byKey(`key-${runs}`)], [undefined, askOf(runs).id]);
});

test("a row of the history that cannot be read is left out of a page, and its ask has ended all the same", () => {
  const { storage, database } = storageOf();
  const history = historyOf(storage.sql);
  for (const n of [1, 2, 3]) history.add(entryOf(n), END, n);
  database.exec(
    "UPDATE runs SET entry = '{}' WHERE id = 'ask-003'; UPDATE runs SET verdict = '?' WHERE id = 'ask-002'",
  );
  const first = history.page({ limit: 2 });
  assert.deepEqual([first.runs, first.next], [[], 2], "and the next page is found behind it");
  assert.deepEqual(
    history.page({ limit: 2, before: 2 }).runs.map(({ id }) => id),
    ["ask-001"],
  );
  assert.deepEqual([history.has("ask-003"), history.of("ask-003")], [true, undefined]);
});

test("old runs lose their output, and a live one keeps its own", () => {
  const { storage, database } = storageOf();
  const [history, outputs] = [historyOf(storage.sql), outputsOf(storage.sql)];
  database.exec("BEGIN");
  const lengthOf = (id: string): number => outputs.length({ id, stream: "out" });
  for (const id of ["ask-001", "ask-002", "live"]) outputs.append({ id, stream: "out" }, new Uint8Array(9));
  for (let n = 1; n <= LIMIT.outputRuns + 1; n += 1) {
    history.add({ ...entryOf(1), ask: askOf(n) }, END, n);
    outputs.prune();
  }
  assert.deepEqual([lengthOf("ask-001"), lengthOf("ask-002"), lengthOf("live")], [0, 9, 9]);
  assert.equal(outputs.read({ id: "ask-001", stream: "out" }, 0).bytes.length, 0);
});

test("small appends share rows, and rows in what is left out go", () => {
  const { storage, database } = storageOf();
  const outputs = outputsOf(storage.sql);
  historyOf(storage.sql);
  const of = { id: "ask-001", stream: "out" } as const;
  const rows = (): number => Number(database.prepare("SELECT count(*) AS n FROM output").all()[0]?.["n"]);
  database.exec("BEGIN");
  const whole = Uint8Array.from({ length: 3 * LIMIT.outputRowBytes }, (_, n) => (n * 31 + (n >> 8)) % 256);
  for (let at = 0; at < whole.length; at += 96) outputs.append(of, whole.subarray(at, at + 96));
  assert.equal(outputs.length(of), whole.length);
  assert.ok(rows() <= 4, `${rows()} rows`);
  for (const from of [0, 97, LIMIT.outputRowBytes, whole.length - 3])
    assert.deepEqual(outputs.read(of, from).bytes, whole.subarray(from), `from ${from}`);
  const part = new Uint8Array(LIMIT.outputRowBytes / 2 + 1);
  const most = Math.ceil((LIMIT.outputHeadBytes + LIMIT.outputTailBytes) / part.length) + 3;
  for (let n = 0; n < 4 * most; n += 1) outputs.append(of, part);
  assert.ok(rows() <= most, `${rows()} rows`);
});

test("cards are kept to a limit, the newest of all asks", () => {
  const { storage, database } = storageOf();
  const cards = cardsOf(storage.sql);
  const plain = { bound: null, cause: null, position: null, quietBy: null, waitedMs: null, by: null, reason: null };
  const { id, resource, threadKey } = askOf(1);
  const card: CardEvent = { ...plain, id, resource, threadKey, state: "queued", since: 1, askedAt: 1, verdict: null };
  database.exec("BEGIN");
  cards.add(card, 1);
  const total = LIMIT.cards + 1;
  for (let n = 2; n <= total; n += 1) assert.equal(cards.add({ ...card, id: "ask-002", since: n }, n), n);
  const [row] = database.prepare("SELECT count(*) AS n, min(n) AS first FROM cards").all();
  assert.deepEqual([row?.["n"], row?.["first"]], [LIMIT.cards, 2]);
  assert.deepEqual([cards.of("ask-001"), cards.of("ask-002")?.since], [null, total]);
  assert.equal(cards.page({ after: 0, limit: 1 })[0]?.n, 2, "whoever goes on from one that is gone gets the oldest");
});

test("receipts are kept to a limit, the newest first", () => {
  const { storage } = storageOf();
  const receipts = receiptsOf(storage.sql);
  for (let n = 1; n <= LIMIT.receipts + 2; n += 1) receipts.keep({ drainId: `drain-${n}` });
  receipts.keep({ drainId: "drain-3", again: true });
  const kept = receipts.list({ limit: LIMIT.receipts + 9 });
  assert.deepEqual(
    [kept.length, kept[0], kept.at(-1)],
    [LIMIT.receipts, { drainId: "drain-3", again: true }, { drainId: "drain-4" }],
  );
});

test("a page of receipts ends with the one that fills it, and one by its id is always told", () => {
  const receipts = receiptsOf(storageOf().storage.sql);
  const text = "x".repeat(LIMIT.receiptsPageBytes / 40);
  for (let n = 1; n <= 60; n += 1) receipts.keep({ drainId: `drain-${n}`, text });
  assert.equal(receipts.list({ limit: 60 }).length, 40);
  assert.equal(receipts.list({ limit: 60, id: "drain-1" }).length, 1);
});
