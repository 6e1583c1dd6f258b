// The bot's HTTP face: bearers by their scope, bodies that are refused by their field and change nothing, and each answer as
// its schema says.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { problemSchema, type Problem } from "#wire/errors.ts";
import {
  BOT_ROUTES,
  BOT_ROUTE_NAMES,
  botHealthSchema,
  messageAnswerSchema,
  runDetailSchema,
  runListSchema,
} from "#wire/bot.ts";
import { SCOPES } from "#core/scopes.ts";
import { asked, born, request, World, type Asking, type Living } from "../botForTests.ts";

async function refused(living: Living, way: string, asking: Asking = {}): Promise<Problem> {
  const response = await request(living, way, asking);
  const problem = problemSchema.parse(await response.json());
  assert.equal(response.status, problem.status);
  assert.equal(response.headers.get("content-type"), "application/problem+json");
  assert.equal(problem["requestId"], response.headers.get("x-request-id"));
  return problem;
}

test("each route takes the bearers of its scopes and admin's, and no other", async () => {
  const living = await born(new World());
  for (const name of BOT_ROUTE_NAMES) {
    const { method, path, scopes } = BOT_ROUTES[name];
    const way = `${method} ${path.replace(":id", "nobody-known")}`;
    const body = method === "POST" ? { body: {} } : {};
    for (const scope of [...SCOPES, null]) {
      const over = new AbortController();
      const response = await request(living, way, { ...body, as: scope, signal: over.signal });
      const passes = scopes === "public" || scope === "admin" || scopes.some((one) => one === scope);
      const wanted = passes ? response.status : scope === null ? 401 : 403;
      assert.equal(response.status, wanted, `${way} as ${scope}`);
      assert.ok(!passes || (response.status !== 401 && response.status !== 403), `${way} as ${scope}`);
      over.abort();
    }
    if (scopes !== "public")
      assert.equal(
        (await refused(living, way, { ...body, as: null, headers: { authorization: "Bearer no" } })).code,
        "BAD_BEARER",
      );
  }
  assert.equal(
    (await refused(living, "GET /runs", { as: null, headers: { authorization: "Basic x" } })).code,
    "BAD_BEARER",
  );
});

test("what is no route, no method, no JSON or too large is said, and nothing is changed", async () => {
  const world = new World();
  const living = await born(world);
  assert.equal((await refused(living, "GET /nowhere")).code, "NO_ROUTE");
  assert.match((await refused(living, "GET /runs/abc-def/stop")).detail, /takes POST/);
  assert.equal((await request(living, "GET /runs/abc-def/stop")).headers.get("allow"), "POST");
  assert.match((await request(living, "GET /runs", { as: null })).headers.get("www-authenticate") ?? "", /^Bearer /);
  assert.equal(
    (await refused(living, "POST /asks", { headers: { "content-type": "text/plain" } })).code,
    "WRONG_CONTENT_TYPE",
  );
  assert.equal((await refused(living, "POST /asks")).code, "WRONG_CONTENT_TYPE");
  const json = { authorization: "Bearer operator-secret", "content-type": "application/json" };
  const raw = async (body: string | ReadableStream): Promise<unknown> => {
    const init: object = { method: "POST", headers: json, body, duplex: "half" };
    const response = await living.bot.fetch(new Request("http://bot/asks", init));
    return problemSchema.parse(await response.json()).code;
  };
  assert.equal(await raw("{"), "BAD_JSON");
  assert.equal(await raw(""), "BAD_JSON");
  assert.equal(await raw(`"${"x".repeat(LIMIT.bodyBytes)}"`), "TOO_LARGE");
  const piece = new Uint8Array(1024 * 1024).fill(32);
  let sent = 0;
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(((sent += piece.length), piece)) });
  assert.equal(await raw(endless), "TOO_LARGE");
  assert.ok(sent >= LIMIT.discardBytes, "its sender hears the refusal");
  assert.deepEqual((await world.ledger.entries()).entries, []);
});

