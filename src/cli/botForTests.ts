// A bot for the command line's tests: a real server over the wire's table, whose runs, cards and output are what a test says.
// It can be away, refuse, and cut a stream in the middle of an event, as a roll does.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { answerWords, cardWords, type CardEvent } from "#core/card.ts";
import {
  askBodySchema,
  BOT_ROUTES,
  BOT_ROUTE_NAMES,
  messageBodySchema,
  runsQuerySchema,
  stopBodySchema,
  type AskRow,
  type BotRouteName,
  type OutputEvent,
  type RunDetail,
} from "#wire/bot.ts";
import { problemIn, problemOf, raise, type ErrorCode } from "#wire/errors.ts";
import { jsonOf, parsed } from "#wire/parse.ts";

/** 05:08:00Z of some day. */
export const NOW = Date.UTC(2026, 8, 18, 5, 8);

const EMPTY = { length: 0, truncated: null };

/** The card of an ask in its queue at NOW. */
export function cardOf(id: string, more: Partial<CardEvent> = {}): CardEvent {
  const nothing = { bound: null, cause: null, position: null, quietBy: null, waitedMs: null, by: null, reason: null };
  const place = { id, resource: "repo:local/app", threadKey: `cli:${id}` };
  return { ...place, state: "queued", since: NOW, askedAt: NOW, ...nothing, verdict: null, ...more };
}

/** One ask as the bot knows it, and what its run has written. */
export interface RunForTests {
  detail: RunDetail;
  readonly out: Buffer[];
  readonly err: Buffer[];
}

/** An ask of this id. */
export function runOf(id: string, card: Partial<CardEvent> = {}, more: Partial<RunDetail> = {}): RunForTests {
  const made = cardOf(id, card);
  const ended = made.state === "ended";
  const times = { askedAt: made.askedAt, admittedAt: made.state === "queued" ? null : NOW, leaseUntil: made.bound };
  const detail: RunDetail = {
    now: NOW,
    id,
    resource: made.resource,
    threadKey: made.threadKey,
    kind: "shell",
    by: "ann@here",
    channel: "cli",
    ...times,
    endedAt: ended ? made.since : null,
    ranMs: null,
    tries: 1,
    card: made,
    says: cardWords(made, NOW),
    text: "do it",
    ref: null,
    parent: null,
    messages: [],
    notes: [],
    output: { out: EMPTY, err: EMPTY },
    writeUp: null,
    leftId: null,
    ...more,
  };
  return { detail, out: [], err: [] };
}

interface Asked {
  readonly route: BotRouteName;
  readonly id: string;
  readonly given: unknown;
}

function rowOf({ detail }: RunForTests): AskRow {
  const { id, resource, threadKey, kind, by, channel, askedAt, admittedAt, tries, card, says, text } = detail;
  return { id, resource, threadKey, kind, by, channel, askedAt, admittedAt, tries, card, says, text };
}

