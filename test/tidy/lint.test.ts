// The lint configuration is part of the house's rules, so it is seen to fail: a made-up house, one fault a file, is linted
// with the very configuration of this one.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import * as z from "zod";
import { lintPattern, rooms } from "./rooms.ts";
import { root } from "./source.ts";

const lines = (count: number): string => "\n".repeat(count);

/** What each file holds, and the rules that must report it. */
const houses: readonly (readonly [file: string, text: string, rules: readonly string[]])[] = [
  ["src/core/clock.ts", "export const now = (): number => Date.now();", ["no-restricted-globals"]],
  ["src/core/made.ts", "export const made = (): object => new Date();", ["no-restricted-globals"]],
  ["src/core/perf.ts", "export const now = (): number => performance.now();", ["no-restricted-globals"]],
  ["src/core/dice.ts", "export const roll = (): number => Math.random();", ["no-restricted-properties"]],
  ["src/core/files.ts", 'import type { Stats } from "node:fs";\nexport type A = Stats;', ["no-restricted-imports"]],
  ["src/core/late.ts", 'export const os = async () => import("node:os");', ["no-restricted-imports"]],
  ["src/core/up.ts", 'import type { W } from "#wire/fine.ts";\nexport type A = W;', ["no-restricted-imports"]],
  ["src/core/ringOne.ts", 'import type { B } from "./ringTwo.ts";\nexport type A = B | 1;', ["no-cycle"]],
  ["src/core/ringTwo.ts", 'import type { A } from "#core/ringOne.ts";\nexport type B = A | 2;', ["no-cycle"]],
  ["src/core/fine.ts", 'import { at } from "./given.ts";\nexport const a = at;', []],
  ["src/core/fineToo.ts", 'import { now } from "#core/given.ts";\nexport const a = now;', []],
  ["src/core/given.ts", "export const now = 1;\nexport const at = 2;", []],
  ["src/core/fine.test.ts", 'import { test } from "node:test";\ntest("a", async () => { Date.now(); });', []],
  [
    "src/wire/fine.ts",
    'import * as z from "zod";\nimport { now } from "#core/given.ts";\nexport const schema = z.literal(now);\nexport type W = z.infer<typeof schema>;',
    [],
  ],
  ["src/wire/clock.ts", "export const now = (): number => Date.now();", ["no-restricted-properties"]],
  ["src/wire/dice.ts", "export const roll = (): number => Math.random();", ["no-restricted-properties"]],
  [
    "src/fleet/fine.ts",
    'import { DurableObject } from "cloudflare:workers";\nimport { Hono } from "hono";\nexport const a = [DurableObject, Hono];',
    [],
  ],
  ["src/fleet/node.ts", 'import fs from "node:fs/promises";\nexport const a = fs;', ["no-restricted-imports"]],
  ["src/agent/fine.ts", 'import fs from "node:fs/promises";\nexport const a = fs;', []],
  [
    "src/node/floating.ts",
    "const work = async (): Promise<void> => {};\nexport const go = (): void => {\n  work();\n};",
    ["no-floating-promises"],
  ],
  ["src/node/belief.ts", 'export const a: string = JSON.parse("1");', ["no-unsafe-assignment"]],
  ["src/node/anything.ts", "export const f = (a: any): number => 1;", ["no-explicit-any", "no-unused-vars"]],
  [
    "src/node/gap.ts",
    'export function f(a: "x" | "y"): void {\n  switch (a) {\n    case "x":\n      throw new Error(a);\n  }\n}',
    ["switch-exhaustiveness-check"],
  ],
  ["src/node/many.ts", "export const f = (a: 1, b: 1, c: 1, d: 1, e: 1): number => a + b + c + d + e;", ["max-params"]],
  ["src/node/tall.ts", `export function f(): number {${lines(70)}  return 1;\n}`, ["max-lines-per-function"]],
  ["src/node/long.ts", `export const a = 1;${lines(401)}`, ["max-lines"]],
];

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tidegate-lint-"));
after(() => fs.rmSync(folder, { recursive: true, force: true }));

function buildHouse(): void {
  for (const name of [".oxlintrc.json", "package.json", "tsconfig.json", "tsconfig.base.json"]) {
    fs.copyFileSync(path.join(root, name), path.join(folder, name));
  }
  fs.symlinkSync(path.join(root, "node_modules"), path.join(folder, "node_modules"));
  for (const [file, text] of houses) {
    fs.mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(folder, file), `${text}\n`);
  }
  for (const config of fs.globSync("src/*/tsconfig.json", { cwd: root })) {
    if (fs.existsSync(path.join(folder, path.dirname(config))))
      fs.copyFileSync(path.join(root, config), path.join(folder, config));
  }
}

const reportSchema = z.object({ diagnostics: z.array(z.object({ code: z.string(), filename: z.string() })) });

/** The rules that lint reports, by file. */
async function lint(): Promise<Map<string, Set<string>>> {
  const oxlint = path.join(root, "node_modules/.bin/oxlint");
  const stdout = await new Promise<string>((resolve) => {
    execFile(oxlint, ["-f", "json", "src"], { cwd: folder, maxBuffer: 2 ** 24 }, (_error, out) => resolve(out));
  });
  const found = new Map<string, Set<string>>();
  for (const { code, filename } of reportSchema.parse(JSON.parse(stdout)).diagnostics) {
    const rules = found.get(filename) ?? new Set();
    found.set(filename, rules.add(/\((.+)\)$/.exec(code)?.[1] ?? code));
  }
  return found;
}

test("lint reports one fault a file, and nothing where all is well", async () => {
  buildHouse();
  const found = await lint();
  for (const [file, , rules] of houses) {
    const reported = [...(found.get(file) ?? [])];
    const missing = rules.filter((rule) => !reported.includes(rule));
    assert.deepEqual(missing, [], `${file}: reported were ${reported.join(", ") || "none"}`);
    if (rules.length === 0) assert.deepEqual(reported, [], file);
  }
});

const overrideSchema = z.object({ files: z.array(z.string()), rules: z.record(z.string(), z.unknown()) });
const importsSchema = z.tuple([
  z.literal("error"),
  z.object({ patterns: z.tuple([z.object({ group: z.array(z.string()), message: z.string() })]) }),
]);

test("lint's matrix of imports is the one of rooms.ts", () => {
  const text = fs.readFileSync(path.join(root, ".oxlintrc.json"), "utf8").replace(/^\s*\/\/.*$/gm, "");
  const { overrides } = z.object({ overrides: z.array(overrideSchema) }).parse(JSON.parse(text));
  const found = new Map<string, string[]>();
  for (const { files, rules } of overrides) {
    const imports = importsSchema.safeParse(rules["no-restricted-imports"]);
    if (imports.success) found.set(files.join(), imports.data[1].patterns[0].group);
  }
  const wanted = Object.entries(rooms).map(([name, room]) => [`src/${name}/**`, lintPattern(name, room)] as const);
  assert.deepEqual(Object.fromEntries(found), Object.fromEntries(wanted));
});