test("a request's id is its sender's where that is one, and is logged", async () => {
  const world = new World();
  const living = await born(world);
  const ask = async (id: string): Promise<string | null> =>
    (await request(living, "GET /nowhere", { headers: { "x-request-id": id } })).headers.get("x-request-id");
  assert.equal(await ask("mine-1"), "mine-1");
  assert.notEqual(await ask("not an id"), "not an id");
  assert.ok(world.logged.some((line) => line.includes("mine-1") && line.includes("NO_ROUTE")));
  await refused(living, "POST /asks", { body: {} });
  assert.match(world.logged.at(-1) ?? "", /"level":"info".*"error":"key: is missing"\}$/, "a refusal is no defect");
});

const fields: readonly (readonly [more: object, field: string, words: RegExp])[] = [
  [{ key: "" }, "key", /empty/],
  [{ key: undefined }, "key", /missing/],
  [{ text: "" }, "text", /empty/],
  [{ text: "a\0" }, "text", /NUL/],
  [{ resource: undefined }, "resource", /missing/],
  [{ resource: "../x" }, "resource", /is no repository such as app/],
  [{ resource: "ap" }, "resource", /no repository is called "ap"; did you mean "app"\?/],
  [{ resource: "twice" }, "resource", /names 2 repositories: repo:local\/twice, repo:other\/twice/],
  [{ kind: "Coding" }, "kind", /is no kind/],
  [{ kind: "codng" }, "kind", /no kind is called "codng"; did you mean "coding"\?/],
  [{ kind: "zzzzzzzz" }, "kind", /known are shell, coding, review/],
  [{ kind: "toString".toLowerCase() }, "kind", /no kind is called/],
  [{ kind: "needy" }, "kind", /kind needy wants KEY: the bot's environment has no NOBODY/],
  [{ leaseMs: 0 }, "leaseMs", /more than 0/],
  [{ leaseMs: 46 * MINUTE }, "leaseMs", /beyond the longest configured lease, 45m/],
  [{ threadKey: "a b" }, "threadKey", /character/],
  [{ ref: "--upload-pack=x" }, "ref", /no name of a branch/],
  [{ by: "" }, "by", /empty/],
  [{ channel: "fax" }, "channel", /./],
  [{ parent: "x" }, "parent", /not an id/],
];
for (const [more, field, words] of fields)
  test(`an ask that cannot be is refused by its field: ${JSON.stringify(more)}`, async () => {
    const world = new World();
    world.resources = ["repo:local/app", "repo:local/twice", "repo:other/twice"];
    const living = await born(world, { kinds: { needy: { lease: "45m", env: { KEY: { from: "NOBODY" } } } } });
    const problem = await refused(living, "POST /asks", { body: { key: "k", resource: "app", text: "go", ...more } });
    assert.ok(["BAD_FIELD", "NO_SUCH_RESIDENT"].includes(problem.code), problem.code);
    assert.equal(problem.field, field);
    assert.match(problem.detail, words);
    assert.deepEqual((await world.ledger.entries()).entries, []);
  });

test("a repository is named in full, by owner and name, or by a name that is unique", async () => {
  const world = new World();
  world.resources = ["repo:local/app", "repo:ada/tools", "repo:local/tools"];
  const living = await born(world);
  for (const [n, resource] of ["repo:local/app", "local/app", "app"].entries())
    assert.equal((await asked(living, `ask ${n}`, { resource })).card.resource, "repo:local/app");
  assert.equal((await asked(living, "other", { resource: "ada/tools" })).card.resource, "repo:ada/tools");
});

test("while the registry cannot be read, what is named in full is taken at its word, and else what was known", async () => {
  const world = new World();
  const living = await born(world);
  const away = (): never => {
    throw new TypeError("fetch failed");
  };
  const residents = world.server.answers.get("/residents") ?? away;
  world.server.answers.set("/residents", away);
  assert.equal(
    (await refused(living, "POST /asks", { body: { key: "k", resource: "web", text: "x" } })).code,
    "UNREACHABLE",
  );
  assert.equal((await asked(living, "in full", { resource: "repo:local/new" })).card.resource, "repo:local/new");
  world.server.answers.set("/residents", residents);
  await asked(living, "known", { resource: "web" });
  world.server.answers.set("/residents", away);
  assert.equal((await asked(living, "by what was known", { resource: "web" })).card.resource, "repo:local/web");
});

test("the same key is the same ask: in flight, queued and ended", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  const again = await asked(living, "one");
  assert.deepEqual([again.kind, again.id, again.threadKey], ["known", one.id, one.threadKey]);
  await world.clock.settle();
  assert.equal((await asked(living, "one")).card.state, "running");
  world.container.finish(world.container.of(one.id), { exit: 3 });
  await world.clock.settle();
  const ended = await asked(living, "one");
  assert.deepEqual([ended.kind, ended.card.state, ended.says], ["known", "ended", "failed, exit 3"]);
  world.server.drain("person-1", 30);
  await world.clock.settle();
  const queued = await asked(living, "two");
  const known = await asked(living, "two");
  assert.deepEqual([known.kind, known.id, known.position, known.waitingFor], ["known", queued.id, 1, ["drain"]]);
  assert.equal(known.says, "waiting for the fleet to reopen · 30 min · place 1");
});

