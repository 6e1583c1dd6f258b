// The supervisor on real processes: what a kill takes along and what it leaves, what a second start is told, and what a state
// folder that cannot be used is spared.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, HostStack, type Up } from "./hostStack.ts";
import { isSameProcess, readProcess, sendSignal } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";

const resource = "repo:acme/app";

async function killed(up: Up): Promise<void> {
  const gone = new Promise((resolve) => up.child.once("exit", resolve));
  up.child.kill("SIGKILL");
  await gone;
}

test("a first start serves this folder with files that only their owner reads; storage survives a supervisor's SIGKILL", async (context) => {
  const stack = new HostStack(context);
  const first = await stack.up({ RESIDENT_OPERATOR_TOKEN: "" });
  assert.equal(first.ready.first, true);
  for (const file of [stack.paths.tokens, stack.paths.supervisor, stack.paths.release, stack.paths.clock]) {
    assert.equal(statSync(file).mode & 0o777, 0o600, file);
  }
  assert.equal(statSync(stack.paths.state).mode & 0o777, 0o700);
  const health = await stack.get("/healthz");
  assert.deepEqual([health["version"], health["generation"], health["drainId"]], ["A", 1, null]);
  assert.deepEqual(health["kinds"], {
    shell: { leaseMs: 2_700_000 },
    coding: { leaseMs: 2_700_000 },
    review: { leaseMs: 1_500_000 },
  });
  const secrets = await stack.get("/secrets");
  assert.equal(secrets["operator"], "");
  assert.ok(readFileSync(stack.paths.tokens, "utf8").includes(String(secrets["admin"])));
  assert.ok(!readFileSync(join(stack.paths.run, "config.capnp"), "utf8").includes(String(secrets["admin"])));
  assert.equal((await fetch(`${stack.url}/outside`)).status, 502);
  await stack.get("/count");
  const workerd = readSupervisorFile(stack.paths)?.workerd;
  assert.ok(workerd);
  await killed(first);
  await eventually("workerd dies with its supervisor", () => (isSameProcess(workerd) ? undefined : true));
  const second = await stack.up();
  assert.equal(second.ready.first, false);
  assert.deepEqual(await stack.get("/count"), { count: 2 });
  assert.equal(second.ready.status.generation, 1);
});

test("a supervisor's SIGKILL leaves a container and what runs in it alive, and the next one adopts them", async (context) => {
  const stack = new HostStack(context);
  const first = await stack.up();
  const started = await stack.fromWorker("/containers/start", resource);
  const before = await stack.control().inside(resource);
  assert.equal(before.container.state, "running");
  await killed(first);
  for (const one of before.processes) assert.equal(readProcess(one.pid)?.startTicks, one.startTicks, one.command);
  const second = await stack.up();
  assert.deepEqual(second.ready.notes, [`adopted running containers: ${resource}`]);
  assert.deepEqual((await stack.fromWorker("/containers/start", resource))["container"], started["container"]);
  assert.deepEqual((await stack.control().inside(resource)).processes, before.processes);
  for (const one of before.processes) sendSignal(one.pid, "SIGKILL");
  await eventually("the container is gone", async () =>
    (await stack.control().inside(resource)).container.state === "absent" ? true : undefined,
  );
  await killed(second);
  const third = await stack.up();
  assert.deepEqual(third.ready.notes, [`containers found dead: ${resource}`]);
});

test("a second start is refused with who is up, also when its npm is gone; a port in use is named; down ends everything", async (context) => {
  const stack = new HostStack(context);
  const up = await stack.up();
  await stack.fromWorker("/containers/start", resource);
  const second = await stack.refused();
  assert.equal(second.exitCode, 2);
  assert.equal(second.problem.code, "ALREADY_UP");
  assert.match(second.problem.detail, new RegExp(`pid ${up.child.pid}, ${stack.url}$`));
  assert.equal(second.problem.next, "npx tidegate down");
  const other = new HostStack(context, { port: Number(new URL(stack.url).port) });
  const taken = await other.refused();
  assert.equal(taken.problem.code, "PORT_IN_USE");
  assert.match(taken.problem.detail, new RegExp(`port ${new URL(stack.url).port} `));
  await stack.post("/residents", {
    residents: [{ resource, runsInFlight: 1, attaching: 0 }],
    runs: [{ resource, runId: "r1", threadKey: "cli:1" }],
  });
  await assert.rejects(stack.control().down(false), {
    code: "IN_FLIGHT",
    message: `runs are in flight: ${resource} (r1 of cli:1)`,
  });
  // A terminal's Ctrl-C goes to the supervisor's whole group.
  const ctrlC = (): boolean => sendSignal(-(up.child.pid ?? 0), "SIGINT");
  const said = new Promise<string>((resolve) =>
    up.child.stderr?.once("data", (chunk: Buffer) => resolve(chunk.toString())),
  );
  ctrlC();
  assert.match(await said, /runs are in flight: repo:acme\/app \(r1 of cli:1\)\nOnce more ends them/);
  assert.equal((await stack.get("/healthz"))["version"], "A");
  assert.equal((await stack.control().status()).workerdPid, up.ready.status.workerdPid);
  const ended = new Promise((resolve) => up.child.once("exit", resolve));
  ctrlC();
  assert.equal(await ended, 0);
  assert.deepEqual(stack.containerPids(), []);
  assert.ok(!existsSync(stack.paths.supervisor));
});

