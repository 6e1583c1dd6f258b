// The swap on real processes: what it asks first, what it ends, what it serves after, and what is left when it is cut anywhere.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { rolledSchema, startedSchema, type Running } from "#wire/host.ts";
import { isAlive } from "#embed/inside.ts";
import { readRelease, writeRelease } from "#embed/releaseFile.ts";
import { identityOf, isSameProcess } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { eventually, HostStack } from "./hostStack.ts";

const resource = "repo:acme/app";

async function started(stack: HostStack): Promise<Running> {
  return startedSchema.parse(await stack.fromWorker("/containers/start", resource)).container;
}

const span = (count: number): string[] => Array.from({ length: count }, (_, n) => n.toString(16).padStart(12, "0"));
const idsIn = (folder: string): string[] => readdirSync(folder).filter((name) => /^[0-9a-f]{12}$/.test(name));

async function sleeper(stack: HostStack, container: Running): Promise<void> {
  const headers = { authorization: `Bearer ${container.token}` };
  await fetch(`${container.url}/run`, {
    method: "POST",
    headers,
    body: JSON.stringify({ script: "exec sleep 1001", detached: true }),
  });
  await eventually("it sleeps", async () =>
    (await stack.control().inside(resource)).processes.find((one) => one.command === "sleep 1001"),
  );
}

/** Asks over a connection of its own, as the pooled ones are cut by a swap. */
function overNewConnection(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
      response.once("end", () => resolve(body));
    }).once("error", reject);
  });
}

test("a sealed swap under an open stream serves the new bundle over the same storage and kills nobody; connections are held", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const container = await started(stack);
  await sleeper(stack, container);
  const inside = (await stack.control().inside(resource)).processes;
  await stack.get("/count");
  const old = readSupervisorFile(stack.paths)?.workerd;
  assert.ok(old);
  const { build, changed } = await stack.prepare("hostWorkerB");
  assert.deepEqual([changed.bundle, changed.image], [true, false]);
  await stack.sealed("d1");
  const stream = await fetch(`${stack.url}/stream`);
  const cut = assert.rejects(async () => {
    for await (const chunk of stream.body ?? []) void chunk;
  });
  const swap = stack.swap({ drainId: "d1", mode: "sealed", build });
  await eventually("the old workerd is gone", () => (isSameProcess(old) ? undefined : true));
  assert.equal(await overNewConnection(`${stack.url}/count`), '{"count":2}');
  const answer = await swap;
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  assert.deepEqual([answer.generation, answer.killed, answer.finishedLater, answer.to], [2, [], false, build]);
  await cut;
  const health = await stack.get("/healthz");
  assert.deepEqual([health["version"], health["generation"], health["drainId"]], ["B", 2, "d1"]);
  assert.deepEqual(
    inside.filter((one) => !isAlive(one)),
    [],
  );
  assert.deepEqual(await stack.swap({ drainId: "d1", mode: "sealed", build }), answer, "asked again: the same answer");
  assert.deepEqual(readRelease(stack.paths)?.build, build);
});

test("once a swap has landed, and at a start, what is old goes; what is served and what was served before stay", async (context) => {
  const stack = new HostStack(context, { image: { env: { A: "1" } } });
  const first = await stack.up();
  const { bundles, images, trash } = { ...stack.paths, trash: join(stack.paths.state, "trash") };
  const pile = (): void => {
    for (const name of span(100))
      for (const folder of [bundles, images]) mkdirSync(join(folder, name), { recursive: true });
  };
  const served = readRelease(stack.paths)?.build;
  assert.ok(served);
  stack.configure({ image: { env: { A: "2" } } });
  const { build } = await stack.prepare("hostWorkerB");
  pile();
  assert.equal((await stack.swap({ drainId: "d1", mode: "undrained", build })).outcome, "landed");
  const stays = (): void => {
    const [left, leftImages] = [idsIn(bundles), idsIn(images)];
    assert.deepEqual([left.length, leftImages.length], [LIMIT.bundlesOnDisk + 2, LIMIT.imagesOnDisk + 2]);
    for (const one of [served, build]) assert.ok(left.includes(one.bundle) && leftImages.includes(one.image));
  };
  stays();
  await eventually("the trash is emptied", () => (readdirSync(trash).length === 0 ? true : undefined));
  const gone = new Promise((resolve) => first.child.once("exit", resolve));
  first.child.kill("SIGKILL");
  await gone;
  pile();
  await stack.up();
  stays();
  assert.equal((await stack.get("/healthz"))["version"], "B");
});

