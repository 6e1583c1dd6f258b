// Bad input gets a 4xx with a code, the field and what to do next, and changes nothing of what the ledger tells or stores.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { ERRORS, problemSchema, type Problem } from "#wire/errors.ts";
import { LedgerStack } from "./ledgerStack.ts";

let ledger: LedgerStack;
const id = "ask-000001";
const asked = {
  id,
  key: "key-1",
  threadKey: "web:T1",
  resource: "repo:test/app",
  kind: "shell",
  text: "do it",
  by: "ada",
  channel: "web",
  leaseMs: null,
  ref: null,
  parent: null,
} as const;
const doors = { generation: 1, open: true, leaseMs: 60_000 };

before(async () => {
  ledger = await LedgerStack.begin(1);
  const { generation } = await ledger.client.begin("a test");
  assert.equal(generation, doors.generation);
  await ledger.client.ask({ ask: asked, doors });
});
after(() => ledger.dispose());

/** Everything that a request could have changed. */
async function state(): Promise<unknown> {
  const paths = ["/entries", "/runs", "/receipts", `/run?id=${id}`, `/output?id=${id}`];
  const bodies = [];
  for (const path of paths) bodies.push((await ledger.ask("read", path)).text.replace(/"now":\d+/, ""));
  return [bodies, ledger.storedKeys()];
}

async function problemOf(path: string, init: RequestInit): Promise<Problem> {
  const { status, headers, body } = await ledger.ask("admin", path, init);
  const problem = problemSchema.parse(body);
  assert.equal(headers.get("content-type"), "application/problem+json");
  assert.equal(headers.get("x-request-id"), problem["requestId"]);
  assert.deepEqual([status, problem.status], [ERRORS[problem.code].status, status]);
  assert.ok(problem.detail.length > 0 && problem.next.length > 0);
  return problem;
}

const json = { "content-type": "application/json" };
const post = (path: string, body: unknown): Promise<Problem> =>
  problemOf(path, { method: "POST", headers: json, body: JSON.stringify(body) });

const run = { id, generation: 1 };
const verdict = { ending: "finished", exit: 0, by: null, why: null };
const bodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "/generations": { by: "a test" },
  "/dispatch": { resource: "repo:test/app", doors },
  "/return": run,
  "/progress": { ...run, reading: { procId: "p", bootId: "b", out: 0, err: 0 } },
  "/output": { ...run, stream: "out", offset: 0, data: "" },
  "/heartbeat": { generation: 1 },
  "/handoff": { generation: 1 },
  "/reclaim": { generation: 1 },
  "/messages": { ...run, key: "said-1", kind: "steer", text: "go on" },
  "/end": { ...run, verdict, leftId: "left-000001", writeUp: "" },
  "/notes": { ...run, kind: "drain_wait", text: "waited", ms: 5 },
  "/told": { ...run, drainId: "drain-1" },
  "/words": { generation: 1, first: 1, words: [{ word: "told", id: run.id, drainId: "drain-1" }] },
  "/receipts": { receipt: { drainId: "drain-1" } },
};

