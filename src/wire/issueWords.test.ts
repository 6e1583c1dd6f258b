// Whatever a schema leaves to the parser is said in words of ours.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { parseWith } from "#wire/parse.ts";

const CASES: readonly (readonly [schema: z.ZodType, value: unknown, says: string])[] = [
  [z.object({}), [], "body: must be an object"],
  [z.object({ a: z.string() }), {}, "a: is missing"],
  [z.object({ a: z.string() }), { a: 1 }, "a: must be a text"],
  [z.record(z.string(), z.string()), 1, "body: must be an object"],
  [z.int(), 1.5, "body: must be a whole number"],
  [z.boolean(), 1, "body: must be true or false"],
  [z.date(), 1, "body: must be a date"],
  [z.array(z.int()), {}, "body: must be a list"],
  [z.string().max(3), "abcd", "body: is longer than 3 characters"],
  [z.string().min(3), "a", "body: is shorter than 3 characters"],
  [z.string().min(1), "", "body: is empty"],
  [z.array(z.int()).max(1), [1, 2], "body: has more than 1 entries"],
  [z.array(z.int()).min(2), [1], "body: has fewer than 2 entries"],
  [z.number().max(3), 4, "body: must be at most 3"],
  [z.number().min(3), 2, "body: must be at least 3"],
  [z.number().positive(), 0, "body: must be more than 0"],
  [z.number().negative(), 0, "body: must be less than 0"],
  [z.url(), "x", "body: is no URL such as http://127.0.0.1:8790"],
  [z.base64(), "*", "body: is no base64"],
  [z.string().regex(/a/), "b", "body: has not the form that is wanted"],
  [z.enum(["a", "b"]), "c", "body: must be one of a, b"],
  [z.object({ a: z.enum(["a", "b"]) }), {}, "a: is missing"],
  [z.literal("x"), "y", "body: must be x"],
  [z.strictObject({}), { q: 1 }, "q: is not known here"],
  [z.record(z.string().regex(/a/), z.string()), { b: "x" }, "b: has a name that does not fit"],
  [z.discriminatedUnion("t", [z.object({ t: z.literal("a") })]), { t: "b" }, "t: does not fit"],
  [z.string().refine(() => false), "x", "body: does not fit"],
  [z.string("is our own"), 1, "body: is our own"],
];
for (const [schema, value, says] of CASES)
  test(`${JSON.stringify(value)}: ${says}`, () => {
    const read = parseWith(schema, value);
    assert.ok(!read.ok);
    assert.equal(read.error.detail, says);
  });
