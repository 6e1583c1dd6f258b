// What a deploy asks is sent as the route table says: each body, each query, and the bearer of the route's own scope.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fleetClient } from "#client/fleet.ts";
import type { Transport } from "#client/transport.ts";
import { clientBotDoor, clientDoor, partServedBy, receiptKeeper } from "#deploy/clientDoor.ts";
import { rehearse } from "#deploy/deployForTests.ts";
import { DRAIN_ID, drainOf, entryOf, reconciledOf, T0 } from "#deploy/recordsForTests.ts";

interface Sent {
  readonly request: string;
  readonly body: unknown;
  readonly bearer: string | null;
}

const NEVER_PAST: Transport["real"] = { now: () => T0, sleep: () => new Promise(() => undefined) };

/** A transport that keeps what is sent and answers it with one document. */
function keeping(answer: unknown): { readonly sent: Sent[]; readonly transport: Transport } {
  const sent: Sent[] = [];
  const fetch: Transport["fetch"] = (url, init) => {
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : null;
    const bearer = new Headers(init.headers).get("authorization");
    sent.push({ request: `${init.method ?? "GET"} ${new URL(url).pathname}${new URL(url).search}`, body, bearer });
    return Promise.resolve(Response.json(answer));
  };
  return { sent, transport: { baseUrl: "http://fleet", fetch, bearer: (scope) => scope, real: NEVER_PAST } };
}

const never = new AbortController().signal;

test("a reconcile is posted by its drain's id and looked at by it, with the drain bearer", async () => {
  const answer = reconciledOf(T0, [entryOf("repo:local/sample")], ["repo:local/sample"]);
  const { sent, transport } = keeping(answer);
  assert.deepEqual(await clientDoor(transport).reconcile(DRAIN_ID, never), answer);
  assert.deepEqual(await clientDoor(transport).reconciled(DRAIN_ID, never), answer);
  assert.deepEqual(await fleetClient(transport).reconcile(DRAIN_ID), answer);
  assert.deepEqual(await fleetClient(transport).reconciled(DRAIN_ID), answer);
  const asked = { request: "POST /reconcile", body: { id: DRAIN_ID }, bearer: "Bearer drain" };
  const looked = { request: `GET /reconcile?id=${DRAIN_ID}`, body: null, bearer: "Bearer drain" };
  assert.deepEqual(sent, [asked, looked, asked, looked]);
});

test("a seal says whether it is a handoff's; a released hold carries its resident and reason", async () => {
  const sealed = keeping({ now: T0, kind: "sealed", drain: drainOf(DRAIN_ID, T0) });
  await clientDoor(sealed.transport).seal({ id: DRAIN_ID, handoff: true }, never);
  await fleetClient(sealed.transport).seal(DRAIN_ID);
  assert.deepEqual(
    sealed.sent.map((one) => one.body),
    [
      { id: DRAIN_ID, handoff: true },
      { id: DRAIN_ID, handoff: false },
    ],
  );
  const said = { now: T0, resource: "repo:a/b", drainId: DRAIN_ID, held: [] };
  const released = keeping(said);
  assert.deepEqual(await fleetClient(released.transport).releaseHold({ resource: "repo:a/b", reason: "why" }), said);
  assert.deepEqual(released.sent, [
    { request: "POST /holds/release", body: { resource: "repo:a/b", reason: "why" }, bearer: "Bearer drain" },
  ]);
});

test("the bot is closed with the drain's own body, opened by its id, and read for what it has in hand", async () => {
  const drain = drainOf(DRAIN_ID, T0);
  const closing = keeping({ now: T0, kind: "created", drain });
  const body = { id: DRAIN_ID, minutes: 65, by: "ci", reason: "r", deploy: true, build: null, without: [] };
  await clientBotDoor(closing.transport).drain(body, never);
  const opening = keeping({ now: T0, kind: "lifted", deferredUntil: null, remaining: [] });
  const told = await clientBotDoor(opening.transport).undrain({ id: DRAIN_ID, outcome: "landed" }, never);
  assert.equal(told.queued, null, "of a bot that does not know the list");
  const read = keeping({ ok: true, inFlight: 3, of: "another generation" });
  assert.deepEqual(await clientBotDoor(read.transport).health(never), { inFlight: 3 });
  assert.deepEqual(
    [...closing.sent, ...opening.sent, ...read.sent],
    [
      { request: "POST /drain", body, bearer: "Bearer drain" },
      { request: "POST /undrain", body: { id: DRAIN_ID, outcome: "landed", force: false }, bearer: "Bearer drain" },
      { request: "GET /healthz", body: null, bearer: null },
    ],
  );
});

test("a part's gate reads what it serves, and the ledger takes the whole receipt", async (context) => {
  const { sent, transport } = keeping({ ok: true, drainId: DRAIN_ID, generation: 4, kind: "done", now: T0 });
  for (const part of ["ledger", "bot"] as const)
    assert.deepEqual(await partServedBy(transport, part)(never), { drainId: DRAIN_ID, generation: 4 });
  const { receipt } = await rehearse(context);
  await receiptKeeper(transport)(receipt);
  assert.deepEqual(sent.at(-1), { request: "POST /receipts", body: { receipt }, bearer: "Bearer operator" });
});
