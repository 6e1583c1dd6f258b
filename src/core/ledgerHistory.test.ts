// The ledger over every history that a bot, its successors and their crashes can make: a thread has one live run, nothing
// asked or said is lost without an end, a queue keeps its order, a key is one ask.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
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
  ledgerBootStep,
  messageStep,
  positionOf,
  progressStep,
  reclaimStep,
  returnStep,
  undelivered,
  type LedgerStore,
} from "./ledger.ts";
import { MINUTE, SECOND, type Instant } from "./time.ts";
import { liveIn, queueOf, type Doors } from "./turn.ts";

/** What has happened, as the checks remember it beside the store. */
interface World {
  store: LedgerStore;
  now: Instant;
  /** Ids that must be somewhere: in the store, or ended. */
  readonly asked: Set<string>;
  readonly ended: Set<string>;
  /** The ask that each key became. */
  readonly keys: Map<string, string>;
  /** Texts that were said and must be told, be part of an ask, or be answered by a stop. */
  readonly said: Map<string, string>;
  minted: number;
}

type Act = (world: World) => void;

const isLive = (entry: Entry): boolean => entry.state !== "queued";
const isFree = (store: LedgerStore, { ask }: Entry): boolean => liveIn(store, ask.threadKey) === undefined;
const isChild = (store: LedgerStore, ask: Ask): boolean =>
  store.entries.some((entry) => entry.ask.id === ask.parent && isLive(entry));
const pick = <T>(from: readonly T[], n: number): T | undefined => from[n % Math.max(1, from.length)];

/** Notes what an entry said once it is gone: all of it was told, or stands in an ask, or was answered by a stop. */
function told(world: World, entry: Entry, left: Entry | null): void {
  const rest = undelivered(entry);
  const stop = rest.findLastIndex((message) => message.kind === "stop");
  const kept = rest.slice(stop + 1).map((message) => message.text);
  assert.deepEqual(left?.ask.text.split("\n") ?? [], kept, "what is left is everything that was not told, in order");
  for (const message of entry.messages) world.said.delete(message.key);
}

/** A stop answers whatever was said before it. */
function stopped(world: World, entry: Entry): void {
  world.ended.add(entry.ask.id);
  for (const message of entry.messages) world.said.delete(message.key);
}

/** What the bot says of the doors: whether they are open, also to a part of a run in flight, and whom it knows past them. */
interface Seen {
  readonly open: boolean;
  readonly passesChild: boolean;
  readonly passed: "unsaid" | "nobody" | "all";
}

function doorsOf({ entries, generation }: LedgerStore, { open, passesChild, passed }: Seen): Doors {
  const ids = passed === "all" ? entries.map((entry) => entry.ask.id) : [];
  return { generation, open, passesChild, ...(passed === "unsaid" ? {} : { passed: ids }), leaseMs: 45 * MINUTE };
}

/** Whether somebody may stand at a repository's door still. */
const isTaken = ({ entries, generation }: LedgerStore, resource: string, { passed }: Seen): boolean =>
  entries.some(
    (entry) =>
      isLive(entry) &&
      entry.ask.resource === resource &&
      entry.reading === null &&
      (entry.holder < generation || passed === "nobody"),
  );

/** Whether the door lets an ask in, by the words of whoever asked. */
const isLetIn = (store: LedgerStore, of: Ask, seen: Seen): boolean =>
  isChild(store, of) ? seen.open || seen.passesChild : seen.open && !isTaken(store, of.resource, seen);

const ask =
  (wish: { key: number; thread: number; resource: number; parent: number; seen: Seen }): Act =>
  (world) => {
    world.minted += 1;
    const parent = wish.parent === 0 ? (pick(world.store.entries, wish.key)?.ask.id ?? null) : null;
    const asked: Ask = {
      id: `ask-${world.minted}`,
      key: `key-${wish.key}`,
      threadKey: `t-${wish.thread}`,
      resource: wish.resource === 0 ? APP : WEB,
      kind: "shell",
      text: `text-${world.minted}`,
      by: "ada",
      channel: "web",
      leaseMs: null,
      ref: null,
      parent,
    };
    // The object looks up the keys of ended asks before the step.
    if (world.ended.has(world.keys.get(asked.key) ?? "")) return;
    const before = world.store;
    const { store, found } = askStep(before, asked, doorsOf(before, wish.seen), world.now);
    world.store = store;
    const known = world.keys.get(asked.key);
    assert.equal(found.kind === "known", known !== undefined, "a key is known exactly if it was asked under");
    if (found.kind === "known") assert.equal(found.id, known);
    if (found.kind === "admitted" || found.kind === "queued") {
      world.asked.add(asked.id);
      world.keys.set(asked.key, asked.id);
    }
    if (found.kind === "added") world.keys.set(asked.key, found.entry.ask.id);
    if (found.kind === "queued" || found.kind === "added")
      assert.equal(found.position, positionOf(store, found.entry.ask.id));
    if (found.kind !== "admitted") return;
    assert.ok(
      isLetIn(before, asked, wish.seen),
      "a closed door lets nobody in but a child, and each waits behind others",
    );
    if (isChild(before, asked)) return;
    const earlier = queueOf(before, asked.resource).filter((entry) => isFree(before, entry));
    assert.deepEqual(earlier, [], "nobody who came earlier could have been admitted");
  };

