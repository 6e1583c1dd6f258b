// Each storage step of a resident (invariants 1, 3, 9 and 15): a row and a seal never stand together, `seq` only moves on,
// a lease only earlier, and what a caller noted is deleted only as it was.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyStep, at, attachAskOf, BUDGETS, rowOf, T0 } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import { leaseSpent, type AttachAsk } from "./registration.ts";
import {
  admitStep,
  arriveStep,
  bootStep,
  cycledStep,
  cycleStep,
  EMPTY_RESIDENT,
  endStep,
  mayStartIn,
  rowStep,
  sealStep,
  toldStep,
  touchStep,
  unsealStep,
  type Arrival,
  type Look,
  type ResidentStore,
  type Seal,
  type TouchFound,
  type Touching,
} from "./resident.ts";
import { MINUTE, type Instant } from "./time.ts";

const storeOf = (more: Partial<ResidentStore> = {}): ResidentStore => ({ ...EMPTY_RESIDENT, incarnation: 1, ...more });
const busy = storeOf({ seq: 1, rows: [rowOf()] });
const seal: Seal = { drainId: "drain-a", attempt: 3, until: at(15) };
const open = (more: Partial<Extract<Look, { kind: "open" }>> = {}): Look => ({
  kind: "open",
  parentUntil: null,
  sealStands: false,
  asked: null,
  ...more,
});

const arrivals: readonly (readonly [
  says: string,
  ask: Partial<AttachAsk>,
  kind: Arrival["kind"],
  more?: { readonly underway?: boolean; readonly store?: ResidentStore; readonly now?: Instant },
])[] = [
  ["the first of its thread is new", { threadKey: "web:T9" }, "new"],
  ["one of a run whose attach is under way joins it", {}, "join", { underway: true }],
  [
    "one of a run that is attaching joins it",
    {},
    "join",
    { store: storeOf({ rows: [rowOf({ state: "attaching" })] }) },
  ],
  ["inv. 1: one of a registered run is admitted", {}, "registered"],
  ["one of an older generation is told so", { generation: 0 }, "oldGeneration"],
  ["a newer generation takes the run over", { generation: 2 }, "registered"],
  ["a lease in its grace is still admitted", {}, "registered", { now: at(31) }],
  ["a lease that is spent is told so", {}, "leaseSpent", { now: at(30) + CLOCK.graceMs }],
  ["another run of the thread is told who holds it", { runId: "run-b" }, "threadBusy"],
];
for (const [says, ask, kind, { underway = false, store = busy, now = T0 } = {}] of arrivals)
  test(`an attach that arrives: ${says}`, () => {
    const stepped = arriveStep(store, { ask: attachAskOf(ask), underway }, now);
    assert.equal(stepped.found.kind, kind);
    assert.equal(stepped.store === store, kind !== "registered");
  });

const replacing: readonly (readonly [says: string, replace: AttachAsk["replace"], may: boolean])[] = [
  ["nobody's word ends the run that holds the thread", { by: "nobody" }, false],
  ["a person's word does", { by: "person" }, true],
  ["the ledger's does, naming that run", { by: "ledger", runId: "run-a" }, true],
  ["the ledger's of another run does not", { by: "ledger", runId: "run-z" }, false],
];
for (const [says, replace, may] of replacing)
  test(`a busy thread: ${says}`, () => {
    const ask = attachAskOf({ runId: "run-b", replace });
    const { found } = arriveStep(busy, { ask, underway: false }, T0);
    assert.deepEqual(found, { kind: "threadBusy", row: rowOf(), mayReplace: may });
  });

test("a registered run keeps its row: seq and generation move, its lease never later", () => {
  const again = (ask: Partial<AttachAsk>): ResidentStore =>
    arriveStep(busy, { ask: attachAskOf({ generation: 4, ...ask }), underway: false }, at(10)).store;
  assert.deepEqual(again({ remainingMs: 45 * MINUTE }).rows, [rowOf({ seq: 2, generation: 4 })]);
  assert.deepEqual(again({ remainingMs: 5 * MINUTE }).rows, [rowOf({ seq: 2, generation: 4, leaseUntil: at(15) })]);
  assert.equal(again({}).seq, 2);
  const long = storeOf({ seq: 1, rows: [rowOf({ leaseUntil: at(480) })] });
  const left = (remainingMs: number | null): Instant | undefined =>
    arriveStep(long, { ask: attachAskOf({ generation: 4, remainingMs }), underway: false }, at(10)).store.rows[0]
      ?.leaseUntil;
  assert.deepEqual(
    [left(null), left(470 * MINUTE), left(600 * MINUTE)],
    [at(480), at(480), at(480)],
    "as it was let in",
  );
});

