// The front passes bytes and keeps its port: it holds in a swap, refuses with a reason when nobody is behind it, and gives up in time.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, connect, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { openFront, type Front } from "#embed/front.ts";
import { eventually } from "./hostStack.ts";

async function behind(context: TestContext, greeting: string): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined);
    socket.write(greeting);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

function dial(context: TestContext, front: Front): { socket: Socket; text: () => string; ended: Promise<void> } {
  const socket = connect({ port: front.port, host: "127.0.0.1", allowHalfOpen: true });
  context.after(() => socket.destroy());
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
  socket.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => {
    for (const event of ["end", "close"]) socket.once(event, () => resolve());
  });
  return { socket, text: () => text, ended };
}

test("it passes bytes both ways with half-open ends, holds while held, then leads to whoever serves", async (context) => {
  const front = await openFront(0);
  context.after(() => front.close());
  const held = dial(context, front);
  held.socket.write("early;");
  front.lead({ kind: "up", port: await behind(context, "A:") });
  await eventually("the held one is served", () => (held.text() === "A:early;" ? true : undefined));
  front.lead({ kind: "hold" });
  held.socket.write("still;");
  await eventually("an open connection goes on", () => (held.text().endsWith("still;") ? true : undefined));
  const next = dial(context, front);
  next.socket.end("last");
  front.lead({ kind: "up", port: await behind(context, "B:") });
  await eventually("the next one is served by the next", () => (next.text() === "B:last" ? true : undefined));
});

test("with nobody behind it says so as a problem and closes; who was led to one that is gone is held for the next", async (context) => {
  const front = await openFront(0);
  context.after(() => front.close());
  front.lead({ kind: "down" });
  const refused = await fetch(`${front.url}/anything`, { method: "POST", body: "x" });
  assert.equal(refused.status, 503);
  assert.match(await refused.text(), /"code":"UNREACHABLE"/);
  front.lead({ kind: "up", port: 1 });
  const missed = dial(context, front);
  missed.socket.end("what was said;");
  await once(missed.socket, "connect");
  // The front lives in this process: within these turns it has found nobody.
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  front.lead({ kind: "up", port: await behind(context, "B:") });
  await eventually("the next one hears it", () => (missed.text() === "B:what was said;" ? true : undefined));
  await missed.ended;
});

test("its port is taken once, and free again after the close, which ends what is open", async (context) => {
  const front = await openFront(0);
  await assert.rejects(openFront(front.port), { code: "PORT_IN_USE" });
  front.lead({ kind: "up", port: await behind(context, "hello") });
  const open = dial(context, front);
  await eventually("it is served", () => (open.text() === "hello" ? true : undefined));
  await front.close();
  await open.ended;
  await (await openFront(front.port)).close();
});
