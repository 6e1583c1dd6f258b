// The ledger's steps, each on its own: what an ask finds, who may write, whose run it is, what is said to it, its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { APP, T0, WEB } from "../../test/unit/coreSamples.ts";
import type { Ask, Entry, MessageKind } from "./ask.ts";
import { CLOCK } from "./budgets.ts";
import {
  askStep,
  dispatchStep,
  EMPTY_LEDGER,
  endRunStep,
  entryOf,
  generationStep,
  handOffStep,
  heartbeatStep,
  isFenced,
  ledgerBootStep,
  messageStep,
  positionOf,
  progressStep,
  reclaimStep,
  returnStep,
  toldStep,
  undelivered,
  withoutEntry,
  type AskFound,
  type LedgerStore,
} from "./ledger.ts";
import { MINUTE } from "./time.ts";
import { liveIn, queueOf, type Doors } from "./turn.ts";

const LEASE = 45 * MINUTE;

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

const doorsOf = (store: LedgerStore, open = true): Doors => ({ generation: store.generation, open, leaseMs: LEASE });

/** A ledger whose first bot has begun. */
const BEGUN = generationStep(EMPTY_LEDGER).store;

const asked = (store: LedgerStore, ask: Ask, open = true): { store: LedgerStore; found: AskFound } =>
  askStep(store, ask, doorsOf(store, open), T0);

/** The store after these asks. */
const after = (asks: readonly Ask[], open = true, from: LedgerStore = BEGUN): LedgerStore =>
  asks.reduce((store, ask) => asked(store, ask, open).store, from);

const dispatched = (store: LedgerStore, open = true): string | undefined =>
  dispatchStep(store, APP, doorsOf(store, open), T0).found?.ask.id;

const said = (store: LedgerStore, id: string, key: string, kind: MessageKind = "steer") =>
  messageStep(store, id, { key, kind, text: `said ${key}` }, T0 + 1);

/** What an ask finds, in a word or two. */
const wordsOf = (found: AskFound): string => {
  if (found.kind === "queued") return `queued ${found.position} behind the ${found.behind}`;
  return found.kind === "added" ? `added ${found.position}` : found.kind;
};

const FREE = after([askOf(1)]);
const CLOSED = after([askOf(1), askOf(2)], false);
const finds: readonly (readonly [says: string, store: LedgerStore, ask: Ask, open: boolean, found: string])[] = [
  ["an open door lets it in", BEGUN, askOf(1), true, "admitted"],
  ["a closed door has it wait", BEGUN, askOf(1), false, "queued 1 behind the door"],
  ["it waits behind who waits already", CLOSED, askOf(3), true, "queued 3 behind the queue"],
  ["another repository's queue is not before it", CLOSED, askOf(3, { resource: WEB }), true, "admitted"],
  ["its thread is busy", FREE, askOf(2, { threadKey: "web:T1" }), true, "queued 1 behind the thread"],
  [
    "its thread is busy in another repository",
    FREE,
    askOf(2, { threadKey: "web:T1", resource: WEB }),
    true,
    "queued 1 behind the thread",
  ],
  [
    "who came earlier waits for a busy thread",
    after([askOf(1), askOf(2, { threadKey: "web:T1" })]),
    askOf(3),
    true,
    "admitted",
  ],
  ["its thread waits already", CLOSED, askOf(3, { threadKey: "web:T2" }), true, "added 2"],
  ["the same key is known", FREE, askOf(2, { key: "key-1" }), true, "known"],
  ["the same id is known", FREE, askOf(1, { key: "key-2" }), true, "known"],
  ["a message's key is known", said(FREE, "run-1", "said-1").store, askOf(2, { key: "said-1" }), true, "known"],
  ["a child of a live run passes a closed door", FREE, askOf(2, { parent: "run-1" }), false, "admitted"],
  ["a child of a run that waits waits too", CLOSED, askOf(3, { parent: "run-1" }), false, "queued 3 behind the door"],
  ["a child of nobody known waits", FREE, askOf(2, { parent: "run-9" }), false, "queued 1 behind the door"],
  [
    "a child waits for its thread",
    FREE,
    askOf(2, { parent: "run-1", threadKey: "web:T1" }),
    true,
    "queued 1 behind the thread",
  ],
];
for (const [says, store, ask, open, found] of finds)
  test(`an ask: ${says}`, () => assert.equal(wordsOf(asked(store, ask, open).found), found));

