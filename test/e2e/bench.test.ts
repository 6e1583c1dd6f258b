// The bench measures what it says it measures: its part that needs the whole path of a run (attach, release, the word of it) is
// played once, since a stand-in that has fallen behind the agent's protocol measures nothing. What it measured is not judged.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { parseResults } from "../../scripts/bench/results.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("the bench plays a run's whole path, and keeps what it measured", async () => {
  const file = join(folder, "bench.json");
  const words = [join(root, "scripts/bench.ts"), "--only", "M1", "--json", file];
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root, maxBuffer: 1 << 24 });
  assert.match(stdout, /^M1 · own .* (shown|noisy) *$/m);
  const { parts } = parseResults(readFileSync(file, "utf8"));
  assert.ok(parts.some(({ blocks }) => blocks.length >= 5));
});
