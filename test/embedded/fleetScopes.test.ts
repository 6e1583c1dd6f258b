// Each route with each bearer: the table of wire/routes.ts is what is served, and no bearer passes where the table does not say so.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { passes, SCOPES, type Scope } from "#core/scopes.ts";
import { problemSchema } from "#wire/errors.ts";
import { WATCH_CLOSE } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { ROUTES, ROUTE_NAMES, type RouteName } from "#wire/routes.ts";
import { FleetStack } from "./fleetStack.ts";
import { Watch } from "./fleetWatch.ts";
import { eventually } from "./hostStack.ts";

const fleet = new FleetStack(1);
before(() => fleet.up());

type Bearer = Scope | "none" | "wrong";
const bearers: readonly Bearer[] = [...SCOPES, "none", "wrong"];

const scopesOf = (name: RouteName): readonly Scope[] | "public" => ROUTES[name].scopes;
const passersOf = (name: RouteName): string => {
  const scopes = scopesOf(name);
  return scopes === "public" ? "everybody" : `${["admin", ...scopes].join(", ")} alone`;
};

/** What the table says of this bearer on this route: undefined where it passes. */
function refusalOf(name: RouteName, bearer: Bearer): "NO_BEARER" | "BAD_BEARER" | "BEYOND_SCOPE" | undefined {
  const scopes = scopesOf(name);
  if (scopes === "public") return undefined;
  if (bearer === "none") return "NO_BEARER";
  if (bearer === "wrong") return "BAD_BEARER";
  return passes(bearer, scopes) ? undefined : "BEYOND_SCOPE";
}

function headersOf(bearer: Bearer): Record<string, string> {
  if (bearer === "none") return {};
  return { authorization: `Bearer ${bearer === "wrong" ? "not-a-bearer-of-this-fleet" : fleet.bearer(bearer)}` };
}

const statusOf = { NO_BEARER: 401, BAD_BEARER: 401, BEYOND_SCOPE: 403 } as const;

async function looksRight(name: RouteName, bearer: Bearer): Promise<void> {
  const { method, path } = ROUTES[name];
  const init = { method, headers: { ...headersOf(bearer), "content-type": "application/json" } };
  const response = await fetch(`${fleet.url}${path}`, method === "POST" ? { ...init, body: "{}" } : init);
  const expected = refusalOf(name, bearer);
  const what = `${method} ${path} with ${bearer}`;
  if (expected === undefined && method === "GET" && name !== "reconciled") {
    assert.equal(response.status, 200, what);
    await response.body?.cancel();
    return;
  }
  const problem = problemSchema.parse(jsonOf(await response.text()));
  const code = expected ?? "BAD_FIELD";
  assert.deepEqual([problem.code, response.status], [code, expected === undefined ? 400 : statusOf[expected]], what);
  if (expected === "BEYOND_SCOPE") assert.match(problem.detail, /takes admin.*; this bearer is /, what);
}

for (const name of ROUTE_NAMES.filter((one) => one !== "watch")) {
  test(`${ROUTES[name].method} ${ROUTES[name].path} passes ${passersOf(name)}`, async () => {
    for (const bearer of bearers) await looksRight(name, bearer);
  });
}

test("the watch is accepted and closed with 4401 or 4403, or tells the state", async () => {
  for (const bearer of bearers) {
    const token = headersOf(bearer)["authorization"]?.slice("Bearer ".length);
    const watch = new Watch(fleet.url, token);
    const expected = refusalOf("watch", bearer);
    if (expected === undefined) {
      await watch.until(`a frame for ${bearer}`, ({ drains }) => drains.length === 0);
      watch.close();
    } else {
      assert.equal(
        await watch.end(),
        expected === "BEYOND_SCOPE" ? WATCH_CLOSE.beyondScope : WATCH_CLOSE.noBearer,
        bearer,
      );
      assert.deepEqual([watch.frames, watch.others], [[], []], bearer);
    }
  }
  const plain = await fleet.refusal("read", "/watch");
  assert.deepEqual([plain.code, plain.field], ["BAD_FIELD", "upgrade"]);
});

test("a watch answers a ping without a frame, and anything else does it no harm", async () => {
  const watch = new Watch(fleet.url, fleet.bearer("operator"));
  await watch.until("the state first", () => true);
  watch.send("rubbish");
  watch.send("ping");
  assert.equal(await eventually("an answer to the ping", () => watch.others[0]), "pong");
  assert.deepEqual([watch.others.length, watch.frames.length, watch.closed], [1, 1, undefined]);
  watch.close();
});

test("an admin's force lifts every drain, and is beyond the drain bearer", async () => {
  await fleet.drain("forced-1", { deploy: false });
  await fleet.drain("forced-2");
  const beyond = await fleet.refusal("drain", "/undrain", { force: true });
  assert.deepEqual([beyond.code, (await fleet.drains()).drains.length], ["BEYOND_SCOPE", 2]);
  const lifted = await fleet.ask("admin", "/undrain", { force: true });
  assert.deepEqual([lifted.status, (await fleet.drains()).draining], [200, null]);
});