const long = "x".repeat(LIMIT.writeUpChars + 1);
const wrong: readonly (readonly [path: string, field: string, value: unknown])[] = [
  ["/generations", "by", ""],
  ["/generations", "by", "x".repeat(LIMIT.byChars + 1)],
  ["/dispatch", "resource", "app"],
  ["/dispatch", "doors.open", { ...doors, open: "yes" }],
  ["/dispatch", "doors.leases.shell", { ...doors, leases: { shell: -1 } }],
  ["/return", "id", "x"],
  ["/return", "generation", "1"],
  ["/progress", "reading.out", { procId: "p", bootId: "b", out: -1, err: 0 }],
  ["/progress", "delivered", 9],
  ["/progress", "delivered", -1],
  ["/progress", "tries", 0],
  ["/progress", "leaseUntil", 1.5],
  ["/output", "stream", "log"],
  ["/output", "offset", -1],
  ["/output", "data", "%%%"],
  ["/output", "data", "A".repeat(4 * Math.ceil(LIMIT.outputPartBytes / 3) + 4)],
  ["/heartbeat", "generation", 0],
  ["/handoff", "generation", null],
  ["/reclaim", "generation", undefined],
  ["/messages", "kind", "whisper"],
  ["/messages", "key", ""],
  ["/messages", "text", "x".repeat(LIMIT.askChars + 1)],
  ["/messages", "text", "a\0b"],
  ["/end", "verdict.ending", { ...verdict, ending: "fine" }],
  ["/end", "verdict.exit", { ...verdict, exit: "0" }],
  ["/end", "leftId", "x"],
  ["/end", "leftId", id],
  ["/end", "writeUp", long],
  ["/notes", "kind", "Drain wait"],
  ["/notes", "text", "x".repeat(LIMIT.noteChars + 1)],
  ["/notes", "ms", -5],
  ["/told", "drainId", ""],
  ["/words", "words", []],
  ["/receipts", "receipt", "deployed"],
  ["/receipts", "receipt.drainId", { drainId: "a b c d e f" }],
];

test("each body names its wrong field, and nothing is changed by it", async () => {
  const before = await state();
  for (const [path, field, value] of wrong) {
    const body = { ...bodies[path], [field.split(".")[0] ?? ""]: value };
    const problem = await post(path, body);
    assert.deepEqual([problem.code, problem.field], ["BAD_FIELD", field], `${path} ${field}: ${problem.detail}`);
  }
  assert.deepEqual(await state(), before);
});

test("each query names its wrong field", async () => {
  for (const [path, field] of [
    ["/runs?before=x", "before"],
    ["/runs?limit=0", "limit"],
    [`/runs?limit=${LIMIT.rowsAPage + 1}`, "limit"],
    ["/runs?thread=a%20b", "thread"],
    ["/run", "id"],
    ["/run?id=x", "id"],
    [`/output?id=${id}&from=-1`, "from"],
    [`/output?id=${id}&from=1`, "from"],
    [`/output?id=${id}&stream=log`, "stream"],
    ["/receipts?id=x", "id"],
  ] as const) {
    const problem = await problemOf(path, {});
    assert.deepEqual([problem.code, problem.field], ["BAD_FIELD", field], path);
  }
});

test("a body that is not JSON, too large or of another type, a route or method that is none", async () => {
  const before = await state();
  const code = async (body: RequestInit["body"], headers: Record<string, string> = json): Promise<string> =>
    (await problemOf("/asks", { method: "POST", headers, ...(body === undefined ? {} : { body }) })).code;
  for (const body of ["{", "", "id=1"]) assert.equal(await code(body), "BAD_JSON", body);
  for (const body of ["null", "[]", '"x"', "5"])
    assert.equal((await problemOf("/asks", { method: "POST", headers: json, body })).field, "body", body);
  assert.equal(await code("{}", { "content-type": "text/plain" }), "WRONG_CONTENT_TYPE");
  assert.equal(await code(new Blob(["{}"]), {}), "WRONG_CONTENT_TYPE");
  const large = JSON.stringify({ ask: asked, doors, more: "x".repeat(LIMIT.bodyBytes) });
  assert.equal(await code(large), "TOO_LARGE");
  const slowly = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(large));
      controller.close();
    },
  });
  const unsized = { method: "POST", headers: json, body: slowly, duplex: "half" } as const;
  assert.equal((await problemOf("/asks", unsized)).code, "TOO_LARGE", "also without a declared length");
  assert.equal((await post("/nowhere", {})).code, "NO_ROUTE");
  assert.equal((await post("/entries", {})).code, "WRONG_METHOD");
  assert.equal((await problemOf("/asks", {})).code, "WRONG_METHOD");
  assert.deepEqual(await state(), before);
});

test("every body that is refused above is taken as it was before it was spoiled", async () => {
  for (const [path, body] of Object.entries(bodies)) {
    if (path === "/generations" || path === "/return") continue;
    const { status, text } = await ledger.post("admin", path, body);
    assert.equal(status, 200, `${path}: ${text}`);
  }
});