const sealed: readonly (readonly [says: string, look: Look, now: Instant, written: boolean])[] = [
  ["that the look did not name refuses", open(), T0, false],
  ["of another attempt than the look named refuses", open({ asked: 2 }), T0, false],
  ["that stands by the registry's word refuses", open({ asked: 3, sealStands: true }), T0, false],
  ["that the registry says is nothing gives way", open({ asked: 3 }), T0, true],
  ["stands to its own end while nobody can be asked", { kind: "unreadable" }, at(15) - 1, false],
  ["gives way at its end, nobody being there to ask", { kind: "unreadable" }, at(15), true],
];
for (const [says, look, now, written] of sealed)
  test(`a seal ${says}`, () => {
    const store = storeOf({ seal, lastAttempt: 3 });
    const stepped = rowStep(store, { ask: attachAskOf(), look }, BUDGETS, now);
    if (!written) assert.deepEqual(stepped, { store, found: { kind: "sealed", seal } });
    else {
      assert.equal(stepped.found.kind, "written");
      assert.equal(stepped.store.seal, null);
      assert.equal(stepped.store.rows.length, 1);
    }
  });

test("a row is written as `attaching`, with the look's word of its parent", () => {
  const row = { ...rowOf(), state: "attaching" as const };
  const alone = rowStep(EMPTY_RESIDENT, { ask: attachAskOf(), look: open() }, BUDGETS, T0);
  assert.deepEqual(alone.found, { kind: "written", row });
  const child = { ask: attachAskOf({ parent: "run-p" }), look: open({ parentUntil: at(10) }) };
  const within = rowStep(EMPTY_RESIDENT, child, BUDGETS, T0);
  assert.deepEqual(within.store.rows, [{ ...row, kind: "child", parent: "run-p", leaseUntil: at(10) }]);
  const orphan = rowStep(EMPTY_RESIDENT, { ...child, look: { kind: "unreadable" } }, BUDGETS, T0);
  assert.deepEqual(orphan.store.rows, [{ ...row, parent: "run-p" }]);
});

test("a thread that was taken meanwhile is not written over", () => {
  const stepped = rowStep(busy, { ask: attachAskOf({ runId: "run-b" }), look: open() }, BUDGETS, T0);
  assert.deepEqual(stepped, { store: busy, found: { kind: "taken", row: rowOf() } });
});

test("an attach that succeeded runs at the seq it was written with, and not after its row has gone", () => {
  const attaching = storeOf({ seq: 1, rows: [rowOf({ state: "attaching" })] });
  const admitted = admitStep(attaching, "run-a", 1);
  assert.deepEqual(admitted.found, rowOf({ seq: 2 }));
  assert.deepEqual(admitStep(attaching, "run-a", 7), { store: attaching, found: null });
  assert.deepEqual(admitStep(EMPTY_RESIDENT, "run-a", 1), { store: EMPTY_RESIDENT, found: null });
  assert.deepEqual(admitStep(busy, "run-a", 0), { store: busy, found: rowOf() });
});

test("a row is deleted only as it was noted", () => {
  assert.deepEqual(endStep(busy, "run-a", 1), { store: { ...busy, seq: 2, rows: [] }, found: true });
  assert.deepEqual(endStep(busy, "run-a", 2), { store: busy, found: false });
  assert.deepEqual(endStep(busy, "run-z", 1), { store: busy, found: false });
});

const touches: readonly (readonly [
  says: string,
  asked: Partial<Touching>,
  kind: TouchFound["kind"],
  store?: ResidentStore,
])[] = [
  ["of the run that is registered moves its seq, which is its number", {}, "touched"],
  ["of the generation that holds the run too", { generation: 1 }, "touched"],
  ["of a newer one, whose attach is yet to be heard of, too", { generation: 2 }, "touched"],
  ["of an older one is nobody's who holds the run", { generation: 0 }, "oldGeneration"],
  ["of another run of the thread has to attach first", { runId: "run-b" }, "unregistered"],
  ["of an older generation of another run too", { runId: "run-b", generation: 0 }, "unregistered"],
  ["of a thread without a run too", { threadKey: "web:T9" }, "unregistered"],
  ["of one that is attaching still too", {}, "unregistered", storeOf({ rows: [rowOf({ state: "attaching" })] })],
];
for (const [says, asked, kind, store = busy] of touches)
  test(`an operation ${says}`, () => {
    const touching = { threadKey: "web:T1", runId: "run-a", generation: null, ...asked };
    const stepped = touchStep(store, touching);
    if (kind === "touched") {
      const row = rowOf({ seq: 2 });
      assert.deepEqual(stepped, { store: { ...store, seq: 2, rows: [row] }, found: { kind, row } });
    } else {
      const found = kind === "oldGeneration" ? { kind, row: rowOf() } : { kind };
      assert.deepEqual(stepped, { store, found });
    }
  });

