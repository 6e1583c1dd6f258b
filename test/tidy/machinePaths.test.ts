// What is committed runs anywhere: no file names a folder that only one machine has.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { filesBelow, root } from "./source.ts";

const machine = /(?<![\w.~$}*-])\/(?:work|farm|root|(?:home|Users)\/[A-Za-z]\w*)\//;
const text = /\.(?:ts|tsx|mjs|js|json|jsonc|md|sh|yml|yaml|css|html)$|^(?:run|tidegate|\.gitignore)$/;

/** The lines of a text that name a machine's own folder, as `number: line`. */
function machinePaths(content: string): string[] {
  return content.split("\n").flatMap((line, index) => (machine.test(line) ? [`${index + 1}: ${line.trim()}`] : []));
}

test("a machine's own folders are seen", () => {
  const bad = ["work", "root", "farm", "home/ann", "Users/ann"].map((folder) => `cd "/${folder}/x"`);
  for (const line of bad) assert.equal(machinePaths(line).length, 1, line);
  // Put together here, so that this file names no such folder itself.
  const inside = ["work", "root"].flatMap((folder) => [`./${folder}/x`, `src/${folder}/x`]);
  const good = [
    ...inside,
    "~/src/app",
    "/usr/bin/git",
    "https://a.b/workers",
    "/home",
    "$ROOT/home/x",
    "/work stays on/",
  ];
  for (const line of good) assert.deepEqual(machinePaths(line), [], line);
});

test("no file of this house names one", () => {
  const here = ["src", "test", "scripts", "docs", "bin", ".ci", ".github"].flatMap((folder) =>
    filesBelow(folder, text),
  );
  const top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "package.json", ".oxlintrc.json"];
  const found = [...here, ...top].flatMap((file) => {
    try {
      return machinePaths(readFileSync(path.join(root, file), "utf8")).map((line) => `${file}:${line}`);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
      throw error;
    }
  });
  assert.deepEqual(found, []);
});
