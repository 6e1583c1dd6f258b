// Bad input gets a 4xx with a code, the field and what to do next, and changes nothing: neither what the fleet tells of
// itself nor what lies on its disk.

import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { LEASE_BETWEEN, LIMIT } from "#core/budgets.ts";
import type { Scope } from "#core/scopes.ts";
import { ERRORS, problemSchema, type ErrorCode, type Problem } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { FleetStack } from "./fleetStack.ts";

const fleet = new FleetStack(60);
let app = "";
before(async () => {
  await fleet.up();
  app = await fleet.onboard("app");
});

/** Everything that a request could have changed. */
async function state(): Promise<unknown> {
  const [residents, drains, rows] = [await fleet.residents(), await fleet.drains(), await fleet.auditRows()];
  const objects = ["tidegate-registry", "tidegate-resident"].map((folder) =>
    readdirSync(join(fleet.paths.storage, folder)).filter((name) => name.endsWith(".sqlite")),
  );
  const disk = [readdirSync(fleet.paths.containers), objects];
  return [{ ...residents, now: 0 }, { ...drains, now: 0 }, rows, disk];
}

interface Bad {
  readonly says: string;
  readonly scope: Scope;
  readonly path: string;
  readonly body: unknown;
  readonly code: ErrorCode;
  readonly field?: string;
}

async function refusesAll(rows: readonly Bad[]): Promise<void> {
  const before = await state();
  for (const { says, scope, path, body, code, field } of rows) {
    const problem = await fleet.refusal(scope, path, body);
    assert.deepEqual(
      [problem.code, problem.field, problem.status],
      [code, field, ERRORS[code].status],
      `${path}: ${says}: ${problem.detail}`,
    );
    assert.ok(problem.detail.length > 0 && problem.next.length > 0, says);
  }
  assert.deepEqual(await state(), before);
}

const drain = { id: "bad-input", minutes: 65, by: "a test", reason: "bad input" };
const of =
  (path: string, scope: Scope, good: object) =>
  (says: string, field: string, wrong: unknown): Bad => ({
    says,
    scope,
    path,
    body: { ...good, [field.split(".")[0] ?? ""]: wrong },
    code: "BAD_FIELD",
    field,
  });

test("a drain is asked for in whole minutes within the cap, with a short by and reason", async () => {
  const bad = of("/drain", "drain", drain);
  await refusesAll([
    bad("no minutes", "minutes", undefined),
    ...[0, -1, 91, 1.5, "5", null, 1e99].map((minutes) => bad(`minutes ${minutes}`, "minutes", minutes)),
    bad("by too long", "by", "x".repeat(LIMIT.byChars + 1)),
    bad("by empty", "by", ""),
    bad("by missing", "by", undefined),
    bad("reason too long", "reason", "x".repeat(LIMIT.reasonChars + 1)),
    bad("reason missing", "reason", undefined),
    bad("an id that could be guessed", "id", "x"),
    bad("an id that is none", "id", "a b c d e f"),
    bad("a build without its image", "build.image", { commit: "c", bundle: "b" }),
    bad("deploy that is no boolean", "deploy", "yes"),
  ]);
});

test("a lift, a seal and a release want what they name", async () => {
  await refusesAll([
    { says: "no id", scope: "drain", path: "/undrain", body: {}, code: "BAD_FIELD", field: "id" },
    of("/undrain", "drain", { id: "bad-input" })("an outcome that is none", "outcome", "fine"),
    { says: "no id", scope: "drain", path: "/seal", body: {}, code: "BAD_FIELD", field: "id" },
    { says: "an id never seen", scope: "drain", path: "/seal", body: { id: "never-seen" }, code: "DRAIN_OVER" },
    {
      says: "no reason",
      scope: "admin",
      path: "/runs/release",
      body: { runId: "run-unknown" },
      code: "BAD_FIELD",
      field: "reason",
    },
    {
      says: "no such run",
      scope: "admin",
      path: "/runs/release",
      body: { runId: "run-unknown", reason: "r" },
      code: "NO_SUCH_RUN",
    },
    {
      says: "no such resident",
      scope: "admin",
      path: "/offboard",
      body: { resource: "repo:test/none" },
      code: "NO_SUCH_RESIDENT",
    },
    {
      says: "no such resident",
      scope: "admin",
      path: "/reconfigure",
      body: { resource: "repo:test/none" },
      code: "NO_SUCH_RESIDENT",
    },
  ]);
});

test("an attach names a resident, a thread, a run and a lease that can be", async () => {
  const good = { ...fleet.newRun(app) };
  const bad = of("/attach", "operator", good);
  await refusesAll(
    [
      ...[
        "app",
        "repo:app",
        "repo:../app",
        "repo:test/..",
        "repo:test/app/more",
        "repo:te st/app",
        `repo:test/${"a".repeat(300)}`,
      ].map((resource) => bad(`resource ${resource.slice(0, 30)}`, "resource", resource)),
      { ...bad("a resident that is none", "resource", "repo:test/none"), code: "NO_SUCH_RESIDENT" as const },
      ...["a b", "a\nb", "../a", "", "ü", "-a", "a\0b", "x".repeat(10 * 1024)].map((key) =>
        bad(`thread ${key.slice(0, 9)}`, "threadKey", key),
      ),
      bad("no run", "runId", undefined),
      ...[0, -1, 1.5, "45m", LEASE_BETWEEN.lessThanMs + 1].map((lease) => bad(`lease ${lease}`, "remainingMs", lease)),
      bad("a generation below 0", "generation", -1),
      ...["--upload-pack=x", "a..b~1", "a b", ""].map((ref) => bad(`ref ${ref}`, "ref", ref)),
      bad("a parent that is no id", "parent", "x"),
      bad("a replacement by nobody known", "replace.by", { by: "me" }),
    ].map(({ field, ...row }) => (row.code === "BAD_FIELD" && field !== undefined ? { ...row, field } : row)),
  );
});

