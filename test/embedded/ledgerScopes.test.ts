// Each route of the ledger with each bearer: the table of wire/ledgerRoutes.ts is what is served, and no bearer passes
// where the table does not say so.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { passes, SCOPES, type Scope } from "#core/scopes.ts";
import { healthSchema } from "#wire/fleet.ts";
import { problemSchema } from "#wire/errors.ts";
import { LEDGER_ROUTES, LEDGER_ROUTE_NAMES, type LedgerRouteName } from "#wire/ledgerRoutes.ts";
import { LedgerStack, type Answer } from "./ledgerStack.ts";

let ledger: LedgerStack;
before(async () => {
  ledger = await LedgerStack.begin(1);
});
after(() => ledger.dispose());

type Bearer = Scope | "none" | "wrong";
const bearers: readonly Bearer[] = [...SCOPES, "none", "wrong"];
const scopesOf = (name: LedgerRouteName): readonly Scope[] | "public" => LEDGER_ROUTES[name].scopes;

/** What the table says of this bearer on this route: undefined where it passes. */
function refusalOf(name: LedgerRouteName, bearer: Bearer): "NO_BEARER" | "BAD_BEARER" | "BEYOND_SCOPE" | undefined {
  const scopes = scopesOf(name);
  if (scopes === "public") return undefined;
  if (bearer === "none") return "NO_BEARER";
  if (bearer === "wrong") return "BAD_BEARER";
  return passes(bearer, scopes) ? undefined : "BEYOND_SCOPE";
}

const statusOf = { NO_BEARER: 401, BAD_BEARER: 401, BEYOND_SCOPE: 403 } as const;
/** Reads that want to know of which run. */
const ofRun: readonly LedgerRouteName[] = ["run", "outputFrom"];

function send(name: LedgerRouteName, bearer: Bearer): Promise<Answer> {
  const { method, path } = LEDGER_ROUTES[name];
  const by = bearer === "none" ? null : bearer === "wrong" ? { token: "not-a-bearer-of-this-ledger" } : bearer;
  return method === "POST" ? ledger.post(by, path, {}) : ledger.ask(by, path);
}

for (const name of LEDGER_ROUTE_NAMES) {
  const { method, path } = LEDGER_ROUTES[name];
  const scopes = scopesOf(name);
  const who = scopes === "public" ? "everybody" : `${["admin", ...scopes].join(", ")} alone`;
  test(`${method} ${path} passes ${who}`, async () => {
    for (const bearer of bearers) {
      const { status, body } = await send(name, bearer);
      const expected = refusalOf(name, bearer);
      if (expected === undefined && method === "GET" && !ofRun.includes(name)) assert.equal(status, 200, bearer);
      else {
        const { code, detail } = problemSchema.parse(body);
        const wanted = [expected ?? "BAD_FIELD", expected === undefined ? 400 : statusOf[expected]];
        assert.deepEqual([code, status], wanted, bearer);
        if (expected === "BEYOND_SCOPE") assert.match(detail, /takes admin.*; this bearer is /, bearer);
      }
    }
  });
}

test("health needs no bearer, and names the upload that answers", async () => {
  const { body, headers } = await ledger.ask(null, "/healthz");
  const { now, ...health } = healthSchema.parse(body);
  const { commit, bundle } = health.build;
  assert.deepEqual([health.ok, health.generation, health.drainId, commit], [true, 1, "drain-1", "commit-1"]);
  assert.ok(bundle.length === 12 && Math.abs(now - Date.now()) < 60_000);
  assert.ok(headers.has("x-request-id"));
});

test("nothing that looks like a bearer and is none passes", async () => {
  for (const token of ["", " ", ledger.bearers.read.slice(1), `${ledger.bearers.read}x`, "x".repeat(600)]) {
    const { status } = await ledger.ask({ token }, "/entries");
    assert.equal(status, 401, token);
  }
});
