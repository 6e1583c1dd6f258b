// The pump of the queue, end to end over ledger and fleet: the order of arrival, one at a door at a time, as many behind it
// as the resident makes workspaces, each told its wait once, and nothing lost where an answer was.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { attachBody, refusal } from "#client/clientForTests.ts";
import { asked, born, request, World } from "./botForTests.ts";

const finish = (world: World): void => {
  world.container.onStart = (process) => world.container.finish(process);
};
const textsOf = (world: World): string[] => world.container.processes.map(({ env }) => env["TIDEGATE_ASK"] ?? "");

test("inv. 12: whatever is asked, closed and opened in whatever order: each once, in the order of arrival", async () => {
  const act = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant("ask" as const), repo: fc.constantFrom("app", "web"), thread: fc.nat(9) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("close" as const, "open" as const, "deploy" as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), seconds: fc.nat(40) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("finish" as const, "kill" as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: 24 }), async (acts) => {
      const world = new World();
      let living = await born(world);
      const order = new Map<string, string[]>([
        ["app", []],
        ["web", []],
      ]);
      const threads = new Map<string, string>();
      const finishAll = (): void => world.container.processes.forEach((process) => world.container.finish(process));
      for (const [n, one] of acts.entries()) {
        if (one.do === "ask") {
          const text = `ask ${n}`;
          const threadKey = `web:T${one.repo}${one.thread}`;
          const answer = await asked(living, text, { resource: one.repo, threadKey });
          threads.set(text, threadKey);
          if (answer.kind !== "added") order.get(one.repo)?.push(text);
        } else if (one.do === "close") world.server.drain("person-1", 30);
        else if (one.do === "deploy") world.server.drain("deploy-1", 65, true);
        else if (one.do === "open") for (const id of ["person-1", "deploy-1"]) world.server.lift(id);
        else if (one.do === "finish") finishAll();
        else if (one.do === "pass") await world.clock.advance(one.seconds * SECOND);
        else {
          living.life.kill();
          living = await born(world);
        }
        await world.clock.settle();
      }
      for (let looks = 0; looks < 90 && (await world.ledger.entries()).entries.length > 0; looks += 1) {
        await world.clock.advance(MINUTE);
        finishAll();
      }
      assert.deepEqual((await world.ledger.entries()).entries, [], "nothing is left");
      const first = textsOf(world).map((text) => text.split("\n")[0] ?? "");
      assert.equal(new Set(first).size, first.length, "each once");
      for (const [repo, texts] of order) {
        const started = first.filter((text) => texts.includes(text));
        assert.deepEqual(started.toSorted(), texts.toSorted(), "all of them");
        // A thread that is busy lets others pass; within what could start, nobody is overtaken.
        const alone = texts.filter((text) => [...threads].filter(([, key]) => key === threads.get(text)).length === 1);
        assert.deepEqual(
          started.filter((text) => alone.includes(text)),
          alone,
          `${repo} in order`,
        );
      }
    }),
    { numRuns: 60 },
  );
});

test("one stands at the door at a time, and as many are behind it as make a workspace at once", async () => {
  const world = new World();
  const living = await born(world);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  for (let n = 0; n < 9; n += 1) await asked(living, `ask ${n}`);
  const arrived: string[] = [];
  const door = { open: (): void => undefined };
  const made: (() => void)[] = [];
  world.server.answers.set("/attach", (body) => {
    const ask = attachBody.parse(body);
    arrived.push(ask.runId);
    return new Promise((resolve) => {
      door.open = () =>
        resolve(
          new Response(
            new ReadableStream<Uint8Array>({
              start(controller) {
                world.server.registered.add(ask.runId);
                made.push(() => {
                  const line = { type: "binding", binding: world.server.binding(ask, false) };
                  controller.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
                  controller.close();
                });
              },
            }),
          ),
        );
    });
  });
  world.server.lift("person-1");
  await world.clock.settle();
  for (let n = 1; n <= LIMIT.provisioningSlots; n += 1) {
    assert.equal(arrived.length, n, "the next one comes when this one is through the door");
    door.open();
    await world.clock.settle();
  }
  assert.equal(arrived.length, LIMIT.provisioningSlots, "no more than there are slots");
  made.shift()?.();
  await world.clock.settle();
  assert.equal(arrived.length, LIMIT.provisioningSlots + 1);
  const { entries } = await world.ledger.entries();
  assert.deepEqual(
    arrived,
    entries.slice(0, arrived.length).map(({ ask }) => ask.id),
  );
});