const dispatch =
  (resource: string, seen: Seen): Act =>
  (world) => {
    const before = world.store;
    const { store, found } = dispatchStep(before, resource, doorsOf(before, seen), world.now);
    world.store = store;
    const could = queueOf(before, resource).filter(
      (entry) => isFree(before, entry) && isLetIn(before, entry.ask, seen),
    );
    assert.equal(found?.ask.id, could[0]?.ask.id, "the first of those that could be");
  };

const say =
  (n: number, key: number, kind: MessageKind): Act =>
  (world) => {
    const entry = pick(world.store.entries, n);
    if (entry === undefined) return;
    const text = `said-${world.minted}-${key}`;
    const { store, found } = messageStep(
      world.store,
      entry.ask.id,
      { key: `${entry.ask.id}/${key}`, kind, text },
      world.now,
    );
    world.store = store;
    if (found.kind === "ended") stopped(world, entry);
    if (found.kind === "taken") {
      assert.ok(isLive(entry));
      if (kind !== "stop") world.said.set(found.message.key, text);
    }
    if (found.kind === "added") assert.ok(found.entry.ask.text.endsWith(text));
  };

/** What the bot that lives does to one of the runs that it holds. */
const onRun =
  (n: number, act: (world: World, entry: Entry) => void): Act =>
  (world) => {
    const held = world.store.entries.filter((entry) => isLive(entry) && entry.holder === world.store.generation);
    const entry = pick(held, n);
    if (entry !== undefined) act(world, entry);
  };

function giveBack(world: World, entry: Entry): void {
  const { store, found } = returnStep(world.store, entry.ask.id, world.store.generation, null);
  world.store = store;
  assert.equal(found !== null, entry.state === "admitted");
  if (found?.kind === "ended") stopped(world, entry);
  if (found?.kind === "queued") assert.equal(found.entry.place, entry.place);
}

function tell(world: World, entry: Entry): void {
  // What is for the run's end is not told before, whatever was said after it.
  const next = undelivered(entry).find(({ kind }) => kind !== "followUp");
  const reading = { procId: "process-1", bootId: "boot-1", out: 0, err: 0 };
  const said = { reading, ...(next === undefined ? {} : { delivered: next.seq }) };
  world.store = progressStep(world.store, entry.ask.id, world.store.generation, said).store;
  if (next !== undefined) world.said.delete(next.key);
}

function end(world: World, entry: Entry): void {
  world.minted += 1;
  const leftId = `left-${world.minted}`;
  const { store, found } = endRunStep(
    world.store,
    entry.ask.id,
    { generation: world.store.generation, leftId },
    world.now,
  );
  world.store = store;
  assert.ok(found);
  told(world, entry, found.left);
  world.ended.add(entry.ask.id);
  if (found.left !== null) {
    world.asked.add(leftId);
    world.keys.set(found.left.ask.key, leftId);
  }
}

const roll =
  (leaves: boolean): Act =>
  (world) => {
    if (leaves) world.store = handOffStep(world.store, world.store.generation).store;
    world.store = generationStep(world.store).store;
  };

const reclaim: Act = (world) => {
  const before = world.store;
  const { store, found } = reclaimStep(before, before.generation, world.now);
  world.store = store;
  for (const taken of found) {
    const was = entryOf(before, taken.ask.id);
    assert.ok(was && was.holder < before.generation);
    assert.ok(was.state === "handedOff" || world.now >= was.heldUntil, "its bot may live");
  }
  const left = store.entries.filter((entry) => isLive(entry) && entry.holder < store.generation);
  for (const entry of left) assert.ok(entry.state !== "handedOff" && world.now < entry.heldUntil, "it is free");
};

