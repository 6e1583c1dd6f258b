// When something that was said to a run has reached it: once somebody is alive to read it where it stands, or finds it there
// as he begins. Whatever has not becomes the next ask of its thread, and nothing is both.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT, REAL } from "#core/budgets.ts";
import { attachBody, refusal, type Answer } from "#client/clientForTests.ts";
import { writeBodySchema } from "#wire/attach.ts";
import { asked, born, request, World, type Living } from "../botForTests.ts";

interface At {
  readonly world: World;
  readonly living: Living;
  readonly id: string;
}

async function running(world = new World()): Promise<At> {
  const living = await born(world);
  const { id } = await asked(living, "go");
  await world.clock.settle();
  return { world, living, id };
}

async function steer({ world, living, id }: At, text: string): Promise<void> {
  const response = await request(living, `POST /runs/${id}/steer`, { body: { key: text, text } });
  assert.equal(response.status, 200, await response.text());
  await world.clock.settle();
}

const delivered = async ({ world, id }: At): Promise<number> => (await world.ledger.run(id)).entry.delivered;

/** The texts that runs were started with, in order, each run brought to its end. */
async function started({ world: { container, clock } }: At): Promise<unknown[]> {
  for (let look = 0; look < LIMIT.runTries; look += 1) {
    for (const process of container.processes) container.finish(process);
    await clock.settle();
  }
  return container.processes.map(({ env }) => env["TIDEGATE_ASK"]);
}

const inboxOf = ({ world, id }: At): string => world.container.files.get(`web:${id}/.tidegate/inbox.ndjson`) ?? "";

/** What waits: `come` resolves once somebody has asked, who is answered once it is let go. */
interface Held {
  readonly come: Promise<void>;
  letGo(): void;
}

/** From now on who asks there waits, until it is let go: before anything is done, or with its answer. */
function held({ server }: World, path: "/attach" | "/exec" | "/write", when: "before" | "after"): Held {
  const own: Answer = (body) => server.attach(attachBody.parse(body));
  const answer = server.answers.get(path) ?? own;
  const [come, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holdIf = async (isNow: boolean): Promise<void> => {
    if (!isNow) return;
    come.resolve();
    await go.promise;
  };
  server.answers.set(path, async (body, signal) => {
    // The inbox has a neighbour, which is written before it.
    const isIt = path !== "/write" || writeBodySchema.parse(body).path.endsWith(".ndjson");
    await holdIf(isIt && when === "before");
    const answered = await answer(body, signal);
    await holdIf(isIt && when === "after");
    return answered;
  });
  const letGo = (): void => {
    server.answers.set(path, answer);
    go.resolve();
  };
  return { come: come.promise, letGo };
}

/** A run at the resident's door, to which something was said there. */
async function atDoor(): Promise<At & { readonly door: Held }> {
  const world = new World();
  const door = held(world, "/attach", "before");
  const at = await running(world);
  await steer(at, "left");
  return { ...at, door };
}

test("what is written while the process lives has reached it, and is no ask", async () => {
  const at = await running();
  await steer(at, "left");
  assert.equal(await delivered(at), 1);
  assert.deepEqual(await started(at), ["go"]);
});

test("what is written after the process has ended has reached nobody: it is the next ask, once", async () => {
  const at = await running();
  const { container } = at.world;
  const process = container.of(at.id);
  // It has ended, and nobody who follows it has heard of that yet.
  const listeners = [...process.changed];
  process.changed.clear();
  container.finish(process);
  await steer(at, "left");
  assert.match(inboxOf(at), /"text":"left"/);
  assert.equal(await delivered(at), 0);
  for (const tell of listeners) tell();
  await at.world.clock.settle();
  assert.deepEqual(await started(at), ["go", "left"]);
  assert.notEqual((await at.world.ledger.run(at.id)).ended?.leftId, null);
});

test("an agent that does not say who is alive is believed to have somebody", async () => {
  const at = await running();
  at.world.server.answers.set("/write", () => Response.json({ data: "" }));
  await steer(at, "left");
  assert.equal(await delivered(at), 1);
});

test("what stands before the process begins is found by it, however soon that ends", async () => {
  const at = await atDoor();
  const { container, clock } = at.world;
  let found = "";
  container.onStart = (process) => {
    found = inboxOf(at);
    container.finish(process);
  };
  at.door.letGo();
  await clock.settle();
  assert.match(found, /"text":"left"/);
  assert.deepEqual(await started(at), ["go"]);
});

test("what stands before a process that never begins has reached nobody", async () => {
  const at = await atDoor();
  const { server } = at.world;
  const exec = server.answers.get("/exec") ?? assert.fail();
  server.answers.set("/exec", () => {
    server.answers.set("/exec", exec);
    return refusal("NOT_STARTED");
  });
  at.door.letGo();
  await at.world.clock.settle();
  assert.match(inboxOf(at), /"text":"left"/);
  assert.equal((await at.world.ledger.run(at.id)).ended?.verdict.ending, "notStarted");
  assert.deepEqual(await started(at), ["left"]);
});

test("what is written while the start is under way is written once more, and has reached the process that began", async () => {
  const world = new World();
  const exec = held(world, "/exec", "before");
  const at = await running(world);
  await exec.come;
  await steer(at, "left");
  assert.equal(await delivered(at), 0, "nobody is there yet");
  exec.letGo();
  await world.clock.settle();
  assert.equal(await delivered(at), 1);
  assert.deepEqual(await started(at), ["go"]);
});

test("a write that is under way when the start is answered says nothing of the process that began", async () => {
  const world = new World();
  const exec = held(world, "/exec", "before");
  const at = await running(world);
  await exec.come;
  const write = held(world, "/write", "after");
  await steer(at, "left");
  await write.come;
  exec.letGo();
  await world.clock.settle();
  assert.equal(await delivered(at), 0);
  write.letGo();
  await world.clock.settle();
  assert.equal(await delivered(at), 1);
});

test("a write that is under way when the run ends is awaited: what has reached it does not become an ask", async () => {
  const at = await running();
  const write = held(at.world, "/write", "after");
  await steer(at, "left");
  await write.come;
  at.world.container.finish(at.world.container.of(at.id));
  await at.world.clock.settle();
  assert.equal((await at.world.ledger.run(at.id)).ended, null, "it is not sealed before that is known");
  write.letGo();
  await at.world.clock.settle();
  assert.equal((await at.world.ledger.run(at.id)).ended?.leftId, null);
  assert.deepEqual(await started(at), ["go"]);
});

test("a delivery of which nothing is heard any more holds up no end for ever", async () => {
  const at = await running();
  const progress = at.world.ledger.progress.bind(at.world.ledger);
  at.world.ledger.progress = (body) => (body.delivered === undefined ? progress(body) : new Promise(() => undefined));
  await steer(at, "left");
  at.world.container.finish(at.world.container.of(at.id));
  await at.world.clock.settle();
  assert.equal((await at.world.ledger.run(at.id)).ended, null);
  await at.world.clock.advance(REAL.frontHoldMs);
  assert.equal((await at.world.ledger.run(at.id)).ended?.verdict.ending, "finished");
});
