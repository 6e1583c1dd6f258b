// A bot that dies is replaced, wherever it dies: at each word that it says to ledger or fleet it is killed once, that word
// heard and its answer not, which is every gap that anybody else could see. Nothing is lost, nothing runs twice, and each goes in its turn.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, LIMIT, REAL } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { asked, born, request, World } from "./botForTests.ts";
import type { Process } from "./containerForTests.ts";
import { Night } from "./nightForTests.ts";

const TEXTS = ["one", "two", "three", "four", "five"];
const repoOf = (text: string): string => (text === "four" ? "web" : "app");

/** Asks under a deploy, its end, and runs that end one by one; answers the ids by text. */
async function evening(night: Night): Promise<Map<string, string>> {
  const { server } = night.world;
  await night.bot();
  server.drain("deploy-1", 65, true);
  await night.world.clock.settle();
  const ids = new Map<string, string>();
  for (const text of TEXTS) ids.set(text, await night.ask(text, { resource: repoOf(text) }));
  await night.pass(20 * SECOND);
  server.drain("deploy-1", 65, true);
  await night.pass(MINUTE);
  server.lift("deploy-1");
  for (let looks = 0; looks < 40; looks += 1) {
    await night.pass(10 * SECOND);
    night.finishAll();
    const { entries } = await night.world.ledger.entries();
    if (entries.length === 0) break;
  }
  await night.pass(20 * SECOND);
  return ids;
}

async function check(night: Night, ids: Map<string, string>, where: string): Promise<void> {
  const { world } = night;
  const { entries } = await world.ledger.entries();
  assert.deepEqual(entries, [], `${where}: nothing is left`);
  for (const text of TEXTS) {
    const run = await world.ledger.run(ids.get(text) ?? "");
    assert.equal(run.ended?.verdict.ending, "finished", `${where}: ${text}`);
    const out = Buffer.from((await world.ledger.outputFrom({ id: run.entry.ask.id })).data, "base64").toString();
    assert.equal(out, `${text}: first line\n${text}: last line\n`, `${where}: byte for byte`);
    assert.equal(run.card?.state, "ended", `${where}: its end is told`);
    assert.deepEqual(
      run.notes.filter(({ kind }) => kind === "drain_wait").length,
      1,
      `${where}: its wait is noted once: ${JSON.stringify(run.notes)}`,
    );
  }
  const texts = world.container.processes.map((process) => process.env["TIDEGATE_ASK"] ?? "");
  assert.deepEqual(texts.toSorted(), TEXTS.toSorted(), `${where}: each was started once`);
  const order = texts.filter((text) => repoOf(text) === "app");
  assert.deepEqual(order, ["one", "two", "three", "five"], `${where}: in order`);
  assert.equal(world.server.registered.size, 0, `${where}: every registration is given back`);
}

test("inv. 12: a bot killed at any of its words to ledger and fleet: each ask once, in order, whole", async () => {
  const whole = new Night(null);
  await check(whole, await evening(whole), "without a kill");
  const calls = whole.living?.life.calls ?? 0;
  assert.ok(calls > 60, `only ${calls} words`);
  for (let call = 1; call <= calls; call += 1) {
    const night = new Night(call);
    await check(night, await evening(night), `killed at word ${call} of ${calls}`);
  }
});

test("what a bot held that is known to be gone is the next one's as it begins, and else once its ledger lease is over", async () => {
  for (const gone of [true, false]) {
    const world = new World();
    const first = await born(world);
    const { id } = await asked(first, "work");
    await world.clock.settle();
    const { number } = first.bot.desk;
    first.life.kill();
    const next = await born(world, gone ? { gone: number } : {});
    assert.deepEqual(
      next.bot.desk.runs.all.map((run) => run.id),
      gone ? [id] : [],
    );
    await world.clock.advance(CLOCK.ledgerLeaseMs);
    assert.deepEqual(
      next.bot.desk.runs.all.map((run) => run.id),
      [id],
    );
    assert.equal(world.container.processes.length, 1, "and goes on as it is");
  }
});

/** A run at work is steered, its bot killed meanwhile, and it ends. */
async function steered(night: Night): Promise<string> {
  const id = await night.ask("work");
  await night.pass(5 * SECOND);
  await night.say(`POST /runs/${id}/steer`, { key: "say-1", text: "to the left" });
  await night.say(`POST /runs/${id}/steer`, { key: "say-2", text: "when done: a second one", kind: "followUp" });
  await night.pass(5 * SECOND);
  await night.say(`POST /runs/${id}/steer`, { key: "say-3", text: "to the right" });
  await night.pass(50 * SECOND);
  night.finishAll();
  await night.pass(50 * SECOND);
  return id;
}

