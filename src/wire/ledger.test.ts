// The ledger's table and its schemas: a route names what there is, what a later build adds is read past, and a body at
// every limit of its fields is below the cap of bodies.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import type { Ask, Entry } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import * as fleet from "./fleet.ts";
import * as ledger from "./ledger.ts";
import * as ledgerWords from "./ledgerWords.ts";
import { LEDGER_ROUTE_NAMES, LEDGER_ROUTES } from "./ledgerRoutes.ts";

const schemas: Readonly<Record<string, unknown>> = { ...fleet, ...ledger, ...ledgerWords };

test("each route has a path of its own for its method, names schemas that there are, and only health is public", () => {
  const doors = LEDGER_ROUTE_NAMES.map((name) => `${LEDGER_ROUTES[name].method} ${LEDGER_ROUTES[name].path}`);
  assert.equal(new Set(doors).size, doors.length);
  for (const name of LEDGER_ROUTE_NAMES) {
    const { method, body, answers, scopes } = LEDGER_ROUTES[name];
    assert.equal(method === "GET", body === null, name);
    for (const schema of [answers, ...(body === null ? [] : [body])])
      assert.ok(schemas[schema] instanceof z.ZodType, `${name}: ${schema}`);
    assert.equal(scopes === "public", name === "healthz", name);
  }
});

/** Text that takes as many bytes as JSON can give it. */
const dear = (chars: number): string => "\u0001".repeat(chars);

const id = "x".repeat(64);
const ask: Ask = {
  id,
  key: dear(LIMIT.threadKeyChars),
  threadKey: "t".repeat(LIMIT.threadKeyChars),
  resource: "repo:local/app",
  kind: "shell",
  text: dear(LIMIT.askChars),
  by: dear(LIMIT.byChars),
  channel: "slack",
  leaseMs: 1,
  ref: "r".repeat(250),
  parent: id,
};
const run = { id, generation: Number.MAX_SAFE_INTEGER };
const reading = { procId: "p", bootId: "b", out: 1, err: 1 };
const verdict = { ending: "failed", exit: 1, by: "container", why: dear(LIMIT.writeUpChars) };
const largest: readonly (readonly [says: string, schema: z.ZodType, body: object])[] = [
  [
    "an ask",
    ledger.ledgerAskBodySchema,
    { ask, doors: { generation: 1, open: true, leaseMs: 1, leases: { shell: 1 } } },
  ],
  ["a message", ledger.ledgerMessageBodySchema, { ...run, key: ask.key, kind: "followUp", text: ask.text }],
  ["an end", ledger.endBodySchema, { ...run, verdict, leftId: id, writeUp: dear(LIMIT.writeUpChars) }],
  ["a note", ledger.noteBodySchema, { ...run, kind: "drain_wait", text: dear(LIMIT.noteChars), ms: 1 }],
  [
    "output",
    ledger.outputBodySchema,
    { ...run, stream: "out", offset: 0, data: Buffer.alloc(LIMIT.outputPartBytes).toString("base64"), reading },
  ],
];
for (const [says, schema, body] of largest)
  test(`the largest body is read, and a later build's field with it: ${says}`, () => {
    assert.ok(JSON.stringify(body).length <= LIMIT.bodyBytes);
    assert.deepEqual(schema.parse({ ...body, addedByALaterBuild: { at: 1 } }), body);
  });

test("an entry is read as it was stored, with whatever a later build keeps in it", () => {
  const entry: Entry = {
    ask,
    askedAt: 1,
    place: 1,
    state: "running",
    holder: 1,
    heldUntil: 2,
    admittedAt: 1,
    leaseUntil: 3,
    tries: 1,
    reading,
    messages: [{ seq: 1, key: "k", kind: "steer", text: "t", at: 1 }],
    delivered: 1,
    toldOf: "drain-a",
    metDrain: "drain-a",
    verdict: { ending: "finished", exit: 0, by: null, why: null },
  };
  assert.deepEqual(ledger.entrySchema.parse({ ...entry, addedByALaterBuild: 1 }), entry);
  for (const field of Object.keys(entry))
    assert.equal(ledger.entrySchema.safeParse({ ...entry, [field]: { shape: 9 } }).success, false, field);
  const { metDrain: _, verdict: __, ...older } = entry;
  const read = { ...entry, metDrain: null, verdict: null };
  assert.deepEqual(ledger.entrySchema.parse(older), read, "an older build keeps less");
});

test("a receipt is kept whole, whatever it says beside its drain", () => {
  const receipt = { drainId: "drain-a", deep: { list: [{ n: 1 }] } };
  assert.deepEqual(ledger.receiptBodySchema.parse({ receipt }), { receipt });
});
