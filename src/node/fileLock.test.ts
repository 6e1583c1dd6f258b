// One holder at a time, and the kernel gives the lock back when its holder is killed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { tryFileLock, waitFileLock } from "#node/fileLock.ts";

test("a lock has one holder, in this process and in another, and is free once that one is killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-lock-"));
  try {
    const path = join(folder, "lock");
    const mine = tryFileLock(path);
    assert.ok(mine);
    assert.equal(tryFileLock(path), undefined);
    mine.release();
    const source = `const { tryFileLock } = await import(${JSON.stringify(join(import.meta.dirname, "fileLock.ts"))});
      globalThis.held = tryFileLock(${JSON.stringify(path)}); console.log("held"); setInterval(() => globalThis.held, 1000);`;
    const other = spawn(process.execPath, ["--input-type=module", "-e", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => other.stdout.once("data", resolve));
    assert.equal(tryFileLock(path), undefined);
    assert.equal(await waitFileLock(path, 10), undefined);
    const waiting = waitFileLock(path, 10_000);
    other.kill("SIGKILL");
    const got = await waiting;
    assert.ok(got);
    got.release();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