test("a steer in any gap of a kill arrives once, and what is for the end becomes one ask", async () => {
  const whole = new Night(null);
  await steered(whole);
  const calls = whole.living?.life.calls ?? 0;
  for (let call = 1; call <= calls; call += 1) {
    const night = new Night(call);
    const id = await steered(night);
    const where = `killed at word ${call} of ${calls}`;
    const inbox = night.world.container.files.get(`web:${id}/.tidegate/inbox.ndjson`) ?? "";
    const said = inbox.split("\n").filter((line) => line !== "");
    assert.deepEqual(
      said.map((line) => /"text":"(.*)"/.exec(line)?.[1]),
      ["to the left", "to the right"],
      where,
    );
    const { processes } = night.world.container;
    assert.deepEqual(
      processes.map((process) => process.env["TIDEGATE_ASK"]),
      ["work", "when done: a second one"],
      `${where}: the follow-up is an ask of its own`,
    );
  }
});

test("a run goes on through a roll: one process, its output whole, and its card as it was", async () => {
  const world = new World();
  const secret = "s3cr\u00e9t-\u{1F512}";
  world.variables["A_KEY"] = secret;
  const wishes = { roll: "handoff", kinds: { shell: { lease: "45m", env: { KEY: { from: "A_KEY" } } } } } as const;
  const first = await born(world, wishes);
  const response = await request(first, "POST /asks", { body: { key: "k", resource: "app", text: "go" } });
  assert.equal(response.status, 200);
  await world.clock.advance(SECOND);
  const [process] = world.container.processes;
  assert.ok(process);
  const whole = new TextEncoder().encode(
    `before \u00fc ${secret} between ${secret}${secret} after \u{1F512}\n`.repeat(20),
  );
  let living = first;
  for (let at = 0; at < whole.length; at += 37) {
    world.container.say(process, whole.subarray(at, at + 37));
    await world.clock.settle();
    if (at % 5 === 0) {
      await living.bot.end();
      assert.equal(world.server.registered.size, 1, "it stays registered");
      living = await born(world, wishes);
    }
  }
  world.container.finish(process);
  await world.clock.settle();
  assert.equal(world.container.processes.length, 1);
  const masked = new TextDecoder()
    .decode(whole)
    .replaceAll(secret, "*".repeat(new TextEncoder().encode(secret).length));
  const part = await world.ledger.outputFrom({ id: process.runId });
  assert.equal(Buffer.from(part.data, "base64").toString(), masked, "byte for byte, the secret hidden");
  assert.deepEqual(await world.cards(), [
    `${process.runId} attaching`,
    `${process.runId} running`,
    `${process.runId} ended`,
  ]);
  assert.ok(!world.logged.join("\n").includes(secret));
});

const KEYED = { env: { KEY: { from: "A_KEY" } } };
const changes: readonly (readonly [says: string, kinds: object, key: string | undefined, isBare: boolean])[] = [
  ["whose secret was rotated", { shell: { lease: "45m", ...KEYED } }, "another-value", false],
  ["whose command is another one", { shell: { lease: "45m", command: ["agent"], ...KEYED } }, "the-first-value", false],
  ["whose secret is not there any more", { shell: { lease: "45m", ...KEYED } }, undefined, true],
  ["whose kind is gone", {}, "the-first-value", true],
];
for (const [says, kinds, key, isBare] of changes)
  test(`inv. 4: a run ${says} at the next bot goes on: its process is followed, and never ended`, async () => {
    const world = new World();
    world.variables["A_KEY"] = "the-first-value";
    const before = { shell: { lease: "45m", ...KEYED }, ci: { lease: "45m", ...KEYED } };
    const first = await born(world, { roll: "handoff", kinds: before });
    const kind = isBare && key !== undefined ? "ci" : "shell";
    const { id } = await asked(first, "go", { kind });
    await world.clock.settle();
    const process = world.container.of(id);
    world.container.say(process, "before, ");
    await first.bot.end();
    if (key === undefined) delete world.variables["A_KEY"];
    else world.variables["A_KEY"] = key;
    await born(world, { roll: "handoff", kinds });
    await world.clock.settle();
    world.container.say(process, "behind");
    world.container.finish(process);
    await world.clock.settle();
    const { ended, notes } = await world.ledger.run(id);
    assert.deepEqual([ended?.verdict.ending, ended?.writeUp], ["finished", "before, behind"]);
    assert.deepEqual(world.container.started, [process.id]);
    assert.equal(notes.filter(({ kind: one }) => one === "only_followed").length, isBare ? 1 : 0);
  });

test("a container that is replaced during a roll: the next bot resumes the run, under a new id and a ceiling", async () => {
  const world = new World();
  const wishes = { roll: "handoff", kinds: { shell: { lease: "45m", resume: ["agent", "--on"] } } } as const;
  let living = await born(world, wishes);
  await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "go" } });
  await world.clock.settle();
  for (let boot = 2; boot < 9; boot += 1) {
    await living.bot.end();
    world.container.replace(`boot${boot}`);
    living = await born(world, wishes);
    await world.clock.settle();
  }
  const { processes } = world.container;
  const [first] = processes;
  assert.ok(first);
  assert.deepEqual(
    processes.map(({ id, command }) => [id, command.join(" ")]),
    [1, 2, 3, 4, 5].map((n) => [`p-${first.runId}-${n}`, n === 1 ? "sh -c go" : "agent --on"]),
  );
  const run = await world.ledger.run(first.runId);
  assert.deepEqual([run.ended?.verdict.ending, run.ended?.verdict.by], ["replaced", "container"]);
});

