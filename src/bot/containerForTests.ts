// A container behind the fake fleet: its processes are started once by their id, outlive whoever follows them, and keep what
// they said; its files are those of the threads' worktrees.

import { isDeepStrictEqual } from "node:util";
import { REAL } from "#core/budgets.ts";
import { mayStartIn } from "#core/resident.ts";
import { execBodySchema, opBodySchema, writeBodySchema, type ExecBody } from "#wire/attach.ts";
import { refusal, type FakeFleet } from "#client/clientForTests.ts";

/** One process of a run. */
export interface Process {
  readonly id: string;
  readonly runId: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly bootId: string;
  readonly said: { out: Uint8Array; err: Uint8Array };
  end: object | null;
  readonly changed: Set<() => void>;
}

const encoder = new TextEncoder();
const joined = (a: Uint8Array, b: Uint8Array): Uint8Array => Uint8Array.from([...a, ...b]);

/** Everything that runs in it. */
export class Container {
  readonly #server: FakeFleet;
  readonly processes: Process[] = [];
  readonly #streams = new Set<() => void>();
  readonly files = new Map<string, string>();
  /** What every run does as soon as it is started; the test does the rest. */
  onStart: (process: Process) => void = () => undefined;

  constructor(server: FakeFleet) {
    this.#server = server;
    server.answers.set("/exec", (body, signal) => this.#exec(execBodySchema.parse(body), signal));
    server.answers.set("/op", (body) => this.#stop(body));
    server.answers.set("/write", (body) => this.#write(body));
  }

  /** The ids of all that was ever started, in order. */
  get started(): string[] {
    return this.processes.map(({ id }) => id);
  }

  /** The last process of a run. */
  of(runId: string): Process {
    const found = this.processes.findLast((one) => one.runId === runId);
    if (found === undefined) throw new Error(`${runId} was not started`);
    return found;
  }

  say(process: Process, text: string | Uint8Array, stream: "out" | "err" = "out"): void {
    process.said[stream] = joined(process.said[stream], typeof text === "string" ? encoder.encode(text) : text);
    this.#tell(process);
  }

  finish(process: Process, more: object = {}): void {
    const { out, err } = process.said;
    const plain = { exit: 0, signal: null, endedAt: 1, cause: "exited", bootId: process.bootId };
    process.end ??= { type: "end", ...plain, out: out.length, err: err.length, ...more };
    this.#tell(process);
  }

  /** The container goes, and another one comes with nothing alive in it. */
  replace(bootId: string): void {
    this.#server.bootId = bootId;
    for (const process of this.processes) if (process.end === null) this.finish(process, { cause: "lost", exit: null });
  }

  /** The container goes with everything that it knew of its processes. */
  forget(bootId: string): void {
    this.replace(bootId);
    this.processes.length = 0;
  }

  /** Every stream breaks where it is; the processes go on. */
  cut(): void {
    for (const breaks of this.#streams) breaks();
    this.#streams.clear();
  }

  #tell(process: Process): void {
    for (const changed of process.changed) changed();
  }

  #stop(body: unknown): Response {
    const { runId, generation } = opBodySchema.parse(body);
    if (this.#server.isOld({ runId, generation })) return refusal("OLD_GENERATION");
    for (const process of this.processes)
      if (process.runId === runId) this.finish(process, { cause: "stopped", exit: null, signal: "SIGTERM" });
    return Response.json({ op: "stop", processes: [], work: null, said: "" });
  }

  #write(body: unknown): Response {
    const { threadKey, runId, generation, path, data } = writeBodySchema.parse(body);
    if (!this.#server.registered.has(runId)) return refusal("NEEDS_ATTACH");
    if (this.#server.isOld({ runId, generation })) return refusal("OLD_GENERATION");
    this.files.set(`${threadKey}/${path}`, Buffer.from(data, "base64").toString());
    const live = this.processes.filter((one) => one.runId === runId && one.end === null).length;
    return Response.json({ data, live });
  }

  #exec(body: ExecBody, signal: AbortSignal): Response {
    const { procId: id, runId, generation, command, bootId: meantFor, env } = body;
    if (!this.#server.registered.has(runId)) return refusal("NEEDS_ATTACH");
    if (this.#server.isOld({ runId, generation })) return refusal("OLD_GENERATION");
    if (command !== null && !mayStartIn(this.#server.bootId, meantFor)) return refusal("CONTAINER_REPLACED");
    let process = this.processes.find((one) => one.id === id);
    if (process === undefined) {
      if (command === null) return refusal("NO_SUCH_PROCESS");
      const said = { out: new Uint8Array(), err: new Uint8Array() };
      const { bootId } = this.#server;
      process = { id, runId, command, env, bootId, said, end: null, changed: new Set() };
      this.processes.push(process);
      this.onStart(process);
    } else if (command !== null && !isDeepStrictEqual([command, env], [process.command, process.env])) {
      return refusal("PROCESS_DIFFERS");
    }
    return this.#follow(process, body, signal);
  }

  #follow(process: Process, { out, err }: ExecBody, signal: AbortSignal): Response {
    const at = { out, err };
    const over = new AbortController();
    const { clock } = this.#server;
    const streams = this.#streams;
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const send = (line: object): void => controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
        const changed = (): void => {
          if (over.signal.aborted) return;
          for (const s of ["out", "err"] as const) {
            const bytes = process.said[s].subarray(at[s]);
            if (bytes.length > 0) send({ s, o: at[s], d: Buffer.from(bytes).toString("base64") });
            at[s] += bytes.length;
          }
          if (process.end === null) return;
          send(process.end);
          end();
          controller.close();
        };
        const end = (): void => {
          over.abort();
          process.changed.delete(changed);
        };
        const beat = (): Promise<void> =>
          clock
            .sleep(REAL.heartbeatMs, over.signal)
            .then(() => send({ type: "heartbeat" }))
            .then(beat);
        signal.addEventListener("abort", end, { once: true });
        streams.add(() => {
          if (over.signal.aborted) return;
          end();
          controller.error(new TypeError("terminated"));
        });
        process.changed.add(changed);
        void beat().catch(() => undefined);
        changed();
      },
      cancel: () => over.abort(),
    });
    return new Response(body, { headers: { "content-type": "application/x-ndjson" } });
  }
}
