// The bot's doors over a real watch: the copy of a deploy's drain has its own ends and falls with the registry's word, and a
// registry that cannot be read closes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, REAL } from "#core/budgets.ts";
import type { DrainAsk } from "#core/drain.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { scene, type Scene } from "#client/clientForTests.ts";
import { Doors } from "./doors.ts";

const APP = "repo:local/app";
const plain = { by: "ci", reason: "deploy c2", deploy: true, build: null, without: [], principal: "drain" };
const deploy = (id: string, minutes = 65): DrainAsk => ({ ...plain, id, minutes });
const known = { deploy: true, phase: "draining", quietBy: null, reason: "deploy c2", by: "ci" } as const;

async function doorsOf(at: Scene): Promise<{ doors: Doors; changes: () => number }> {
  const doors = new Doors({ clock: at.clock, watch: at.watch });
  let changes = 0;
  doors.onChange(() => void (changes += 1));
  doors.begin();
  await at.clock.settle();
  return { doors, changes: () => changes };
}

test("a copy closes every door, with what it says, until it is lifted", async () => {
  const at = scene();
  const { doors, changes } = await doorsOf(at);
  assert.equal(doors.closed(APP), null);
  assert.equal(doors.drain(deploy("deploy-1")).kind, "created");
  const closed = doors.closed(APP);
  assert.deepEqual(
    [closed?.cause, closed?.drainId, closed?.by, closed?.reason],
    ["deploy", "deploy-1", "ci", "deploy c2"],
  );
  assert.equal(doors.pending?.id, "deploy-1");
  assert.equal(doors.drain(deploy("deploy-2")).kind, "busy");
  const before = changes();
  assert.equal(doors.lift("deploy-1").kind, "lifted");
  assert.ok(changes() > before, "whoever waits is told");
  assert.equal(doors.closed(APP), null);
  assert.equal(doors.drain(deploy("deploy-1")).kind, "over");
  assert.equal(doors.lift("deploy-1").kind, "already");
});

test("inv. 13: a copy that nobody renews opens by itself at its pulse's bound, and that is told", async () => {
  const at = scene();
  const { doors, changes } = await doorsOf(at);
  doors.drain(deploy("deploy-1"));
  await at.clock.advance(CLOCK.pulseBoundMs - SECOND);
  assert.ok(doors.closed(APP) !== null);
  const before = changes();
  await at.clock.advance(SECOND);
  assert.equal(doors.closed(APP), null);
  assert.ok(changes() > before);
});

test("inv. 13: a bot that heard no pulse for the bound closes again with the next one, while the registry's drain lives", async () => {
  const at = scene();
  const { doors } = await doorsOf(at);
  at.server.drain("deploy-1", 65, true);
  assert.equal(doors.drain(deploy("deploy-1")).kind, "created");
  for (let pulses = 0; pulses * CLOCK.pulseMs < 2 * CLOCK.pulseBoundMs; pulses += 1) {
    at.server.drain("deploy-1", 65, true);
    await at.clock.advance(CLOCK.pulseMs);
  }
  const pending = (): string[] => doors.pendingAll.map(({ id }) => id);
  assert.deepEqual(pending(), [], "the copy fell silent");
  assert.equal(doors.closed(APP)?.drainId, "deploy-1", "the registry's own word closes");
  assert.equal(doors.drain(deploy("deploy-1")).kind, "created");
  assert.deepEqual(pending(), ["deploy-1"]);
  await at.clock.advance(CLOCK.pulseBoundMs);
  at.server.lift("deploy-1");
  await at.clock.settle();
  assert.equal(doors.drain(deploy("deploy-1")).kind, "over", "the registry tells it no more");
});

test("a copy falls when the registry, which knew its drain, tells that it lives no more", async () => {
  const at = scene();
  const { doors } = await doorsOf(at);
  doors.drain(deploy("deploy-1"));
  at.server.drain("deploy-1", 65, true);
  await at.clock.settle();
  assert.ok(doors.closed(APP) !== null);
  at.server.lift("deploy-1");
  await at.clock.settle();
  assert.equal(doors.pending, null);
  doors.drain(deploy("deploy-2"));
  at.server.tell();
  await at.clock.settle();
  const pending = doors.pendingAll.map(({ id }) => id);
  assert.deepEqual(pending, ["deploy-2"], "one that it has not heard of yet may be on its way there");
});

