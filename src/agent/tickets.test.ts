// What a resident has taken back does nothing any more, also where it waits its turn while it is taken back: over a real
// agent, whose table and lock decide what came first.

import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fenceResult, filePutResult, procList, procView, stopResult } from "#wire/agent.ts";
import { agentProblem } from "#wire/agentErrors.ts";
import { AgentForTests, eventually, sampleRepository } from "./agentForTests.ts";
import { AgentError } from "./errors.ts";
import { Tickets } from "./tickets.ts";

const judged: readonly (readonly [says: string, number: number | undefined, taken: boolean])[] = [
  ["the number of the fence is taken back", 7, true],
  ["an older one too", 1, true],
  ["a newer one counts", 8, false],
  ["what names no number is not judged", undefined, false],
];
for (const [says, number, taken] of judged)
  test(`a ticket: ${says}`, () => {
    const tickets = new Tickets();
    tickets.judge("t", number);
    assert.equal(tickets.takeBack("t", 7), 7);
    assert.equal(tickets.takeBack("t", 3), 7, "a fence does not move back");
    tickets.judge("other", number);
    const judge = (): void => tickets.judge("t", number);
    if (!taken) return judge();
    assert.throws(judge, (error) => error instanceof AgentError && error.code === "TAKEN_BACK");
  });

let agent: AgentForTests;
let threads = 0;

before(async () => {
  agent = await AgentForTests.start();
  await agent.operate("mirror", { url: await sampleRepository(agent.folder) });
});
after(async () => {
  await agent.stop();
});

const path = (thread: string, name: string): string => join(agent.folder, "data", "worktrees", thread, name);
const takeBack = (thread: string, ticket: number) => agent.get(fenceResult, ["POST", "fence"], { thread, ticket });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** A thread that nobody has named before. */
async function newThread(): Promise<string> {
  const thread = `t${(threads += 1)}`;
  assert.equal((await agent.operate("worktrees", { thread })).last["type"], "result");
  return thread;
}

async function codeOf(method: string, where: string, body: object): Promise<string> {
  const { status, body: answer } = await agent.ask(method, where, body);
  return status === 200 ? "done" : agentProblem.parse(answer).code;
}

const put = (thread: string, ticket: number) =>
  ["PUT", `files?thread=${thread}&path=f`, { data: base64(`${ticket}`), ticket }] as const;

test("a start, a put, a stop and a push whose ticket was taken back are refused and do nothing; newer ones pass", async () => {
  const thread = await newThread();
  const ask = (ticket: number) => ({ id: `own-${ticket}`, thread, shell: "exec sleep 300", ticket });
  await agent.get(procView, ["POST", "procs"], ask(1));
  assert.equal(await codeOf(...put(thread, 2)), "done");
  assert.deepEqual(await takeBack(thread, 5), { ticket: 5 });
  assert.deepEqual(await takeBack(thread, 4), { ticket: 5 });
  const remote = await sampleRepository(agent.folder);
  const asked = [
    ["POST", "procs", ask(5)],
    ["POST", "procs", ask(1)],
    put(thread, 4),
    ["POST", `threads/${thread}/stop`, { graceMs: 0, ticket: 5 }],
    ["POST", "push", { thread, remote, ticket: 3 }],
  ] as const;
  for (const [method, where, body] of asked)
    assert.equal(await codeOf(method, where, body), "TAKEN_BACK", `${where} ${JSON.stringify(body)}`);
  const { procs } = await agent.get(procList, ["GET", `procs?thread=${thread}`]);
  assert.deepEqual(
    procs.map(({ id, end }) => [id, end]),
    [["own-1", null]],
    "it lives, and nothing was started beside it",
  );
  assert.equal(await readFile(path(thread, "f"), "utf8"), "2");
  assert.equal(await codeOf(...put(thread, 6)), "done");
  assert.equal(await codeOf("POST", "procs", ask(7)), "done");
  assert.equal(await codeOf("POST", "push", { thread, remote, ticket: 8 }), "done");
  assert.equal(await codeOf("POST", `threads/${thread}/stop`, { graceMs: 0, ticket: 9 }), "done");
  assert.equal(await codeOf("POST", "procs", { id: "untold", thread, shell: "true" }), "done", "an older resident");
});

