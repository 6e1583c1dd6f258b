// The stages of one run: how it is started, what its verdict is, what it is told, and that whatever interrupts it from outside
// is never its own failure.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { attachBody, lines, refusal } from "#client/clientForTests.ts";
import { asked, born, request, World, type Living, type Wishes } from "../botForTests.ts";
import type { LedgerRun } from "#wire/ledger.ts";

const KINDS = {
  coding: { lease: "45m", command: ["agent", "run"], resume: ["agent", "on"], env: { KEY: { from: "A_KEY" } } },
};

interface At {
  readonly world: World;
  readonly living: Living;
  readonly id: string;
}

/** A run at work. */
async function running(more: object = {}, wishes: Wishes = { kinds: KINDS }): Promise<At> {
  const world = new World();
  world.variables["A_KEY"] = "the-secret-value";
  const living = await born(world, wishes);
  const { id } = await asked(living, "go", { kind: "coding", ...more });
  await world.clock.settle();
  return { world, living, id };
}

const runOf = ({ world, id }: At): Promise<LedgerRun> => world.ledger.run(id);
const notesOf = async (at: At): Promise<string[]> =>
  (await runOf(at)).notes.map(({ kind, text }) => `${kind}: ${text}`);
const statesOf = async ({ world, id }: At): Promise<string[]> =>
  (await world.cards()).filter((card) => card.startsWith(id)).map((card) => card.slice(id.length + 1));

test("a run is started by its kind's command, and sees what its kind names and nothing else", async () => {
  const at = await running();
  const process = at.world.container.of(at.id);
  assert.deepEqual(process.command, ["agent", "run"]);
  assert.deepEqual(process.env, {
    KEY: "the-secret-value",
    TIDEGATE_ASK: "go",
    TIDEGATE_INBOX: ".tidegate/inbox.ndjson",
  });
  const [attach] = at.world.server.asked.filter(({ path }) => path === "/attach");
  assert.equal(JSON.stringify(attach?.body).includes(`"remainingMs":${45 * MINUTE}`), true);
});

const ends: readonly (readonly [
  says: string,
  more: object,
  ending: string,
  exit: number | null,
  why: string | null,
])[] = [
  ["exits 0: finished", {}, "finished", 0, null],
  ["exits 7: failed, by its own word", { exit: 7 }, "failed", 7, null],
  [
    "is ended by a signal: failed",
    { cause: "signalled", exit: null, signal: "SIGSEGV" },
    "failed",
    143,
    "ended by SIGSEGV",
  ],
  ["cannot be started", { cause: "not-started", exit: null, detail: "no agent" }, "notStarted", null, "no agent"],
  [
    "is ended from outside: failed, saying so",
    { cause: "stopped", exit: null, signal: "SIGTERM" },
    "failed",
    null,
    "the run was ended from outside: released, or replaced by another run of its thread",
  ],
];
for (const [says, more, ending, exit, why] of ends)
  test(`a process that ${says}`, async () => {
    const at = await running();
    at.world.container.finish(at.world.container.of(at.id), more);
    await at.world.clock.settle();
    assert.deepEqual((await runOf(at)).ended?.verdict, { ending, exit, by: null, why });
    assert.equal(at.world.server.registered.size, 0);
  });

test("its write-up is the end of what it said, else of what it complained, whole and masked", async () => {
  const at = await running();
  const process = at.world.container.of(at.id);
  at.world.container.say(process, `${"\u00fc".repeat(LIMIT.writeUpChars)} the-secret-value\0 end\n`);
  at.world.container.finish(process);
  await at.world.clock.settle();
  const text = (await runOf(at)).ended?.writeUp ?? "";
  assert.match(text, /^\u00fc+ \*{16}\uFFFD end$/);
  const silent = await running();
  silent.world.container.say(silent.world.container.of(silent.id), "what went wrong\n", "err");
  silent.world.container.finish(silent.world.container.of(silent.id), { exit: 1 });
  await silent.world.clock.settle();
  assert.equal((await runOf(silent)).ended?.writeUp, "what went wrong");
});

test("a stop ends it, with its card on the way there, and the thread is free", async () => {
  const at = await running();
  await request(at.living, `POST /runs/${at.id}/stop`, { body: { key: "stop-1" } });
  await at.world.clock.settle();
  assert.equal((await runOf(at)).ended?.verdict.ending, "stopped");
  assert.deepEqual(await statesOf(at), ["attaching", "running", "stopping", "ended"]);
  assert.equal(at.world.server.registered.size, 0);
});

