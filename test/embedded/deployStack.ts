// A whole stack for the tests of a deploy: the real fleet Worker and agent, a clock 60 times as fast, one resident made
// from a git repository, and runs that live until the test lets them end.

import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { REAL } from "#core/budgets.ts";
import type { Binding } from "#wire/attach.ts";
import { accessOf, type FleetAccess } from "#cli/access.ts";
import { fleetSources, ownSources } from "#embed/sources.ts";
import { REAL_TIME, clockOf, scaledFromNow } from "#node/clock.ts";
import { allProcesses, environOf, sendSignal } from "#node/processes.ts";
import { pathsOf, stackIdOf, type StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { writeJsonFile } from "#node/files.ts";

/** How many times as fast as real time the stack's clock runs. */
export const SCALE = 60;
const RESOURCE = "repo:local/sample";

/** Looks again and again until there is something; a machine that many tests share gets its time. */
export async function eventually<T>(
  what: () => string,
  look: () => T | undefined | Promise<T | undefined>,
): Promise<T> {
  for (const end = performance.now() + 2 * REAL.startMs; ;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`never: ${what()}`);
    await pause(REAL.lookEveryMs);
  }
}

/** A run that works until it is let go. */
export interface HeldRun {
  readonly binding: Binding;
  /** Lets it end. */
  go(): void;
  /** Its exit code and all its output, once it has ended and given its registration back. */
  readonly ended: Promise<{ readonly code: number | null; readonly output: string }>;
}

/** How a deployer's process ended, with all it wrote. */
export interface DeployerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly said: string;
}

/** A deployer at work. */
export interface Deployer {
  readonly child: ChildProcess;
  /** What it has said to a person so far. */
  readonly said: () => string;
  readonly ended: Promise<DeployerEnd>;
}

/** One stack of a test, ended with it. */
export class DeployStack {
  readonly home: string;
  readonly paths: StatePaths;
  readonly #children: ChildProcess[] = [];
  readonly #servers: Server[] = [];
  #releases = 0;
  #runs = 0;

  private constructor(home: string) {
    this.home = home;
    this.paths = pathsOf(home);
  }

  /** Brings a stack up with its one resident ready; whoever asked for it disposes of it. */
  static async up(parts: "fleet" | "all" = "fleet"): Promise<DeployStack> {
    const stack = new DeployStack(mkdtempSync(join(tmpdir(), "tidegate-deploy-")));
    try {
      writeFileSync(
        join(stack.home, "tidegate.jsonc"),
        JSON.stringify({ port: 0, kinds: { held: { lease: "6h" } }, image: { files: ["VERSION"] } }),
      );
      stack.newImage();
      mkdirSync(stack.paths.state, { mode: 0o700 });
      writeJsonFile(stack.paths.clock, scaledFromNow(Date.now(), SCALE));
      const { ledger = "", bot = "" } = ownSources();
      await stack.#supervise(parts === "all" ? ["--ledger", ledger, "--bot", bot] : []);
      await stack.#onboard();
      return stack;
    } catch (error) {
      await stack.dispose();
      throw error;
    }
  }

  async #supervise(flags: readonly string[]): Promise<void> {
    const { worker, agent } = fleetSources();
    const entry = join(import.meta.dirname, "fixtures", "hostUp.ts");
    const child = spawn(
      process.execPath,
      [entry, "--home", this.home, "--worker", worker, "--agent", agent, ...flags],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    this.#children.push(child);
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    await eventually(
      () => `the stack is up: ${err}`,
      () => {
        if (child.exitCode !== null) throw new Error(`the supervisor ended: ${err}`);
        return out.includes("\n") ? true : undefined;
      },
    );
  }

  async #onboard(): Promise<void> {
    const source = join(this.home, "sample");
    mkdirSync(source);
    writeFileSync(join(source, "README"), "a sample\n");
    const git = (...args: string[]) =>
      execa("git", ["-C", source, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    await git("init", "-q", "-b", "main");
    await git("add", "README");
    await git("commit", "-q", "-m", "first");
    await this.access().fleet.onboard({ resource: RESOURCE, url: source, setup: null, test: null });
  }

  /** How a caller reaches this stack right now; as an administrator it holds no other bearer. */
  access(as: "anyone" | "admin" = "anyone"): FleetAccess {
    const env =
      as === "anyone" ? {} : { RESIDENT_OPERATOR_TOKEN: "", RESIDENT_READ_TOKEN: "", RESIDENT_DRAIN_TOKEN: "" };
    return accessOf({ cwd: this.home, env, packageRoot: this.home, real: clockOf(REAL_TIME) });
  }

  /** Starts a deployer of this stack, with what its test composition root takes. */
  deployer(args: readonly string[] = [], env: Record<string, string> = {}): Deployer {
    const entry = new URL("./deployerWithKill.ts", import.meta.url);
    const child = spawn(process.execPath, [fileURLToPath(entry), "--home", this.home, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, NODE_COMPILE_CACHE: join(this.home, "compiled"), ...env },
    });
    this.#children.push(child);
    let [out, said] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = new Promise<DeployerEnd>((resolve) =>
      child.once("close", (code, signal) => resolve({ code, signal, out, said })),
    );
    return { child, said: () => said, ended };
  }

