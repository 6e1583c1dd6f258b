// One request: its bearer, its bound, its one repetition and its coded errors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { REAL } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import { problemIn, problemOf, TidegateError, type Problem } from "#wire/errors.ts";
import { FakeFleet, refusal, scene, VirtualClock } from "./clientForTests.ts";
import { fleetClient } from "./fleet.ts";
import type { Transport } from "./transport.ts";

const cut = (): never => {
  throw new TypeError("fetch failed", {
    cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
  });
};

async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "none";
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    return error.problem.code;
  }
}

const health = {
  ok: true,
  protocol: 1,
  build: { commit: "c", bundle: "b", image: "i" },
  generation: 3,
  drainId: null,
  now: 1,
};

test("a request that was cut is sent once more, and no more often", async () => {
  const at = scene();
  let asked = 0;
  at.server.answers.set("/healthz", () => {
    asked += 1;
    return asked === 1 ? cut() : new Response(JSON.stringify(health));
  });
  assert.equal((await at.fleet.health()).generation, 3);
  at.server.answers.set("/healthz", () => {
    asked += 1;
    return cut();
  });
  asked = 0;
  assert.equal(await codeOf(at.fleet.health()), "UNREACHABLE");
  assert.equal(asked, 2);
});

test("an answer that never comes ends at the request's bound, and is not sent again", async () => {
  const at = scene();
  at.server.answers.set("/healthz", () => new Promise(() => undefined));
  const code = codeOf(at.fleet.health());
  await at.clock.advance(REAL.requestMs - SECOND);
  assert.equal(at.server.count("/healthz"), 1);
  await at.clock.advance(SECOND);
  assert.equal(await code, "UNREACHABLE");
  assert.equal(at.server.count("/healthz"), 1);
});

test("a problem of the fleet is told apart by its code; a refusal is not sent again", async () => {
  const at = scene();
  at.server.answers.set("/drain", () => refusal("BEYOND_SCOPE"));
  assert.equal(await codeOf(at.fleet.drains()), "BEYOND_SCOPE");
  assert.equal(at.server.count("/drain"), 1);
});

test("a stranger's answer, and one that this build cannot read, are named as what they are", async () => {
  const at = scene();
  at.server.answers.set("/healthz", () => new Response("<h1>bad gateway</h1>", { status: 502 }));
  await assert.rejects(at.fleet.health(), /answered 502: <h1>bad gateway/);
  at.server.answers.set("/healthz", () => new Response(JSON.stringify({ ...health, generation: "three" })));
  await assert.rejects(at.fleet.health(), /cannot read: generation/);
});

test("who gets no answer is told whom it asked, and what another could not reach is left as it is said", async () => {
  const clock = new VirtualClock();
  const answers: (() => Response)[] = [];
  const askedOf = async (what: Transport["what"]): Promise<Problem | undefined> => {
    const wire = { baseUrl: "http://x", bearer: () => "b", real: clock, ...(what === undefined ? {} : { what }) };
    const fetch: Transport["fetch"] = async () => (answers.shift() ?? cut)();
    return await fleetClient({ ...wire, fetch })
      .health()
      .then(() => undefined, problemIn);
  };
  const titleOf = async (what: Transport["what"]): Promise<string | undefined> => (await askedOf(what))?.title;
  assert.equal(await titleOf(undefined), "The fleet cannot be reached");
  assert.equal(await titleOf("bot"), "The bot cannot be reached");
  assert.match((await askedOf("ledger"))?.next ?? "", /ledger\.log/);
  answers.push(() => new Response("<h1>bad gateway</h1>", { status: 502 }));
  assert.equal(await titleOf("bot"), "The bot cannot be reached");
  answers.push(() => Response.json(problemOf("UNREACHABLE", "nobody serves"), { status: 503 }));
  assert.equal(await titleOf("bot"), "The bot cannot be reached");
  answers.push(() =>
    Response.json(problemOf("UNREACHABLE", "it is away", { title: "The ledger cannot be reached" }), { status: 503 }),
  );
  assert.equal(await titleOf("bot"), "The ledger cannot be reached");
});

test("each route takes a bearer of its own scope, else admin's; without either nothing is sent", async () => {
  const clock = new VirtualClock();
  const server = new FakeFleet(clock);
  const sent: string[] = [];
  const bearers: Record<string, string> = { admin: "", operator: "op", read: "", drain: "" };
  const fleet = fleetClient({
    baseUrl: "http://fleet",
    fetch: (url, init) => {
      sent.push(new Headers(init.headers).get("authorization") ?? "none");
      return server.fetch(url, init);
    },
    bearer: (scope) => bearers[scope] ?? "",
    real: clock,
  });
  await fleet.detach({ resource: "repo:local/app", threadKey: "t:1", runId: "run-one", generation: 0 });
  const missing = await fleet.drains().then(() => undefined, problemIn);
  assert.deepEqual([missing?.code, missing?.next.split("=")[0]], ["NO_BEARER", "export RESIDENT_READ_TOKEN"]);
  bearers["admin"] = "root";
  await codeOf(fleet.drains());
  await codeOf(fleet.health());
  assert.deepEqual(sent, ["Bearer op", "Bearer root", "none"]);
  bearers["drain"] = "drain";
  await codeOf(fleet.undrain({ id: "drain-one", outcome: "none", force: false }));
  await codeOf(fleet.undrain({ outcome: "unknown", force: true }));
  assert.deepEqual(sent.slice(3), ["Bearer drain", "Bearer root"], "force is the admin's alone");
});

test("a bearer that is refused is named by the variable that it came from", async () => {
  const at = scene();
  at.server.answers.set("/drain", () => refusal("BAD_BEARER"));
  const problem = await at.fleet.drains().then(() => undefined, problemIn);
  assert.match(problem?.next ?? "", /^correct RESIDENT_\w+_TOKEN, or unset it/);
});