test("a stop that the fleet does not hear at once is said again, and what ended by itself meanwhile has ended so", async () => {
  for (const endsItself of [false, true]) {
    const at = await running();
    const { container, server, clock } = at.world;
    const heard = server.answers.get("/op") ?? assert.fail();
    for (const path of ["/op", "/attach"]) server.answers.set(path, () => refusal("ROLLING"));
    container.cut();
    await request(at.living, `POST /runs/${at.id}/stop`, { body: { key: "stop-1" } });
    await clock.advance(SECOND);
    container.say(container.of(at.id), "its last word\n");
    if (endsItself) container.finish(container.of(at.id));
    server.answers.set("/op", heard);
    await clock.advance(SECOND);
    const { ended } = await runOf(at);
    assert.deepEqual([ended?.verdict.ending, ended?.writeUp], [endsItself ? "finished" : "stopped", "its last word"]);
  }
});

test("inv. 15: its lease ends it, and that is said", async () => {
  const at = await running({ leaseMs: 20 * MINUTE });
  await at.world.clock.advance(20 * MINUTE);
  assert.equal((await runOf(at)).ended?.verdict.ending, "leaseSpent");
  assert.deepEqual(await statesOf(at), ["attaching", "running", "stopping", "ended"]);
});

test("a container that is replaced under it is no failure: it is resumed, and its output goes on", async () => {
  const at = await running();
  const { container } = at.world;
  container.say(container.of(at.id), "one ");
  await request(at.living, `POST /runs/${at.id}/steer`, { body: { key: "a", text: "left" } });
  await at.world.clock.settle();
  at.world.container.files.clear();
  container.replace("boot2");
  await at.world.clock.settle();
  const process = container.of(at.id);
  assert.deepEqual([process.id, process.command], [`p-${at.id}-2`, ["agent", "on"]]);
  assert.match([...container.files.values()].join(), /"text":"left"/, "it finds what was said to it");
  container.say(process, "two");
  container.finish(process);
  await at.world.clock.settle();
  const run = await runOf(at);
  assert.deepEqual([run.ended?.verdict.ending, run.ended?.writeUp, run.entry.tries], ["finished", "one two", 2]);
  assert.deepEqual((await notesOf(at))[0], "replaced: the container was replaced; the run goes on by its resume");
});

test("without a resume a replaced container ends it, as what it is", async () => {
  const at = await running({ kind: "shell" });
  at.world.container.replace("boot2");
  await at.world.clock.settle();
  assert.deepEqual((await runOf(at)).ended?.verdict, { ending: "replaced", exit: null, by: "container", why: null });
});

test("a fleet that is not heard for good ends it by the transport, with what was tried", async () => {
  const at = await running();
  const away = (): never => {
    throw new TypeError("fetch failed");
  };
  for (const path of ["/exec", "/attach", "/detach"]) at.world.server.answers.set(path, away);
  at.world.container.replace("boot2");
  await at.world.clock.advance(30 * MINUTE);
  assert.deepEqual((await runOf(at)).ended?.verdict, { ending: "replaced", exit: null, by: "transport", why: null });
  const notes = await notesOf(at);
  assert.ok(notes.some((note) => note.startsWith("transport: not heard for")));
  assert.ok(notes.some((note) => note.startsWith("not_released: its registration stands")));
  assert.ok((await statesOf(at)).includes("waiting resident"));
});

test("a container that rolls while it attaches is waited for, on its card too", async () => {
  const world = new World();
  world.server.answers.set("/attach", () => refusal("ROLLING"));
  const living = await born(world, { kinds: KINDS });
  const { id } = await asked(living, "go");
  await world.clock.advance(CLOCK.wakePollMs);
  assert.deepEqual(await statesOf({ world, living, id }), ["attaching", "waiting resident"]);
  world.server.answers.delete("/attach");
  await world.clock.advance(CLOCK.wakePollMs);
  assert.deepEqual(await statesOf({ world, living, id }), ["attaching", "waiting resident", "running"]);
  assert.equal((await world.ledger.run(id)).card?.waitedMs, 2 * CLOCK.wakePollMs);
});

test("a control reset is told on the card only while it lasts, and the process is picked up where it stood", async () => {
  const at = await running();
  const { container, server } = at.world;
  container.say(container.of(at.id), "one ");
  await at.world.clock.settle();
  const exec = server.answers.get("/exec") ?? assert.fail();
  server.answers.set("/exec", () => lines([], "cut"));
  server.answers.set("/attach", () => refusal("ROLLING"));
  container.cut();
  await at.world.clock.advance(20 * SECOND);
  assert.equal((await runOf(at)).card?.state, "waiting");
  server.answers.set("/exec", exec);
  server.answers.delete("/attach");
  await at.world.clock.advance(10 * SECOND);
  assert.equal((await runOf(at)).card?.state, "running");
  container.say(container.of(at.id), "two");
  container.finish(container.of(at.id));
  await at.world.clock.settle();
  assert.equal((await runOf(at)).ended?.writeUp, "one two");
  assert.equal(container.processes.length, 1);
});

