// Silence is a long time and several looks without an answer; one answer, or the process's own end, and it is none.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { REAL } from "#core/budgets.ts";
import { fellSilent, watchOver, type Watching } from "#embed/silence.ts";

/** A process that answers as the script says, one look each; the clock moves by what a look and a pause take. */
function scripted(looks: readonly ("answers" | "silent")[], lookMs: number): Watching & { looks: number } {
  let now = 0;
  const watching = {
    looks: 0,
    look: async () => {
      now += lookMs;
      watching.looks += 1;
      return looks[watching.looks - 1] === "answers";
    },
    pause: async () => void (now += REAL.heartbeatMs),
    now: () => now,
    hasEnded: () => watching.looks >= looks.length,
  };
  return watching;
}

const silent = (count: number) => Array.from({ length: count }, () => "silent" as const);

test("a process that answers no look for a minute has fallen silent, and not a look sooner", async () => {
  const watching = scripted(["answers", ...silent(20)], REAL.requestMs);
  assert.equal(await fellSilent(watching, REAL.silentMs), true);
  const perLook = REAL.requestMs + REAL.heartbeatMs;
  assert.equal(watching.looks, 1 + Math.ceil(REAL.silentMs / perLook));
});

test("one answer is enough, and the end of a process is no silence", async () => {
  const often = Array.from({ length: 10 }, () => [...silent(3), "answers" as const]).flat();
  assert.equal(await fellSilent(scripted(often, REAL.requestMs), REAL.silentMs), false);
  assert.equal(await fellSilent(scripted(silent(3), REAL.requestMs), REAL.silentMs), false);
});

test("one look that took for ever is a machine that stood still", async () => {
  assert.equal(
    await fellSilent(scripted(["silent", "silent", "answers", "answers"], 10 * REAL.silentMs), REAL.silentMs),
    false,
  );
});

test("whatever answers has answered, and a port that nobody has does not", async (context) => {
  const server = createServer((_request, response) => response.writeHead(503).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const watching = watchOver({ id: { pid: 1, startTicks: 1, machineBootId: "m" }, port, ended });
  assert.equal(await watching.look(), true);
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  assert.equal(await watching.look(), false);
  assert.equal(watching.hasEnded(), false);
  resolve();
  await ended;
  assert.equal(watching.hasEnded(), true);
});
