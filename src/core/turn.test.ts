// Whose turn it is at a door: who stands there before a newcomer, and when a part of a run in flight waits too.

import assert from "node:assert/strict";
import { test } from "node:test";
import { APP, T0, WEB } from "../../test/unit/coreSamples.ts";
import type { Ask, Entry, Verdict } from "./ask.ts";
import { askStep, dispatchStep, EMPTY_LEDGER, generationStep, handOffStep, progressStep } from "./ledger.ts";
import { MINUTE } from "./time.ts";
import { behindWhat, nextInTurn, type Doors } from "./turn.ts";

type Store = typeof EMPTY_LEDGER;

const askOf = (n: number, more: Partial<Ask> = {}): Ask => ({
  id: `run-${n}`,
  key: `key-${n}`,
  threadKey: `web:T${n}`,
  resource: APP,
  kind: "shell",
  text: "",
  by: "ada",
  channel: "web",
  leaseMs: null,
  ref: null,
  parent: null,
  ...more,
});

const doorsOf = ({ generation }: Store, more: Partial<Doors> = {}): Doors => ({
  generation,
  open: true,
  leaseMs: MINUTE,
  ...more,
});

const asked = (store: Store, ask: Ask, more: Partial<Doors> = {}): Store =>
  askStep(store, ask, doorsOf(store, more), T0).store;

const READING = { procId: "process-1", bootId: "boot-1", out: 0, err: 0 };
const read = (store: Store, id: string): Store => progressStep(store, id, store.generation, { reading: READING }).store;

const next = (store: Store): Store => generationStep(store).store;

const BEGUN = next(EMPTY_LEDGER);
/** One was let in, and nobody has read from it yet. */
const ONE = asked(BEGUN, askOf(1));
const VERDICT: Verdict = { ending: "refused", exit: null, by: null, why: null };
const OVER = progressStep(ONE, "run-1", 1, { verdict: VERDICT }).store;
const LEFT = handOffStep(ONE, 1).store;
const CHILD = { parent: "run-1" };

const waits: readonly (readonly [
  says: string,
  store: Store,
  ask: Ask,
  more: Partial<Doors>,
  behind: ReturnType<typeof behindWhat>,
])[] = [
  ["behind one that stands at the door", ONE, askOf(2), { passed: [] }, "queue"],
  ["behind nobody once that one is past it", ONE, askOf(2), { passed: ["run-1"] }, null],
  ["behind nobody once that one is at work", read(ONE, "run-1"), askOf(2), { passed: [] }, null],
  ["behind nobody at another repository", ONE, askOf(2, { resource: WEB }), { passed: [] }, null],
  ["behind nobody by the word of an older bot", ONE, askOf(2), {}, null],
  ["behind one that a bot which is gone let in", next(ONE), askOf(2), { passed: ["run-1"] }, "queue"],
  ["behind one that a bot has left at the door", next(LEFT), askOf(2), {}, "queue"],
  ["behind nobody where a bot which is gone has read from it", next(read(ONE, "run-1")), askOf(2), {}, null],
  ["behind nobody where that one is over, and has yet to be sealed", next(OVER), askOf(2), {}, null],
  ["for its thread first", ONE, askOf(2, { threadKey: "web:T1" }), { passed: [] }, "thread"],
  ["for a closed door first", ONE, askOf(2), { passed: [], open: false }, "door"],
  ["for nobody at the door where it is a part of a run in flight", ONE, askOf(2, CHILD), { passed: [] }, null],
  ["for no closed door where it is one", ONE, askOf(2, CHILD), { open: false }, null],
  ["for a closed door that lets such a one in", ONE, askOf(2, CHILD), { open: false, passesChild: true }, null],
  ["for a closed door that is known to refuse it", ONE, askOf(2, CHILD), { open: false, passesChild: false }, "door"],
  ["for no open door, whatever is said of closed ones", ONE, askOf(2, CHILD), { passesChild: false }, null],
];
for (const [says, store, ask, more, behind] of waits)
  test(`an ask waits ${says}`, () => {
    const entry: Pick<Entry, "ask" | "place"> = { ask, place: 9 };
    assert.equal(behindWhat(store, entry, doorsOf(store, more)), behind);
    const waiting = asked(asked(store, ask, { open: false, passesChild: false }), askOf(3), { open: false });
    const turn = nextInTurn(waiting, ask.resource, doorsOf(waiting, more));
    assert.equal(turn?.ask.id === ask.id, behind === null, "and so it does once it is in the queue");
  });

test("who waits stands in the way of a newcomer, unless its own thread is busy", () => {
  const store = read(ONE, "run-1");
  const waiting = asked(asked(store, askOf(2), { open: false }), askOf(3, { threadKey: "web:T1" }));
  const newcomer = { ask: askOf(4), place: 9 };
  assert.equal(behindWhat(waiting, newcomer, doorsOf(waiting)), "queue");
  const busy = asked(store, askOf(3, { threadKey: "web:T1" }));
  assert.equal(behindWhat(busy, newcomer, doorsOf(busy)), null);
});

test("a part of a run in flight is let out of the queue past whoever stands at the door", () => {
  const other = asked(ONE, askOf(5));
  const child = askOf(2, { ...CHILD, threadKey: "web:T5" });
  const waiting = asked(asked(other, askOf(3), { open: false }), child);
  const ended: Store = { ...waiting, entries: waiting.entries.filter(({ ask }) => ask.id !== "run-5") };
  assert.equal(dispatchStep(ended, APP, doorsOf(ended, { passed: [] }), T0).found?.ask.id, "run-2");
});

test("what a part of a run in flight waits for at the door is the drain that closed it, and of its thread there is none", () => {
  const closed = { open: false, passesChild: false, closedBy: "drain-1" };
  const at = (ask: Ask): unknown => asked(ONE, ask, closed).entries.at(-1)?.metDrain;
  assert.equal(at(askOf(2, CHILD)), "drain-1");
  assert.equal(at(askOf(2, { ...CHILD, threadKey: "web:T1" })), null);
  assert.equal(at(askOf(2)), "drain-1");
});