test("a refusal ends it with its words, and nothing is released that was never taken", async () => {
  const world = new World();
  world.server.answers.set("/attach", () => refusal("SETUP_FAILED"));
  const living = await born(world);
  const { id } = await asked(living, "go");
  await world.clock.settle();
  const { ended } = await world.ledger.run(id);
  assert.equal(ended?.verdict.ending, "refused");
  assert.match(ended?.verdict.why ?? "", /^The repository's setup command failed: told by the test/);
  assert.equal(world.server.count("/detach"), 0);
});

test("a thread that a run holds which has ended by the ledger's word is taken over; another one's is not", async () => {
  const world = new World();
  const living = await born(world);
  const gone = await asked(living, "gone", { threadKey: "web:T" });
  await world.clock.settle();
  world.container.finish(world.container.of(gone.id));
  await world.clock.settle();
  let holder = gone.id;
  world.server.answers.set("/attach", (body) => {
    const { replace } = attachBody.parse(body);
    if (replace.by !== "ledger") return refusal("THREAD_BUSY", { runId: holder });
    assert.equal(replace.runId, gone.id);
    world.server.answers.delete("/attach");
    return world.server.fetch("http://fleet/attach", { body: JSON.stringify(body) });
  });
  const next = await asked(living, "next", { threadKey: "web:T" });
  await world.clock.settle();
  assert.equal(world.container.of(next.id).end, null);
  holder = "somebody-elses";
  world.server.answers.set("/attach", () => refusal("THREAD_BUSY", { runId: holder }));
  const other = await asked(living, "other");
  await world.clock.settle();
  assert.equal((await world.ledger.run(other.id)).ended?.verdict.ending, "refused");
});

test("a kind that is gone, or wants what is not there any more, starts nothing and says why", async () => {
  const world = new World();
  world.variables["A_KEY"] = "the-secret-value";
  world.server.drain("person-1", 60);
  const first = await born(world, { kinds: KINDS });
  const one = await asked(first, "one", { kind: "coding", threadKey: "web:A" });
  first.life.kill();
  delete world.variables["A_KEY"];
  const second = await born(world, { kinds: KINDS });
  world.server.lift("person-1");
  await world.clock.settle();
  const missing = (await world.ledger.run(one.id)).ended?.verdict;
  assert.deepEqual(
    [missing?.ending, missing?.why],
    ["notStarted", "kind coding wants KEY: the bot's environment has no A_KEY"],
  );
  world.variables["A_KEY"] = "the-secret-value";
  world.server.drain("person-2", 60);
  await world.clock.settle();
  const two = await asked(second, "two", { kind: "ci" }).catch(() => null);
  assert.equal(two, null);
  const third = await born(world, { kinds: { ci: { lease: "45m" } } });
  const three = await asked(third, "three", { kind: "ci" });
  third.life.kill();
  await born(world);
  world.server.lift("person-2");
  await world.clock.advance(SECOND);
  assert.equal((await world.ledger.run(three.id)).ended?.verdict.why, 'no kind is called "ci" any more');
  assert.equal(world.container.processes.length, 0);
});

test("an ask of an older build that is more than a process takes starts nothing, and says how much it is", async () => {
  const world = new World();
  const living = await born(world);
  const ask = world.ledger.ask.bind(world.ledger);
  world.ledger.ask = async (body) => {
    const answer = await ask(body);
    if (answer.kind !== "admitted") return answer;
    const { entry } = answer;
    return { ...answer, entry: { ...entry, ask: { ...entry.ask, text: "漢".repeat(45_000) } } };
  };
  const { id } = await asked(living, "go");
  await world.clock.settle();
  const { ended } = await world.ledger.run(id);
  assert.equal(ended?.verdict.ending, "notStarted");
  assert.match(ended.verdict.why ?? "", /^an argument or a variable of it has 135014 bytes/);
  assert.deepEqual([world.container.processes.length, world.server.registered.size], [0, 0]);
});

test("an error of the bot's own ends the run it was met in, says so, and nothing else", async () => {
  const world = new World();
  const living = await born(world);
  world.ledger.progress = () => Promise.reject(new Error("a defect"));
  const one = await asked(living, "one");
  await world.clock.advance(10 * SECOND);
  const { ended } = await world.ledger.run(one.id);
  assert.deepEqual([ended?.verdict.ending, ended?.verdict.why], ["failed", "an error inside the bot; see its log"]);
  assert.equal(world.server.registered.size, 0);
  world.ledger.end = () => Promise.reject(new Error("another defect"));
  const two = await asked(living, "two");
  await world.clock.advance(10 * SECOND);
  assert.equal((await world.ledger.entries()).entries[0]?.ask.id, two.id, "what cannot even be ended is left");
  assert.ok(world.logged.some((line) => line.includes("another defect") && line.includes("is left as it is")));
});

test("a message that the container is not there for is written when it is back", async () => {
  const at = await running();
  const { server, container } = at.world;
  const write = server.answers.get("/write") ?? assert.fail();
  server.answers.set("/write", () => refusal("ROLLING"));
  await request(at.living, `POST /runs/${at.id}/steer`, { body: { key: "a", text: "left" } });
  await at.world.clock.settle();
  assert.equal((await runOf(at)).entry.delivered, 0);
  server.answers.set("/write", write);
  await at.world.clock.advance(CLOCK.retryMs);
  assert.match([...container.files.values()].join(), /"text":"left"/);
  assert.equal((await runOf(at)).entry.delivered, 1);
  const [folder] = [...container.files.keys()];
  assert.equal(folder, `web:${at.id}/.tidegate/.gitignore`, "git does not see it");
});

test("a message that can never be written becomes an ask at the run's end, and that is said", async () => {
  const at = await running();
  at.world.server.answers.set("/write", () => refusal("FILE_OUTSIDE"));
  await request(at.living, `POST /runs/${at.id}/steer`, { body: { key: "a", text: "left" } });
  await at.world.clock.settle();
  at.world.container.finish(at.world.container.of(at.id));
  await at.world.clock.settle();
  assert.ok((await notesOf(at)).some((note) => note.startsWith("not_delivered")));
  const texts = at.world.container.processes.map(({ env }) => env["TIDEGATE_ASK"]);
  assert.deepEqual(texts, ["go", "left"]);
});

test("a run in flight whose registration is gone under a drain ends by the transport, and never fails", async () => {
  const at = await running({}, { kinds: KINDS, roll: "handoff" });
  await at.living.bot.end();
  at.world.server.registered.clear();
  at.world.server.drain("deploy-1", 65, true);
  await born(at.world, { kinds: KINDS });
  await at.world.clock.settle();
  assert.deepEqual((await runOf(at)).ended?.verdict, { ending: "replaced", exit: null, by: "transport", why: null });
});

test("a lease that was spent while nobody held the run ends it so, and its registration is given back", async () => {
  const at = await running({}, { kinds: KINDS, roll: "handoff" });
  await at.living.bot.end();
  await at.world.clock.advance(45 * MINUTE);
  await born(at.world, { kinds: KINDS });
  await at.world.clock.settle();
  assert.equal((await runOf(at)).ended?.verdict.ending, "leaseSpent");
  assert.equal(at.world.server.registered.size, 0);
});

test("what may be the beginning of a hidden value is shown once its process has ended", async () => {
  const at = await running();
  const process = at.world.container.of(at.id);
  at.world.container.say(process, "it is the-sec");
  await at.world.clock.settle();
  assert.equal((await runOf(at)).output.out.length, 6);
  at.world.container.finish(process);
  await at.world.clock.settle();
  assert.equal((await runOf(at)).ended?.writeUp, "it is the-sec");
});

test("a run in flight outwaits more of its fleet than a newcomer, also at the next bot", async () => {
  const at = await running({}, { kinds: KINDS, roll: "handoff" });
  await at.living.bot.end();
  at.world.server.answers.set("/attach", () => refusal("UNREADABLE"));
  await born(at.world, { kinds: KINDS });
  await at.world.clock.advance(CLOCK.wakePollMs);
  assert.equal((await runOf(at)).ended, null);
  at.world.server.answers.delete("/attach");
  await at.world.clock.advance(CLOCK.wakePollMs);
  at.world.container.finish(at.world.container.of(at.id));
  await at.world.clock.settle();
  assert.equal((await runOf(at)).ended?.verdict.ending, "finished");
});

test("a newer generation that holds the run at the fleet has it", async () => {
  const world = new World();
  world.server.answers.set("/attach", () => refusal("OLD_GENERATION"));
  const living = await born(world);
  const { id } = await asked(living, "go");
  await world.clock.settle();
  assert.equal((await world.ledger.run(id)).ended, null);
});
