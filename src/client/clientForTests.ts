// What the client's tests run against: a clock that moves only when told, and a fleet that answers the real routes from
// the core's own decisions, in this process.

import { budgetsOf, DEFAULT_LEASES } from "#core/budgets.ts";
import {
  closingDrain,
  decideDrain,
  decideLift,
  EMPTY_BOOK,
  liveDrains,
  nextEnd,
  type Build,
  type DrainBook,
} from "#core/drain.ts";
import { beginReconcile, noteReport } from "#core/hold.ts";
import { closesToChildren } from "#core/look.ts";
import { beginHandoff } from "#core/seal.ts";
import type { OutputLine } from "#wire/agent.ts";
import {
  attachBodySchema,
  detachBodySchema,
  execBodySchema,
  opBodySchema,
  type AttachBody,
  type ExecBody,
} from "#wire/attach.ts";
import { problemOf, type ErrorCode } from "#wire/errors.ts";
import type { RunRow } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { attachWith, type Attach } from "./attach.ts";
import { fleetClient, type FleetClient } from "./fleet.ts";
import type { Clock, Socket } from "./ports.ts";
import type { Transport } from "./transport.ts";
import { Turnstile } from "./turnstile.ts";
import { Watch } from "./watch.ts";

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

/** A clock whose time passes only in `advance`. */
export class VirtualClock implements Clock {
  #now = 1_000_000_000;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason);
      const stop = (): void => {
        this.#timers.delete(timer);
        reject(signal?.reason);
      };
      const fire = (): void => {
        signal?.removeEventListener("abort", stop);
        resolve();
      };
      const timer = { at: this.#now + Math.max(0, ms), fire };
      this.#timers.add(timer);
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Lets everything that can happen now happen. */
  async settle(): Promise<void> {
    for (let round = 0; round < 12; round += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
  }

  /** Lets `ms` pass, firing what falls due in its order. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (;;) {
      const at = Math.min(...[...this.#timers].map((timer) => timer.at));
      if (at > end || this.#timers.size === 0) break;
      this.#now = Math.max(this.#now, at);
      for (const timer of [...this.#timers].filter((one) => one.at <= at)) {
        if (this.#timers.delete(timer)) timer.fire();
      }
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }
}

/** A socket whose other end is the test. */
export class FakeSocket implements Socket {
  readonly sent: string[] = [];
  closed = false;
  /** A peer that has left without a word answers no ping. */
  mute = false;
  readonly #listeners = new Map<string, ((event: never) => void)[]>();

  addEventListener(type: string, listener: (event: never) => void): void {
    this.#listeners.set(type, [...(this.#listeners.get(type) ?? []), listener]);
  }

  send(data: string): void {
    this.sent.push(data);
    if (data === "ping" && !this.mute) queueMicrotask(() => this.emit("message", { data: "pong" }));
  }

  close(): void {
    this.closed = true;
  }

  emit(type: string, event: object = {}): void {
    for (const listener of this.#listeners.get(type) ?? []) listener(event as never);
  }
}

/** What a test may put in the place of an answer. */
export type Answer = (body: unknown, signal: AbortSignal) => Response | Promise<Response>;

/** The problem of a code as an answer. */
export function refusal(code: ErrorCode, more: Record<string, unknown> = {}): Response {
  const problem = problemOf(code, `told by the test: ${code}`, more);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { "content-type": "application/problem+json" },
  });
}

/** Lines as a streamed answer; with `cut` the stream breaks after them, with neither it stays open. */
export function lines(all: readonly unknown[], end: "close" | "cut" | "open" = "close"): Response {
  const encoder = new TextEncoder();
  let next = 0;
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const line = all[next];
      next += 1;
      if (line !== undefined) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
      else if (end === "close") controller.close();
      else if (end === "cut") controller.error(new TypeError("terminated"));
      else await new Promise<void>(() => undefined);
    },
  });
  return new Response(stream, { headers: { "content-type": "application/x-ndjson" } });
}