const boots: readonly (readonly [says: string, meantFor: string | null, may: boolean])[] = [
  ["in the boot that it was meant for", "boot-1", true],
  ["in no other one", "boot-0", false],
  ["in none that nobody has named", "", false],
  ["in any where its caller does not say", null, true],
];
for (const [says, meantFor, may] of boots)
  test(`a command is started ${says}`, () => assert.equal(mayStartIn("boot-1", meantFor), may));

test("a resident promises to be quiet only where it has no row at all, and to the newest attempt", () => {
  const promised = sealStep(storeOf({ lastAttempt: 2 }), seal);
  assert.deepEqual(promised, { store: storeOf({ seal, lastAttempt: 3 }), found: { kind: "sealed" } });
  assert.deepEqual(sealStep(promised.store, seal).found, { kind: "sealed" });
  assert.deepEqual(sealStep(busy, seal), {
    store: { ...busy, lastAttempt: 3 },
    found: { kind: "busy", rows: busy.rows },
  });
  const later = storeOf({ lastAttempt: 4 });
  assert.deepEqual(sealStep(later, seal), { store: later, found: { kind: "stale", newest: 4 } });
});

test("an attempt takes back its own seal and no other", () => {
  const promised = storeOf({ seal, lastAttempt: 3 });
  assert.equal(unsealStep(promised, 3).seal, null);
  assert.equal(unsealStep(promised, 2), promised);
  assert.equal(unsealStep(EMPTY_RESIDENT, 3), EMPTY_RESIDENT);
});

test("a boot takes along what was attaching, and keeps what runs and the seal", () => {
  const rows = [rowOf(), rowOf({ runId: "run-b", threadKey: "web:T2", state: "attaching" })];
  const before = storeOf({ seq: 5, told: 4, rows, seal });
  assert.deepEqual(bootStep(before), { ...before, incarnation: 2, seq: 6, told: 0, rows: [rowOf()] });
});

test("a boot takes along a restart of the container that the old one had begun", () => {
  const before = storeOf({ seq: 5, cycling: true });
  assert.deepEqual(bootStep(before), { ...before, incarnation: 2, seq: 6, told: 0, cycling: false });
});

const attaching = rowOf({ state: "attaching" });
const cycles: readonly (readonly [
  says: string,
  more: Partial<ResidentStore>,
  asked: { readonly own: string | null; readonly live: number },
  busy: string | null,
])[] = [
  ["where nobody works", {}, { own: null, live: 0 }, null],
  ["under the row of the attach that asks", { rows: [attaching] }, { own: "run-a", live: 0 }, null],
  ["not under a run", { rows: [rowOf()] }, { own: null, live: 0 }, "in flight: run-a"],
  ["not under the run that asks, once it runs", { rows: [rowOf()] }, { own: "run-a", live: 0 }, "in flight: run-a"],
  ["not under another's attach", { rows: [attaching] }, { own: "run-b", live: 0 }, "in flight: run-a"],
  ["not under an attach when nobody's attach asks", { rows: [attaching] }, { own: null, live: 0 }, "in flight: run-a"],
  [
    "not under another run beside its own attach",
    { rows: [attaching, rowOf({ runId: "run-b", threadKey: "web:T2" })] },
    { own: "run-a", live: 0 },
    "in flight: run-b",
  ],
  [
    "not under two runs, both of which are named",
    { rows: [rowOf(), rowOf({ runId: "run-b", threadKey: "web:T2", kind: "rebuild" })] },
    { own: null, live: 0 },
    "in flight: run-a, run-b",
  ],
  ["not under a process of a run", {}, { own: null, live: 1 }, "1 processes of runs are alive"],
  ["not under another restart", { cycling: true }, { own: null, live: 0 }, "it is being restarted"],
  ["under a seal, which promises that nobody works", { seal, lastAttempt: 3 }, { own: null, live: 0 }, null],
];
for (const [says, more, asked, why] of cycles)
  test(`inv. 11: a container is restarted ${says}`, () => {
    const store = storeOf(more);
    const stepped = cycleStep(store, asked);
    if (why !== null) return assert.deepEqual(stepped, { store, found: { kind: "busy", why } });
    assert.deepEqual(stepped, { store: { ...store, cycling: true }, found: { kind: "begun" } });
  });

test("a restart that is over is none, and where there was none nothing changes", () => {
  const idle = storeOf();
  assert.deepEqual(cycledStep({ ...idle, cycling: true }), idle);
  assert.equal(cycledStep(idle), idle);
});

test("the registry's receipt of a word counts for its own boot, and never backwards", () => {
  const store = storeOf({ seq: 9, told: 4 });
  assert.equal(toldStep(store, 1, 7).told, 7);
  assert.equal(toldStep(store, 1, 2).told, 4);
  assert.equal(toldStep(store, 2, 7), store);
});