test("a copy that was taken of a drain which the registry tells already falls with it too", async () => {
  const at = scene();
  at.server.drain("deploy-1", 65, true);
  const { doors } = await doorsOf(at);
  doors.drain(deploy("deploy-1"));
  at.server.lift("deploy-1");
  await at.clock.settle();
  assert.equal(doors.pending, null);
});

test("a registry that cannot be read closes nothing of its own; the copy stands to its own end", async () => {
  const at = scene();
  at.server.drain("person-1", 60);
  const { doors } = await doorsOf(at);
  assert.equal(doors.closed(APP)?.cause, "drain");
  at.server.watchable = false;
  for (const socket of at.server.sockets) socket.emit("close", { code: 1006, reason: "" });
  await at.clock.settle();
  assert.equal(doors.closed(APP), null);
  doors.drain(deploy("deploy-1"));
  assert.equal(doors.closed(APP)?.cause, "deploy");
  assert.deepEqual([doors.held, doors.quietBy(doors.closed(APP) ?? assert.fail())], [[], null]);
});

test("a registry that falls silent in the midst of a deploy has told what is waited for, and until when", async () => {
  const at = scene();
  const { doors } = await doorsOf(at);
  doors.drain(deploy("deploy-1"));
  at.server.quietBy = at.clock.now() + 7 * MINUTE;
  at.server.drain("deploy-1", 65, true);
  await at.clock.settle();
  const silent = async (): Promise<void> => {
    at.server.watchable = false;
    for (const socket of at.server.sockets) socket.emit("close", { code: 1006, reason: "" });
    await at.clock.settle();
  };
  await silent();
  const closed = doors.closed(APP) ?? assert.fail();
  assert.deepEqual([closed.endsQuiet, doors.quietBy(closed)], [true, at.server.quietBy]);
  assert.equal(closed.until, at.clock.now() + 65 * MINUTE);
});

test("a reopening closes whom it holds, and names them", async () => {
  const at = scene();
  at.server.drain("deploy-1", 65, true);
  const { doors } = await doorsOf(at);
  at.server.reconcile("deploy-1", [APP]);
  at.server.lift("deploy-1");
  await at.clock.settle();
  assert.deepEqual(doors.held, [APP]);
  assert.ok(doors.closed(APP) !== null && doors.closed("repo:local/web") === null);
  at.server.report(APP);
  await at.clock.settle();
  assert.deepEqual([doors.held, doors.closed(APP)], [[], null]);
});

test("a wait that ends with the last run in flight names when that is; another one nothing", async () => {
  const at = scene();
  at.server.quietBy = at.clock.now() + 7 * MINUTE;
  at.server.drain("deploy-1", 65, true);
  const { doors } = await doorsOf(at);
  const closed = doors.closed(APP) ?? assert.fail();
  assert.equal(doors.quietBy(closed), at.server.quietBy);
  at.server.quietBy = null;
  at.server.tell();
  await at.clock.settle();
  const quiet = at.clock.now();
  assert.equal(doors.quietBy(closed), quiet, "nothing is in flight: at once");
  await at.clock.advance(CLOCK.pulseMs);
  at.server.drain("deploy-1", 65, true);
  await at.clock.settle();
  assert.equal(doors.quietBy(closed), quiet, "and that stays so, whatever is told meanwhile");
  at.server.quietBy = at.clock.now() + MINUTE;
  at.server.tell();
  at.server.quietBy = null;
  at.server.tell();
  await at.clock.settle();
  assert.equal(doors.quietBy(closed), at.clock.now(), "until something is in flight again");
  assert.equal(doors.quietBy({ ...closed, drainId: "deploy-9" }), at.clock.now(), "one that it has not told");
  assert.equal(doors.quietBy({ ...closed, endsQuiet: false }), null);
});

