// The bot's client: each route with its bearer and its run's id, events however they are cut into chunks, and a stream that
// was cut told from one that ended.

import assert from "node:assert/strict";
import { test } from "node:test";
import { TidegateError } from "#wire/errors.ts";
import { botClient } from "./bot.ts";
import { scene } from "./clientForTests.ts";
import { SILENCE_MS } from "./lines.ts";
import type { Transport } from "./transport.ts";

const NOW = 1_000;
const CARD = {
  id: "a-1",
  resource: "repo:local/app",
  threadKey: "web:T1",
  state: "queued",
  since: NOW,
  bound: null,
  cause: "deploy",
  position: 2,
  quietBy: null,
  askedAt: NOW,
  waitedMs: null,
  by: null,
  reason: null,
  verdict: null,
};

interface Sent {
  readonly request: string;
  readonly body: unknown;
  readonly bearer: string | null;
  readonly resumes: string | null;
}

/** A bot that keeps what it is sent and answers it with this. */
function botAnswering(answer: () => Response) {
  const sent: Sent[] = [];
  const fetch: Transport["fetch"] = (url, init) => {
    const { pathname, search } = new URL(url);
    const headers = new Headers(init.headers);
    sent.push({
      request: `${init.method ?? "GET"} ${pathname}${search}`,
      body: typeof init.body === "string" ? JSON.parse(init.body) : null,
      bearer: headers.get("authorization"),
      resumes: headers.get("last-event-id"),
    });
    return Promise.resolve(answer());
  };
  const { clock } = scene();
  return { sent, clock, bot: botClient({ baseUrl: "http://bot", fetch, bearer: (scope) => scope, real: clock }) };
}

const requests = ({ sent }: { readonly sent: readonly Sent[] }): string[] =>
  sent.map(({ request, bearer }) => `${request} as ${bearer ?? "nobody"}`);

/** An answer in these chunks; cut after them, left open, or ended. */
function chunks(all: readonly string[], end: "close" | "cut" | "open" = "close"): Response {
  const encoder = new TextEncoder();
  let next = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = all[next];
      next += 1;
      if (chunk !== undefined) controller.enqueue(encoder.encode(chunk));
      else if (end === "close") controller.close();
      else if (end === "cut") controller.error(new TypeError("terminated"));
      else await new Promise<void>(() => undefined);
    },
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

