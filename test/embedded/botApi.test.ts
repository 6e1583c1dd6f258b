// The bot's routes on the real process: each with each bearer as the table has them, bad input refused by its field and
// changing nothing, bodies capped, and no secret in any log or output, whoever wrote it there.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { passes, SCOPES, type Scope } from "#core/scopes.ts";
import { MINUTE } from "#core/time.ts";
import { BOT_ROUTES, BOT_ROUTE_NAMES, botHealthSchema, type BotRouteName } from "#wire/bot.ts";
import { ERRORS, problemSchema, type Problem } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SECRETS = {
  variable: "hunter2-of-the-host",
  file: "line-1-of-a-key\nline-2-of-a-key",
  unnamed: "nobody-names-this",
};
const stack = new BotStack(1, {
  kinds: { keyed: { lease: "45m", env: { KEY: { from: "A_KEY" }, FROM_FILE: { file: "a.key" } } } },
});
let app = "";
/** A run that lives on, and one that waits behind it in its thread. */
let [lives, waits] = ["", ""];

before(async () => {
  writeFileSync(join(stack.home, "a.key"), SECRETS.file);
  await stack.up({ A_KEY: SECRETS.variable, ANOTHER_KEY: SECRETS.unnamed });
  app = await stack.onboard("app");
  lives = (await stack.bot.ask({ key: "lives", resource: app, text: "sleep 600", threadKey: "web:T1" })).id;
  waits = (await stack.bot.ask({ key: "waits", resource: app, text: "true", threadKey: "web:T1" })).id;
  await eventually("one runs", async () => ((await stack.ledger.run(lives)).entry.reading === null ? undefined : true));
});

type Bearer = Scope | "none" | "wrong";
const bearers: readonly Bearer[] = [...SCOPES, "none", "wrong"];

function bearerOf(bearer: Bearer): Record<string, string> {
  if (bearer === "none") return {};
  return { authorization: `Bearer ${bearer === "wrong" ? "not-a-bearer-of-this-bot" : stack.bearer(bearer)}` };
}

/** What the table says of this bearer on this route: undefined where it passes. */
function refusalOf(name: BotRouteName, bearer: Bearer): "NO_BEARER" | "BAD_BEARER" | "BEYOND_SCOPE" | undefined {
  const { scopes } = BOT_ROUTES[name];
  if (scopes === "public") return undefined;
  if (bearer === "none") return "NO_BEARER";
  if (bearer === "wrong") return "BAD_BEARER";
  return passes(bearer, scopes) ? undefined : "BEYOND_SCOPE";
}

const JSON_TYPE = { "content-type": "application/json" };

/** An answer's status and body; of a stream its head alone. */
async function send(name: BotRouteName, bearer: Bearer): Promise<{ status: number; body: unknown }> {
  const { method, path } = BOT_ROUTES[name];
  const over = new AbortController();
  const post = method === "POST" ? { body: "{}", headers: { ...bearerOf(bearer), ...JSON_TYPE } } : {};
  const init = { method, headers: bearerOf(bearer), signal: over.signal, ...post };
  const response = await fetch(`${stack.botUrl}${path.replace(":id", lives)}`, init);
  const isStream = response.headers.get("content-type") === "text/event-stream";
  const body = isStream ? null : jsonOf(await response.text());
  over.abort();
  return { status: response.status, body };
}

for (const name of BOT_ROUTE_NAMES) {
  const { method, path, scopes } = BOT_ROUTES[name];
  const who = scopes === "public" ? "everybody" : `${["admin", ...scopes].join(", ")} alone`;
  test(`${method} ${path} passes ${who}`, async () => {
    for (const bearer of bearers) {
      const { status, body } = await send(name, bearer);
      const expected = refusalOf(name, bearer);
      if (expected === undefined && method === "GET") {
        assert.equal(status, 200, bearer);
        continue;
      }
      const { code, detail } = problemSchema.parse(body);
      assert.deepEqual([code, status], [expected ?? "BAD_FIELD", ERRORS[expected ?? "BAD_FIELD"].status], bearer);
      if (expected === "BEYOND_SCOPE") assert.match(detail, /takes admin.*; this bearer is /, bearer);
    }
  });
}