test("instants of a registry whose clock is ahead are read in ours", async () => {
  const at = scene();
  const doors = new Doors({
    clock: { now: () => at.clock.now() - MINUTE, sleep: at.clock.sleep.bind(at.clock) },
    watch: at.watch,
  });
  at.server.drain("person-1", 10);
  doors.begin();
  await at.clock.settle();
  assert.equal(doors.closed(APP)?.until, at.clock.now() - MINUTE + 10 * MINUTE);
  at.server.drain("deploy-1", 65, true);
  await at.clock.settle();
  await at.clock.advance(10 * MINUTE);
  assert.equal(doors.closed(APP), null);
  doors.end();
});

test("how long a frame was on its way changes no instant that is told", async () => {
  const at = scene();
  let lateMs = 20;
  const doors = new Doors({
    clock: { now: () => at.clock.now() + lateMs, sleep: at.clock.sleep.bind(at.clock) },
    watch: at.watch,
  });
  at.server.quietBy = at.clock.now() + MINUTE;
  at.server.drain("deploy-1", 65, true);
  doors.begin();
  await at.clock.settle();
  const told = (): unknown => [doors.closed(APP)?.until, doors.quietBy(doors.closed(APP) ?? assert.fail())];
  const first = told();
  for (lateMs of [3, 400, 90]) {
    at.server.tell();
    await at.clock.settle();
    assert.deepEqual(told(), first);
  }
  doors.end();
});

test("what a refused attach taught holds its own door for a poll, unless the registry has told more since", async () => {
  const at = scene();
  const { doors } = await doorsOf(at);
  const until = at.clock.now() + 60 * MINUTE;
  doors.met({ resource: APP, parent: null }, { ...known, id: "deploy-1", until }, doors.version);
  assert.equal(doors.closed(APP)?.drainId, "deploy-1");
  assert.equal(doors.closed("repo:local/web"), null);
  await at.clock.advance(CLOCK.pollMs);
  assert.equal(doors.closed(APP), null);
  doors.met({ resource: APP, parent: null }, { ...known, id: "deploy-1", until }, doors.version);
  at.server.tell();
  await at.clock.settle();
  assert.equal(doors.closed(APP), null, "the registry says that nothing closes it");
  const asked = doors.version;
  at.server.tell();
  await at.clock.settle();
  doors.met({ resource: APP, parent: null }, { ...known, id: "deploy-1", until }, asked);
  assert.equal(doors.closed(APP), null, "its word is newer than the refusal");
});

test("a part of a run in flight passes a drain, and no swap; refused, it waits for a poll", async () => {
  const at = scene();
  const { doors } = await doorsOf(at);
  at.server.drain("person-1", 60);
  await at.clock.settle();
  assert.deepEqual([doors.closed(APP)?.drainId, doors.passesChild(APP)], ["person-1", true]);
  doors.met({ resource: APP, parent: "run-1" }, { ...known, id: "person-1", until: 0 }, doors.version);
  assert.equal(doors.passesChild(APP), false);
  assert.equal(doors.passesChild("repo:local/web"), true);
  await at.clock.advance(CLOCK.pollMs);
  assert.equal(doors.passesChild(APP), true);
});

test("the first word of the registry is waited for, and not for ever", async () => {
  const at = scene();
  const doors = new Doors({ clock: at.clock, watch: at.watch });
  doors.begin();
  await doors.ready(REAL.connectMs, at.clock);
  assert.ok(at.watch.up);
  await doors.ready(REAL.connectMs, at.clock);
  const silent = scene();
  silent.server.watchable = false;
  const alone = new Doors({ clock: silent.clock, watch: silent.watch });
  alone.begin();
  let isReady = false;
  void alone.ready(REAL.connectMs, silent.clock).then(() => (isReady = true));
  await silent.clock.advance(REAL.connectMs - 1);
  assert.equal(isReady, false);
  await silent.clock.advance(1);
  assert.equal(isReady, true);
  alone.end();
  assert.equal(silent.watch.up, false);
});
