// Only admin nests: every other bearer passes the routes that name its scope, and nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { fail, ok } from "./result.ts";
import { passes, SCOPE_ENV, SCOPES } from "./scopes.ts";

test("whatever a route names, admin passes it, and another scope only where it is named", () => {
  fc.assert(
    fc.property(fc.subarray([...SCOPES]), fc.constantFrom(...SCOPES), (route, held) => {
      assert.equal(passes(held, route), held === "admin" || route.includes(held));
    }),
  );
});

test("a drain bearer passes neither an operator's route nor an admin's", () => {
  assert.equal(passes("drain", ["operator"]), false);
  assert.equal(passes("drain", []), false);
  assert.equal(passes("drain", ["drain"]), true);
  assert.equal(passes("admin", []), true);
});

test("each scope has a bearer of its own", () => {
  const names = SCOPES.map((scope) => SCOPE_ENV[scope]);
  assert.equal(new Set(names).size, SCOPES.length);
  assert.deepEqual(
    names,
    SCOPES.map((scope) => `RESIDENT_${scope.toUpperCase()}_TOKEN`),
  );
});

test("a result is a value, or why there is none", () => {
  assert.deepEqual(ok(5), { ok: true, value: 5 });
  assert.deepEqual(fail("why"), { ok: false, error: "why" });
});
