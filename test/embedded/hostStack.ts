// A stack in a folder of its own for a test: real supervisor processes, real workerd, real containers; all of it ended at the end.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { fleetSources, type Sources } from "#embed/sources.ts";
import { hostProblemSchema, statusSchema, type HostProblem, type SwapAsk } from "#wire/host.ts";
import { findHostControl, type HostControl } from "#node/hostClient.ts";
import { prepareRelease, type PreparedRelease } from "#embed/release.ts";
import { allProcesses, environOf, sendSignal } from "#node/processes.ts";
import { pathsOf, stackIdOf, type StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";

const fixtures = join(import.meta.dirname, "fixtures");
const readySchema = z.object({ notes: z.array(z.string()), status: statusSchema, first: z.boolean() });
export type Ready = z.infer<typeof readySchema>;
export type WorkerName = "hostWorkerA" | "hostWorkerB" | "hostWorkerBroken";

/** What a supervisor's process came to. */
export interface Up {
  readonly child: ChildProcess;
  readonly ready: Ready;
  /** What it has said to a person so far. */
  readonly said: () => string;
}

/** Looks again and again until there is something, at most thirty seconds, since the machine may be busy with other tests. */
export async function eventually<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const end = performance.now() + 30_000; ;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`never: ${what}`);
    await pause(10);
  }
}

/** What ends a stack: one test, or all tests of a file. */
export interface Ender {
  after(end: () => Promise<void>): void;
}

/** A home folder, and everything that a test does with its stack. */
export class HostStack {
  readonly home: string;
  readonly paths: StatePaths;
  readonly #children: ChildProcess[] = [];
  readonly #flags: readonly string[];

  constructor(context: Ender, config: unknown = {}, flags: readonly string[] = []) {
    this.home = mkdtempSync(join(tmpdir(), "tidegate-host-"));
    this.paths = pathsOf(this.home);
    this.#flags = flags;
    this.configure(config);
    context.after(() => this.dispose());
  }

  configure(config: unknown): void {
    writeFileSync(
      join(this.home, "tidegate.jsonc"),
      JSON.stringify({ port: 0, ...z.record(z.string(), z.unknown()).parse(config) }),
    );
  }

  sources(worker: WorkerName = "hostWorkerA"): Sources {
    return {
      root: fleetSources().root,
      worker: join(fixtures, `${worker}.js`),
      agent: join(fixtures, "hostAgent.mjs"),
    };
  }

  #spawn(env: Record<string, string>): ChildProcess {
    const { worker, agent, ledger, bot } = this.sources();
    const args = [
      join(fixtures, "hostUp.ts"),
      "--home",
      this.home,
      "--worker",
      worker,
      "--agent",
      agent,
      ...(ledger === undefined || bot === undefined ? [] : ["--ledger", ledger, "--bot", bot]),
      ...this.#flags,
    ];
    const child = spawn(process.execPath, args, {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    this.#children.push(child);
    return child;
  }

  /** Starts a supervisor and waits until it is up. */
  async up(env: Record<string, string> = {}): Promise<Up> {
    const child = this.#spawn(env);
    let [out, err] = ["", ""];
    child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
    await eventually(`the supervisor is up: ${err}`, () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the supervisor ended: ${err}`);
      return out.includes("\n") ? true : undefined;
    });
    return { child, ready: readySchema.parse(JSON.parse(out)), said: () => err };
  }

  /** Starts a supervisor that must be refused; answers its exit code and problem. */
  async refused(env: Record<string, string> = {}): Promise<{ exitCode: number | null; problem: HostProblem }> {
    const child = this.#spawn(env);
    let err = "";
    child.stderr?.on("data", (chunk: Buffer) => (err += chunk.toString()));
    await new Promise((resolve) => child.once("close", resolve));
    const last = err.trimEnd().split("\n").at(-1) ?? "";
    return { exitCode: child.exitCode, problem: hostProblemSchema.parse(JSON.parse(last)) };
  }

  control(): HostControl {
    return findHostControl(this.paths);
  }

  /** The public address of the stack that is up. */
  get url(): string {
    return readSupervisorFile(this.paths)?.url ?? "";
  }

  async get(path: string): Promise<Record<string, unknown>> {
    return z.record(z.string(), z.unknown()).parse(await (await fetch(`${this.url}${path}`)).json());
  }

  async post(path: string, body: unknown): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.url}${path}`, { method: "POST", body: JSON.stringify(body) });
    return z.record(z.string(), z.unknown()).parse(await response.json());
  }

  /** Asks the host API as the fleet Worker does: from inside workerd. */
  fromWorker(path: string, resource: string): Promise<Record<string, unknown>> {
    return this.post(`/host?path=${path}`, { resource });
  }

  prepare(worker: WorkerName): Promise<PreparedRelease> {
    const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
    return prepareRelease({ paths: this.paths, sources: this.sources(worker), building });
  }

  /** Makes the registry of the fixture say that this drain is live and swapping. */
  async sealed(id: string): Promise<void> {
    const drain = {
      id,
      since: 1,
      until: 9_000_000,
      by: "a test",
      reason: "a swap",
      principal: "drain",
      deploy: true,
      phase: "swapping",
      phaseSince: 1,
      phaseUntil: 900_000,
    };
    await this.post("/drain", {
      now: 100,
      drains: [{ ...drain, build: null, holds: [], sealing: { state: "sealed", attempt: 1, until: 900_000 } }],
    });
  }

  async swap(ask: SwapAsk) {
    return this.control().swap(ask);
  }

  /** Every process of this stack's containers. */
  containerPids(): number[] {
    const mark = `${stackIdOf(this.paths)}/`;
    return allProcesses()
      .map((row) => row.pid)
      .filter((pid) => environOf(pid)["TIDEGATE_CONTAINER"]?.startsWith(mark) === true);
  }

  /** The names of everything in the state folder and when it was last changed. */
  listing(): string[] {
    return readdirSync(this.paths.state, { recursive: true }).map(String).toSorted();
  }

  async dispose(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    const workerd = readSupervisorFile(this.paths)?.workerd;
    if (workerd) sendSignal(workerd.pid, "SIGKILL");
    await eventually("every process of the test's stack is gone", () => {
      const left = this.containerPids();
      for (const pid of left) sendSignal(pid, "SIGKILL");
      return left.length === 0 ? true : undefined;
    });
    rmSync(this.home, { recursive: true, force: true });
  }
}
