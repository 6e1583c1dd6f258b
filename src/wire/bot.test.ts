// What crosses the wire to the bot: a body that does not fit is named by its field, what it leaves out has its default, and
// every answer that the bot can give is read back as it was.

import assert from "node:assert/strict";
import { test } from "node:test";
import type * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import type { CardEvent } from "#core/card.ts";
import {
  askAnswerSchema,
  askBodySchema,
  askRowSchema,
  BOT_ROUTE_NAMES,
  BOT_ROUTES,
  botHealthSchema,
  cardEventSchema,
  messageAnswerSchema,
  messageBodySchema,
  outputEventSchema,
  outputFromSchema,
  runDetailSchema,
  runListSchema,
  runsQuerySchema,
  stopBodySchema,
} from "./bot.ts";
import * as bot from "./bot.ts";
import * as drain from "./drain.ts";
import { cardBodySchema, cardQuerySchema } from "./ledger.ts";
import { parseWith } from "./parse.ts";

const ASK = { key: "k", resource: "app", text: "go" };

test("an ask that says no more than it must has the defaults of a person at the page", () => {
  assert.deepEqual(askBodySchema.parse(ASK), {
    ...ASK,
    kind: "shell",
    threadKey: null,
    leaseMs: null,
    ref: null,
    by: "somebody",
    channel: "web",
    parent: null,
  });
});

const long = (chars: number): string => "x".repeat(chars + 1);
const wrong: readonly (readonly [schema: z.ZodType, body: object, field: string, words: RegExp])[] = [
  [askBodySchema, { ...ASK, key: long(LIMIT.threadKeyChars) }, "key", /too long/],
  [
    askBodySchema,
    { ...ASK, text: "漢".repeat(LIMIT.askChars + 1) },
    "text",
    /than 20000 .* 20001, which are 60003 bytes/,
  ],
  [askBodySchema, { key: "k", resource: "app" }, "text", /missing: what is to be done/],
  [askBodySchema, { ...ASK, text: "\0" }, "text", /NUL/],
  [askBodySchema, { ...ASK, text: " \n\t" }, "text", /is empty/],
  [messageBodySchema, { key: "k", text: "   " }, "text", /is empty/],
  [askBodySchema, { ...ASK, resource: long(LIMIT.threadKeyChars) }, "resource", /longer than/],
  [askBodySchema, { ...ASK, resource: "a/b/c" }, "resource", /no repository/],
  [askBodySchema, { ...ASK, resource: 7 }, "resource", /missing/],
  [askBodySchema, { ...ASK, leaseMs: 1.5 }, "leaseMs", /whole/],
  [askBodySchema, { ...ASK, leaseMs: "5m" }, "leaseMs", /whole/],
  [askBodySchema, { ...ASK, by: long(LIMIT.byChars) }, "by", /longer than/],
  [messageBodySchema, { key: "k", text: "x", kind: "stop" }, "kind", /./],
  [messageBodySchema, { text: "x" }, "key", /missing/],
  [stopBodySchema, { key: "" }, "key", /empty/],
  [runsQuerySchema, { limit: "201" }, "limit", /at most 200/],
  [runsQuerySchema, { limit: "0" }, "limit", /at least 1/],
  [runsQuerySchema, { limit: "1.5" }, "limit", /whole/],
  [runsQuerySchema, { before: "x" }, "before", /whole/],
  [runsQuerySchema, { resource: "app" }, "resource", /not a resource/],
  [outputFromSchema, { out: "-1" }, "out", /at least 0/],
  [outputFromSchema, { err: "x" }, "err", /whole/],
  [cardQuerySchema, { after: "-1" }, "after", /at least 0/],
];
for (const [schema, body, field, words] of wrong)
  test(`refused by its field: ${JSON.stringify(body).slice(0, 60)}`, () => {
    const read = parseWith(schema, body);
    assert.ok(!read.ok);
    assert.equal(read.error.field, field);
    assert.match(read.error.detail, words);
  });