test("lists have what is live in its order, then what has ended, newest first, page by page", async () => {
  const world = new World();
  world.container.onStart = (process) => {
    if (process.env["TIDEGATE_ASK"]?.startsWith("quick") === true) world.container.finish(process);
  };
  const living = await born(world);
  for (const n of [1, 2, 3]) await asked(living, `quick ${n}`);
  await asked(living, "long", { resource: "web" });
  await world.clock.settle();
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  for (const n of [1, 2]) await asked(living, `later ${n}`);
  const list = async (query = ""): Promise<ReturnType<typeof runListSchema.parse>> =>
    runListSchema.parse(await (await request(living, `GET /runs${query}`, { as: "read" })).json());
  const all = await list("?limit=2");
  assert.deepEqual(
    all.live.map(({ text, card, says }) => [text, card.state, card.position, says]),
    [
      ["long", "running", null, "running for 0s · lease ends 14:31"],
      ["later 1", "queued", 1, "waiting for the deploy to finish · 1 min · place 1"],
      ["later 2", "queued", 2, "waiting for the deploy to finish · 1 min · place 2"],
    ],
  );
  assert.deepEqual(
    all.ended.map(({ text, says }) => [text, says]),
    [
      ["quick 3", "finished"],
      ["quick 2", "finished"],
    ],
  );
  const rest = await list(`?limit=2&before=${all.next}`);
  assert.deepEqual([rest.live, rest.ended.map(({ text }) => text), rest.next], [[], ["quick 1"], null]);
  assert.deepEqual(
    (await list("?resource=repo:local/web")).live.map(({ text }) => text),
    ["long"],
  );
  assert.equal((await refused(living, "GET /runs?limit=0")).field, "limit");
  assert.equal((await refused(living, "GET /runs?before=x")).field, "before");
});