test("the registry's word is the last: not sealed, another deploy, or unreadable refuses and leaves everything as it was", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const { build } = await stack.prepare("hostWorkerB");
  const code = async (drainId: string, mode: "sealed" | "forced" | "undrained"): Promise<unknown> => {
    const answer = await stack.swap({ drainId, mode, build });
    return answer.outcome === "refused" ? answer.code : answer.outcome;
  };
  assert.equal(await code("d1", "sealed"), "SWAP_NOT_SEALED");
  await stack.sealed("other");
  assert.equal(await code("d1", "sealed"), "SWAP_NOT_SEALED");
  assert.equal(await code("d1", "forced"), "DEPLOY_IN_PROGRESS");
  assert.equal(await code("d1", "undrained"), "DEPLOY_IN_PROGRESS");
  await stack.post("/drain", { drains: "spoiled" });
  assert.equal(await code("d1", "sealed"), "REGISTRY_UNREADABLE");
  assert.equal(await code("d1", "undrained"), "REGISTRY_UNREADABLE");
  const missing = await stack.swap({ drainId: "d1", mode: "forced", build: { ...build, bundle: "abc" } });
  assert.deepEqual([missing.outcome, "code" in missing && missing.code], ["none", "BUILD_MISSING"]);
  assert.equal((await stack.get("/healthz"))["generation"], 1);
  assert.equal(await code("d1", "forced"), "landed");
});

test("a changed image ends no container in a swap that was not forced: what runs goes on, a restart is of the new one", async (context) => {
  const stack = new HostStack(context, { image: { env: { A: "1" } } });
  await stack.up();
  const before = await started(stack);
  await sleeper(stack, before);
  const inside = (await stack.control().inside(resource)).processes;
  stack.configure({ image: { env: { A: "2" } } });
  const { build } = await stack.prepare("hostWorkerA");
  await stack.sealed("d1");
  const answer = await stack.swap({ drainId: "d1", mode: "sealed", build });
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  assert.deepEqual([answer.killed, inside.filter((one) => !isAlive(one))], [[], []]);
  assert.equal((await started(stack)).bootId, before.bootId, "it runs on");
  const { container } = rolledSchema.parse(await stack.fromWorker("/containers/roll", resource));
  assert.deepEqual([container.imageId, container.bootId === before.bootId], [build.image, false]);
});

test("a handoff keeps the image: another one is refused, and what runs goes on under the new bundle", async (context) => {
  const stack = new HostStack(context, { image: { env: { A: "1" } } });
  await stack.up();
  const before = await started(stack);
  const { build } = await stack.prepare("hostWorkerB");
  await stack.sealed("d1");
  const refused = await stack.swap({ drainId: "d1", mode: "handoff", build: { ...build, image: "another" } });
  assert.deepEqual([refused.outcome, "code" in refused && refused.code], ["none", "BUILD_MISSING"]);
  stack.configure({ image: { env: { A: "2" } } });
  const { build: changed } = await stack.prepare("hostWorkerB");
  const apart = await stack.swap({ drainId: "d1", mode: "handoff", build: changed });
  assert.deepEqual([apart.outcome, "code" in apart && apart.code], ["none", "IMAGE_CHANGES"]);
  const answer = await stack.swap({ drainId: "d1", mode: "handoff", build });
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  assert.deepEqual([answer.generation, (await started(stack)).bootId], [2, before.bootId]);
});

test("a forced swap replaces every container, and what ran inside is counted from the processes that died", async (context) => {
  const stack = new HostStack(context, { image: { files: ["VERSION"], setup: "cp files/VERSION bin/version" } });
  writeFileSync(join(stack.home, "VERSION"), "1");
  await stack.up();
  const before = await started(stack);
  await sleeper(stack, before);
  writeFileSync(join(stack.home, "VERSION"), "2");
  const { build, changed } = await stack.prepare("hostWorkerA");
  assert.deepEqual([changed.bundle, changed.image], [false, true]);
  const answers = await Promise.all([1, 2].map(() => stack.swap({ drainId: "d1", mode: "forced", build })));
  const [answer] = answers;
  assert.deepEqual(answers[1], answer, "asked twice at once: one swap");
  assert.ok(answer?.outcome === "landed", JSON.stringify(answer));
  const [ended] = answer.killed;
  assert.deepEqual(
    [answer.killed.length, ended?.resource, ended?.bootId, ended?.imageId],
    [1, resource, before.bootId, before.imageId],
  );
  assert.ok(ended?.processes.some((one) => one.role === "inside" && one.command === "sleep 1001"));
  assert.deepEqual(ended?.processes.filter(isAlive), []);
  const after = await started(stack);
  assert.deepEqual([after.imageId, after.bootId === before.bootId], [build.image, false]);
  assert.equal(readFileSync(join(stack.paths.images, build.image, "bin", "version"), "utf8"), "2");
});