test("an orphaned supervisor is named as one", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const file = readSupervisorFile(stack.paths);
  assert.ok(file?.parent);
  writeFileSync(stack.paths.supervisor, JSON.stringify({ ...file, parent: { ...file.parent, startTicks: 1 } }));
  const second = await stack.refused();
  assert.match(second.problem.detail, /what started it \(npm, a terminal\) is gone/);
});

test("down is refused while the registry cannot be read, unless now", async (context) => {
  const stack = new HostStack(context);
  const up = await stack.up();
  await stack.post("/residents", { residents: "spoiled" });
  await assert.rejects(stack.control().down(false), { code: "REGISTRY_UNREADABLE" });
  const ended = new Promise((resolve) => up.child.once("exit", resolve));
  await stack.control().down(true);
  assert.equal(await ended, 0);
});

test("a workerd that ends by itself comes back with what it served, and connections are held meanwhile", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  await stack.get("/count");
  const workerd = readSupervisorFile(stack.paths)?.workerd;
  assert.ok(workerd);
  sendSignal(workerd.pid, "SIGKILL");
  const answered = await eventually(
    "the fleet answers again",
    async () => await stack.get("/count").catch(() => undefined),
  );
  assert.deepEqual(answered, { count: 2 });
});

test("a state folder that cannot be used is refused with its code and left as it is", async (context) => {
  const cases: readonly [string, string, string][] = [
    ["state.json", '{"protocol": 99}', "STATE_NEWER"],
    ["state.json", '{"proto', "STATE_HALF_WRITTEN"],
    ["release.json", "{}", "STATE_HALF_WRITTEN"],
    ["tokens.json", "rubbish", "STATE_HALF_WRITTEN"],
    ["clock.json", '{"scale": 0}', "STATE_HALF_WRITTEN"],
  ];
  for (const [file, content, code] of cases) {
    const stack = new HostStack(context);
    mkdirSync(stack.paths.state, { mode: 0o700 });
    writeFileSync(join(stack.paths.state, file), content);
    const before = stack.listing();
    const { exitCode, problem } = await stack.refused();
    assert.equal(problem.code, code, file);
    assert.equal(exitCode, 2);
    assert.match(problem.detail, new RegExp(file.replace(".", "\\.") + "|protocol 99"));
    assert.deepEqual(stack.listing(), before);
  }
});

test("a configuration that is wrong is refused before anything is made, and rubbish in the state folder is left alone", async (context) => {
  const stack = new HostStack(context, { prot: 1 });
  const { problem } = await stack.refused();
  assert.equal(problem.code, "CONFIG_INVALID");
  assert.match(problem.detail, /unknown key "prot"; did you mean "port"\?/);
  assert.ok(!existsSync(stack.paths.state));
  stack.configure({});
  mkdirSync(join(stack.paths.containers, "rubbish"), { recursive: true });
  writeFileSync(join(stack.paths.containers, "rubbish", "container.json"), "{}");
  writeFileSync(join(stack.paths.state, "notes.txt"), "mine");
  const up = await stack.up();
  assert.deepEqual(up.ready.notes, ["not a container that can be read, left alone: containers/rubbish"]);
  assert.equal(readFileSync(join(stack.paths.state, "notes.txt"), "utf8"), "mine");
});

test("a port that a stranger holds is named and nothing of the stack is started", async (context) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const stack = new HostStack(context, { port });
  const { problem } = await stack.refused();
  assert.equal(problem.code, "PORT_IN_USE");
  assert.match(problem.next, /"port" in tidegate\.jsonc/);
  assert.ok(!existsSync(stack.paths.storage));
  stack.configure({ port: 0 });
  await stack.up();
});