test("an ask that is known or refused changes nothing", () => {
  for (const ask of [askOf(2, { key: "key-1" }), askOf(1)]) assert.equal(asked(FREE, ask).store, FREE);
  const newer = generationStep(FREE).store;
  assert.deepEqual(askStep(newer, askOf(2), doorsOf(FREE), T0), { store: newer, found: { kind: "fenced" } });
});

test("what is admitted has a row with a lease, and what waits has neither", () => {
  const run = entryOf(FREE, "run-1");
  assert.deepEqual(
    [run?.state, run?.holder, run?.heldUntil, run?.admittedAt, run?.leaseUntil, run?.tries],
    ["admitted", 1, T0 + CLOCK.ledgerLeaseMs, T0, T0 + LEASE, 1],
  );
  const waits = entryOf(CLOSED, "run-2");
  assert.deepEqual(
    [waits?.state, waits?.holder, waits?.heldUntil, waits?.admittedAt, waits?.leaseUntil, waits?.tries],
    ["queued", 0, 0, null, null, 0],
  );
});

const leases: readonly (readonly [says: string, ask: Partial<Ask>, leases: Doors["leases"] | null, ms: number])[] = [
  ["the given one", {}, null, LEASE],
  ["its kind's", { kind: "review" }, { review: 25 * MINUTE }, 25 * MINUTE],
  ["the given one for a kind without one", { kind: "other" }, { review: 25 * MINUTE }, LEASE],
  ["its own before both", { kind: "review", leaseMs: MINUTE }, { review: 25 * MINUTE }, MINUTE],
];
for (const [says, ask, kinds, ms] of leases)
  test(`a run's lease is ${says}`, () => {
    const doors = { ...doorsOf(BEGUN), ...(kinds === null ? {} : { leases: kinds ?? {} }) };
    const { found } = askStep(BEGUN, askOf(1, ask), doors, T0);
    assert.equal(found.kind === "admitted" ? found.entry.leaseUntil : 0, T0 + ms);
  });

test("the queue goes in the order of arrival, past who waits for a busy thread, and each once", () => {
  const store = after([askOf(1), askOf(2, { threadKey: "web:T1" }), askOf(3, { resource: WEB })]);
  const closed = after([askOf(4), askOf(5)], false, store);
  assert.deepEqual(
    queueOf(closed, APP).map(({ ask }) => ask.id),
    ["run-2", "run-4", "run-5"],
  );
  assert.deepEqual(
    [1, 2, 4, 5, 9].map((n) => positionOf(closed, `run-${n}`)),
    [0, 1, 2, 3, 0],
  );
  assert.equal(dispatched(closed, false), undefined, "its door is closed");
  const first = dispatchStep(closed, APP, doorsOf(closed), T0);
  assert.equal(first.found?.ask.id, "run-4", "the first whose thread is free");
  assert.equal(dispatched(first.store), "run-5");
  const newer = generationStep(closed).store;
  assert.deepEqual(dispatchStep(newer, APP, doorsOf(closed), T0), { store: newer, found: null });
});

test("a child of a live run is dispatched although the door is closed, once its thread is free", () => {
  const store = after([askOf(1), askOf(2)]);
  const waits = after([askOf(3)], false, store);
  const child = after([askOf(4, { parent: "run-1", threadKey: "web:T2" })], false, waits);
  assert.equal(dispatched(child, false), undefined, "its thread is busy");
  const free = endRunStep(child, "run-2", { generation: 1, leftId: "left-2" }, T0).store;
  assert.equal(dispatched(free, false), "run-4");
  assert.equal(dispatched(free, true), "run-3", "an open door keeps the order");
});

test("what ended an ask that waited stays with it, so that its key is known", () => {
  const { store, found } = said(CLOSED, "run-2", "stop-1", "stop");
  assert.ok(found.kind === "ended" && entryOf(store, "run-2") === undefined);
  assert.deepEqual(
    found.entry.messages.map(({ key, kind, seq }) => [key, kind, seq]),
    [["stop-1", "stop", CLOSED.nextSeq]],
  );
  assert.equal(store.nextSeq, CLOSED.nextSeq + 1);
});

test("a run that comes back waits at its old place, and its try did not count", () => {
  const store = after([askOf(1), askOf(2)], false);
  const run = dispatchStep(store, APP, doorsOf(store), T0).store;
  const back = returnStep(run, "run-1", 1, null);
  assert.deepEqual(back.found, { kind: "queued", entry: entryOf(store, "run-1") });
  assert.equal(positionOf(back.store, "run-1"), 1);
  for (const [says, from, generation] of [
    ["one that waits", store, 1],
    ["one that runs", progressStep(run, "run-1", 1, {}).store, 1],
    ["one that another bot holds", run, 2],
    ["one that is unknown", withoutEntry(run, "run-1"), 1],
  ] as const)
    assert.deepEqual(returnStep(from, "run-1", generation, null), { store: from, found: null }, says);
});