/** The bot. */
export class BotForTests {
  readonly runs = new Map<string, RunForTests>();
  readonly asked: Asked[] = [];
  /** What the next answers are refused with, each once; `cut` ends the connection without an answer. */
  readonly refusals: (
    | ErrorCode
    | "cut"
    | { readonly code: ErrorCode; readonly detail: string; readonly field: string; readonly next?: string }
  )[] = [];
  /** After how many bytes of its output each next stream is cut, in the middle of what follows. */
  readonly cuts: number[] = [];
  /** Routes whose bearer is no good. */
  readonly refused = new Set<BotRouteName>();
  /** The card that the next ask gets. */
  card: Partial<CardEvent> = { state: "attaching" };
  readonly #keys = new Map<string, string>();
  readonly #changed = new Set<() => void>();
  readonly #server: Server;
  #url = "";

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Starts one on a port of its own. */
  static async start(): Promise<BotForTests> {
    const bot = new BotForTests();
    await new Promise<void>((resolve) => void bot.#server.listen(0, "127.0.0.1", resolve));
    const address = bot.#server.address();
    if (address === null || typeof address === "string") throw new Error("the bot has no port");
    bot.#url = `http://127.0.0.1:${address.port}`;
    return bot;
  }

  get url(): string {
    return this.#url;
  }

  add(...runs: readonly RunForTests[]): void {
    for (const run of runs) this.runs.set(run.detail.id, run);
    this.#wake();
  }

  /** The run writes. */
  write(id: string, stream: "out" | "err", bytes: Uint8Array): void {
    this.#run(id)[stream].push(Buffer.from(bytes));
    this.#wake();
  }

  /** Its card changes; `ended` with a verdict ends it. */
  move(id: string, card: Partial<CardEvent>, more: Partial<RunDetail> = {}): void {
    const run = this.#run(id);
    const next = { ...run.detail.card, ...card };
    const endedAt = next.state === "ended" ? next.since : null;
    run.detail = { ...run.detail, card: next, says: cardWords(next, NOW), endedAt, ...more };
    this.#wake();
  }

  /** How often a route was asked for. */
  count(route: BotRouteName): number {
    return this.asked.filter((one) => one.route === route).length;
  }

  /** Every connection is cut. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #run(id: string): RunForTests {
    return this.runs.get(id) ?? raise("NO_SUCH_RUN", `there is no run ${id}`);
  }

  #wake(): void {
    for (const wake of this.#changed) wake();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = request.method === "POST" ? jsonOf(await textOf(request)) : undefined;
      const url = new URL(request.url ?? "/", this.#url);
      const given = body ?? Object.fromEntries(url.searchParams);
      const { route, id } = this.#routeOf(request.method ?? "", url.pathname);
      this.asked.push({ route, id, given });
      const refusal = this.refusals.shift();
      if (refusal === "cut") return void request.socket.destroy();
      if (typeof refusal === "string") return raise(refusal, "told by the test");
      if (refusal !== undefined) {
        const { code, detail, ...more } = refusal;
        return raise(code, detail, more);
      }
      if (this.refused.has(route)) return raise("BAD_BEARER", url.pathname);
      if (request.headers.authorization === undefined) return raise("NO_BEARER", url.pathname);
      if (route === "output") return await this.#output(id, url.searchParams, response);
      response.setHeader("content-type", "application/json").end(JSON.stringify(this.#answer({ route, id, given })));
    } catch (error) {
      const problem = problemIn(error) ?? problemOf("INTERNAL", String(error));
      response.writeHead(problem.status, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
    }
  }

  #routeOf(method: string, path: string): { route: BotRouteName; id: string } {
    for (const route of BOT_ROUTE_NAMES) {
      const { method: wanted, path: pattern } = BOT_ROUTES[route];
      const found = new RegExp(`^${pattern.replace(":id", "([^/]+)")}$`).exec(path);
      if (found !== null && method === wanted) return { route, id: decodeURIComponent(found[1] ?? "") };
    }
    return raise("NO_ROUTE", path);
  }

  #answer({ route, id, given }: Asked): unknown {
    switch (route) {
      case "ask":
        return this.#ask(given);
      case "runs":
        return this.#list(given);
      case "run":
        return this.#detail(id);
      case "stop":
        return this.#say(id, parsed(stopBodySchema, given).key, null);
      case "steer": {
        const { key, text, kind } = parsed(messageBodySchema, given);
        return this.#say(id, key, { text, kind });
      }
      default:
        return raise("NO_ROUTE", route);
    }
  }

  #ask(given: unknown): unknown {
    const body = parsed(askBodySchema, given);
    const known = this.#keys.get(body.key);
    const waits = [...this.runs.values()].find(
      ({ detail }) => detail.card.state === "queued" && detail.threadKey === body.threadKey,
    );
    const id = known ?? waits?.detail.id ?? `r-${String(this.runs.size + 1).padStart(20, "0")}`;
    this.#keys.set(body.key, id);
    const { text, by, kind, ref } = body;
    const threadKey = body.threadKey ?? `cli:${id}`;
    if (known === undefined && waits === undefined)
      this.add(runOf(id, { threadKey, ...this.card }, { text, by, kind, ref }));
    const { card, ...was } = this.#run(id).detail;
    const isNew = waits !== undefined ? "added" : card.state === "queued" ? "queued" : "admitted";
    const says = answerWords(card, NOW);
    const place = { position: card.position, waitingFor: card.cause === null ? [] : [card.cause], until: card.bound };
    return {
      now: NOW,
      id,
      kind: known === undefined ? isNew : "known",
      threadKey: card.threadKey,
      ...place,
      card,
      says,
      run: { kind: was.kind, ref: was.ref, leaseMs: null, by: was.by },
      otherText: known !== undefined && was.text !== text,
    };
  }

  #list(given: unknown): unknown {
    const { before, limit, resource } = parsed(runsQuerySchema, given);
    const all = [...this.runs.values()].filter((run) => resource === undefined || run.detail.resource === resource);
    const live = before === undefined ? all.filter(({ detail }) => detail.card.state !== "ended") : [];
    const over = all.filter(({ detail }) => detail.card.state === "ended").map((run, index) => ({ n: index + 1, run }));
    const page = over.toReversed().filter(({ n }) => before === undefined || n < before);
    const shown = page.slice(0, limit);
    const next = page.length > limit ? (shown.at(-1)?.n ?? null) : null;
    return { now: NOW, live: live.map(rowOf), ended: shown.map(({ run }) => rowOf(run)), next };
  }

  #detail(id: string): RunDetail {
    const { detail, out, err } = this.#run(id);
    const kept = (parts: readonly Buffer[]) => ({ length: Buffer.concat(parts).length, truncated: null });
    const written = { out: kept(out), err: kept(err) };
    return out.length + err.length === 0 ? detail : { ...detail, output: written };
  }

  #say(id: string, key: string, said: { text: string; kind: "steer" | "followUp" } | null): unknown {
    const run = this.#run(id);
    const { messages, card } = run.detail;
    const answer = (kind: string): unknown => ({ now: NOW, id, kind });
    if (card.state === "ended") return answer("over");
    if (messages.some((message) => message.key === key)) return answer("known");
    const message = { seq: messages.length + 1, key, at: NOW, reached: false, text: "", kind: "stop" as const };
    run.detail = { ...run.detail, messages: [...messages, { ...message, ...said }] };
    if (card.state !== "queued") return answer("taken");
    if (said !== null) return answer("added");
    const verdict = { ending: "stopped", exit: null, by: null, why: null } as const;
    this.move(id, { state: "ended", verdict });
    return answer("ended");
  }

  /** The stream as the bot sends it: bytes in small pieces, the card at each change, and last the end. */
  async #output(id: string, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const run = this.#run(id);
    const at = { out: Number(query.get("out") ?? 0), err: Number(query.get("err") ?? 0) };
    let left = this.cuts.shift() ?? Number.POSITIVE_INFINITY;
    let told = "";
    response.writeHead(200, { "content-type": "text/event-stream" });
    const text = (data: OutputEvent): string =>
      `id: ${at.out}:${at.err}\nevent: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
    const send = (data: OutputEvent): void => void response.write(text(data));
    while (!response.destroyed) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#changed.add(resolve);
      response.once("close", resolve);
      const { card, says } = run.detail;
      for (const stream of ["out", "err"] as const) {
        const all = Buffer.concat(run[stream]);
        for (; at[stream] < all.length && left > 0; left -= 5) {
          const part = all.subarray(at[stream], at[stream] + 5);
          send({ type: "output", stream, from: at[stream], data: part.toString("base64") });
          at[stream] += part.length;
        }
      }
      if (left <= 0) {
        const half = text({ type: "output", stream: "out", from: at.out, data: "aGFsZg==" });
        return void response.write(half.slice(0, half.length - 9), () => void response.socket?.destroy());
      }
      if (JSON.stringify(card) !== told) send({ type: "card", card, says });
      told = JSON.stringify(card);
      if (card.state === "ended") {
        send({ type: "end", ...at });
        return void response.end();
      }
      await promise;
      this.#changed.delete(resolve);
    }
  }
}