test("one run whole: its ask, what was said to it, its notes, its output's length and its write-up", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one", { by: "ada", ref: "main" });
  await world.clock.settle();
  for (const [key, kind] of [
    ["say-1", "steer"],
    ["say-2", "followUp"],
  ] as const)
    await request(living, `POST /runs/${one.id}/steer`, { body: { key, text: key, kind } });
  await world.clock.settle();
  const read = async (): Promise<ReturnType<typeof runDetailSchema.parse>> =>
    runDetailSchema.parse(await (await request(living, `GET /runs/${one.id}`, { as: "read" })).json());
  await world.clock.advance(90 * SECOND);
  const live = await read();
  assert.deepEqual(
    [live.by, live.ref, live.text, live.endedAt, live.writeUp, live.ranMs],
    ["ada", "main", "one", null, null, 90 * SECOND],
  );
  assert.deepEqual(
    live.messages.map(({ key, reached }) => [key, reached]),
    [
      ["say-1", true],
      ["say-2", false],
    ],
  );
  assert.match(live.says, /^running for 1m 30s · lease ends/);
  const process = world.container.of(one.id);
  world.container.say(process, "the end");
  world.container.finish(process);
  await world.clock.settle();
  const over = await read();
  assert.deepEqual([over.says, over.writeUp, over.output.out.length], ["finished", "the end", 7]);
  assert.equal(typeof over.leftId, "string", "the follow-up became an ask");
  assert.equal((await refused(living, "GET /runs/nobody-known")).code, "NO_SUCH_RUN");
  for (const way of ["GET /runs/x", "GET /runs/x/output"]) assert.equal((await refused(living, way)).field, "id", way);
  world.server.drain("person-1", 30);
  await world.clock.settle();
  const waits = await asked(living, "waits");
  const detail = runDetailSchema.parse(await (await request(living, `GET /runs/${waits.id}`)).json());
  assert.deepEqual(
    [detail.card.position, detail.ranMs, detail.says],
    [1, null, "waiting for the fleet to reopen · 30 min · place 1"],
  );
});

test("what is said to a run is answered as the ledger has it", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  const say = async (id: string, how: string, body: object): Promise<string> =>
    messageAnswerSchema.parse(await (await request(living, `POST /runs/${id}/${how}`, { body })).json()).kind;
  assert.equal(await say(one.id, "steer", { key: "a", text: "x" }), "taken");
  assert.equal(await say(one.id, "steer", { key: "a", text: "x" }), "known");
  assert.equal(await say(one.id, "stop", { key: "b" }), "taken");
  await world.clock.settle();
  assert.equal(await say(one.id, "stop", { key: "c" }), "over");
  world.server.drain("person-1", 30);
  await world.clock.settle();
  const two = await asked(living, "two");
  assert.equal(await say(two.id, "steer", { key: "d", text: "more" }), "added");
  assert.equal(await say(two.id, "stop", { key: "e" }), "ended");
  assert.equal((await refused(living, `POST /runs/${two.id}/steer`, { body: { key: "f", text: "" } })).field, "text");
  assert.equal(
    (await refused(living, `POST /runs/${two.id}/steer`, { body: { key: "f", text: "x", kind: "stop" } })).field,
    "kind",
  );
  assert.equal((await refused(living, "POST /runs/nobody-known/stop", { body: { key: "g" } })).code, "NO_SUCH_RUN");
});

test("an ask that is added, or known, is answered with what its run is, and whether its text is another", async () => {
  const world = new World();
  const living = await born(world);
  const live = await asked(living, "one", { key: "k", ref: "main" });
  assert.deepEqual([live.run, live.otherText], [{ kind: "shell", ref: "main", leaseMs: null, by: "somebody" }, false]);
  assert.equal((await asked(living, "one", { key: "k" })).otherText, false);
  assert.equal((await asked(living, "other", { key: "k" })).otherText, true);
  world.server.drain("person-1", 30);
  await world.clock.settle();
  await asked(living, "two", { threadKey: "web:T", leaseMs: 3 * MINUTE });
  const added = await asked(living, "three", { threadKey: "web:T", key: "later", kind: "coding", ref: "nope" });
  assert.deepEqual([added.kind, added.otherText], ["added", false]);
  assert.deepEqual(added.run, { kind: "shell", ref: null, leaseMs: 3 * MINUTE, by: "somebody" });
  assert.equal((await asked(living, "two")).otherText, false, "what was added behind it is no other text");
  assert.equal((await asked(living, "three", { key: "later" })).otherText, false);
  assert.equal((await asked(living, "four", { key: "later" })).otherText, true);
  await request(living, `POST /runs/${added.id}/stop`, { body: { key: "s" } });
  await world.clock.settle();
  const over = await asked(living, "two");
  assert.deepEqual([over.kind, over.otherText, over.run?.leaseMs], ["known", false, 3 * MINUTE]);
});

