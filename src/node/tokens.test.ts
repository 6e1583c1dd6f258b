// Bearers are made once, and the environment replaces or takes away each by itself.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isSecret } from "#node/httpServer.ts";
import { makeBearers, readBearers, withEnv } from "#node/tokens.ts";
import { findHome } from "#node/stateFolder.ts";

test("bearers are made once, readable by their owner only; a file that cannot be read is named and never replaced", () => {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-tokens-"));
  try {
    const path = join(folder, "tokens.json");
    assert.equal(readBearers(path), undefined);
    const made = makeBearers(path);
    assert.deepEqual(makeBearers(path), made);
    assert.equal(new Set(Object.values(made)).size, 4);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    writeFileSync(path, "{");
    assert.throws(() => makeBearers(path), { code: "STATE_HALF_WRITTEN" });
    writeFileSync(join(folder, "tidegate.jsonc"), "{}");
    assert.equal(findHome(join(folder, "a", "b"), {}), folder);
    assert.equal(findHome("/", { TIDEGATE_HOME: folder }), folder);
    assert.equal(findHome("/", {}), undefined);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a variable replaces its bearer, an empty one takes it away, and an empty secret grants nothing", () => {
  const bearers = { admin: "a", operator: "o", read: "r", drain: "d" };
  const over = withEnv(bearers, { RESIDENT_READ_TOKEN: "mine", RESIDENT_DRAIN_TOKEN: "" });
  assert.deepEqual(over, { admin: "a", operator: "o", read: "mine", drain: "" });
  assert.deepEqual([isSecret("mine", "mine"), isSecret("yours", "mine"), isSecret("", "")], [true, false, false]);
});