const json = (value: unknown): Response =>
  new Response(JSON.stringify(value), { headers: { "content-type": "application/json" } });

/** A frame of a process's output. */
export const frame = (s: "out" | "err", o: number, text: string): OutputLine => ({ s, o, d: btoa(text) });

/** A process's terminal record as the last line of its stream. */
export function endLine(
  cause: "exited" | "signalled" | "stopped" | "container" | "lost" | "not-started",
  more: object = {},
): object {
  return { type: "end", exit: 0, signal: null, endedAt: 1, cause, bootId: "boot1", out: 0, err: 0, ...more };
}

const { longestLeaseMs } = budgetsOf(DEFAULT_LEASES);

/** The body of `/attach` of a fleet with the built-in kinds. */
export const attachBody = attachBodySchema;

const BUILD: Build = { commit: "c", bundle: "b", image: "i" };

/** A fleet that answers the real routes. */
export class FakeFleet {
  readonly clock: VirtualClock;
  readonly asked: { readonly path: string; readonly body: unknown }[] = [];
  readonly sockets: FakeSocket[] = [];
  readonly registered = new Set<string>();
  /** By which generation each run was attached last. */
  readonly generations = new Map<string, number>();
  readonly admitted: string[] = [];
  readonly answers = new Map<string, Answer>();
  bootId = "boot1";
  generation = 1;
  book: DrainBook = EMPTY_BOOK;
  runs: RunRow[] = [];
  quietBy: number | null = null;
  /** Whether a watch can be had. */
  watchable = true;

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  count(path: string): number {
    return this.asked.filter((one) => one.path === path).length;
  }

  /** Closes the fleet by a record, and tells every watch. */
  drain(id: string, minutes: number, deploy = false): void {
    const said = { by: "the test", reason: "to see", principal: "drain" };
    const ask = { id, minutes, deploy, build: deploy ? BUILD : null, without: [], ...said };
    const answer = decideDrain(this.book, ask, this.clock.now());
    if (answer.kind === "created" || answer.kind === "renewed") this.book = answer.book;
    this.tell();
  }

  lift(id: string): void {
    const answer = decideLift(this.book, { id, outcome: "none", force: false }, null, this.clock.now());
    if (answer.kind !== "deferred") this.book = answer.book;
    this.tell();
  }

  /** A deploy's swap under its drain, and the reconcile behind it that holds these residents. */
  reconcile(id: string, residents: readonly string[]): void {
    const now = this.clock.now();
    const swapping = beginHandoff(this.book, id, BUILD, now);
    if (swapping.kind === "sealed") this.book = swapping.book;
    this.tell();
    const held = beginReconcile(this.book, { id, servedId: id, build: BUILD, residents }, now);
    if (held.kind === "begun") this.book = held.book;
    this.tell();
  }

  /** A resident reports the deployed image. */
  report(resource: string): void {
    this.book = noteReport(this.book, { resource, image: BUILD.image }, this.clock.now()).book;
    this.tell();
  }

  /** The state as every watch gets it. */
  tell(): void {
    for (const socket of this.sockets) if (!socket.closed) socket.emit("message", { data: this.frame() });
  }

  frame(): string {
    const now = this.clock.now();
    const end = nextEnd(this.book, now);
    const { generation, runs, quietBy } = this;
    const msToNextEnd = end === undefined ? null : end - now;
    return JSON.stringify({
      type: "state",
      now,
      generation,
      drains: liveDrains(this.book, now),
      runs,
      attaching: 0,
      quietBy,
      msToNextEnd,
    });
  }

  openSocket(): Socket {
    const socket = new FakeSocket();
    this.sockets.push(socket);
    queueMicrotask(() => {
      if (!this.watchable) return socket.emit("close", { code: 1006, reason: "" });
      socket.emit("open");
      socket.emit("message", { data: this.frame() });
    });
    return socket;
  }