test("a bundle that does not start is taken back: the old one serves again under its generation, on its image", async (context) => {
  const stack = new HostStack(context, { image: { env: { A: "1" } } });
  await stack.up();
  const before = await started(stack);
  await stack.get("/count");
  stack.configure({ image: { env: { A: "2" } } });
  const { build } = await stack.prepare("hostWorkerBroken");
  const answer = await stack.swap({ drainId: "d1", mode: "forced", build });
  assert.ok(answer.outcome === "failed", JSON.stringify(answer));
  assert.equal(answer.code, "WORKERD_FAILED");
  assert.match(answer.detail, /this release does not start/);
  assert.ok(answer.killed.some((ended) => ended.bootId === before.bootId));
  const health = await stack.get("/healthz");
  assert.deepEqual([health["version"], health["generation"]], ["A", 1]);
  assert.deepEqual(await stack.get("/count"), { count: 2 });
  assert.equal((await started(stack)).imageId, before.imageId);
  assert.deepEqual(await stack.swap({ drainId: "d1", mode: "forced", build }), answer);
});

test("one swap at a time: another drain's is refused by name while one is under way", async (context) => {
  const stack = new HostStack(context);
  await stack.up();
  const { build } = await stack.prepare("hostWorkerB");
  const first = stack.swap({ drainId: "d1", mode: "undrained", build });
  await assert.rejects(
    eventually("the other is refused", async () => {
      await stack.swap({ drainId: "d2", mode: "sealed", build });
      return undefined;
    }),
    { code: "SWAP_BUSY", message: "the swap of drain d1 is under way" },
  );
  assert.equal((await first).outcome, "landed");
});

test("a supervisor killed in the middle of a swap: the next one finishes it, says so, and counts what died", async (context) => {
  const stack = new HostStack(context, { image: { env: { A: "1" } } });
  const first = await stack.up();
  const before = await started(stack);
  await sleeper(stack, before);
  const inside = (await stack.control().inside(resource)).processes;
  stack.configure({ image: { env: { A: "2" } } });
  const { build } = await stack.prepare("hostWorkerB");
  const lost = assert.rejects(stack.swap({ drainId: "d1", mode: "forced", build }), { code: "NOT_UP" });
  await eventually("the swap has begun", () => (readRelease(stack.paths)?.pending ? true : undefined));
  first.child.kill("SIGKILL");
  await lost;
  const second = await stack.up();
  assert.ok(
    second.ready.notes.some((note) =>
      note.startsWith("the swap of drain d1, begun by a supervisor that was killed, is finished: landed"),
    ),
    second.ready.notes.join("\n"),
  );
  const answer = await stack.swap({ drainId: "d1", mode: "forced", build });
  assert.ok(answer.outcome === "landed" && answer.finishedLater, JSON.stringify(answer));
  assert.ok(answer.killed.some((ended) => ended.processes.some((one) => one.command === "sleep 1001")));
  assert.deepEqual(inside.filter(isAlive), []);
  const health = await stack.get("/healthz");
  assert.deepEqual([health["version"], health["generation"], health["drainId"]], ["B", 2, "d1"]);
});

test("a swap whose intent stands while the old workerd still lives is dropped, and the old build is served", async (context) => {
  const stack = new HostStack(context);
  const first = await stack.up();
  const { build } = await stack.prepare("hostWorkerB");
  const release = readRelease(stack.paths);
  assert.ok(release);
  const gone = new Promise((resolve) => first.child.once("exit", resolve));
  first.child.kill("SIGKILL");
  await gone;
  // A workerd that outlived its supervisor, as it does on a machine without pdeathsig: some living process stands for it.
  const file = readSupervisorFile(stack.paths);
  const standIn = spawn("sleep", ["1001"], { stdio: "ignore" });
  context.after(() => standIn.kill("SIGKILL"));
  const workerd = identityOf(z.number().parse(standIn.pid));
  writeFileSync(stack.paths.supervisor, JSON.stringify({ ...file, workerd }));
  writeRelease(stack.paths, {
    ...release,
    pending: { drainId: "d1", mode: "sealed", build, generation: 2, leases: null, begunAt: 1, doomed: [] },
  });
  const second = await stack.up();
  assert.equal(second.ready.notes.length, 2, second.ready.notes.join("\n"));
  assert.ok(second.ready.notes[1]?.includes("it is dropped"));
  assert.equal((await stack.get("/healthz"))["generation"], 1);
  assert.equal(readRelease(stack.paths)?.pending, null);
  assert.ok(workerd && !isSameProcess(workerd), "the left-over was ended");
});
