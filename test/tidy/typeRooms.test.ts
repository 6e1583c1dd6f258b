// Node's types and the Workers' never meet, and the pure rooms have neither: each such room has a configuration of its own.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { rooms } from "./rooms.ts";
import { root } from "./source.ts";

const shown = z.object({
  compilerOptions: z.looseObject({ types: z.array(z.string()), lib: z.array(z.string()) }),
});

/** A configuration as the compiler itself reads it, with all that it extends. */
function configOf(file: string): z.infer<typeof shown>["compilerOptions"] {
  const tsc = path.join(root, "node_modules/.bin/tsc");
  const text = execFileSync(tsc, ["-p", file, "--showConfig"], { cwd: root, encoding: "utf8" });
  return shown.parse(JSON.parse(text)).compilerOptions;
}

const wanted: Readonly<Record<string, readonly string[]>> = {
  core: [],
  wire: [],
  fleet: ["@cloudflare/workers-types"],
  ledger: ["@cloudflare/workers-types"],
};

for (const [room, types] of Object.entries(wanted)) {
  test(`src/${room} sees no types but ${types.join(", ") || "the language's"}`, () => {
    if (fs.readdirSync(path.join(root, "src")).includes(room)) {
      const options = configOf(`src/${room}/tsconfig.json`);
      assert.deepEqual(options.types, types);
      assert.ok(!options.lib.some((lib) => lib.startsWith("dom")), `${options.lib.join()} names the page`);
    } else assert.ok(rooms[room], `${room} is neither a folder nor a room`);
  });
}

test("every room is strict and erasable", () => {
  const configs = ["tsconfig.json", ...fs.globSync("src/*/tsconfig*.json", { cwd: root })];
  const strict = [
    "strict",
    "noUncheckedIndexedAccess",
    "exactOptionalPropertyTypes",
    "erasableSyntaxOnly",
    "verbatimModuleSyntax",
    "noEmit",
  ];
  for (const config of configs) {
    const text = fs.readFileSync(path.join(root, config), "utf8");
    assert.match(text, /"extends": "[./]*tsconfig(\.base)?\.json"/, `${config} extends nothing`);
    for (const name of strict) assert.doesNotMatch(text, new RegExp(`"${name}"`), `${config} changes ${name}`);
  }
  const base = fs.readFileSync(path.join(root, "tsconfig.base.json"), "utf8");
  for (const name of strict) assert.match(base, new RegExp(`"${name}": true`));
});
