// Coverage leaves out a file that was never imported, so one test imports every file of the core.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

const core = path.resolve(import.meta.dirname, "../../src/core");

function coreFiles(): string[] {
  return readdirSync(core, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .toSorted();
}

test("every file of core/ can be imported, and is", async () => {
  const files = coreFiles();
  assert.ok(files.includes("budgets.ts"), `core/ is not at ${core}`);
  const imported: string[] = [];
  for (const file of files) {
    const module: unknown = await import(pathToFileURL(path.join(core, file)).href);
    assert.ok(typeof module === "object" && module !== null, `${file} gave no module`);
    imported.push(file);
  }
  assert.deepEqual(imported, files);
});
