// Who holds a run does something under it, and nobody else: an older generation is refused, a command starts in no other
// boot than it was meant for, and what was let through before a release or a re-attach does nothing behind it.

import assert from "node:assert/strict";
import { afterEach, before, test } from "node:test";
import { agentProblem } from "#wire/agentErrors.ts";
import { opAnswerSchema, writeAnswerSchema, type Binding } from "#wire/attach.ts";
import { jsonOf } from "#wire/parse.ts";
import { FleetStack, type Run } from "./fleetStack.ts";

const fleet = new FleetStack(60);
let app = "";

before(async () => {
  await fleet.up();
  app = await fleet.onboard("app");
});

afterEach(() => fleet.clear());

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const asks = {
  "/exec": { procId: "proc-old", command: ["sh", "-c", "echo ran >> ran; exec sleep 1011"] },
  "/write": { path: "inbox", data: base64("shorter\n") },
  "/op": { op: "stop" },
} as const;
const routes = Object.entries(asks);

/** What lives of a run's thread. */
async function alive(run: Run): Promise<string[]> {
  const { body } = await fleet.ask("operator", "/op", { ...run, op: "status" });
  return opAnswerSchema.parse(body).processes.map(({ id }) => id);
}

async function fileOf(run: Run, path: string): Promise<string | undefined> {
  const { status, body } = await fleet.ask("operator", "/read", { ...run, path });
  return status === 200 ? Buffer.from((body as { data: string }).data, "base64").toString() : undefined;
}

/** Starts a process that lives, and waits until it does. */
const starts = (run: Run, id: string) =>
  fleet.exec(run, { id, shell: "echo up; exec sleep 1012" }, (out) => out.includes("up"));

/** What the agent itself is asked, as the Worker asks it under a ticket of this number; answers its code. */
async function atAgent(path: string, body: object, method = "POST"): Promise<string> {
  const { container } = await fleet.control().inside(app);
  assert.equal(container.state, "running");
  const headers = { authorization: `Bearer ${container.token}`, "content-type": "application/json" };
  const response = await fetch(`${container.url}/v1/${path}`, { method, headers, body: JSON.stringify(body) });
  const text = await response.text();
  return response.ok ? "done" : agentProblem.parse(jsonOf(text)).code;
}

test("an older generation starts nothing, writes nothing and stops nothing; the newer one and one that says none do", async () => {
  const run = fleet.newRun(app);
  await fleet.admitted(run, { generation: 1 });
  await fleet.admitted(run, { generation: 2 });
  await starts(run, "proc-new");
  await fleet.ask("operator", "/write", { ...run, path: "inbox", data: base64("longer\nlist\n") });
  for (const [route, body] of routes) {
    const problem = await fleet.refusal("operator", route, { ...run, generation: 1, ...body });
    assert.deepEqual([problem.code, problem.status], ["OLD_GENERATION", 409], route);
  }
  assert.deepEqual(
    [await alive(run), await fileOf(run, "inbox"), await fileOf(run, "ran")],
    [["proc-new"], "longer\nlist\n", undefined],
  );
  const write = await fleet.ask("operator", "/write", { ...run, generation: 2, ...asks["/write"] });
  assert.equal(writeAnswerSchema.parse(write.body).live, 1, "and it is told who may read it");
  assert.equal((await fleet.ask("operator", "/op", { ...run, generation: 3, op: "stop" })).status, 200);
  assert.deepEqual(await alive(run), []);
  await fleet.detach(run, 2);
});

test("a container that is replaced between attach and exec starts no command that was meant for the one before it", async () => {
  const run = fleet.newRun(app);
  const { bootId } = await fleet.admitted(run);
  await fleet.control().roll(app);
  const body = { ...run, ...asks["/exec"], bootId };
  const problem = await fleet.refusal("operator", "/exec", body);
  assert.deepEqual([problem.code, problem.status], ["CONTAINER_REPLACED", 409]);
  assert.deepEqual([await alive(run), await fileOf(run, "ran")], [[], undefined]);
  const again: Binding = await fleet.admitted(run);
  assert.notEqual(again.bootId, bootId);
  assert.equal(
    (await fleet.refusal("operator", "/exec", { ...body, command: null })).code,
    "NO_SUCH_PROCESS",
    "asking after it is no start",
  );
  const over = new AbortController();
  const init = { method: "POST", headers: { "content-type": "application/json" }, signal: over.signal };
  const begun = await fleet.open("operator", "/exec", {
    ...init,
    body: JSON.stringify({ ...body, bootId: again.bootId }),
  });
  over.abort();
  assert.deepEqual([begun.status, await alive(run)], [200, ["proc-old"]]);
});

test("what was let through before a release or a re-attach does nothing behind it, and what comes then passes", async () => {
  const run = await fleet.inFlight(app);
  const start = (id: string) => ({ id, thread: run.threadKey, shell: "exec sleep 1013", ticket: 1 });
  const where = `files?thread=${encodeURIComponent(run.threadKey)}&path=inbox`;
  const put = { data: base64("late"), ticket: 1 };
  assert.deepEqual([await atAgent("procs", start("proc-1")), await atAgent(where, put, "PUT")], ["done", "done"]);
  const late = async (id: string): Promise<void> => {
    assert.deepEqual(
      [await atAgent("procs", start(id)), await atAgent(where, put, "PUT")],
      ["TAKEN_BACK", "TAKEN_BACK"],
      id,
    );
  };
  await fleet.admitted(run, { generation: 1 });
  await late("after-a-re-attach");
  assert.deepEqual(await alive(run), ["proc-1"], "what had begun lives on");
  await starts(run, "proc-2");
  assert.equal((await fleet.detach(run, 1)).kind, "released");
  await late("after-the-release");
  const next: Run = { ...fleet.newRun(app), threadKey: run.threadKey };
  await fleet.admitted(next);
  await late("beside-the-next-run");
  assert.deepEqual(await alive(next), []);
  await starts(next, "proc-3");
  assert.deepEqual(await alive(next), ["proc-3"]);
});

test("exec, write, stop and push go to the agent under their tickets, and refused there they have to attach again", async () => {
  const run = await fleet.inFlight(app);
  await starts(run, "proc-stays");
  // Far ahead of what this resident has counted to.
  assert.equal(await atAgent("fence", { thread: run.threadKey, ticket: 1_000_000 }), "done");
  const all = [...routes, ["/op", { op: "push" }]] as const;
  for (const [route, body] of all) {
    const problem = await fleet.refusal("operator", route, { ...run, ...body });
    assert.deepEqual(
      [problem.code, problem["agentCode"]],
      ["NEEDS_ATTACH", "TAKEN_BACK"],
      `${route} ${JSON.stringify(body)}`,
    );
  }
  assert.deepEqual([await alive(run), await fileOf(run, "ran")], [["proc-stays"], undefined]);
});