  /** Makes the folder say another image, so that the next swap replaces every container. */
  newImage(): void {
    this.#releases += 1;
    writeFileSync(join(this.home, "VERSION"), `${this.#releases}\n`);
  }

  /** Starts a run whose shell waits for a file. */
  async hold(): Promise<HeldRun> {
    this.#runs += 1;
    const { fleet } = this.access();
    const [runId, threadKey] = [`run-held-${this.#runs}`, `cli:held-${this.#runs}`];
    const ofRun = { resource: RESOURCE, runId, threadKey };
    const body = {
      ...ofRun,
      generation: 0,
      runKind: "held",
      remainingMs: null,
      parent: null,
      replace: { by: "nobody" as const },
      ref: null,
    };
    const binding = await fleet.attach(body);
    const file = join(this.home, `go-${this.#runs}`);
    const script = `echo begun; while [ ! -e '${file}' ]; do sleep 0.05; done; echo ended`;
    const lines = fleet.exec({
      ...ofRun,
      generation: 0,
      procId: `proc-${runId}`,
      command: ["sh", "-c", script],
      bootId: binding.bootId,
      env: {},
      out: 0,
      err: 0,
    });
    const ended = this.#follow(lines, ofRun);
    ended.catch(() => undefined);
    return { binding, go: () => writeFileSync(file, ""), ended };
  }

  /** Lets every run end that a test has left behind. */
  letAllGo(): void {
    for (let run = 1; run <= this.#runs; run += 1) writeFileSync(join(this.home, `go-${run}`), "");
  }

  async #follow(
    lines: ReturnType<FleetAccess["fleet"]["exec"]>,
    ofRun: { resource: string; runId: string; threadKey: string },
  ) {
    let [code, output]: [number | null, string] = [null, ""];
    for await (const line of lines) {
      if ("s" in line) output += Buffer.from(line.d, "base64").toString();
      else if (line.type === "end") code = line.exit;
    }
    await this.access().fleet.detach({ ...ofRun, generation: 0 });
    return { code, output };
  }

  /** From now on the supervisor is reached through a proxy that passes a swap on and cuts its answer off. */
  async cutSwapAnswers(): Promise<void> {
    const file = readSupervisorFile(this.paths);
    if (file === undefined) throw new Error("no supervisor is up");
    const proxy = createServer((asked, answer) => {
      const on = request(
        `${file.hostUrl}${asked.url ?? ""}`,
        { method: asked.method ?? "GET", headers: asked.headers },
        (answered) => {
          if (asked.url?.includes("/control/swap") === true) {
            answered.resume().once("end", () => answer.destroy());
            return;
          }
          answer.writeHead(answered.statusCode ?? 502, answered.headers);
          answered.pipe(answer);
        },
      );
      on.once("error", () => answer.destroy());
      asked.pipe(on);
    });
    this.#servers.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const address = proxy.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    writeJsonFile(this.paths.supervisor, { ...file, hostUrl: `http://127.0.0.1:${address.port}` });
  }

  /** Every process of this stack's containers. */
  #containerPids(): number[] {
    const mark = `${stackIdOf(this.paths)}/`;
    return allProcesses()
      .map((row) => row.pid)
      .filter((pid) => environOf(pid)["TIDEGATE_CONTAINER"]?.startsWith(mark) === true);
  }

  /** Stops every process of the containers where it stands, as an overloaded machine would; answers how they go on. */
  freeze(): () => void {
    const pids = this.#containerPids();
    for (const pid of pids) sendSignal(pid, "SIGSTOP");
    return () => pids.forEach((pid) => sendSignal(pid, "SIGCONT"));
  }

  async dispose(): Promise<void> {
    for (const server of this.#servers) server.close();
    for (const child of this.#children) child.kill("SIGKILL");
    const workerd = readSupervisorFile(this.paths)?.workerd;
    if (workerd) sendSignal(workerd.pid, "SIGKILL");
    await eventually(
      () => "every process of the test's stack is gone",
      () => {
        const left = this.#containerPids();
        for (const pid of left) sendSignal(pid, "SIGKILL");
        return left.length === 0 ? true : undefined;
      },
    );
    rmSync(this.home, { recursive: true, force: true });
  }
}