  fetch(url: string, init: RequestInit): Promise<Response> {
    const path = new URL(url).pathname;
    const body = typeof init.body === "string" ? jsonOf(init.body) : undefined;
    this.asked.push({ path, body });
    const signal = init.signal ?? new AbortController().signal;
    const stopped = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
    );
    return Promise.race([Promise.resolve().then(() => this.#answer(path, body, signal)), stopped]);
  }

  #answer(path: string, body: unknown, signal: AbortSignal): Response | Promise<Response> {
    const given = this.answers.get(path);
    if (given !== undefined) return given(body, signal);
    if (path === "/attach") return this.attach(attachBody.parse(body));
    if (path === "/exec") return lines([frame("out", 0, "hello\n"), endLine("exited")]);
    if (path === "/detach") return this.detach(detachBodySchema.parse(body).runId);
    if (path === "/op") return json({ op: opBodySchema.parse(body).op, processes: [], work: null, said: "done" });
    return refusal("NO_ROUTE");
  }

  /** The gate in short: registered passes, a live drain refuses. */
  attach(body: AttachBody): Response {
    const closing = closingDrain(this.book, body.resource, this.clock.now());
    const again = this.registered.has(body.runId);
    const isSwapping = liveDrains(this.book, this.clock.now()).some((drain) => closesToChildren(drain, body.resource));
    const isChild = body.parent !== null && this.registered.has(body.parent) && !isSwapping;
    if (closing !== undefined && !again && !isChild)
      return refusal("DRAINING", { draining: closing, quietBy: this.quietBy });
    if (this.isOld(body)) return refusal("OLD_GENERATION");
    this.registered.add(body.runId);
    this.generations.set(body.runId, body.generation);
    if (!again) this.admitted.push(body.runId);
    return lines([
      { type: "progress", line: "making it" },
      { type: "binding", binding: this.binding(body, again) },
    ]);
  }

  /** Whether a newer generation of the run is attached. */
  isOld({ runId, generation }: { readonly runId: string; readonly generation: number | null }): boolean {
    return this.registered.has(runId) && generation !== null && generation < (this.generations.get(runId) ?? 0);
  }

  binding(body: AttachBody, again: boolean): object {
    const now = this.clock.now();
    const { resource, runId, threadKey, generation } = body;
    const work = {
      workspace: "/w",
      branch: "tidegate/t",
      base: "b",
      head: "h",
      bootId: this.bootId,
      image: "i",
      admittedAt: now,
    };
    const leaseUntil = now + (body.remainingMs ?? longestLeaseMs);
    return {
      resource,
      runId,
      threadKey,
      generation,
      kind: "run",
      again,
      leaseUntil,
      fleetGeneration: this.generation,
      ...work,
    };
  }

  detach(runId: string): Response {
    const had = this.registered.delete(runId);
    const work = { branch: "tidegate/t", head: "h", ahead: 1, dirty: false };
    return json({ kind: had ? "released" : "absent", work: had ? work : null });
  }

  /** The bodies of every `/exec`. */
  execs(): ExecBody[] {
    return this.asked.filter((one) => one.path === "/exec").map((one) => execBodySchema.parse(one.body));
  }
}

/** A caller's process before a fake fleet. */
export interface Scene {
  readonly clock: VirtualClock;
  readonly server: FakeFleet;
  readonly transport: Transport;
  readonly fleet: FleetClient;
  readonly watch: Watch;
  readonly attach: Attach;
}

/** Sets a scene. */
export function scene(): Scene {
  const clock = new VirtualClock();
  const server = new FakeFleet(clock);
  const transport: Transport = {
    baseUrl: "http://fleet",
    fetch: (url, init) => server.fetch(url, init),
    bearer: () => "secret",
    real: clock,
  };
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket: () => server.openSocket() });
  const attach = attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) });
  return { clock, server, transport, fleet, watch, attach };
}

/** An ask of a run of this name, on a thread of its own. */
export function askOf(runId: string): Omit<AttachBody, "remainingMs"> {
  const nobody = { by: "nobody" } as const;
  return {
    resource: "repo:local/app",
    runId,
    threadKey: `t:${runId}`,
    generation: 0,
    runKind: "shell",
    parent: null,
    replace: nobody,
    ref: null,
  };
}
