// The runner is trusted by everything else, so it is seen to fail: on a made-up package with the real scripts, a test
// that fails, a file without tests, a process left behind, an empty stage and a gap in coverage are each told.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, suite, test } from "node:test";
import { root } from "./source.ts";

const head = 'import { test } from "node:test";\n';
const folders: string[] = [];
after(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true, force: true })));

/** What the runner must do, by its sentence. They run side by side: each mostly waits for processes. */
const cases = new Map<string, () => Promise<void>>();

/** A package with the real runner and the given files. */
function makePackage(files: Readonly<Record<string, string>>): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-runner-"));
  folders.push(folder);
  fs.cpSync(path.join(root, "scripts"), path.join(folder, "scripts"), { recursive: true });
  fs.copyFileSync(path.join(root, "package.json"), path.join(folder, "package.json"));
  fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), text);
  }
  return folder;
}

interface Ran {
  readonly code: number | null;
  readonly output: string;
  readonly lastLine: string;
}

function runIn(
  folder: string,
  args: readonly string[],
  onOutput: (all: string, pid: number) => void = () => {},
): Promise<Ran> {
  // Without the outer test's own environment: node:test would take this run for one of its files.
  const { NODE_TEST_CONTEXT: _context, NODE_V8_COVERAGE: _coverage, ...env } = process.env;
  const child = spawn(process.execPath, ["scripts/test.ts", ...args], { cwd: folder, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      onOutput(output, child.pid ?? 0);
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output, lastLine: output.trimEnd().split("\n").at(-1) ?? "" }));
  });
}

cases.set("all passes: the sum is the last line and the exit code is 0", async () => {
  const folder = makePackage({
    "src/core/one.ts": "export const one = (): number => 1;\n",
    "src/core/one.test.ts": `${head}import { one } from "./one.ts";\ntest("one", (t) => t.assert.equal(one(), 1));\n`,
    "test/e2e/a.test.ts": `${head}test("a", (t) => t.diagnostic("kill points 9 of 9"));\n`,
  });
  const { code, output, lastLine } = await runIn(folder, ["--only", "unit,e2e"]);
  assert.equal(lastLine, "3 passed, 0 failed", output);
  assert.equal(code, 0);
  assert.match(output, /^e2e +\| kill points 9 of 9$/m);
  assert.match(output, /^coverage +ok .* 1 files$/m);
});

cases.set("a failing test is shown with its file's output, and a file without tests has failed", async () => {
  const folder = makePackage({
    "test/e2e/a.test.ts": `${head}console.log("before it broke");\ntest("breaks", () => { throw new Error("on purpose"); });\n`,
    "test/e2e/b.test.ts": "export {};\n",
    "test/e2e/c.test.ts": "throw new Error('at import');\n",
  });
  const { code, output, lastLine } = await runIn(folder, ["--only", "e2e"]);
  assert.equal(lastLine, "0 passed, 3 failed", output);
  assert.equal(code, 1);
  for (const words of ["✖ breaks", "on purpose", "before it broke", "b.test.ts holds no test", "at import"]) {
    assert.ok(output.includes(words), `no "${words}" in:\n${output}`);
  }
});

cases.set("a stage without tests has failed", async () => {
  const { code, output, lastLine } = await runIn(makePackage({}), ["--only", "unit"]);
  assert.equal(lastLine, "0 passed, 1 failed", output);
  assert.equal(code, 1);
});

cases.set("a gap in the coverage of core/ fails by itself and is named", async () => {
  const folder = makePackage({
    "src/core/two.ts":
      "export const one = (): number => 1;\nexport const two = (yes: boolean): number =>\n  yes\n    ? 2\n    : 3;\n",
    "src/core/two.test.ts": `${head}import { two } from "./two.ts";\ntest("two", (t) => t.assert.equal(two(true), 2));\n`,
  });
  const { code, output, lastLine } = await runIn(folder, ["--only", "unit"]);
  assert.equal(lastLine, "1 passed, 1 failed", output);
  assert.equal(code, 1);
  assert.match(output, /src\/core\/two\.ts: no test runs .*branches at 5.*functions one at 1/, output);
});

cases.set("a process left behind is named, ended, and fails the stage", async () => {
  const left = `${head}import { spawn } from "node:child_process";\ntest("a", () => { spawn("sleep", ["4321"], { detached: true, stdio: "ignore" }).unref(); });\n`;
  const { code, output, lastLine } = await runIn(makePackage({ "test/e2e/a.test.ts": left }), ["--only", "e2e"]);
  assert.equal(lastLine, process.platform === "linux" ? "1 passed, 1 failed" : "1 passed, 0 failed", output);
  assert.equal(code, process.platform === "linux" ? 1 : 0);
  if (process.platform === "linux") assert.match(output, /left a process behind, now ended: \d+ sleep 4321/);
});

/** Whether a process runs. One that has ended and was not waited for still answers to signal 0. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== "linux" || !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

const hangs = `${head}import { spawn } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
test("a", async () => {
  const child = spawn("sleep", ["4322"], { detached: true, stdio: "ignore" });
  writeFileSync("pids.new", [process.pid, child.pid].join(" "));
  renameSync("pids.new", "pids");
  await new Promise((resolve) => child.once("exit", resolve));
});
`;

/** Runs a test that never ends, signals the runner once it is under way, and answers the pids of test and sleeper. */
async function stopHanging(signal: NodeJS.Signals): Promise<Ran & { readonly pids: readonly number[] }> {
  const folder = makePackage({ "test/e2e/a.test.ts": hangs });
  let watcher: NodeJS.Timeout | undefined;
  const ran = await runIn(folder, ["--only", "e2e"], (_all, pid) => {
    watcher ??= setInterval(() => {
      if (!fs.existsSync(path.join(folder, "pids"))) return;
      process.kill(pid, signal);
      clearInterval(watcher);
    }, 20);
  });
  clearInterval(watcher);
  return { ...ran, pids: fs.readFileSync(path.join(folder, "pids"), "utf8").split(" ").map(Number) };
}

/** The processes of these that still live, once they have had the time that the kernel takes to end them. */
async function stillAlive(pids: readonly number[]): Promise<number[]> {
  const last = Date.now() + 10_000;
  while (pids.some(isAlive) && Date.now() < last) await new Promise((resolve) => setTimeout(resolve, 20));
  return pids.filter(isAlive);
}

cases.set("Ctrl-C ends the runner and all that its tests started", async () => {
  const { code, output, pids } = await stopHanging("SIGINT");
  assert.equal(code, 130, output);
  // Only Linux shows which processes carry the mark of a stage; elsewhere the one that left its group goes on.
  const expected = process.platform === "linux" ? pids : pids.slice(0, 1);
  assert.deepEqual(await stillAlive(expected), []);
});

cases.set("the kill of the runner ends its tests", async () => {
  const { pids } = await stopHanging("SIGKILL");
  const [testPid = 0, sleeper = 0] = pids;
  const left = await stillAlive([testPid]);
  if (isAlive(sleeper)) process.kill(sleeper, "SIGKILL");
  assert.deepEqual(left, [], "the test's process goes on");
});

cases.set("an unknown stage or option is a usage error", async () => {
  const folder = makePackage({});
  for (const args of [["--only", "units"], ["--fast"]]) {
    const { code, output } = await runIn(folder, args);
    assert.equal(code, 2, output);
    assert.match(output, /usage: npm test/);
  }
});

suite("the runner", { concurrency: true }, () => {
  for (const [name, prove] of cases) test(name, prove);
});
