// Who asks at a Worker's door: each scope's own bearer, and no empty one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { SCOPES } from "#core/scopes.ts";
import { problemIn } from "#wire/errors.ts";
import type { Route } from "#wire/routes.ts";
import { judged, secretsIn } from "./bearer.ts";

const secrets = secretsIn({ RESIDENT_ADMIN_TOKEN: "root", RESIDENT_READ_TOKEN: "seen", RESIDENT_DRAIN_TOKEN: "" });
const route = (scopes: Route["scopes"]): Route => ({ method: "GET", path: "/runs", scopes, body: null }) as Route;

async function scopeOf(header: string | null, scopes: Route["scopes"] = ["read"]): Promise<unknown> {
  const request = new Request("http://x/runs", header === null ? {} : { headers: { authorization: header } });
  return await judged(secrets, request, route(scopes)).catch((error: unknown) => problemIn(error)?.code);
}

const cases: readonly (readonly [says: string, header: string | null, is: string])[] = [
  ["its own", "Bearer seen", "read"],
  ["the admin's, which passes everywhere", "Bearer root", "admin"],
  ["in another spelling of its scheme", "bearer seen", "read"],
  ["none", null, "NO_BEARER"],
  ["an unknown one", "Bearer seem", "BAD_BEARER"],
  ["the beginning of one", "Bearer see", "BAD_BEARER"],
  ["another scheme", "Basic seen", "BAD_BEARER"],
  ["an empty one, as a scope's without a secret", "Bearer ", "BAD_BEARER"],
];
for (const [says, header, is] of cases) test(`a bearer, ${says}`, async () => assert.equal(await scopeOf(header), is));

test("one that does not reach a route is told which do, and a public route asks for none", async () => {
  assert.equal(await scopeOf("Bearer seen", ["operator"]), "BEYOND_SCOPE");
  assert.equal(await scopeOf(null, "public"), "read");
  assert.deepEqual(
    SCOPES.map((scope) => secrets[scope]),
    ["root", "", "seen", ""],
  );
});