test("a run that comes back keeps what was said to it, and a stop ends it there", () => {
  const steered = said(FREE, "run-1", "said-1").store;
  const back = returnStep(steered, "run-1", 1, null).store;
  const longer = said(back, "run-1", "said-2");
  assert.ok(longer.found.kind === "added");
  assert.equal(longer.found.entry.ask.text, "text 1\nsaid said-1\nsaid said-2");
  assert.deepEqual(undelivered(longer.found.entry), []);
  const stopped = said(steered, "run-1", "stop-1", "stop").store;
  const ended = returnStep(stopped, "run-1", 1, null);
  assert.deepEqual([ended.found?.kind, ended.store.entries], ["ended", []]);
});

test("a restart holds every run for one more lease, and what is handed off or waits is left as it is", () => {
  const store = after([askOf(1), askOf(2)]);
  const handed = handOffStep(after([askOf(3)]), 1).store.entries;
  const waits = after([askOf(4)], false).entries;
  const all = { ...store, entries: [...store.entries, ...handed, ...waits] };
  const [one, two, ...rest] = ledgerBootStep(all, T0 + 5).entries;
  assert.deepEqual([one?.heldUntil, two?.heldUntil], [T0 + 5 + CLOCK.ledgerLeaseMs, T0 + 5 + CLOCK.ledgerLeaseMs]);
  assert.deepEqual(rest, [...handed, ...waits]);
  const [kept] = ledgerBootStep(all, T0 - 9).entries;
  assert.equal(kept?.heldUntil, T0 + CLOCK.ledgerLeaseMs, "never earlier");
});

test("a bot hands off for those before it that have ended, from that number on, and for nobody else", () => {
  const one = askStep(BEGUN, askOf(1), doorsOf(BEGUN), T0).store;
  const two = generationStep(one).store;
  const both = askStep(two, askOf(2, { resource: "repo:local/web" }), doorsOf(two), T0).store;
  const third = generationStep(both).store;
  const left = (since?: number) => handOffStep(third, 3, since);
  assert.deepEqual(
    [left().found, left(3).found, left(2).found, left(1).found],
    [[], [], ["run-2"], ["run-1", "run-2"]],
  );
  const { found, store } = reclaimStep(left(2).store, 3, T0);
  assert.deepEqual(handOffStep(store, 3, 2).found, [], "carried out late it takes nothing of the newest one's own");
  assert.deepEqual(
    found.map((entry) => [entry.ask.id, entry.holder]),
    [["run-2", 3]],
  );
});

test("only the newest bot writes", () => {
  const second = generationStep(BEGUN);
  assert.deepEqual([second.found, isFenced(second.store, 1), isFenced(second.store, 2)], [2, true, false]);
  assert.equal(isFenced(second.store, 3), true, "a number that was never given");
});

const held: Entry = (() => {
  const entry = entryOf(FREE, "run-1");
  assert.ok(entry);
  return entry;
})();
const withHeld = (more: Partial<Entry>): LedgerStore => ({ ...FREE, entries: [{ ...held, ...more }] });

test("progress is noted by who holds the run, and nothing of it goes back", () => {
  const reading = { procId: "p", bootId: "b", out: 4, err: 2 };
  const store = withHeld({ delivered: 3, tries: 2 });
  const { found } = progressStep(store, "run-1", 1, { reading, delivered: 4, tries: 3, leaseUntil: T0 + 1 });
  assert.deepEqual([found?.state, found?.reading, found?.delivered, found?.tries], ["running", reading, 4, 3]);
  assert.equal(found?.leaseUntil, T0 + 1);
  const lower = progressStep(store, "run-1", 1, { delivered: 1, tries: 1, leaseUntil: T0 + LEASE + 1 }).found;
  assert.deepEqual([lower?.delivered, lower?.tries, lower?.leaseUntil], [3, 2, T0 + LEASE]);
  const none = progressStep(withHeld({ leaseUntil: null }), "run-1", 1, { leaseUntil: T0 }).found;
  assert.deepEqual([none?.leaseUntil, none?.reading], [null, null]);
  for (const from of [withHeld({ holder: 2 }), withHeld({ state: "queued", holder: 0 }), BEGUN])
    assert.deepEqual(progressStep(from, "run-1", 1, {}), { store: from, found: null });
});