test("what is done to a run names the run, and a resident that is none is not made by being asked", async () => {
  const run = fleet.newRun(app);
  const none = { ...run, resource: "repo:test/none" };
  const calls = {
    "/exec": { procId: "proc-bad" },
    "/read": { path: "a" },
    "/write": { path: "a", data: "" },
    "/op": { op: "status" },
  };
  await refusesAll([
    ...Object.entries(calls).map(([path, body]) => ({
      says: "no resident",
      scope: "operator" as const,
      path,
      body: { ...none, ...body },
      code: "NO_SUCH_RESIDENT" as const,
    })),
    { says: "no resident", scope: "operator", path: "/detach", body: none, code: "NO_SUCH_RESIDENT" },
    of("/exec", "operator", { ...run, procId: "proc-bad" })("an empty command", "command", []),
    of("/exec", "operator", { ...run, procId: "proc-bad" })("an offset below 0", "out", -1),
    of("/op", "operator", run)("an operation that is none", "op", "explode"),
    of("/write", "operator", { ...run, path: "a" })("data that is no base64", "data", "%%%"),
  ]);
});

const send = async (path: string, init: RequestInit): Promise<Problem> => {
  const response = await fleet.open("drain", path, { method: "POST", ...init });
  const problem = problemSchema.parse(jsonOf(await response.text()));
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(response.headers.get("x-request-id"), problem["requestId"]);
  assert.equal(response.status, problem.status);
  return problem;
};

test("a body that is not JSON, too large or of another type, a route or method that is none", async () => {
  const before = await state();
  const json = { "content-type": "application/json" };
  const code = async (body: RequestInit["body"], headers: Record<string, string> = json): Promise<unknown> =>
    (await send("/drain", { ...(body === undefined ? {} : { body }), headers })).code;
  assert.equal(await code("{"), "BAD_JSON");
  assert.equal(await code(""), "BAD_JSON");
  assert.equal(await code("minutes=5"), "BAD_JSON");
  for (const value of ["null", "[]", '"x"', "5"]) {
    const problem = await send("/drain", { body: value, headers: json });
    assert.deepEqual([problem.code, problem.field], ["BAD_FIELD", "body"], value);
  }
  assert.equal(await code(JSON.stringify(drain), { "content-type": "text/plain" }), "WRONG_CONTENT_TYPE");
  assert.equal(await code(new Blob([JSON.stringify(drain)]), {}), "WRONG_CONTENT_TYPE");
  const large = JSON.stringify({ ...drain, more: "x".repeat(LIMIT.bodyBytes) });
  assert.equal(await code(large), "TOO_LARGE");
  const slowly = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(large));
      controller.close();
    },
  });
  const unsized = await fleet.open("drain", "/drain", { method: "POST", body: slowly, headers: json, duplex: "half" });
  assert.equal(unsized.status, 413, "also without a declared length");
  assert.equal((await send("/nowhere", { body: "{}", headers: json })).code, "NO_ROUTE");
  assert.equal((await send("/residents", { body: "{}", headers: json })).code, "WRONG_METHOD");
  assert.equal((await fleet.refusal("read", "/audit?after=x")).field, "after");
  assert.equal((await fleet.refusal("read", "/audit?limit=0")).field, "limit");
  assert.deepEqual(await state(), before);
});

test("a ref that does not exist ends the attach in its last line and leaves no row", async () => {
  const before = await state();
  for (const ref of ["no-such-branch", "0123456789012345678901234567890123456789"]) {
    const { status, problem } = await fleet.attach(fleet.newRun(app), { ref });
    assert.deepEqual([status, problem?.code, problem?.status], [200, "NO_SUCH_REF", 422], ref);
  }
  assert.deepEqual(await state(), before);
});

test("what is no git repository, or whose setup fails, does not become a resident and leaves nothing", async () => {
  const before = await state();
  const empty = join(fleet.home, "empty");
  mkdirSync(empty);
  const last = async (url: string, setup?: string): Promise<unknown> => {
    const line = await fleet.onboarded({ resource: "repo:test/bad", url, ...(setup === undefined ? {} : { setup }) });
    return line?.type === "error" ? line.problem.code : line;
  };
  assert.equal(await last(empty), "NOT_A_REPOSITORY");
  assert.equal(await last("/nowhere/at/all"), "NOT_A_REPOSITORY");
  const { url } = (await fleet.residents()).residents[0] ?? { url: "" };
  assert.equal(await last(url, "echo it breaks >&2; exit 3"), "SETUP_FAILED");
  assert.deepEqual(
    [
      (await fleet.refusal("admin", "/onboard", { resource: app, url })).code,
      (await fleet.refusal("admin", "/onboard", { resource: "repo:test/bad", url: "--upload-pack=x" })).field,
    ],
    ["RESIDENT_EXISTS", "url"],
  );
  const left = (await state()) as unknown[];
  // The object of a resident that came to nothing keeps its file, which holds nothing.
  assert.deepEqual(left.slice(0, 3), (before as unknown[]).slice(0, 3));
  assert.deepEqual((left[3] as unknown[])[0], ((before as unknown[])[3] as unknown[])[0]);
  assert.equal(await fleet.onboard("bad", { url }), "repo:test/bad", "and the name is free again");
});