test("an admission counts as in flight from its first step", async () => {
  const world = new World();
  const living = await born(world);
  const real = world.ledger.ask.bind(world.ledger);
  let answer = (): void => undefined;
  world.ledger.ask = async (body) => {
    const answered = await real(body);
    await new Promise<void>((resolve) => (answer = resolve));
    return answered;
  };
  const asking = asked(living, "one");
  await world.clock.settle();
  const inFlight = async () => botHealthSchema.parse(await (await request(living, "GET /healthz")).json()).inFlight;
  assert.equal(await inFlight(), 1);
  answer();
  await asking;
  await world.clock.settle();
  assert.equal(await inFlight(), 1, "now it is the run");
});

test("a bot that a newer one has fenced off sends its callers there", async () => {
  const world = new World();
  const living = await born(world);
  await world.ledger.begin("a newer one");
  assert.equal(
    (await refused(living, "POST /asks", { body: { key: "k", resource: "app", text: "go" } })).code,
    "ROLLING",
  );
  await world.clock.advance(SECOND);
  await living.bot.ended;
  const answer = await request(living, "POST /asks", { body: { key: "k", resource: "app", text: "go" } });
  assert.equal(answer.headers.get("retry-after"), "5");
  assert.match(world.logged.at(-1) ?? "", /"level":"warn".*"error":"the bot is being replaced: .*"\}$/);
  assert.equal(problemSchema.parse(await answer.json()).code, "ROLLING");
});

test("a ledger that is away is said to whoever asks; nothing waits for it", async () => {
  const world = new World();
  const living = await born(world);
  world.ledger.ask = () => Promise.reject(new Error("a defect"));
  const problem = await refused(living, "POST /asks", { body: { key: "k", resource: "app", text: "go" } });
  assert.equal(problem.code, "INTERNAL");
  assert.ok(
    world.logged.some((line) => /"level":"error".*a defect.* at /.test(line)),
    "with where it came from",
  );
  assert.ok(!problem.detail.includes("a defect"), "and nothing of its insides");
});

test("a secret that a kind names is in no log from the first line on, whoever writes it there", async () => {
  const world = new World();
  world.variables["A_KEY"] = "the-secret-value";
  const living = await born(world, { kinds: { keyed: { lease: "45m", env: { KEY: { from: "A_KEY" } } } } });
  assert.equal((await refused(living, "GET /nowhere/the-secret-value")).code, "NO_ROUTE");
  const logged = world.logged.join("\n");
  assert.ok(logged.includes("NO_ROUTE"));
  assert.ok(!logged.includes("the-secret-value"));
});

test("a secret in what was asked or said is hidden wherever it is shown, and reaches the run as it was said", async () => {
  const world = new World();
  const secret = "the-secret-value";
  world.variables["A_KEY"] = secret;
  const living = await born(world, { kinds: { keyed: { lease: "45m", env: { KEY: { from: "A_KEY" } } } } });
  const { id } = await asked(living, `print ${secret}`);
  await world.clock.settle();
  await request(living, `POST /runs/${id}/steer`, { body: { key: "s", text: `or ${secret}` } });
  await world.clock.settle();
  const shown = async (): Promise<string> => {
    const answers = await Promise.all(["GET /runs", `GET /runs/${id}`].map((way) => request(living, way)));
    return (await Promise.all(answers.map((answer) => answer.text()))).join("\n");
  };
  const live = await shown();
  assert.ok(live.includes(`print ${"*".repeat(secret.length)}`) && live.includes(`or ${"*".repeat(secret.length)}`));
  assert.ok(!live.includes(secret));
  assert.deepEqual(world.container.of(id).command, ["sh", "-c", `print ${secret}`]);
  assert.ok([...world.container.files.values()].join("").includes(secret));
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  assert.ok(!(await shown()).includes(secret));
});
