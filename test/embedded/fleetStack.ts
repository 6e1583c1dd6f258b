// The fleet as a test reaches it: a stack with the real Worker, the real agent and repositories that git made, spoken to
// over HTTP with each scope's bearer. What the fleet answers is read by the schemas of wire/ and by nothing else.

import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after } from "node:test";
import type * as z from "zod";
import { REAL } from "#core/budgets.ts";
import type { Scope } from "#core/scopes.ts";
import { fleetSources, type Sources } from "#embed/sources.ts";
import { outputLine, type ProcEnd } from "#wire/agent.ts";
import {
  attachLineSchema,
  detachAnswerSchema,
  onboardLineSchema,
  type AttachBody,
  type Binding,
  type DetachAnswer,
} from "#wire/attach.ts";
import { drainAnswerSchema, drainsSchema, undrainAnswerSchema, type DrainBody } from "#wire/drain.ts";
import { problemSchema, type Problem } from "#wire/errors.ts";
import { auditSchema, residentsSchema, type AuditRow, type Residents } from "#wire/fleet.ts";
import { jsonOf } from "#wire/parse.ts";
import { readBearers } from "#node/tokens.ts";
import { eventually, HostStack } from "./hostStack.ts";

/** One answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly text: string;
}

/** What one attach came to: a status before the first byte, or a stream and its last line. */
export interface Attached {
  readonly status: number;
  readonly headers: Headers;
  readonly binding: Binding | undefined;
  readonly problem: Problem | undefined;
  readonly progress: readonly string[];
}

/** Output of a process as far as it was read. */
export interface Output {
  readonly out: string;
  readonly end: ProcEnd | undefined;
  /** Why the stream stopped without an end. */
  readonly cut: unknown;
}

/** A run as a test names it. */
export interface Run {
  readonly resource: string;
  readonly runId: string;
  readonly threadKey: string;
}

const drainRefusal = problemSchema.extend({ draining: drainsSchema.shape.draining.unwrap() });

/** The lines of an ndjson answer as they come. */
async function* linesOf<T>(response: Response, schema: z.ZodType<T>): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of response.body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield schema.parse(jsonOf(line));
  }
}

/** The lines of an ndjson answer, once it is over. */
async function allLines<T>(response: Response, schema: z.ZodType<T>): Promise<T[]> {
  const lines: T[] = [];
  for await (const line of linesOf(response, schema)) lines.push(line);
  return lines;
}

/** Runs git in a folder with an identity of its own. */
export function git(folder: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...identity, ...args], { cwd: folder, encoding: "utf8" }).trim();
}

/** A repository with one commit inside a folder of the test. */
export function newRepository(home: string): string {
  const folder = mkdtempSync(join(home, "repository-"));
  git(folder, "init", "--quiet");
  writeFileSync(join(folder, "README.md"), "a repository of a test\n");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "--message", "first");
  return folder;
}

/** A stack with the product's own Worker and agent, shared by the tests of one file and ended after them. */
export class FleetStack extends HostStack {
  /** Another way in than the front, such as a proxy of the test. */
  via: string | undefined;
  #runs = 0;

  constructor(scale: number, config: unknown = {}) {
    super({ after }, config, ["--scale", String(scale)]);
  }

  override sources(): Sources {
    return fleetSources();
  }

  bearer(scope: Scope): string {
    return readBearers(this.paths.tokens)?.[scope] ?? "";
  }

  /** A request with this scope's bearer, or with none; it is not read. */
  open(scope: Scope | null, path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (scope !== null) headers.set("authorization", `Bearer ${this.bearer(scope)}`);
    return fetch(`${this.via ?? this.url}${path}`, { ...init, headers });
  }