test("a steer is what is meant where nothing is said, and a query is read from its text", () => {
  assert.equal(messageBodySchema.parse({ key: "k", text: "x" }).kind, "steer");
  assert.deepEqual(runsQuerySchema.parse({ before: "7" }), { before: 7, limit: 50 });
  assert.deepEqual(outputFromSchema.parse({ out: "12" }), { out: 12, err: 0 });
});

const card: CardEvent = {
  id: "r-000001",
  resource: "repo:local/app",
  threadKey: "web:T",
  state: "running",
  since: 1,
  bound: 2,
  cause: null,
  position: null,
  quietBy: null,
  askedAt: 1,
  waitedMs: 0,
  by: null,
  reason: null,
  verdict: { ending: "finished", exit: 0, by: null, why: null },
};
const shown = {
  id: "r-000001",
  resource: "repo:local/app",
  threadKey: "web:T",
  kind: "shell",
  by: "ada",
  channel: "web",
  askedAt: 1,
  admittedAt: 2,
  tries: 1,
  card,
  says: "running for 0s",
};
const kept = { length: 3, truncated: { from: 1, to: 2 } };
const answers: readonly (readonly [name: string, schema: z.ZodType, value: object])[] = [
  ["a row", askRowSchema, { ...shown, text: "go" }],
  [
    "a list",
    runListSchema,
    { now: 1, live: [{ ...shown, text: "go" }], unreadable: ["run-000009"], ended: [], next: 4 },
  ],
  [
    "a run whole",
    runDetailSchema,
    {
      ...shown,
      now: 3,
      text: "go",
      ref: "main",
      parent: null,
      leaseUntil: 9,
      endedAt: null,
      ranMs: 1,
      messages: [{ seq: 1, key: "k", kind: "added", text: "x", at: 1, reached: true }],
      notes: [{ at: 1, kind: "drain_wait", text: "waited", ms: 5 }],
      output: { out: kept, err: { length: 0, truncated: null } },
      writeUp: null,
      leftId: null,
    },
  ],
  ["output", outputEventSchema, { type: "output", stream: "err", from: 0, data: btoa("x") }],
  ["a card beside output", outputEventSchema, { type: "card", card, says: "running" }],
  ["the end of output", outputEventSchema, { type: "end", out: 3, err: 0 }],
  ["a card", cardEventSchema, { card, says: "running" }],
  ["what was said", messageAnswerSchema, { now: 1, id: "r-000001", kind: "taken" }],
  [
    "an ask's answer",
    askAnswerSchema,
    {
      now: 1,
      id: "r-000001",
      kind: "queued",
      threadKey: "web:T",
      position: 3,
      waitingFor: ["deploy", "thread"],
      until: 9,
      card,
      says: "deploy pending, 12 minutes",
      run: { kind: "coding", ref: null, leaseMs: 5, by: "ada" },
      otherText: true,
    },
  ],
  [
    "which bot answers",
    botHealthSchema,
    {
      ok: true,
      protocol: 1,
      build: { commit: "c", bundle: "b", image: "i" },
      generation: 2,
      number: 5,
      drainId: null,
      now: 1,
      inFlight: 0,
      queued: 0,
      draining: null,
      rolling: false,
      held: ["repo:local/app"],
    },
  ],
];
for (const [name, schema, value] of answers)
  test(`${name} is read back as it was`, () =>
    assert.deepEqual(schema.parse(JSON.parse(JSON.stringify(value))), value));

test("a card in the ledger is its own ask's", () => {
  const body = { id: "r-000002", generation: 1, event: card };
  const read = parseWith(cardBodySchema, body);
  assert.ok(!read.ok && read.error.field === "event.id");
});

test("whatever the table names is exported, and each route of a run has its place in the path", () => {
  const known: Readonly<Record<string, unknown>> = { ...bot, ...drain };
  assert.ok(BOT_ROUTE_NAMES.length > 9);
  for (const name of BOT_ROUTE_NAMES) {
    const { body, answers: answer, path } = BOT_ROUTES[name];
    for (const schema of [body, answer])
      assert.ok(schema === null || known[schema] !== undefined, `${name}: ${schema}`);
    assert.equal(path.includes(":id"), path.startsWith("/runs/"), name);
  }
});
