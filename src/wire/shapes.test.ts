// Generations read each other: every shape that a build has ever put on the wire or into a file stands under
// test/fixtures/shapes, one folder a build, and is read whole by each build after it, with whatever a later one adds.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { BUDGETS } from "../../test/unit/coreSamples.ts";
import * as agent from "./agent.ts";
import { agentProblem } from "./agentErrors.ts";
import * as attach from "./attach.ts";
import * as drain from "./drain.ts";
import { problemSchema } from "./errors.ts";
import * as fleet from "./fleet.ts";
import * as host from "./host.ts";
import { receiptSchema } from "./receipt.ts";
import { ROUTES } from "./routes.ts";

const shapes = path.resolve(import.meta.dirname, "../../test/fixtures/shapes");
const schemas: Readonly<Record<string, unknown>> = {
  ...agent,
  ...attach,
  ...fleet,
  ...host,
  ...drain,
  agentProblem,
  problemSchema,
  receiptSchema,
  drainBodySchema: drain.drainBodySchema(BUDGETS.capMinutes),
  attachBodySchema: attach.attachBodySchema,
};
const fileSchema = z.record(z.string(), z.array(z.unknown()).min(1));

function shapesIn(build: string, file: string): z.infer<typeof fileSchema> {
  return fileSchema.parse(JSON.parse(readFileSync(path.join(shapes, build, file), "utf8")));
}

function schemaOf(name: string): z.ZodType {
  const schema = schemas[name];
  assert.ok(schema instanceof z.ZodType, `${name} is a schema no more: a build that speaks it cannot be read`);
  return schema;
}

/** The same record with a field more. */
function withMore(value: unknown): unknown {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { ...value, addedByALaterBuild: { at: 1 } }
    : value;
}

for (const build of readdirSync(shapes))
  for (const file of ["wire.json", "agent.json"])
    for (const [name, values] of Object.entries(shapesIn(build, file)))
      test(`${build}: ${name} is read as it was written, and with a field that a later build adds`, () => {
        for (const value of values) {
          const schema = schemaOf(name);
          assert.partialDeepStrictEqual(schema.parse(value), value);
          assert.partialDeepStrictEqual(schema.parse(withMore(value)), value);
        }
      });

test("every body and answer of a route has its shape in the newest folder", () => {
  const newest = readdirSync(shapes).toSorted().at(-1) ?? "";
  // A row of the audit is kept inside its list, and a frame of output with the agent's lines.
  const kept = [...Object.keys(shapesIn(newest, "wire.json")), "auditRowSchema", "outputFrameSchema"];
  const named = Object.values(ROUTES).flatMap(({ body, answers }) => (body === null ? [answers] : [body, answers]));
  assert.deepEqual(
    named.filter((name) => !kept.includes(name)),
    [],
  );
});
