// Every key that `tidegate.jsonc` may have is explained where people look for it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { configJsonSchema } from "#wire/config.ts";
import { root } from "../tidy/source.ts";

const nodeSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).optional(),
  additionalProperties: z.unknown().optional(),
});

/** The keys below a place of the schema; a key of anybody's choice is `<name>`. Values that stand in a list of ways are whole. */
function keysOf(schema: unknown, at: readonly string[] = []): string[] {
  const read = nodeSchema.safeParse(schema);
  if (!read.success) return [at.join(".")];
  const { properties, additionalProperties } = read.data;
  // What a variable's value is, and where it stands, is a part of the key that names the variable.
  if (at.at(-1) === "env" || at.at(-1) === "tools") return [at.join(".")];
  if (properties !== undefined)
    return Object.entries(properties).flatMap(([name, inner]) => keysOf(inner, [...at, name]));
  const isOpen = typeof additionalProperties === "object" && additionalProperties !== null;
  return isOpen ? keysOf(additionalProperties, [...at, "<name>"]) : [at.join(".")];
}

test("docs/operate/configure.md has a row for each key of tidegate.jsonc", () => {
  const text = readFileSync(path.join(root, "docs/operate/configure.md"), "utf8");
  const keys = keysOf(configJsonSchema()).filter((key) => key !== "$schema");
  assert.ok(keys.includes("kinds.<name>.resume") && keys.length > 12, keys.join(", "));
  assert.deepEqual(
    keys.filter((key) => !text.includes(`| \`${key}\` |`)),
    [],
  );
});
