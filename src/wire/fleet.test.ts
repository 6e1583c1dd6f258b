// A resident's row tells whether a reopening waits for it, and a row of the build before tells of none; how a swap was prepared is
// one of four words.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { residentRowSchema, residentsSchema } from "./fleet.ts";
import { swapAskSchema } from "./host.ts";
import { parseWith } from "./parse.ts";

const shapes = path.resolve(import.meta.dirname, "../../test/fixtures/shapes");
const wireSchema = z.object({ residentsSchema: z.array(z.unknown()) });

function rowsOf(build: string): readonly z.infer<typeof residentRowSchema>[] {
  const kept = wireSchema.parse(JSON.parse(readFileSync(path.join(shapes, build, "wire.json"), "utf8")));
  return kept.residentsSchema.flatMap((one) => residentsSchema.parse(one).residents);
}

const held = { drainId: "d1d1d1d1", since: 5, until: 9, askedAt: null, said: null };

test("a row of the first build is held by nobody, and one of the second says by whom and until when", () => {
  const first = rowsOf("build1");
  assert.ok(first.length > 0);
  assert.deepEqual(
    first.map((row) => row.hold),
    first.map(() => null),
  );
  const holds = rowsOf("build2").map((row) => row.hold?.drainId ?? null);
  assert.deepEqual(holds, [null, "d1d1d1d1"]);
});

const refused: readonly (readonly [says: string, more: object, field: string])[] = [
  ["a hold without its drain", { hold: { ...held, drainId: undefined } }, "hold.drainId"],
  ["a hold without its bound", { hold: { ...held, until: null } }, "hold.until"],
  ["a hold that is a word", { hold: "yes" }, "hold"],
  ["an image report of a later build", { imageReport: "melted" }, "imageReport"],
];
for (const [says, more, field] of refused)
  test(`no row is read from ${says}`, () => {
    const [row] = rowsOf("build2");
    const read = parseWith(residentRowSchema, { ...row, ...more });
    assert.ok(!read.ok && read.error.field === field);
    assert.ok(parseWith(residentRowSchema, { ...row, hold: held }).ok);
  });

const build = { commit: "7b02d9e", bundle: "b2b2b2", image: "c9e0" };
for (const mode of ["sealed", "handoff", "forced", "undrained", "drained"])
  test(`a swap that is said to be ${mode} ${mode === "drained" ? "is refused by that field" : "is one"}`, () => {
    const read = parseWith(swapAskSchema, { drainId: "d1d1d1d1", mode, build });
    assert.equal(read.ok ? undefined : read.error.field, mode === "drained" ? "mode" : undefined);
  });