/** A thread whose lock is held by the making of its worktree until it is let go. */
async function heldThread(): Promise<{ thread: string; letGo: () => Promise<void> }> {
  const thread = `t${(threads += 1)}`;
  const [begun, go] = [join(agent.folder, `begun-${thread}`), join(agent.folder, `go-${thread}`)];
  const setup = `touch '${begun}'; until [ -e '${go}' ]; do sleep 0.02; done`;
  const making = agent.operate("worktrees", { thread, setup });
  await eventually("its setup runs", () =>
    readFile(begun).then(
      () => true,
      () => undefined,
    ),
  );
  const letGo = async (): Promise<void> => {
    await writeFile(go, "");
    assert.equal((await making).last["type"], "result");
  };
  return { thread, letGo };
}

test("a start that waits its turn while its ticket is taken back is in the table already: it is found there and ended", async () => {
  const { thread, letGo } = await heldThread();
  const started = agent.ask("POST", "procs", {
    id: "waits",
    thread,
    shell: "touch started; exec sleep 300",
    ticket: 5,
  });
  const listed = () => agent.get(procList, ["GET", `procs?thread=${thread}`]);
  await eventually("it is in the table", async () => ((await listed()).procs.length > 0 ? true : undefined));
  await takeBack(thread, 5);
  const { procs } = await listed();
  assert.deepEqual(
    procs.map(({ id, pid, end }) => [id, pid, end]),
    [["waits", null, null]],
  );
  await agent.get(stopResult, ["POST", "procs/waits/stop"], { graceMs: 0 });
  const late = { id: "late", thread, shell: "touch started", ticket: 5 };
  assert.equal(await codeOf("POST", "procs", late), "TAKEN_BACK");
  await letGo();
  assert.equal(agentProblem.parse((await started).body).code, "NOT_STARTED");
  await assert.rejects(readFile(path(thread, "started")), "nothing of it ran");
  assert.deepEqual((await listed()).procs, []);
});

test("a put that waits its turn while its ticket is taken back writes nothing over what comes behind it", async () => {
  const { thread, letGo } = await heldThread();
  const old = agent.ask(...put(thread, 5));
  const waiting = { id: "behind", thread, shell: "cat f", ticket: 6 };
  // It goes into the queue of the same lock behind the put, so once it is seen the put waits there.
  const behind = agent.ask("POST", "procs", waiting);
  await eventually("both wait", async () =>
    (await agent.get(procList, ["GET", `procs?thread=${thread}`])).procs.length > 0 ? true : undefined,
  );
  await takeBack(thread, 5);
  await letGo();
  assert.equal(agentProblem.parse((await old).body).code, "TAKEN_BACK");
  assert.equal((await behind).status, 200);
  await assert.rejects(readFile(path(thread, "f")));
});

test("a put says how many processes of its thread were alive once the file stood, and those about to begin", async () => {
  const [thread, other] = [await newThread(), await newThread()];
  const live = async (ticket: number) =>
    (await agent.get(filePutResult, ["PUT", put(thread, ticket)[1]], put(thread, ticket)[2])).live;
  assert.equal(await live(1), 0);
  await agent.shell("beside", other, "exec sleep 300");
  assert.equal(await live(2), 0, "another thread's is none of it");
  await agent.shell("reads", thread, "until grep -q 4 f; do sleep 0.02; done");
  assert.equal(await live(3), 1);
  await live(4);
  await eventually("it ends", async () => (await agent.get(procView, ["GET", "procs/reads"])).end ?? undefined);
  assert.equal(await live(5), 0);
  const held = await heldThread();
  const [, where, body] = put(held.thread, 1);
  const before = agent.get(filePutResult, ["PUT", where], body);
  const starts = agent.ask("POST", "procs", { id: "to-come", thread: held.thread, shell: "exec sleep 300" });
  await eventually("it waits", async () =>
    (await agent.get(procList, ["GET", `procs?thread=${held.thread}`])).procs.length > 0 ? true : undefined,
  );
  await held.letGo();
  assert.equal((await before).live, 1);
  await starts;
});

test("a new boot knows no old fence", async () => {
  const thread = await newThread();
  await takeBack(thread, 9);
  await agent.replace();
  assert.equal(await codeOf(...put(thread, 1)), "done");
});