const event = (id: string, data: unknown): string => `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const told = { card: CARD, says: "deploy pending, 12 minutes" };

test("an ask and what is said to its run are the operator's, each to the run's own route", async () => {
  const at = botAnswering(() => Response.json({ now: NOW, id: "a-1", kind: "taken" }));
  await at.bot.stop("a/1", "k1");
  await at.bot.steer("a-1", { key: "k2", text: "more" });
  assert.deepEqual(requests(at), [
    "POST /runs/a%2F1/stop as Bearer operator",
    "POST /runs/a-1/steer as Bearer operator",
  ]);
  assert.deepEqual(
    at.sent.map((one) => one.body),
    [{ key: "k1" }, { key: "k2", text: "more" }],
  );
  const answer = { now: NOW, id: "a-1", kind: "queued", threadKey: "web:T1", position: 2, waitingFor: ["deploy"] };
  const asked = botAnswering(() => Response.json({ ...answer, until: null, ...told }));
  const got = await asked.bot.ask({ key: "k", resource: "app", text: "do it" });
  assert.deepEqual([got.position, got.card.state], [2, "queued"]);
  assert.deepEqual(requests(asked), ["POST /asks as Bearer operator"]);
});

test("lists and one run are read, and what is not asked for is not in the query", async () => {
  const at = botAnswering(() => Response.json({ now: NOW, live: [], ended: [], next: null }));
  await at.bot.runs();
  await at.bot.runs({ limit: 5, before: 9 });
  await assert.rejects(at.bot.run("a-1"), /cannot read/, "a list is no run");
  assert.deepEqual(requests(at), [
    "GET /runs as Bearer read",
    "GET /runs?limit=5&before=9 as Bearer read",
    "GET /runs/a-1 as Bearer read",
  ]);
});

test("who waits under a drain is read where it is told, and what of it cannot be read is none", async () => {
  const lifted = { now: NOW, kind: "lifted", deferredUntil: null, remaining: [] };
  const asked = async (queued: unknown) =>
    (
      await botAnswering(() => Response.json({ ...lifted, queued })).bot.undrain({
        id: "drain-1",
        outcome: "none",
        force: false,
      })
    ).queued;
  const { id, resource, threadKey, askedAt } = CARD;
  const one = { id, resource, threadKey, by: "lee", askedAt, cause: "deploy", leftAt: null, ended: false };
  assert.deepEqual(await asked({ asks: [one], total: 3 }), { asks: [one], total: 3 });
  assert.equal(await asked({ asks: [{ ...one, cause: "of a later build" }], total: 1 }), null);
});

test("its door is the drain bearer's, and its health is everybody's", async () => {
  const at = botAnswering(() => Response.json({ now: NOW, kind: "lifted", deferredUntil: null, remaining: [] }));
  assert.deepEqual((await at.bot.undrain({ id: "drain-1", outcome: "none", force: false })).held, []);
  const body = { id: "drain-1", minutes: 65, by: "ci", reason: "r", deploy: true, build: null, without: [] };
  await assert.rejects(at.bot.drain(body), /cannot read/, "an answer without a record is none");
  await assert.rejects(at.bot.health(), /cannot read/);
  assert.deepEqual(requests(at), [
    "POST /undrain as Bearer drain",
    "POST /drain as Bearer drain",
    "GET /healthz as nobody",
  ]);
});

test("cards come as they change, with the id to resume behind, however the stream is cut into chunks", async () => {
  const text = `: hello\n\n${event("7", told)}${event("8", { ...told, says: "ä" })}`;
  for (const size of [1, 7, text.length]) {
    const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, n) =>
      text.slice(n * size, (n + 1) * size),
    );
    const at = botAnswering(() => chunks(pieces));
    const seen: unknown[] = [];
    for await (const { id, data } of at.bot.events("6")) seen.push([id, data.says]);
    assert.deepEqual(seen, [
      ["7", "deploy pending, 12 minutes"],
      ["8", "ä"],
    ]);
    assert.deepEqual([requests(at), at.sent[0]?.resumes], [["GET /events as Bearer read"], "6"]);
  }
  const anew = botAnswering(() => chunks([]));
  for await (const _ of anew.bot.events()) assert.fail("there are none");
  assert.equal(anew.sent[0]?.resumes, null);
});

test("output is asked for from an offset, and its events are what they say they are", async () => {
  const out = { type: "output", stream: "out", from: 3, data: "aGk=" };
  const end = { type: "end", out: 5, err: 0 };
  const at = botAnswering(() => chunks([`data: ${JSON.stringify(out)}\n\n`, `data: ${JSON.stringify(end)}\n\n`]));
  const seen: unknown[] = [];
  for await (const one of at.bot.output("a-1", { out: 3 })) seen.push(one);
  assert.deepEqual(seen, [
    { id: null, data: out },
    { id: null, data: end },
  ]);
  assert.deepEqual(requests(at), ["GET /runs/a-1/output?out=3 as Bearer read"]);
});

async function endOf(stream: AsyncGenerator<unknown, void, void>): Promise<{ heard: number; code: string }> {
  let heard = 0;
  try {
    for await (const _ of stream) heard += 1;
    return { heard, code: "ended" };
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    return { heard, code: error.problem.code };
  }
}

test("a stream that was cut, or fell silent, is unreachable behind what was heard; one that ended has ended", async () => {
  const first = event("1", told);
  const of = (pieces: readonly string[], end: "close" | "cut" | "open") => botAnswering(() => chunks(pieces, end));
  assert.deepEqual(await endOf(of([first], "close").bot.events()), { heard: 1, code: "ended" });
  assert.deepEqual(await endOf(of([first, event("2", told).slice(0, 20)], "cut").bot.events()), {
    heard: 1,
    code: "UNREACHABLE",
  });
  assert.deepEqual(await endOf(of([first, event("2", told).trimEnd()], "close").bot.events()), {
    heard: 1,
    code: "ended",
  });
  assert.deepEqual(await endOf(of([event("1", { odd: true })], "close").bot.events()), { heard: 0, code: "INTERNAL" });
  const silent = of([first], "open");
  const ended = endOf(silent.bot.events());
  await silent.clock.advance(SILENCE_MS);
  assert.deepEqual(await ended, { heard: 1, code: "UNREACHABLE" });
});

test("whoever stops reading stops the stream at once", async () => {
  const at = botAnswering(() => chunks([event("1", told)], "open"));
  const stop = new AbortController();
  const reading = (async () => {
    for await (const { id } of at.bot.events(null, stop.signal)) if (id === "1") stop.abort(new Error("enough"));
  })();
  await assert.rejects(reading, /enough/);
});