  /** A request with a JSON body, or without one a GET, read whole. */
  async ask(scope: Scope | null, path: string, body?: unknown): Promise<Answer> {
    const json = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await this.open(scope, path, body === undefined ? {} : json);
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: jsonOf(text), text };
  }

  /** The code of a refused request; fails when it was not refused. */
  async refusal(scope: Scope | null, path: string, body?: unknown): Promise<Problem> {
    const answer = await this.ask(scope, path, body);
    if (answer.status < 400) throw new Error(`${path} was not refused: ${answer.text}`);
    return problemSchema.parse(answer.body);
  }

  async #read<T>(schema: z.ZodType<T>, answer: Promise<Answer>): Promise<T> {
    const { status, body, text } = await answer;
    if (status !== 200) throw new Error(`${status} ${text}`);
    return schema.parse(body);
  }

  residents(fresh = false): Promise<Residents> {
    return this.#read(residentsSchema, this.ask("read", fresh ? "/residents?fresh=1" : "/residents"));
  }

  drains() {
    return this.#read(drainsSchema, this.ask("read", "/drain"));
  }

  async auditRows(): Promise<AuditRow[]> {
    return (await this.#read(auditSchema, this.ask("read", "/audit?after=0&limit=1000"))).rows;
  }

  /** Closes the fleet: for a deploy unless the test says otherwise. */
  drain(id: string, more: Partial<DrainBody> = {}) {
    const body = { id, minutes: 65, by: "a test", reason: "a test closes it", deploy: true, ...more };
    return this.#read(drainAnswerSchema, this.ask("drain", "/drain", body));
  }

  /** A deployer that is alive: it asks for its drain again and again until it is told to stop. */
  async pulsing(id: string): Promise<() => void> {
    await this.drain(id);
    const beat = setInterval(() => void this.drain(id).catch(() => clearInterval(beat)), REAL.recheckMs);
    return () => clearInterval(beat);
  }

  lift(id: string, outcome?: string) {
    return this.#read(
      undrainAnswerSchema,
      this.ask("drain", "/undrain", { id, ...(outcome === undefined ? {} : { outcome }) }),
    );
  }

  seal(id: string) {
    return this.#read(drainAnswerSchema, this.ask("drain", "/seal", { id }));
  }

  /** Lifts whatever closes the fleet, so that the next test begins with it open. */
  async reopen(): Promise<void> {
    for (const { id } of (await this.drains()).drains) await this.lift(id, "none");
  }

  /** Onboards a repository, made anew where none is given. */
  async onboard(name: string, more: { url?: string; setup?: string } = {}): Promise<string> {
    const resource = `repo:test/${name}`;
    const body = {
      resource,
      url: more.url ?? newRepository(this.home),
      ...(more.setup === undefined ? {} : { setup: more.setup }),
    };
    const last = await this.onboarded(body);
    if (last?.type !== "resident") throw new Error(JSON.stringify(last));
    return resource;
  }

  /** The last line of an onboarding. */
  async onboarded(body: { resource: string; url: string; setup?: string }) {
    const init = { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await this.open("admin", "/onboard", init);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return (await allLines(response, onboardLineSchema)).at(-1);
  }

  /** A run that nobody has named before. */
  newRun(resource: string): Run {
    this.#runs += 1;
    return { resource, runId: `run-${this.#runs}-${process.pid}`, threadKey: `test:${this.#runs}` };
  }

  /** Attaches and reads to the last line. */
  async attach(run: Run, more: Partial<Omit<AttachBody, keyof Run>> = {}): Promise<Attached> {
    const init = {
      method: "POST",
      body: JSON.stringify({ ...run, ...more }),
      headers: { "content-type": "application/json" },
    };
    const response = await this.open("operator", "/attach", init);
    const { status, headers } = response;
    const nothing = { status, headers, binding: undefined, problem: undefined, progress: [] };
    if (status !== 200) return { ...nothing, problem: problemSchema.parse(jsonOf(await response.text())) };
    const lines = await allLines(response, attachLineSchema);
    const progress = lines.flatMap((line) => (line.type === "progress" ? [line.line] : []));
    const last = lines.at(-1);
    if (last?.type === "binding") return { ...nothing, progress, binding: last.binding };
    return { ...nothing, progress, problem: last?.type === "error" ? last.problem : undefined };
  }

  /** Attaches a run that must be admitted. */
  async admitted(run: Run, more: Partial<Omit<AttachBody, keyof Run>> = {}): Promise<Binding> {
    const { binding, problem } = await this.attach(run, more);
    if (binding === undefined) throw new Error(`not admitted: ${JSON.stringify(problem)}`);
    return binding;
  }

  /** A new run in flight. */
  async inFlight(resource: string, more: Partial<Omit<AttachBody, keyof Run>> = {}): Promise<Run> {
    const run = this.newRun(resource);
    await this.admitted(run, more);
    return run;
  }

  /** Starts or follows a process and reads its output until `enough`, its end, or a cut. */
  async exec(
    run: Run,
    proc: { id: string; shell?: string; from?: number },
    enough: (out: string) => boolean = () => false,
  ): Promise<Output> {
    const command = proc.shell === undefined ? null : ["sh", "-c", proc.shell];
    const body = JSON.stringify({ ...run, procId: proc.id, command, out: proc.from ?? 0 });
    const over = new AbortController();
    const init = { method: "POST", body, headers: { "content-type": "application/json" }, signal: over.signal };
    const response = await this.open("operator", "/exec", init);
    if (response.status !== 200) throw new Error(`exec: ${response.status} ${await response.text()}`);
    const chunks: Buffer[] = [];
    const out = (): string => Buffer.concat(chunks).toString();
    try {
      for await (const line of linesOf(response, outputLine)) {
        if ("s" in line && line.s === "out") chunks.push(Buffer.from(line.d, "base64"));
        if (line.type === "end") return { out: out(), end: line, cut: undefined };
        if (enough(out())) return { out: out(), end: undefined, cut: undefined };
      }
    } catch (cut) {
      return { out: out(), end: undefined, cut };
    } finally {
      over.abort();
    }
    return { out: out(), end: undefined, cut: "the stream ended without the process's end" };
  }

  /** The command lines of what is found inside a resident's container. */
  async commands(resource: string): Promise<string[]> {
    return (await this.control().inside(resource)).processes.map(({ command }) => command);
  }

  /** Waits until these are found inside: what a shell prints comes before its `exec` or its child's. */
  untilInside(resource: string, ...commands: readonly string[]): Promise<true> {
    return eventually(`inside: ${commands.join(", ")}`, async () => {
      const found = await this.commands(resource);
      return commands.every((one) => found.includes(one)) ? true : undefined;
    });
  }

  detach(run: Run, generation = 0): Promise<DetachAnswer> {
    return this.#read(detachAnswerSchema, this.ask("operator", "/detach", { ...run, generation }));
  }

  /** Ends every run in flight. */
  async clear(): Promise<void> {
    for (const { resource, runId, threadKey, generation } of (await this.residents()).runs) {
      await this.detach({ resource, runId, threadKey }, generation);
    }
    await this.untilResidents("nothing is in flight", ({ runs, attaching }) => runs.length === 0 && attaching === 0);
  }

  /** Reads the registry's sum until it says so. */
  untilResidents(what: string, says: (residents: Residents) => boolean): Promise<Residents> {
    return eventually(what, async () => {
      const residents = await this.residents();
      return says(residents) ? residents : undefined;
    });
  }

  /** The record that a refusal carries. */
  refusedBy(problem: Problem | undefined) {
    return drainRefusal.parse(problem).draining;
  }
}
