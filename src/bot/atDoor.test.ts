// Who stands at a resident's door, and who waits behind: a newcomer behind whoever was let in before it, a part of a run in
// flight behind a refusal that it would only meet again.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { beginHandoff } from "#core/seal.ts";
import { SECOND } from "#core/time.ts";
import { attachBody, refusal } from "#client/clientForTests.ts";
import { asked, born, request, World, type Living } from "./botForTests.ts";

const textsOf = (world: World): string[] => world.container.processes.map(({ env }) => env["TIDEGATE_ASK"] ?? "");

/** Attaches that may come before a bot that asks without any pause is killed, so that the test ends. */
const MANY = 50;

/** Has each attach of this ask counted; the others are the fake fleet's to answer. */
function counting(world: World, { life }: Living, text: string): () => number {
  let attaches = 0;
  world.server.answers.set("/attach", (body) => {
    const ask = attachBody.parse(body);
    const entry = world.ledger.store.entries.find((one) => one.ask.id === ask.runId);
    if (entry?.ask.text === text) attaches += 1;
    if (attaches > MANY) life.kill();
    return world.server.attach(ask);
  });
  return () => attaches;
}

/** The deploy's swap begins, as the registry tells it. */
function swap(world: World): void {
  world.server.drain("deploy-1", 65, true);
  const build = { commit: "c", bundle: "b", image: "i" };
  const sealed = beginHandoff(world.server.book, "deploy-1", build, world.clock.now());
  assert.ok(sealed.kind === "sealed");
  world.server.book = sealed.book;
  world.server.tell();
}

test("a part of a run in flight waits while a swap refuses it, and starts once that is over", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "parent");
  await world.clock.advance(SECOND);
  swap(world);
  await world.clock.settle();
  const attaches = counting(world, living, "child");
  const child = await asked(living, "child", { resource: "web", parent: id });
  assert.deepEqual([child.kind, child.waitingFor], ["queued", ["deploy"]]);
  await world.clock.advance(10 * SECOND);
  assert.equal(attaches(), 0);
  world.server.lift("deploy-1");
  await world.clock.settle();
  assert.deepEqual([attaches(), textsOf(world)], [1, ["parent", "child"]]);
});

test("a swap that nobody has told of refuses a part of a run in flight once a poll and not more often", async () => {
  const world = new World();
  world.server.watchable = false;
  const living = await born(world);
  const { id } = await asked(living, "parent");
  await world.clock.advance(SECOND);
  swap(world);
  const attaches = counting(world, living, "child");
  await asked(living, "child", { resource: "web", parent: id });
  await world.clock.settle();
  assert.equal(attaches(), 1);
  await world.clock.advance(4 * CLOCK.pollMs);
  assert.equal(attaches(), 5);
  assert.ok(!living.life.isDead);
});

test("a part of a run that its resident does not know is refused once a poll, and another run's parts pass meanwhile", async () => {
  const world = new World();
  const living = await born(world);
  const lost = await asked(living, "lost parent");
  await world.clock.advance(SECOND);
  const parent = await asked(living, "parent");
  await world.clock.advance(SECOND);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  world.server.registered.delete(lost.id);
  const attaches = counting(world, living, "child");
  await asked(living, "child", { resource: "web", parent: lost.id });
  await world.clock.settle();
  assert.equal(attaches(), 1);
  await asked(living, "sister", { parent: parent.id });
  await world.clock.settle();
  assert.deepEqual(textsOf(world), ["lost parent", "parent", "sister"]);
  await world.clock.advance(2 * CLOCK.pollMs);
  assert.equal(attaches(), 3);
  world.server.lift("person-1");
  await world.clock.settle();
  assert.equal(textsOf(world).at(-1), "child");
});

/** Answers the first attach that its container rolls. */
function rollsOnce(world: World, then: () => void = () => undefined): void {
  world.server.answers.set("/attach", () => {
    world.server.answers.delete("/attach");
    then();
    return refusal("ROLLING");
  });
}

test("inv. 12: a newcomer waits behind one that waits for its container at the door", async () => {
  const world = new World();
  const living = await born(world);
  rollsOnce(world);
  const first = await asked(living, "first");
  await world.clock.advance(SECOND);
  const second = await asked(living, "second");
  assert.deepEqual([second.kind, second.waitingFor, second.position], ["queued", ["queue"], 1]);
  const part = await asked(living, "part of the first", { parent: first.id });
  assert.equal(part.kind, "admitted", "it is no newcomer");
  await world.clock.advance(20 * SECOND);
  assert.deepEqual(textsOf(world).toSorted(), ["first", "part of the first", "second"]);
  assert.ok(textsOf(world).indexOf("first") < textsOf(world).indexOf("second"));
});

test("inv. 12: a newcomer waits behind one that a bot which was killed had let in", async () => {
  const world = new World();
  const one = await born(world);
  rollsOnce(world, () => one.life.kill());
  void asked(one, "first");
  await world.clock.advance(SECOND);
  assert.ok(one.life.isDead);
  const two = await born(world);
  assert.equal((await asked(two, "second")).kind, "queued");
  await world.clock.advance(CLOCK.ledgerLeaseMs + 20 * SECOND);
  assert.deepEqual(textsOf(world), ["first", "second"]);
});

test("inv. 12: a newcomer waits behind one whose admission was not answered", async () => {
  const world = new World();
  const living = await born(world);
  const ask = world.ledger.ask.bind(world.ledger);
  world.ledger.ask = async (body) => {
    world.ledger.ask = ask;
    await ask(body);
    throw new Error("the answer was lost");
  };
  assert.equal(
    (await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "first" } })).status,
    500,
  );
  assert.equal((await asked(living, "second")).kind, "queued");
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.deepEqual(textsOf(world), ["first", "second"]);
});

test("a newcomer waits behind as many as make a workspace at once", async () => {
  const world = new World();
  const living = await born(world);
  const made: (() => void)[] = [];
  world.server.answers.set("/attach", (body) => {
    const ask = attachBody.parse(body);
    world.server.registered.add(ask.runId);
    const line = `${JSON.stringify({ type: "binding", binding: world.server.binding(ask, false) })}\n`;
    return new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          made.push(() => {
            controller.enqueue(new TextEncoder().encode(line));
            controller.close();
          });
        },
      }),
    );
  });
  for (let n = 1; n <= LIMIT.provisioningSlots; n += 1) {
    assert.equal((await asked(living, `ask ${n}`)).kind, "admitted");
    await world.clock.settle();
  }
  assert.equal((await asked(living, "one too many")).kind, "queued");
  await world.clock.settle();
  assert.equal(made.length, LIMIT.provisioningSlots);
  made[0]?.();
  await world.clock.settle();
  assert.equal(made.length, LIMIT.provisioningSlots + 1);
});
