// Many waiters of one process: in order, paced, and free of requests while the watch is up (M4, M6, M11).

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { askOf, attachBody, lines, scene, type Scene } from "./clientForTests.ts";

const idOf = (n: number): string => `run-${String(n).padStart(5, "0")}`;

function arrive(at: Scene, runId: string): AbortController {
  const stop = new AbortController();
  at.attach(askOf(runId), { leaseUntil: null, signal: stop.signal }).catch(() => undefined);
  return stop;
}

/** Attaches that are let in and whose workspaces take as long as the test says. */
function slowProvisioning(at: Scene): { inside: number; most: number; finish: () => void } {
  const state = { inside: 0, most: 0, finish: (): void => undefined };
  const waiting: (() => void)[] = [];
  state.finish = () => {
    for (const one of waiting.splice(0)) one();
  };
  at.server.answers.set("/attach", (raw) => {
    const body = attachBody.parse(raw);
    const answer = at.server.attach(body);
    if (!answer.ok) return answer;
    state.inside += 1;
    state.most = Math.max(state.most, state.inside);
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode(`${JSON.stringify({ type: "beat" })}\n`));
        waiting.push(() => {
          state.inside -= 1;
          controller.enqueue(
            encoder.encode(`${JSON.stringify({ type: "binding", binding: at.server.binding(body, false) })}\n`),
          );
          controller.close();
        });
      },
    });
    return new Response(stream);
  });
  return state;
}

test("M6: waiters are let in in the order in which they arrived, a few at a time into provisioning", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const ids = Array.from({ length: 20 }, (_, n) => idOf(n));
  for (const id of ids) arrive(at, id);
  await at.clock.settle();
  const slow = slowProvisioning(at);
  at.server.lift("person-one");
  for (let round = 0; round < 8; round += 1) {
    await at.clock.settle();
    slow.finish();
  }
  await at.clock.settle();
  assert.deepEqual(at.server.admitted, ids);
  assert.equal(slow.most, LIMIT.provisioningSlots);
});

test("a newcomer goes behind those who wait, also while they are being let in", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  for (let n = 0; n < 8; n += 1) arrive(at, idOf(n));
  await at.clock.settle();
  const slow = slowProvisioning(at);
  at.server.lift("person-one");
  await at.clock.settle();
  arrive(at, "run-newcomer");
  for (let round = 0; round < 4; round += 1) {
    slow.finish();
    await at.clock.settle();
  }
  assert.equal(at.server.admitted.at(-1), "run-newcomer");
});

test("a door that closes again while waiters are let in keeps the others waiting", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  for (let n = 0; n < 10; n += 1) arrive(at, idOf(n));
  await at.clock.settle();
  const slow = slowProvisioning(at);
  at.server.lift("person-one");
  await at.clock.settle();
  const asked = at.server.count("/attach");
  at.server.drain("person-two", 60);
  slow.finish();
  await at.clock.advance(5 * MINUTE);
  assert.equal(at.server.admitted.length, LIMIT.provisioningSlots);
  assert.equal(at.server.count("/attach"), asked);
  at.server.lift("person-two");
  for (let round = 0; round < 4; round += 1) {
    await at.clock.settle();
    slow.finish();
  }
  await at.clock.settle();
  assert.deepEqual(
    at.server.admitted,
    Array.from({ length: 10 }, (_, n) => idOf(n)),
  );
});

test("a waiter that is stopped at the door makes room for the next", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const stops = ["run-aa", "run-bb", "run-cc"].map((id) => arrive(at, id));
  await at.clock.settle();
  at.server.answers.set("/attach", () => new Promise(() => undefined));
  at.server.lift("person-one");
  await at.clock.settle();
  at.server.answers.delete("/attach");
  stops[0]?.abort(new Error("stopped"));
  await at.clock.settle();
  assert.deepEqual(at.server.admitted, ["run-bb", "run-cc"]);
});

test("M4, M11: a thousand waiters of one process cost no request, and all start in order once it opens", async () => {
  const at = scene();
  at.server.drain("person-one", 80);
  const ids = Array.from({ length: 1_000 }, (_, n) => idOf(n));
  for (const id of ids) arrive(at, id);
  await at.clock.settle();
  const asked = at.server.count("/attach");
  await at.clock.advance(30 * SECOND);
  at.server.tell();
  await at.clock.advance(30 * SECOND);
  assert.equal(at.server.count("/attach"), asked);
  assert.equal(at.server.sockets.length, 1);
  at.server.lift("person-one");
  for (let round = 0; round < 2_000 && at.server.admitted.length < ids.length; round += 1) await at.clock.settle();
  assert.deepEqual(at.server.admitted, ids);
});

test("residents have doors of their own: one that holds keeps nobody of another", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  arrive(at, "run-mine");
  await at.clock.settle();
  at.server.answers.set("/attach", (raw) => {
    const body = attachBody.parse(raw);
    return lines([{ type: "binding", binding: at.server.binding(body, false) }]);
  });
  let other = "";
  await at
    .attach(
      { ...askOf("run-other"), resource: "repo:local/other" },
      { leaseUntil: null, signal: new AbortController().signal },
    )
    .then(({ binding }) => (other = binding.resource));
  assert.equal(other, "repo:local/other");
});