/** A run whose bot has handed it off, and which goes on and is told to stop while nobody holds it. */
async function stoppedUnheld(goesOn: (container: World["container"], process: Process) => void) {
  const world = new World();
  const first = await born(world, { roll: "handoff" });
  const { id } = await asked(first, "go");
  await world.clock.settle();
  await first.bot.end();
  const process = world.container.of(id);
  world.container.say(process, "said to nobody\n");
  goesOn(world.container, process);
  const { generation } = await world.ledger.entries();
  await world.ledger.say({ id, generation, key: "stop", kind: "stop", text: "" });
  return { world, id, endOf: async () => (await world.ledger.run(id)).ended };
}

test("a stop that is said while nobody holds the run ends it as soon as somebody does, with all that it had said", async () => {
  const { world, endOf } = await stoppedUnheld(() => undefined);
  await born(world);
  await world.clock.advance(SECOND);
  const ended = await endOf();
  assert.deepEqual([ended?.verdict.ending, ended?.writeUp], ["stopped", "said to nobody"]);
  assert.equal(world.server.registered.size, 0);
});

test("what had ended by itself before it was told to stop has ended so", async () => {
  const { world, endOf } = await stoppedUnheld((container, process) => container.finish(process, { exit: 3 }));
  await born(world);
  await world.clock.advance(SECOND);
  const ended = await endOf();
  assert.deepEqual([ended?.verdict.ending, ended?.verdict.exit, ended?.writeUp], ["failed", 3, "said to nobody"]);
});

test("a stop of a run whose process is nowhere any more starts it nowhere", async () => {
  const { world, id, endOf } = await stoppedUnheld((container) => container.processes.splice(0));
  await born(world);
  await world.clock.advance(SECOND);
  assert.equal((await endOf())?.verdict.ending, "stopped");
  assert.deepEqual(world.container.started, [], id);
});

test("a fleet that is away holds up a stop for no longer than a process may take to go", async () => {
  const { world, endOf } = await stoppedUnheld(() => undefined);
  for (const path of ["/attach", "/exec", "/op", "/detach"]) world.server.answers.set(path, () => refusal("ROLLING"));
  await born(world);
  await world.clock.advance(REAL.processGoneMs - SECOND);
  assert.equal(await endOf(), null);
  await world.clock.advance(2 * SECOND + LIMIT.tries * CLOCK.retryMs);
  assert.equal((await endOf())?.verdict.ending, "stopped");
});

test("a bot that was killed is followed within one ledger lease", async () => {
  const world = new World();
  const first = await born(world);
  await request(first, "POST /asks", { body: { key: "k", resource: "app", text: "go" } });
  await world.clock.settle();
  first.life.kill();
  await world.clock.advance(4 * SECOND);
  await born(world);
  const [process] = world.container.processes;
  assert.ok(process);
  world.container.say(process, "said to nobody\n");
  await world.clock.advance(CLOCK.ledgerLeaseMs - 5 * SECOND);
  assert.equal((await world.ledger.run(process.runId)).output.out.length, 0);
  await world.clock.advance(SECOND);
  assert.equal((await world.ledger.run(process.runId)).output.out.length, 15);
});

test(
  "inv. 12: 200 queued asks over five kills: each started once, in the order of arrival",
  { timeout: 120_000 },
  async () => {
    const night = new Night(null);
    const { world } = night;
    world.container.onStart = (process) => world.container.finish(process);
    await night.bot();
    world.server.drain("person-1", 90);
    await world.clock.settle();
    const texts = Array.from({ length: 200 }, (_, n) => `ask ${n}`);
    for (const text of texts) await night.ask(text, { resource: repoOf(text === "ask 7" ? "four" : text) });
    const killAt = new Set([3, 40, 41, 120, 199]);
    const start = world.container.onStart;
    world.container.onStart = (process) => {
      if (killAt.delete(world.container.processes.length)) night.living?.life.kill();
      start(process);
    };
    world.server.lift("person-1");
    for (let looks = 0; looks < 100 && (await world.ledger.entries()).entries.length > 0; looks += 1)
      await night.pass(5 * SECOND);
    assert.deepEqual((await world.ledger.entries()).entries, []);
    const asks = world.container.processes.map((process) => process.env["TIDEGATE_ASK"] ?? "");
    assert.deepEqual(
      asks.filter((text) => text !== "ask 7"),
      texts.filter((text) => text !== "ask 7"),
    );
    assert.equal(night.bots, 6);
  },
);
