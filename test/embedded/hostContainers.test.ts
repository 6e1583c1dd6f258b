// Containers on real processes: one a resource, everything inside ended with it, and what is the host's hidden from what runs.

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { endedSchema, runningSchema, startedSchema, type Running } from "#wire/host.ts";
import { isAlive } from "#embed/inside.ts";
import { slugOf } from "#embed/containerFiles.ts";
import { sendSignal } from "#node/processes.ts";
import { eventually, HostStack } from "./hostStack.ts";

const resource = "repo:acme/app";

async function started(stack: HostStack): Promise<Running> {
  return startedSchema.parse(await stack.fromWorker("/containers/start", resource)).container;
}

async function agent(container: Running, path: string, body: unknown = {}): Promise<unknown> {
  const headers = { authorization: `Bearer ${container.token}` };
  const response = await fetch(`${container.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200);
  return await response.json();
}

const output = async (container: Running, script: string): Promise<string> =>
  z.object({ output: z.string() }).parse(await agent(container, "/output", { script })).output;

/** Starts three things inside that a plain kill of a group would miss, and answers once they run. */
async function escapees(stack: HostStack, container: Running): Promise<void> {
  await agent(container, "/run", { script: "sleep 1001", detached: true });
  await agent(container, "/run", { script: "setsid sh -c 'sleep 1002 & sleep 1003'", detached: true });
  await eventually("they run", async () => {
    const { processes } = await stack.control().inside(resource);
    return ["1001", "1002", "1003"].every((mark) => processes.some((one) => one.command === `sleep ${mark}`))
      ? true
      : undefined;
  });
}

for (const flags of [[], ["--isolation=user"], ["--isolation=groups"]]) {
  test(`a roll ends everything inside, setsid or not, and counts it; a new boot serves the same data (${flags.join() || "best isolation"})`, async (context) => {
    const stack = new HostStack(context, {}, flags);
    await stack.up();
    const before = await started(stack);
    await output(before, "echo kept > kept.txt");
    await escapees(stack, before);
    const rolled = await stack.control().roll(resource);
    const commands = rolled.ended.processes.map((one) => one.command);
    for (const mark of ["1001", "1002", "1003"])
      assert.ok(commands.includes(`sleep ${mark}`), `${mark} in ${commands.join("; ")}`);
    assert.deepEqual(rolled.ended.processes.filter(isAlive), []);
    assert.deepEqual(rolled.ended.processes.filter((one) => one.role === "agent").length, 1);
    assert.ok(
      rolled.ended.processes
        .filter((one) => one.command.startsWith("sleep"))
        .every((one) => one.role === "inside" && one.tags["TIDEGATE_RUN"] === "r1"),
    );
    assert.equal(rolled.ended.bootId, before.bootId);
    assert.notEqual(rolled.container.bootId, before.bootId);
    assert.equal(await output(rolled.container, "cat kept.txt"), "kept\n");
    const ended = endedSchema.parse((await stack.fromWorker("/containers/stop", resource))["ended"]);
    assert.ok(ended.processes.length > 0);
    assert.deepEqual(stack.containerPids(), []);
    assert.deepEqual(await stack.fromWorker("/containers/stop", resource), {
      ended: { resource, bootId: null, imageId: null, processes: [] },
    });
  });
}

test("concurrent starts are one start, and a container whose agent died is started anew", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const answers = await Promise.all([1, 2, 3, 4].map(() => started(stack)));
  assert.equal(new Set(answers.map((one) => one.bootId)).size, 1);
  const { processes } = await stack.control().inside(resource);
  const dying = processes.find((one) => one.role === "agent");
  assert.ok(dying);
  sendSignal(dying.pid, "SIGKILL");
  await eventually("it is gone", async () =>
    (await stack.control().inside(resource)).container.state === "absent" ? true : undefined,
  );
  assert.notEqual((await started(stack)).bootId, answers[0]?.bootId);
});

test("tokens, other containers and the control are hidden from what runs inside; its data and its image are there", async (context) => {
  const stack = new HostStack(context);
  const up = await stack.up();
  const container = await started(stack);
  const { state } = stack.paths;
  const own = join(stack.paths.containers, slugOf(resource));
  assert.equal(up.ready.status.isolation, "own pid namespace", "this machine allows namespaces");
  for (const hidden of [
    stack.paths.tokens,
    stack.paths.supervisor,
    stack.paths.storage,
    stack.paths.run,
    join(own, "container.json"),
  ]) {
    assert.ok(existsSync(hidden), hidden);
    assert.equal(await output(container, `test -e '${hidden}' && echo seen || echo hidden`), "hidden\n", hidden);
  }
  assert.equal(
    await output(container, `cd ${own}/data && touch mine && ls ${state}/images/*/image.json | wc -l`),
    "1\n",
  );
  assert.ok(!existsSync(join(own, "handover", "token")));
  const environment = z.object({ env: z.record(z.string(), z.string()) }).parse(await agent(container, "/whoami")).env;
  const secret = Object.keys(environment).filter((name) => /^(RESIDENT|npm)_|HOST_TOKEN|CONTROL/i.test(name));
  assert.deepEqual(secret, []);
  assert.equal(statSync(join(own, "container.json")).mode & 0o777, 0o600);
  const seen = await output(container, "ls /proc | grep -c '^[0-9]'");
  assert.ok(Number(seen) < 10, `it sees ${seen} processes, not the machine's`);
});

test("an agent that does not come up is a coded failure, and the next start is free to try again", async (context) => {
  const stack = new HostStack(context, { image: { env: { NODE_OPTIONS: "--no-such-option" } } });
  await stack.up();
  const failed = await stack.fromWorker("/containers/start", resource);
  assert.equal(failed["code"], "CONTAINER_FAILED");
  assert.match(String(failed["detail"]), /no-such-option/);
  assert.equal((await stack.control().inside(resource)).container.state, "absent");
  assert.deepEqual(stack.containerPids(), []);
});

test("a container that its supervisor froze before it died goes on once it is adopted; a half-started one is ended", async (context) => {
  const stack = new HostStack(context);
  const first = await stack.up();
  const container = await started(stack);
  const { processes } = await stack.control().inside(resource);
  const gone = new Promise((resolve) => first.child.once("exit", resolve));
  first.child.kill("SIGKILL");
  await gone;
  for (const one of processes) sendSignal(one.pid, "SIGSTOP");
  const second = await stack.up();
  assert.equal(await output(container, "echo on"), "on\n");
  const record = join(stack.paths.containers, slugOf(resource), "container.json");
  const ended = new Promise((resolve) => second.child.once("exit", resolve));
  second.child.kill("SIGKILL");
  await ended;
  const kept = z.looseObject({ state: z.string() }).parse(JSON.parse(readFileSync(record, "utf8")));
  writeFileSync(record, JSON.stringify({ ...kept, state: "starting" }));
  const third = await stack.up();
  assert.deepEqual(third.ready.notes, [`containers found dead: ${resource}`]);
  assert.deepEqual(processes.filter(isAlive), []);
});

test("the host's routes want their own bearers and name what is wrong", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const { file } = stack.control();
  const ask = async (path: string, init: RequestInit = {}): Promise<[number, unknown]> => {
    const response = await fetch(`${file.hostUrl}${path}`, init);
    return [response.status, z.object({ code: z.string() }).parse(await response.json()).code];
  };
  const bearer = { authorization: `Bearer ${file.controlToken}` };
  const json = { ...bearer, "content-type": "application/json" };
  const post = (body: string, headers: Record<string, string> = json): RequestInit => ({
    method: "POST",
    headers,
    body,
  });
  assert.deepEqual(await ask("/control/status"), [401, "UNAUTHENTICATED"]);
  assert.deepEqual(
    await ask("/containers/", { headers: bearer }),
    [401, "UNAUTHENTICATED"],
    "the control token opens no container route",
  );
  assert.deepEqual(await ask("/nothing", { headers: bearer }), [404, "NOT_FOUND"]);
  assert.deepEqual(await ask("/control/swap", post("{")), [400, "BAD_REQUEST"]);
  assert.deepEqual(await ask("/control/swap", post("{}", bearer)), [415, "NOT_JSON"]);
  assert.deepEqual(await ask("/control/swap", post(JSON.stringify({ drainId: "d", mode: "maybe", build: {} }))), [
    400,
    "BAD_REQUEST",
  ]);
  assert.deepEqual(
    await ask("/control/containers/roll", post(JSON.stringify({ resource: "repo:../.." + "x".repeat(400) }))),
    [400, "BAD_REQUEST"],
  );
  assert.deepEqual(await ask("/control/swap", post(JSON.stringify("x".repeat(400_000)))), [413, "TOO_LARGE"]);
  assert.equal(runningSchema.safeParse(await stack.fromWorker("/containers/look", resource)).success, false);
});