test("how a run ended is noted once: the first word stands", () => {
  const verdict = { ending: "finished", exit: 0, by: null, why: null } as const;
  const { store, found } = progressStep(withHeld({}), "run-1", 1, { verdict });
  assert.deepEqual(found?.verdict, verdict);
  const other = { ...verdict, ending: "failed", exit: 1 } as const;
  assert.deepEqual(progressStep(store, "run-1", 1, { verdict: other }).found?.verdict, verdict);
  assert.deepEqual(progressStep(store, "run-1", 1, { tries: 9 }).found?.verdict, verdict);
  assert.equal(progressStep(withHeld({}), "run-1", 1, {}).found?.verdict, null);
});

test("a heartbeat holds what its bot holds, and no more", () => {
  const store = after([askOf(2)], false, after([askOf(3)], true, FREE));
  const { store: beaten, found } = heartbeatStep(store, 1, T0 + 7);
  assert.deepEqual(found, ["run-1", "run-3"]);
  assert.deepEqual(
    beaten.entries.map(({ heldUntil }) => heldUntil),
    [T0 + 7, T0 + 7, -CLOCK.ledgerLeaseMs].map((at) => at + CLOCK.ledgerLeaseMs),
  );
  assert.deepEqual(heartbeatStep(BEGUN, 1, T0), { store: BEGUN, found: [] });
});

const reclaims: readonly (readonly [says: string, more: Partial<Entry>, now: number, state: string | undefined])[] = [
  ["one whose bot lives is left to it", {}, held.heldUntil - 1, undefined],
  ["one whose bot fell silent is taken", {}, held.heldUntil, "admitted"],
  ["one that was handed off is taken at once", { state: "handedOff" }, T0, "admitted"],
  [
    "one that was read goes on running",
    { state: "handedOff", reading: { procId: "p", bootId: "b", out: 0, err: 0 } },
    T0,
    "running",
  ],
  ["one's own is not taken again", { holder: 2 }, held.heldUntil, undefined],
  ["one that waits is nobody's", { state: "queued", holder: 0, heldUntil: 0 }, T0, undefined],
];
for (const [says, more, now, state] of reclaims)
  test(`a reclaim: ${says}`, () => {
    const store = generationStep(withHeld(more)).store;
    const { store: taken, found } = reclaimStep(store, 2, now);
    assert.deepEqual(
      found.map((entry) => entry.state),
      state === undefined ? [] : [state],
    );
    for (const entry of found) assert.deepEqual([entry.holder, entry.heldUntil], [2, now + CLOCK.ledgerLeaseMs]);
    assert.deepEqual(reclaimStep(taken, 2, now).found, [], "once");
    assert.deepEqual(reclaimStep(store, 1, now), { store, found: [] }, "an older bot takes nothing");
  });

test("what is said reaches a run in order, an ask that waits is longer by it, and one that is over hears nothing", () => {
  const taken = said(FREE, "run-1", "said-1");
  assert.ok(taken.found.kind === "taken" && taken.found.message.seq === 1 && taken.found.message.at === T0 + 1);
  assert.deepEqual(said(taken.store, "run-1", "said-1"), {
    store: taken.store,
    found: { kind: "known", entry: taken.found.entry },
  });
  const two = said(taken.store, "run-1", "said-2").store;
  assert.deepEqual(
    undelivered(entryOf(two, "run-1") ?? held).map(({ seq }) => seq),
    [1, 2],
  );
  const told = progressStep(two, "run-1", 1, { delivered: 1 }).found;
  assert.deepEqual(
    undelivered(told ?? held).map(({ key }) => key),
    ["said-2"],
  );
  const added = said(CLOSED, "run-2", "said-3").found;
  assert.ok(added.kind === "added" && added.entry.ask.text === "text 2\nsaid said-3" && added.entry.delivered === 1);
  const ended = said(CLOSED, "run-1", "said-4", "stop");
  assert.deepEqual([ended.found.kind, ended.store.entries.map(({ ask }) => ask.id)], ["ended", ["run-2"]]);
  assert.deepEqual(said(BEGUN, "run-1", "said-5"), { store: BEGUN, found: { kind: "over" } });
});