test("nothing that looks like a bearer and is none passes", async () => {
  const read = stack.bearer("read");
  for (const token of [read.slice(1), `${read}x`, "x".repeat(600), `${read} ${read}`]) {
    const { status } = await fetch(`${stack.botUrl}/runs`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(status, 401, token);
  }
});

/** Everything that a request could have changed. */
async function state(): Promise<unknown> {
  const { entries } = await stack.ledger.entries();
  const held = entries.map(({ ask, state: at, messages }) => [ask, at, messages]);
  const { draining, inFlight } = await stack.bot.health();
  return { held, ended: (await stack.ledger.history({})).runs, draining, inFlight };
}

async function refused(path: string, init: RequestInit): Promise<Problem> {
  const response = await fetch(`${stack.botUrl}${path}`, {
    ...init,
    headers: { ...bearerOf("admin"), ...Object.fromEntries(new Headers(init.headers)) },
  });
  const problem = problemSchema.parse(jsonOf(await response.text()));
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(response.headers.get("x-request-id"), problem["requestId"]);
  assert.deepEqual([response.status, problem.status], [ERRORS[problem.code].status, response.status]);
  assert.ok(problem.detail.length > 0 && problem.next.length > 0);
  return problem;
}

const post = (path: string, body: unknown): Promise<Problem> =>
  refused(path, { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) });

const drain = { id: "drain-1", minutes: 60, by: "a test", reason: "bad input", deploy: true };
const bodies = (): Readonly<Record<string, Readonly<Record<string, unknown>>>> => ({
  "/asks": { key: "spoiled", resource: app, text: "true" },
  "/drain": drain,
  "/undrain": { id: "drain-1" },
  [`/runs/${lives}/steer`]: { key: "said-1", text: "go on" },
  [`/runs/${lives}/stop`]: { key: "stop-1" },
});

const wrong: readonly (readonly [path: string, field: string, value: unknown])[] = [
  ["/asks", "key", ""],
  ["/asks", "key", "x".repeat(LIMIT.threadKeyChars + 1)],
  ["/asks", "resource", undefined],
  ["/asks", "resource", "../app"],
  ["/asks", "text", ""],
  ["/asks", "text", "x".repeat(LIMIT.askChars + 1)],
  ["/asks", "text", "a\0b"],
  ["/asks", "kind", "Coding"],
  ["/asks", "kind", "codng"],
  ["/asks", "threadKey", "a b"],
  ["/asks", "leaseMs", -1],
  ["/asks", "leaseMs", 46 * MINUTE],
  ["/asks", "ref", "--upload-pack=x"],
  ["/asks", "by", "x".repeat(LIMIT.byChars + 1)],
  ["/asks", "channel", "fax"],
  ["/asks", "parent", "x"],
  ["/drain", "id", "x"],
  ["/drain", "minutes", 91],
  ["/drain", "minutes", 0.5],
  ["/drain", "by", ""],
  ["/drain", "deploy", false],
  ["/drain", "reason", "x".repeat(LIMIT.reasonChars + 1)],
  ["/undrain", "id", undefined],
  ["/undrain", "outcome", "fine"],
  ["/runs/:id/steer", "text", ""],
  ["/runs/:id/steer", "key", 5],
  ["/runs/:id/steer", "kind", "stop"],
  ["/runs/:id/stop", "key", undefined],
];

test("each body names its wrong field, and nothing is changed by it", async () => {
  const known = await state();
  for (const [route, field, value] of wrong) {
    const path = route.replace(":id", lives);
    const problem = await post(path, { ...bodies()[path], [field]: value });
    assert.deepEqual([problem.code, problem.field], ["BAD_FIELD", field], `${path} ${field}: ${problem.detail}`);
  }
  const nowhere = await post("/asks", { ...bodies()["/asks"], resource: "ap" });
  assert.deepEqual([nowhere.code, nowhere["field"]], ["NO_SUCH_RESIDENT", "resource"]);
  assert.match(nowhere.detail, /did you mean "app"\?/);
  assert.deepEqual(await state(), known);
});

test("each query and path names its wrong field", async () => {
  for (const [path, field] of [
    ["/runs?before=x", "before"],
    ["/runs?before=0", "before"],
    [`/runs?limit=${LIMIT.rowsAPage + 1}`, "limit"],
    ["/runs?resource=app", "resource"],
    [`/runs/${lives}/output?out=-1`, "out"],
    [`/runs/${lives}/output?err=1.5`, "err"],
  ] as const) {
    const problem = await refused(path, {});
    assert.deepEqual([problem.code, problem.field], ["BAD_FIELD", field], path);
  }
  for (const path of ["/runs/x", "/runs/x/output"]) assert.equal((await refused(path, {})).code, "BAD_FIELD", path);
  for (const path of ["/runs/nobody-knows", "/runs/nobody-knows/output"])
    assert.equal((await refused(path, {})).code, "NO_SUCH_RUN", path);
});