/** One step of a resident, as anything may happen to it. */
type Step = (store: ResidentStore, now: Instant) => ResidentStore;

const runs = fc.constantFrom("run-a", "run-b", "run-c");
const asks = fc
  .tuple(runs, fc.constantFrom("web:T1", "web:T2"), fc.nat(3), fc.option(fc.integer({ min: 1, max: 60 * MINUTE })))
  .map(([runId, threadKey, generation, remainingMs]) => attachAskOf({ runId, threadKey, generation, remainingMs }));
const anyLook: fc.Arbitrary<Look> = fc.oneof(
  fc.constant<Look>({ kind: "unreadable" }),
  fc.tuple(fc.boolean(), fc.option(fc.nat(5))).map(([sealStands, asked]) => open({ sealStands, asked })),
);
const someRow = (store: ResidentStore, index: number): { runId: string; seq: number; threadKey: string } =>
  store.rows[index % Math.max(1, store.rows.length)] ?? { runId: "run-z", seq: 0, threadKey: "web:T9" };
const anyResidentStep: fc.Arbitrary<Step> = fc.oneof(
  asks.map<Step>((ask) => (store, now) => arriveStep(store, { ask, underway: false }, now).store),
  fc.tuple(asks, anyLook).map<Step>(
    ([ask, look]) =>
      (store, now) =>
        rowStep(store, { ask, look }, BUDGETS, now).store,
  ),
  fc
    .nat(2)
    .map<Step>((index) => (store) => admitStep(store, someRow(store, index).runId, someRow(store, index).seq).store),
  fc
    .nat(2)
    .map<Step>((index) => (store) => endStep(store, someRow(store, index).runId, someRow(store, index).seq).store),
  fc.tuple(fc.nat(2), fc.option(fc.nat(3))).map<Step>(([index, generation]) => (store) => {
    const { threadKey, runId } = someRow(store, index);
    return touchStep(store, { threadKey, runId, generation }).store;
  }),
  fc
    .nat(5)
    .map<Step>(
      (attempt) => (store, now) => sealStep(store, { drainId: "drain-a", attempt, until: now + MINUTE }).store,
    ),
  fc.nat(5).map<Step>((attempt) => (store) => unsealStep(store, attempt)),
  fc.constant<Step>(bootStep),
  fc.tuple(runs, fc.nat(1)).map<Step>(
    ([own, live]) =>
      (store) =>
        cycleStep(store, { own, live }).store,
  ),
  fc.constant<Step>(cycledStep),
);

function keepsItsWord(before: ResidentStore, after: ResidentStore, now: Instant): void {
  assert.ok(after.seal === null || after.rows.length === 0, "a row stands under a seal");
  assert.ok(
    after.seq >= before.seq && after.incarnation >= before.incarnation && after.lastAttempt >= before.lastAttempt,
  );
  assert.equal(after.seq > before.seq, after.rows !== before.rows, "the rows changed and seq did not move");
  if (after.cycling && !before.cycling) {
    const runIds = new Set(after.rows.map((row) => (row.state === "attaching" ? row.runId : "in flight")));
    assert.ok(runIds.size <= 1 && !runIds.has("in flight"), "a restart began under a registration");
  }
  const threads = after.rows.map((row) => row.threadKey);
  assert.equal(new Set(threads).size, threads.length, "two rows of one thread");
  const seqs = after.rows.map((row) => row.seq);
  assert.equal(new Set(seqs).size, seqs.length, "two rows of one seq");
  for (const row of after.rows) {
    const was = before.rows.find((one) => one.threadKey === row.threadKey);
    assert.ok(row.leaseUntil <= now + BUDGETS.longestLeaseMs, "a lease is longer than the longest");
    if (was === undefined) assert.ok(row.state === "attaching", "a row begins as another than attaching");
    else {
      assert.equal(row.runId, was.runId, "a row was written over");
      assert.ok(row.leaseUntil <= was.leaseUntil, "a lease moved later");
      assert.ok(row.generation >= was.generation, "a generation moved back");
      assert.ok(!(was.state === "running" && row.state === "attaching"), "running went back to attaching");
      assert.ok(!leaseSpent(was, now) || row.leaseUntil === was.leaseUntil, "a spent lease was renewed");
    }
  }
}

test("inv. 1, 3, 15: after any steps in any order a resident keeps its word", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(anyResidentStep, anyStep), { maxLength: 40 }), (history) => {
      let store = EMPTY_RESIDENT;
      let now = T0;
      for (const [step, later] of history) {
        const after = step(store, now);
        keepsItsWord(store, after, now);
        store = after;
        now += later;
      }
    }),
    { numRuns: 300 },
  );
});