test("a run that meets a closed door is back in the queue at once, at its place, with a lease of its own later", async () => {
  const world = new World();
  finish(world);
  world.server.watchable = false;
  const living = await born(world);
  await world.clock.advance(3 * SECOND);
  world.server.drain("deploy-1", 65, true);
  const first = await asked(living, "one");
  assert.equal(first.kind, "admitted", "nobody has told of the drain");
  await world.clock.settle();
  const [entry] = (await world.ledger.entries()).entries;
  assert.deepEqual([entry?.state, entry?.leaseUntil, entry?.toldOf, entry?.tries], ["queued", null, "deploy-1", 0]);
  const second = await asked(living, "two");
  assert.deepEqual([second.kind, second.position, second.waitingFor], ["queued", 2, ["deploy"]]);
  await world.clock.advance(MINUTE);
  assert.equal(textsOf(world).length, 0);
  assert.ok(world.server.count("/attach") <= 4, "it asks again each poll and not more often");
  world.server.lift("deploy-1");
  await world.clock.advance(CLOCK.pollMs);
  assert.deepEqual(textsOf(world), ["one", "two"]);
  const run = await world.ledger.run(first.id);
  assert.deepEqual(
    run.notes.map(({ kind }) => kind),
    ["drain_wait", "work"],
  );
  const states = (await world.cards()).filter((card) => card.startsWith(first.id));
  const words = states.map((card) => card.slice(first.id.length + 1));
  assert.deepEqual(words.slice(0, 2), ["attaching", "queued deploy"]);
  assert.deepEqual(words.slice(-3), ["attaching", "running", "ended"]);
});

test("each is told its wait once under a drain, and once under the next, also by another bot", async () => {
  const world = new World();
  let living = await born(world);
  const tell = async (): Promise<string[]> => {
    await world.clock.settle();
    return (await world.cards()).map((card) => card.slice(card.indexOf(" ") + 1));
  };
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  await asked(living, "one", { threadKey: "web:T1" });
  await asked(living, "two", { threadKey: "web:T2" });
  assert.deepEqual(await tell(), ["queued deploy", "queued deploy"]);
  await world.clock.advance(MINUTE);
  living.life.kill();
  living = await born(world);
  await world.clock.advance(MINUTE - SECOND);
  assert.deepEqual(await tell(), ["queued deploy", "queued deploy"], "once, whoever looks");
  world.server.drain("person-1", 60);
  await world.clock.settle();
  world.server.lift("deploy-1");
  assert.deepEqual(await tell(), ["queued deploy", "queued deploy", "queued drain", "queued drain"]);
  world.server.lift("person-1");
  await world.clock.advance(SECOND);
  assert.equal(world.container.processes.length, 2);
});

test("what waits for its thread says so, and starts when that is free; what is said meanwhile is added to it", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one", { threadKey: "web:T" });
  const two = await asked(living, "two", { threadKey: "web:T" });
  const says = `waiting for run ${one.id} of this thread to end · its lease ends 14:31 · place 1`;
  assert.deepEqual([two.kind, two.waitingFor, two.says], ["queued", ["thread"], says]);
  const three = await asked(living, "three", { threadKey: "web:T" });
  assert.deepEqual([three.kind, three.id, three.waitingFor], ["added", two.id, ["thread"]]);
  const other = await asked(living, "four");
  assert.equal(other.kind, "admitted", "a busy thread holds up nobody else");
  await world.clock.advance(39 * SECOND);
  world.container.finish(world.container.of(one.id));
  await world.clock.settle();
  assert.deepEqual(textsOf(world), ["one", "four", "two\nthree"]);
  const { card } = await world.ledger.run(two.id);
  assert.deepEqual([card?.state, card?.waitedMs, card?.waitedBehind], ["running", 39 * SECOND, "thread"]);
});

test("an ask that was admitted by an answer which was lost is found, and in hand by the next heartbeat", async () => {
  const world = new World();
  finish(world);
  const living = await born(world);
  const real = world.ledger.dispatch.bind(world.ledger);
  world.server.drain("person-1", 60);
  await world.clock.settle();
  await asked(living, "one");
  world.ledger.dispatch = async (body) => {
    world.ledger.dispatch = real;
    await real(body);
    throw new Error("the answer was lost");
  };
  world.server.lift("person-1");
  await world.clock.settle();
  assert.match(world.logged.join("\n"), /the queue cannot be looked at/);
  await world.clock.advance(CLOCK.heartbeatMs);
  assert.deepEqual(textsOf(world), ["one"]);
});