function invariants({ store, asked, ended, said }: World): void {
  const live = store.entries.filter(isLive);
  assert.equal(new Set(live.map((entry) => entry.ask.threadKey)).size, live.length, "one live run a thread");
  const ids = store.entries.map((entry) => entry.ask.id);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of asked) assert.notEqual(ids.includes(id), ended.has(id), `${id} is in the ledger, or has ended`);
  const keys = store.entries.map((entry) => entry.ask.key);
  assert.equal(new Set(keys).size, keys.length, "a key is one ask");
  const places = store.entries.map((entry) => entry.place);
  assert.ok(new Set(places).size === places.length && places.every((place) => place < store.nextPlace));
  for (const entry of store.entries) {
    assert.equal(isLive(entry), entry.holder > 0);
    assert.equal(isLive(entry), entry.leaseUntil !== null && entry.admittedAt !== null);
    assert.ok(entry.holder <= store.generation && entry.tries >= (isLive(entry) ? 1 : 0));
    const order = entry.messages.map((message) => message.seq);
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    for (const message of undelivered(entry))
      if (isLive(entry) && message.kind !== "stop") assert.ok(said.has(message.key));
  }
  for (const resource of [APP, WEB])
    assert.deepEqual(
      queueOf(store, resource).map((entry) => positionOf(store, entry.ask.id)),
      queueOf(store, resource).map((_, n) => n + 1),
    );
  for (const text of said.values()) {
    const where = store.entries.some(
      (entry) => undelivered(entry).some((message) => message.text === text) || entry.ask.text.includes(text),
    );
    assert.ok(where, `${text} is lost`);
  }
}

const seen: fc.Arbitrary<Seen> = fc.record({
  open: fc.boolean(),
  passesChild: fc.boolean(),
  passed: fc.constantFrom("unsaid", "nobody", "all"),
});

const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ key: fc.nat(14), thread: fc.nat(4), resource: fc.nat(1), parent: fc.nat(5), seen }).map(ask),
  },
  {
    weight: 5,
    arbitrary: fc.tuple(fc.constantFrom(APP, WEB), seen).map(([resource, said]) => dispatch(resource, said)),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.nat(9), fc.nat(20), fc.constantFrom("steer", "followUp", "stop"))
      .map(([n, key, kind]) => say(n, key, kind)),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(9), fc.constantFrom(giveBack, tell, tell, end)).map(([n, act]) => onRun(n, act)),
  },
  { weight: 1, arbitrary: fc.boolean().map(roll) },
  { weight: 2, arbitrary: fc.constant(reclaim) },
  {
    weight: 1,
    arbitrary: fc.constant<Act>((world) => {
      world.store = heartbeatStep(world.store, world.store.generation, world.now).store;
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Act>((world) => {
      world.store = ledgerBootStep(world.store, world.now);
    }),
  },
  {
    weight: 2,
    arbitrary: fc
      .integer({ min: SECOND, max: 2 * CLOCK.ledgerLeaseMs })
      .map<Act>((ms) => (world) => void (world.now += ms)),
  },
);

function newWorld(): World {
  const { store } = generationStep(EMPTY_LEDGER);
  return { store, now: T0, asked: new Set(), ended: new Set(), keys: new Map(), said: new Map(), minted: 0 };
}

test("whatever happens in whatever order, one live run a thread, nothing lost, the order kept, a key once", () => {
  fc.assert(
    fc.property(fc.array(anyAct, { maxLength: 80, size: "max" }), (acts) => {
      const world = newWorld();
      for (const act of acts) {
        act(world);
        invariants(world);
      }
    }),
    { numRuns: 1_500 },
  );
});

test("whatever happened, a door that stays open lets everybody in, in order, and everything comes to an end", () => {
  fc.assert(
    fc.property(fc.array(anyAct, { maxLength: 60, size: "max" }), (acts) => {
      const world = newWorld();
      for (const act of acts) act(world);
      world.now += CLOCK.ledgerLeaseMs * 3;
      roll(false)(world);
      reclaim(world);
      for (let round = 0; world.store.entries.length > 0; round += 1) {
        assert.ok(round < 500, "it never ends");
        for (const resource of [APP, WEB])
          dispatch(resource, { open: true, passesChild: true, passed: "unsaid" })(world);
        onRun(round, end)(world);
        invariants(world);
      }
      assert.deepEqual(world.ended, world.asked);
      assert.equal(world.said.size, 0);
    }),
    { numRuns: 600 },
  );
});