test("a run that is told to stop already is not told again, until it heard it", () => {
  const once = said(FREE, "run-1", "stop-1", "stop").store;
  assert.equal(said(once, "run-1", "stop-2", "stop").found.kind, "known");
  const heard = progressStep(once, "run-1", 1, { delivered: 1 }).store;
  assert.equal(said(heard, "run-1", "stop-2", "stop").found.kind, "taken");
});

test("what was not told to a run at its end is one ask of its thread, behind who waits already", () => {
  const told = [1, 2, 3].reduce((store, n) => said(store, "run-1", `said-${n}`).store, FREE);
  const store = after([askOf(5)], false, progressStep(told, "run-1", 1, { delivered: 1 }).store);
  const { store: rest, found } = endRunStep(store, "run-1", { generation: 1, leftId: "left-1" }, T0 + 9);
  const text = "said said-2\nsaid said-3";
  assert.deepEqual(found?.left?.ask, { ...askOf(1), id: "left-1", key: "key-1/left", text });
  assert.deepEqual([found?.left?.askedAt, found?.left?.state], [T0 + 9, "queued"]);
  assert.deepEqual(
    queueOf(rest, APP).map(({ ask }) => ask.id),
    ["run-5", "left-1"],
  );
  assert.equal(liveIn(rest, "web:T1"), undefined);
});

test("a stop answers what was said before it, and what is said after it is an ask", () => {
  const kinds: readonly MessageKind[] = ["steer", "stop", "followUp"];
  const store = kinds.reduce((before, kind, n) => said(before, "run-1", `said-${n}`, kind).store, FREE);
  const { found } = endRunStep(store, "run-1", { generation: 1, leftId: "left-1" }, T0);
  assert.equal(found?.left?.ask.text, "said said-2");
  const quiet = said(FREE, "run-1", "said-1", "stop").store;
  const end = endRunStep(quiet, "run-1", { generation: 1, leftId: "left-1" }, T0);
  assert.deepEqual([end.found?.left, end.store.entries], [null, []]);
  assert.deepEqual(endRunStep(FREE, "run-1", { generation: 2, leftId: "left-1" }, T0), { store: FREE, found: null });
});

test("an ask keeps which drain it met last: at its door, at its resident's, or as it was told", () => {
  const metBy = (ask: Ask, store: LedgerStore, closedBy: string | null): unknown => {
    const { found } = askStep(store, ask, { ...doorsOf(store, closedBy === null), closedBy }, T0);
    return "entry" in found ? found.entry.metDrain : assert.fail();
  };
  assert.equal(metBy(askOf(1), BEGUN, "drain-a"), "drain-a");
  assert.equal(metBy(askOf(2, { threadKey: "web:T1" }), FREE, "drain-a"), "drain-a", "behind its thread too");
  assert.equal(metBy(askOf(2, { threadKey: "web:T1" }), FREE, null), null);
  assert.equal(metBy(askOf(2, { threadKey: "web:T1", parent: "run-1" }), FREE, "drain-a"), null, "a part of a run");
  assert.equal(entryOf(CLOSED, "run-1")?.metDrain, null, "an older bot does not say by what a door is closed");
  const back = (from: LedgerStore, closedBy: string | null): unknown =>
    returnStep(from, "run-1", 1, closedBy).found?.entry.metDrain;
  assert.deepEqual([back(FREE, null), back(FREE, "drain-a")], [null, "drain-a"]);
  const twice = returnStep(FREE, "run-1", 1, "drain-a").store;
  const again = dispatchStep(twice, APP, doorsOf(twice), T0).store;
  assert.deepEqual([back(again, null), back(again, "drain-b")], ["drain-a", "drain-b"]);
  const stopped = said(again, "run-1", "stop-1", "stop").store;
  assert.equal(back(stopped, "drain-b"), "drain-b", "one that was told to stop meanwhile too");
  const told = (store: LedgerStore): unknown => entryOf(toldStep(store, "run-1", "drain-c"), "run-1")?.metDrain;
  assert.deepEqual([told(twice), told(again), told(FREE)], ["drain-c", "drain-a", "drain-c"], "a run keeps its own");
});

test("what an ask waits for is told once a drain", () => {
  const told = toldStep(CLOSED, "run-1", "drain-a");
  assert.equal(entryOf(told, "run-1")?.toldOf, "drain-a");
  assert.equal(toldStep(told, "run-1", "drain-a"), told);
  assert.equal(toldStep(told, "run-9", "drain-a"), told);
  assert.equal(entryOf(toldStep(told, "run-1", "drain-b"), "run-1")?.toldOf, "drain-b");
});
