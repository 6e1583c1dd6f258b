// A process is itself and no later one under its number; one that ended is gone although nobody collected it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { test } from "node:test";
import {
  descendantsOf,
  identityOf,
  isSameProcess,
  killExactly,
  readProcess,
  sendSignal,
  waitGone,
  waitUntil,
} from "#node/processes.ts";

test("a process is the same until it is gone, and its number with another start or another boot is somebody else", async () => {
  const child = spawn("sleep", ["1001"], { stdio: "ignore" });
  const id = identityOf(child.pid ?? 0);
  assert.ok(id && isSameProcess(id));
  const other = { ...id, startTicks: id.startTicks + 1 };
  assert.equal(isSameProcess(other), false);
  assert.equal(isSameProcess({ ...id, machineBootId: "another" }), false);
  assert.equal(killExactly(other), false);
  assert.ok(isSameProcess(id), "somebody else's identity kills nobody");
  assert.equal(await waitGone(id, 20), false);
  assert.equal(killExactly(id), true);
  assert.equal(await waitGone(id, 5_000), true);
  assert.equal(sendSignal(id.pid, "SIGKILL") && isSameProcess(id), false);
});

test("a zombie is gone, though signal 0 reaches it", async () => {
  // The shell starts a child and then becomes a program that never collects it.
  const parent = spawn("sh", ["-c", "sleep 0.3 & echo $!; exec sleep 1001"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const pid = await new Promise<number>((resolve) =>
      parent.stdout.once("data", (text: Buffer) => resolve(Number(text.toString()))),
    );
    assert.ok(await waitUntil(() => readProcess(pid) === undefined, 5_000));
    assert.equal(sendSignal(pid, "SIGCONT"), true);
    assert.equal(identityOf(pid), undefined);
  } finally {
    parent.kill("SIGKILL");
  }
});

const THREADS = `
const { Worker } = require("node:worker_threads");
const work = () => new Worker("const b = Buffer.alloc(5e7, 1); setInterval(() => b[0]++, 1)", { eval: true });
let up = 0;
for (let n = 0; n < 3; n += 1) work().once("online", () => (up += 1) === 3 && console.log("up"));
`;

test("a process is gone only when its last thread is: until then it holds its files and locks", async () => {
  for (let round = 0; round < 3; round += 1) {
    const child = spawn(process.execPath, ["-e", THREADS], { stdio: ["ignore", "pipe", "ignore"] });
    const id = identityOf(child.pid ?? 0);
    await new Promise((resolve) => child.stdout.once("data", resolve));
    assert.ok(id && killExactly(id));
    // Looked at without a pause between, since its threads are gone within a few milliseconds.
    for (const end = performance.now() + 5_000; isSameProcess(id);) assert.ok(performance.now() < end);
    const left = existsSync(`/proc/${id.pid}/task`) ? readdirSync(`/proc/${id.pid}/task`) : [];
    assert.ok(left.length <= 1, `${left.length} threads are left`);
  }
});

test("the processes below one are its children, theirs, and so on", () => {
  const row = (pid: number, parent: number) => ({ pid, parent, startTicks: 1, group: 1, command: "x" });
  const table = [row(2, 1), row(3, 2), row(4, 3), row(5, 1), row(6, 6)];
  assert.deepEqual(
    descendantsOf(2, table).map((one) => one.pid),
    [3, 4],
  );
  assert.deepEqual(
    descendantsOf(6, table).map((one) => one.pid),
    [6],
  );
});