test("a body that is not JSON, too large or of another type, a route or method that is none", async () => {
  const known = await state();
  const code = async (body: RequestInit["body"], headers: Record<string, string> = JSON_TYPE): Promise<string> =>
    (await refused("/asks", { method: "POST", headers, ...(body === undefined ? {} : { body }) })).code;
  for (const body of ["{", "", "id=1"]) assert.equal(await code(body), "BAD_JSON", body);
  for (const body of ["null", "[]", '"x"', "5"])
    assert.equal((await refused("/asks", { method: "POST", headers: JSON_TYPE, body })).field, "body", body);
  assert.equal(await code("{}", { "content-type": "text/plain" }), "WRONG_CONTENT_TYPE");
  assert.equal(await code(new Blob(["{}"]), {}), "WRONG_CONTENT_TYPE");
  const large = JSON.stringify({ ...bodies()["/asks"], more: "x".repeat(LIMIT.bodyBytes) });
  assert.equal(await code(large), "TOO_LARGE");
  const slowly = new Blob([large]).stream();
  const unsized = { method: "POST", headers: JSON_TYPE, body: slowly, duplex: "half" } as const;
  assert.equal((await refused("/asks", unsized)).code, "TOO_LARGE", "also without a declared length");
  assert.equal((await post("/nowhere", {})).code, "NO_ROUTE");
  assert.equal((await post("/healthz", {})).code, "WRONG_METHOD");
  assert.equal((await refused("/asks", {})).code, "WRONG_METHOD");
  assert.deepEqual(await state(), known);
});

test("health needs no bearer and says which bot answers; what was refused above is taken once it is right", async () => {
  const response = await fetch(`${stack.botUrl}/healthz`);
  const health = botHealthSchema.parse(jsonOf(await response.text()));
  assert.deepEqual([health.generation, health.inFlight, health.queued, health.rolling], [1, 1, 1, false]);
  assert.deepEqual([health.draining, health.held, health.build.bundle.length], [null, [], 12]);
  for (const [path, body] of Object.entries(bodies())) {
    const init = { method: "POST", headers: { ...bearerOf("admin"), ...JSON_TYPE }, body: JSON.stringify(body) };
    const answer = await fetch(`${stack.botUrl}${path}`, init);
    assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
  }
  await eventually("both are over", async () => {
    const runs = await Promise.all([lives, waits].map((id) => stack.ledger.run(id)));
    return runs.every(({ ended }) => ended !== null) ? true : undefined;
  });
});

test("a run sees what its kind names and nothing else of the host, and no secret is shown or logged", async () => {
  const { id } = await stack.bot.ask({
    key: "keyed",
    resource: app,
    kind: "keyed",
    text: 'printf "%s" "$KEY" | wc -c; printf "%s" "$FROM_FILE" | wc -c; echo "$KEY"; echo "$FROM_FILE" >&2; echo "$FROM_FILE" | tail -n 1 >&2; env',
  });
  const { ended } = await eventually("it has ended", async () => {
    const run = await stack.ledger.run(id);
    return run.ended === null ? undefined : run;
  });
  assert.equal(ended?.verdict.ending, "finished");
  const tokens = SCOPES.map((scope) => stack.bearer(scope));
  const hidden = [SECRETS.variable, ...SECRETS.file.split("\n"), SECRETS.unnamed, ...tokens];
  const texts = await Promise.all(
    (["out", "err"] as const).map(async (stream) =>
      Buffer.from((await stack.ledger.outputFrom({ id, stream })).data, "base64").toString(),
    ),
  );
  const [out = "", err = ""] = texts;
  const lengths = [SECRETS.variable, SECRETS.file].map(({ length }) => `${length}\n`).join("");
  assert.ok(out.startsWith(lengths), `the run has both, whole: ${out.slice(0, 20)}`);
  assert.equal(err, `${"*".repeat(SECRETS.file.length)}\n${"*".repeat("line-2-of-a-key".length)}\n`);
  assert.doesNotMatch(out, /RESIDENT_|TIDEGATE_BOT|ANOTHER_KEY/);
  await fetch(`${stack.botUrl}/nowhere/${stack.bearer("read")}`, { headers: bearerOf("read") });
  await fetch(`${stack.botUrl}/runs/${SECRETS.variable}/none`, { headers: bearerOf("read") });
  const logs = readdirSync(stack.paths.log).map(
    (name) => [name, readFileSync(join(stack.paths.log, name), "utf8")] as const,
  );
  const shown = [...logs, ["the output", texts.join("\n")], ["the write-up", ended?.writeUp ?? ""]] as const;
  for (const [where, text] of shown)
    for (const secret of hidden) assert.ok(!text.includes(secret), `${where} has ${secret.slice(0, 6)}…`);
  const bot = logs.find(([name]) => name === "bot.log")?.[1] ?? "";
  assert.match(bot, /"path":"\/nowhere\/\*+"/, "and what was refused is logged");
});
