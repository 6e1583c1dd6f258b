// A problem is told apart by its code alone, survives JSON and a trip as a thrown value, and names the field that is wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import * as z from "zod";
import { AGENT_ERRORS, agentProblem, agentProblemOf, type AgentErrorCode } from "./agentErrors.ts";
import { ERROR_CODES, ERRORS, parseProblem, problemIn, problemOf, raise, TidegateError, titled } from "./errors.ts";
import { resourceOf, resourceSchema, shortNameOf } from "./names.ts";
import { jsonOf, parseWith } from "./parse.ts";
import { ROUTE_NAMES, ROUTES } from "./routes.ts";

const overTheWire = (value: unknown): unknown => jsonOf(JSON.stringify(value));
const agentCodes = Object.keys(AGENT_ERRORS).filter((code): code is AgentErrorCode => code in AGENT_ERRORS);

test("every problem survives JSON whole, with whatever members it carries", () => {
  const own = new Set(["type", "code", "status", "title", "detail", "next", "field", "toString", "__proto__"]);
  const member = fc.string({ minLength: 1 }).filter((name) => !own.has(name));
  const more = fc.dictionary(member, fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true });
  fc.assert(
    fc.property(fc.constantFrom(...ERROR_CODES), fc.string({ unit: "grapheme" }), more, (code, detail, members) => {
      const problem = problemOf(code, detail, members);
      const read = parseProblem(overTheWire(problem));
      assert.deepEqual(read, overTheWire(problem));
      assert.deepEqual([read?.code, read?.status, read?.detail], [code, ERRORS[code].status, detail]);
    }),
  );
});

test("what an agent refuses survives JSON, and a code of a later agent is read as its failure", () => {
  fc.assert(
    fc.property(fc.constantFrom(...agentCodes), fc.string(), (code, detail) => {
      const problem = agentProblemOf(code, detail);
      assert.deepEqual(agentProblem.parse(overTheWire(problem)), problem);
    }),
  );
  const later = { ...agentProblemOf("BAD_REQUEST", "x"), code: "BAD_WEATHER" };
  assert.equal(agentProblem.parse(later).code, "INTERNAL");
});

test("a problem that was raised is recognised, also where only its members came over", () => {
  const caught = (() => {
    try {
      return raise("DRAIN_OVER", "d1d1d1d1", { field: "id" });
    } catch (error) {
      return error;
    }
  })();
  assert.ok(caught instanceof TidegateError);
  assert.equal(problemIn(caught)?.code, "DRAIN_OVER");
  assert.equal(problemIn(caught)?.field, "id");
  assert.equal(caught.message, "This drain is over: d1d1d1d1");
  assert.equal(problemIn({ problem: overTheWire(caught.problem) })?.code, "DRAIN_OVER");
});

const strangers: readonly (readonly [says: string, thrown: unknown])[] = [
  ["an error of somebody else's", new Error("no")],
  ["nothing", undefined],
  ["null", null],
  ["a text", "DRAIN_OVER"],
  ["a problem of another kind", { problem: { code: "WEATHER", status: 400, title: "t", detail: "d", next: "n" } }],
  ["a problem without its code", { problem: { status: 400, title: "t", detail: "d", next: "n" } }],
];
for (const [says, thrown] of strangers)
  test(`no problem of ours: ${says}`, () => assert.equal(problemIn(thrown), undefined));

test("any value is read as a problem or as none, without a throw", () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const read = parseProblem(value);
      assert.ok(read === undefined || ERROR_CODES.includes(read.code));
    }),
  );
});

test("every code has a status of an error, and says what to do next as a sentence", () => {
  for (const table of [ERRORS, AGENT_ERRORS])
    for (const [code, { status, title, next }] of Object.entries(table)) {
      assert.ok(status >= 400 && status < 600, code);
      assert.ok(title.length > 0 && next.length > 0, code);
      assert.match(code, /^[A-Z_]+$/);
    }
  assert.deepEqual(ERROR_CODES, Object.keys(ERRORS));
});

const schema = z.strictObject({ a: z.object({ b: z.number() }), list: z.array(z.string()).default([]) });
const fields: readonly (readonly [says: string, value: unknown, field: string])[] = [
  ["a field inside another is named by its path", { a: { b: "1" } }, "a.b"],
  ["a field that is missing is named", { a: {} }, "a.b"],
  ["one of a list is named by its place", { a: { b: 1 }, list: ["x", 2] }, "list.1"],
  ["a field that nobody reads is named", { a: { b: 1 }, lsit: [] }, "lsit"],
  ["the body itself is named so", "text", "body"],
];
for (const [says, value, field] of fields)
  test(`a refusal: ${says}`, () => {
    const read = parseWith(schema, value);
    assert.ok(!read.ok && read.error.field === field && read.error.code === "BAD_FIELD");
  });

test("a refusal without a word of its own still says something", () => {
  const mute = z.custom<string>(() => false, { error: () => undefined });
  const read = parseWith(mute, 5);
  assert.ok(!read.ok && read.error.detail.length > "body: ".length);
});

test("text is JSON or undefined, never an exception", () => {
  assert.deepEqual(jsonOf('{"a":1}'), { a: 1 });
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const value = jsonOf(text);
      assert.ok(value === undefined || JSON.stringify(value) !== undefined);
    }),
  );
  for (const text of ["", "{", "{'a':1}", "\u0000", "undefined"]) assert.equal(jsonOf(text), undefined, text);
});

test("a resource has an owner and the name that people type", () => {
  assert.equal(resourceOf("local", "app"), "repo:local/app");
  assert.equal(shortNameOf("repo:local/app"), "app");
  assert.ok(resourceSchema.safeParse(resourceOf("local", "app")).success);
});

test("each route has a path of its own for its method, and only what changes nothing is public", () => {
  const doors = ROUTE_NAMES.map((name) => `${ROUTES[name].method} ${ROUTES[name].path}`);
  assert.equal(new Set(doors).size, doors.length);
  assert.deepEqual(
    ROUTE_NAMES.filter((name) => ROUTES[name].scopes === "public"),
    ["healthz"],
  );
  for (const name of ROUTE_NAMES) assert.equal(ROUTES[name].method === "GET", ROUTES[name].body === null, name);
});

test("a title and a detail that begins with it are said once", () => {
  for (const [title, detail, says] of [
    ["The ref does not exist", "the ref does not exist: nope", "the ref does not exist: nope"],
    ["no fleet is up in this folder", "no fleet is up in /x", "no fleet is up in /x"],
    ["No bearer", "GET /drain", "No bearer: GET /drain"],
    ["No bearer", "no bearer at all", "no bearer at all"],
    ["The resident exists already", "the resident of app", "The resident exists already: the resident of app"],
    ["Another", "", "Another: "],
  ] as const)
    assert.equal(titled({ title, detail }), says);
  assert.equal(
    new TidegateError(problemOf("NO_SUCH_REF", "the ref does not exist: x")).message,
    "the ref does not exist: x",
  );
});
