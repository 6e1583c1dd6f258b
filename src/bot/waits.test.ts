// Who waits in the queue and under which drain: as the ledger says, with what was answered since, and kept when it is over.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Entry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Closed } from "#core/door.ts";
import { Waits } from "./waits.ts";

const APP = "repo:local/app";

const closed = (drainId: string): Closed => ({
  cause: drainId.startsWith("deploy") ? "deploy" : "drain",
  drainId,
  by: "ci",
  reason: "r",
  until: 100,
  endsQuiet: false,
});

interface Wishes {
  readonly threadKey?: string;
  readonly parent?: string | null;
  readonly state?: Entry["state"];
  readonly toldOf?: string | null;
}

function entryOf(id: string, askedAt: number, wishes: Wishes = {}): Entry {
  const { threadKey = `web:${id}`, parent = null, state = "queued", toldOf = null } = wishes;
  const ask = { id, key: id, threadKey, resource: APP, kind: "shell", text: "x", by: "lee", channel: "web" } as const;
  return {
    ask: { ...ask, leaseMs: null, ref: null, parent },
    askedAt,
    place: askedAt,
    state,
    holder: 0,
    heldUntil: 0,
    admittedAt: null,
    leaseUntil: null,
    tries: 0,
    reading: null,
    messages: [],
    delivered: 0,
    toldOf,
    metDrain: toldOf,
    verdict: null,
  };
}

/** Waits over doors that these drains close. */
function at(...drains: string[]) {
  const inHand = new Set<string>();
  const world = { drains, now: 50, inHand };
  const waits = new Waits({
    closers: () => world.drains.map(closed),
    isInHand: (id) => inHand.has(id),
    now: () => world.now,
  });
  const look = (...entries: Entry[]): void => {
    waits.beginLook();
    waits.looked(entries);
  };
  const under = (...ids: string[]) =>
    waits.under(ids).asks.map(({ id, cause, leftAt, ended }) => [id, cause, leftAt, ...(ended ? ["ended"] : [])]);
  return { waits, world, look, under };
}

test("whoever is answered that it waits counts at once, also over a look that was under way; whoever is in hand does not", () => {
  const { waits, world } = at();
  waits.beginLook();
  waits.answered(entryOf("a", 1), "queue");
  assert.equal(waits.size, 1);
  waits.looked([]);
  assert.deepEqual([waits.size, waits.has("a")], [1, true], "the ledger was asked before");
  waits.beginLook();
  waits.looked([]);
  assert.deepEqual([waits.size, waits.has("a")], [0, false], "now its word counts");
  world.inHand.add("b");
  waits.answered(entryOf("b", 2), "door");
  assert.equal(waits.size, 0, "it was let in before its answer was read");
  waits.answered(entryOf("c", 3), "door");
  waits.started("c");
  waits.looked([]);
  assert.equal(waits.size, 0);
});

test("it is known for each drain who waits under it, and how and when each one left", () => {
  const { waits, world, look, under } = at("person-1", "deploy-1");
  look(entryOf("a", 1), entryOf("b", 2), entryOf("c", 3), entryOf("d", 4));
  waits.started("a");
  world.now = 60;
  look(entryOf("b", 2), entryOf("c", 3, { state: "running" }));
  assert.deepEqual(under("deploy-1"), [
    ["a", "deploy", 50],
    ["b", "deploy", null],
    ["c", "deploy", 60],
    ["d", "deploy", 60, "ended"],
  ]);
  assert.deepEqual(
    under("person-1").map(([id, cause]) => [id, cause]),
    ["a", "b", "c", "d"].map((id) => [id, "drain"]),
  );
  assert.deepEqual(under("deploy-2"), []);
  world.drains = [];
  look(entryOf("b", 2), entryOf("e", 5));
  assert.deepEqual(under("deploy-1").at(1), ["b", "deploy", null], "what is over is kept");
  assert.equal(under("deploy-1").length, 4, "and whoever asks behind it waits for something else");
});

test("one that comes back from a closed door waits again", () => {
  const { waits, look, under } = at("deploy-1");
  look(entryOf("a", 1));
  waits.started("a");
  look(entryOf("a", 1));
  assert.deepEqual(under("deploy-1"), [["a", "deploy", null]]);
});

test("behind its thread's run it waits for that too; a part of a run in flight waits for no drain", () => {
  const { waits, look, under } = at("deploy-1");
  const live = entryOf("live", 0, { state: "running", threadKey: "web:T" });
  look(
    live,
    entryOf("a", 1, { threadKey: "web:T" }),
    entryOf("child", 2, { threadKey: "web:T", parent: "live" }),
    entryOf("orphan", 3, { parent: "gone" }),
  );
  assert.deepEqual(under("deploy-1"), [
    ["a", "thread", null],
    ["orphan", "deploy", null],
  ]);
  waits.answered(entryOf("b", 4, { parent: "live" }), "thread");
  waits.answered(entryOf("c", 5), "thread");
  assert.deepEqual(under("deploy-1").slice(2), [["c", "thread", null]]);
});

test("what an earlier bot told them counts where this one finds the door open already", () => {
  const { look, under } = at();
  look(entryOf("a", 1, { toldOf: "deploy-1" }), entryOf("b", 2));
  assert.deepEqual(under("deploy-1"), [["a", "drain", null]]);
});

test("so many are named, in the order of arrival, and all are counted; under several drains each once", () => {
  const { waits, look } = at("deploy-1", "person-1");
  const count = LIMIT.queuedNamed + 3;
  look(...Array.from({ length: count }, (_, n) => entryOf(`a${n}`, count - n)));
  const { asks, total } = waits.under(["deploy-1", "person-1"]);
  assert.deepEqual(
    [asks.length, total, asks[0]?.askedAt, asks.at(-1)?.askedAt],
    [LIMIT.queuedNamed, count, 1, asks.length],
  );
});

test("of many drains the last ones are remembered", () => {
  const { waits, world, look, under } = at();
  for (let n = 0; n < 9; n += 1) {
    world.drains = [`deploy-${n}`];
    look(entryOf("a", 1));
  }
  assert.deepEqual([under("deploy-0"), under("deploy-1").length, under("deploy-8").length], [[], 1, 1]);
  assert.equal(waits.size, 1);
});

test("the first look is waited for, answered or not", async () => {
  const read = at();
  const unread = at();
  read.look();
  unread.waits.unread();
  await Promise.all([read.waits.read, unread.waits.read]);
});
