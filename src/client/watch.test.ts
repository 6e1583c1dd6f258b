// The one watch of a process: when it is open, when it is down, and what it then says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "#core/time.ts";
import { scene } from "./clientForTests.ts";

test("a watch is open while somebody holds it, and only then", async () => {
  const at = scene();
  assert.equal(at.server.sockets.length, 0);
  const [one, two] = [at.watch.hold(), at.watch.hold()];
  await at.clock.settle();
  assert.equal(at.watch.up, true);
  assert.equal(at.server.sockets.length, 1);
  one();
  one();
  assert.equal(at.watch.up, true);
  two();
  await at.clock.settle();
  assert.equal(at.watch.up, false);
  assert.equal(at.server.sockets[0]?.closed, true);
  await at.clock.advance(MINUTE);
  assert.equal(at.server.sockets.length, 1);
});

test("two missed pings mean that it is down: it says nothing any more and connects again", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const letGo = at.watch.hold();
  await at.clock.settle();
  assert.equal(at.watch.closing("repo:local/app")?.drain.id, "person-one");
  const [socket] = at.server.sockets;
  if (socket !== undefined) socket.mute = true;
  at.server.watchable = false;
  await at.clock.advance(29 * SECOND);
  assert.equal(at.watch.up, true);
  await at.clock.advance(SECOND);
  assert.equal(at.watch.up, false);
  assert.equal(at.watch.closing("repo:local/app"), undefined);
  at.server.watchable = true;
  await at.clock.advance(10 * SECOND);
  assert.equal(at.watch.up, true);
  letGo();
});

test("it connects again after a pause that grows, never longer than a ping's", async () => {
  const at = scene();
  at.server.watchable = false;
  const letGo = at.watch.hold();
  await at.clock.advance(SECOND);
  const soon = at.server.sockets.length;
  assert.ok(soon >= 3 && soon <= 5, `${soon} in the first second`);
  await at.clock.advance(MINUTE);
  assert.ok(at.server.sockets.length <= soon + 12);
  letGo();
});

for (const [code, expected] of [
  [4401, "BAD_BEARER"],
  [4403, "BEYOND_SCOPE"],
] as const) {
  test(`a watch closed with ${code} is refused for good, as ${expected}`, async () => {
    const at = scene();
    at.server.watchable = false;
    const letGo = at.watch.hold();
    at.server.sockets[0]?.emit("close", { code, reason: "" });
    await at.clock.advance(10 * MINUTE);
    assert.equal(at.watch.problem?.code, expected);
    assert.equal(at.server.sockets.length, 1);
    letGo();
  });
}

test("what it cannot read is no frame", async () => {
  const at = scene();
  const letGo = at.watch.hold();
  await at.clock.settle();
  const { version } = at.watch;
  at.server.sockets[0]?.emit("message", { data: "{" });
  at.server.sockets[0]?.emit("message", { data: new ArrayBuffer(1) });
  assert.equal(at.watch.version, version);
  letGo();
});

test("of two drains the later end closes on when the first one's end has passed", async () => {
  const at = scene();
  at.server.drain("person-one", 5);
  at.server.drain("person-two", 10);
  const letGo = at.watch.hold();
  await at.clock.settle();
  let told = 0;
  at.watch.subscribe(() => (told += 1));
  await at.clock.advance(5 * MINUTE);
  assert.equal(at.watch.closing("repo:local/app")?.drain.id, "person-two");
  await at.clock.advance(5 * MINUTE);
  assert.equal(at.watch.closing("repo:local/app"), undefined);
  assert.equal(told, 2);
  letGo();
});
