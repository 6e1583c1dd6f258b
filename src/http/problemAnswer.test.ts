// A refusal's head says what HTTP has a header for, and nothing where it has none.

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOf, type Problem } from "#wire/errors.ts";
import { problemHeaders } from "./problemAnswer.ts";

const JSON_TYPE = { "content-type": "application/problem+json" };
const cases: readonly (readonly [says: string, problem: Problem, more: object])[] = [
  ["no bearer: one is wanted", problemOf("NO_BEARER", "d"), { "www-authenticate": 'Bearer realm="tidegate"' }],
  [
    "an unknown one: it is none",
    problemOf("BAD_BEARER", "d"),
    { "www-authenticate": 'Bearer realm="tidegate", error="invalid_token"' },
  ],
  ["one that does not reach it: another would be no help", problemOf("BEYOND_SCOPE", "d"), {}],
  [
    "another method: those that there are",
    problemOf("WRONG_METHOD", "d", { methods: ["GET", "POST"] }),
    { allow: "GET, POST" },
  ],
  ["another method, by somebody who does not say which", problemOf("WRONG_METHOD", "d"), {}],
  ["a field: nothing", problemOf("BAD_FIELD", "d", { methods: ["GET"] }), {}],
  ["a door that is closed: a poll from now", problemOf("DRAINING", "d"), { "retry-after": "30" }],
  ["a bot that is replaced: soon", problemOf("ROLLING", "d"), { "retry-after": "5" }],
];
for (const [says, problem, more] of cases)
  test(`a refusal's head, ${says}`, () => {
    assert.deepEqual(problemHeaders(problem), { ...JSON_TYPE, ...more });
    assert.deepEqual(problemHeaders(problem, "r-1"), { ...JSON_TYPE, ...more, "x-request-id": "r-1" });
  });