test("a child of a run in flight passes the closed door, also from the queue", async () => {
  const world = new World();
  const living = await born(world);
  const parent = await asked(living, "parent");
  await world.clock.settle();
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const blocked = await asked(living, "first of the thread", { threadKey: "web:T", parent: parent.id });
  assert.equal(blocked.kind, "admitted");
  const child = await asked(living, "child", { threadKey: "web:T", parent: parent.id });
  assert.equal(child.kind, "queued");
  const other = await asked(living, "other");
  assert.equal(other.kind, "queued");
  await world.clock.settle();
  world.container.finish(world.container.of(blocked.id));
  await world.clock.settle();
  assert.deepEqual(textsOf(world), ["parent", "first of the thread", "child"]);
});

test("a queued ask that is stopped is out of the queue, and its wait is noted", async () => {
  const world = new World();
  finish(world);
  const living = await born(world);
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const one = await asked(living, "one");
  const two = await asked(living, "two");
  await world.clock.advance(MINUTE);
  const response = await request(living, `POST /runs/${one.id}/stop`, { body: { key: "stop-1" } });
  assert.deepEqual(await response.json(), { now: world.clock.now(), id: one.id, kind: "ended" });
  await world.clock.settle();
  assert.equal(living.bot.queue.waits.size, 1);
  const run = await world.ledger.run(one.id);
  assert.deepEqual(
    [run.ended?.verdict.ending, run.notes.map(({ kind, ms }) => [kind, ms])],
    ["stopped", [["drain_wait", MINUTE]]],
  );
  assert.equal(run.card?.state, "ended");
  world.server.lift("deploy-1");
  await world.clock.settle();
  assert.deepEqual(textsOf(world), ["two"]);
  assert.ok(two.id !== one.id);
});

test("a stop that meets a run on its way back to the queue ends it there", async () => {
  const world = new World();
  world.server.watchable = false;
  const living = await born(world);
  await world.clock.advance(3 * SECOND);
  let refuse = (): void => undefined;
  world.server.answers.set(
    "/attach",
    () =>
      new Promise((resolve) => {
        const drain = { id: "deploy-1", until: 9e12, by: "ci", reason: "x", deploy: true, phase: "draining" };
        refuse = () => resolve(refusal("DRAINING", { draining: drain }));
      }),
  );
  const one = await asked(living, "one");
  await world.clock.settle();
  // Said to the ledger by another way than this bot: it hears of the stop as it gives the run back.
  await world.ledger.say({ id: one.id, generation: 1, key: "stop", kind: "stop", text: "" });
  refuse();
  await world.clock.settle();
  const run = await world.ledger.run(one.id);
  assert.deepEqual([run.ended?.verdict.ending, run.card?.state], ["stopped", "ended"]);
  assert.deepEqual(
    run.notes.map(({ kind }) => kind),
    ["drain_wait"],
  );
});

test("what a look finds that is older than what became of a run meanwhile takes nothing in hand again", async () => {
  const world = new World();
  finish(world);
  const living = await born(world);
  const real = world.ledger.look.bind(world.ledger);
  const kept: (() => void)[] = [];
  world.ledger.look = async () => {
    const answer = await real();
    await new Promise<void>((resolve) => void kept.push(resolve));
    return answer;
  };
  const one = await asked(living, "one");
  await world.clock.settle();
  assert.equal((await world.ledger.run(one.id)).ended?.verdict.ending, "finished");
  const attaches = world.server.count("/attach");
  world.ledger.look = real;
  for (const answer of kept) answer();
  await world.clock.settle();
  assert.equal(world.server.count("/attach"), attaches);
});

test("a message for a run whose admission's answer was lost finds it at once", async () => {
  const world = new World();
  const living = await born(world);
  const real = world.ledger.ask.bind(world.ledger);
  world.ledger.ask = async (body) => {
    world.ledger.ask = real;
    await real(body);
    throw new Error("the answer was lost");
  };
  const body = { key: "k", resource: "app", text: "one" };
  assert.equal((await request(living, "POST /asks", { body })).status, 500);
  const [entry] = (await world.ledger.entries()).entries;
  const id = entry?.ask.id ?? assert.fail();
  await request(living, `POST /runs/${id}/steer`, { body: { key: "a", text: "left" } });
  await world.clock.settle();
  assert.equal((await world.ledger.run(id)).entry.delivered, 1);
  assert.deepEqual(textsOf(world), ["one"]);
});
