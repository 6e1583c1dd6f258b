// A home folder of a test, and a person who types in it: real processes of the command line, a real fleet, all of it
// ended with the test by its process ids.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import * as z from "zod";
import type { Drain } from "#core/drain.ts";
import { accessOf } from "#cli/access.ts";
import type { FleetClient } from "#client/fleet.ts";
import { clockOf, REAL_TIME, scaledFromNow } from "#node/clock.ts";
import { writeJsonFile } from "#node/files.ts";
import { findHostControl, type HostControl } from "#node/hostClient.ts";
import { allProcesses, environOf, readProcess, sendSignal, type ProcessRow } from "#node/processes.ts";
import { pathsOf, stackIdOf, type StatePaths } from "#node/stateFolder.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import type { RunRow } from "#wire/fleet.ts";
import { eventually, Typed, type End } from "./typed.ts";

/** The checkout under test. */
export const root = resolve(import.meta.dirname, "../..");
export const SAMPLE = "repo:local/sample";

/** Where a command is typed, when not in the home itself. */
export interface Wishes {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The process's own lines of stderr; a run's own bytes may stand among them. */
export const lastLine = (text: string): string => text.trimEnd().split("\n").at(-1) ?? "";

/** The test process that a home's name says it belongs to, so that what it leaves when it is killed is nobody's. */
const OWNER = /^tidegate-e2e-(\d+)-(\d+)-/;

/** Takes away the homes of test processes that were killed, with every process in them. */
function clearAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const [, pid, ticks] = OWNER.exec(name) ?? [];
    if (pid === undefined || readProcess(Number(pid))?.startTicks === Number(ticks)) continue;
    const folder = join(tmpdir(), name);
    for (const row of processesIn(pathsOf(folder))) sendSignal(row.pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
}

function newFolder(): string {
  clearAbandoned();
  const ticks = readProcess(process.pid)?.startTicks ?? 0;
  return realpathSync(mkdtempSync(join(tmpdir(), `tidegate-e2e-${process.pid}-${ticks}-`)));
}

/** Every process of a home: by its environment, by its container's mark, or by its command line. */
function processesIn(paths: StatePaths): ProcessRow[] {
  return allProcesses().filter((row) => {
    const env = environOf(row.pid);
    if (env["TIDEGATE_HOME"] === paths.home || isInside(env, paths)) return true;
    return commandLine(row.pid).includes(paths.home);
  });
}

const isInside = (env: Readonly<Record<string, string>>, paths: StatePaths): boolean =>
  env["TIDEGATE_CONTAINER"]?.startsWith(`${stackIdOf(paths)}/`) === true;

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** Git as a person has it on the machine, in a folder. */
export function git(folder: string, ...args: string[]): string {
  const who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
  return execFileSync("git", ["-C", folder, ...who, ...args], { encoding: "utf8", stdio: "pipe" }).trimEnd();
}

/** One home folder. */
export class Home {
  readonly folder: string;
  readonly paths: StatePaths;
  readonly #typed: Typed[] = [];
  readonly #held: string[] = [];

  constructor(config: Readonly<Record<string, unknown>> = {}) {
    this.folder = newFolder();
    this.paths = pathsOf(this.folder);
    this.configure(config);
  }

  configure(config: Readonly<Record<string, unknown>>): void {
    writeFileSync(this.paths.config, JSON.stringify({ port: 0, ...config }));
  }

  /** The stack that is to be started runs this many times as fast as real time. */
  scale(times: number): void {
    mkdirSync(this.paths.state, { mode: 0o700 });
    writeJsonFile(this.paths.clock, scaledFromNow(Date.now(), times));
  }

  #env(more: Readonly<Record<string, string>>): Record<string, string> {
    const kept = Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || /^(RESIDENT|TIDEGATE|NODE_TEST|npm)_/.test(name) ? [] : [[name, value]],
    );
    const here = { TIDEGATE_HOME: this.folder, GIT_CONFIG_GLOBAL: "/dev/null" };
    return { ...z.record(z.string(), z.string()).parse(Object.fromEntries(kept)), ...here, ...more };
  }

  /** Starts any program as the person here would. */
  start(program: string, args: readonly string[], { env = {}, cwd = this.folder }: Wishes = {}): Typed {
    const typed = new Typed(args, { program, cwd, env: this.#env(env) });
    this.#typed.push(typed);
    return typed;
  }

  /** Types `tidegate …` and looks on. */
  type(args: readonly string[], wishes: Wishes = {}): Typed {
    return this.start(join(root, "bin/tidegate"), args, wishes);
  }

  /** Types `tidegate …` and waits until it has ended. */
  tidegate(...args: string[]): Promise<End> {
    return this.type(args).ended;
  }

  /** Types a command that is to succeed; answers what it wrote on stdout. */
  async done(...args: string[]): Promise<string> {
    const { code, out, err } = await this.tidegate(...args);
    assert.equal(code, 0, `tidegate ${args.join(" ")}: ${out}${err}`);
    return out;
  }

  /** Brings the fleet up and waits for its screen. */
  async up(wishes: Wishes = {}): Promise<Typed> {
    const up = this.type(["up"], wishes);
    await up.says(/Events, newest last:\n/);
    return up;
  }

  /** Waits until a start has taken this folder. */
  async begins(up: Typed): Promise<void> {
    await eventually(
      () => `the start takes the folder: ${up.err}`,
      () => (readSupervisorFile(this.paths)?.supervisor.pid === up.pid ? true : undefined),
    );
  }

  /** Whether the fleet of this home is up and serves. */
  get isUp(): boolean {
    return readSupervisorFile(this.paths)?.ready === true;
  }

  get control(): HostControl {
    return findHostControl(this.paths);
  }

  /** The pid of the workerd that serves now. */
  get workerdPid(): number {
    const pid = readSupervisorFile(this.paths)?.workerd?.pid;
    assert.ok(pid !== undefined, "no workerd is up");
    return pid;
  }

  /** The fleet as the command line reaches it, for looks that are not what a test is about. */
  get fleet(): FleetClient {
    return accessOf({ cwd: this.folder, env: {}, packageRoot: this.folder, real: clockOf(REAL_TIME) }).fleet;
  }

  /** The runs in flight, asked of their residents. */
  async runs(): Promise<readonly RunRow[]> {
    return (await this.fleet.residents({ fresh: true })).runs;
  }

  async drains(): Promise<readonly Drain[]> {
    return (await this.fleet.drains()).drains;
  }

  /** A file that a run may wait for, by its path. */
  file(name: string): string {
    return join(this.folder, name);
  }

  touch(name: string): void {
    writeFileSync(this.file(name), "");
  }

  /** A command that says `begun`, waits for a file, and says `ended`. */
  held(file: string): string[] {
    this.#held.push(file);
    return ["sh", "-c", `echo begun; while [ ! -e '${this.file(file)}' ]; do sleep 0.05; done; echo ended`];
  }

  /** Lets every run end that a test has left behind. */
  letAllGo(): void {
    for (const file of this.#held) this.touch(file);
  }

  /** Makes a git repository with these files in its first commit. */
  repository(name: string, files: Readonly<Record<string, string>> = { README: "a repository\n" }): string {
    const folder = this.file(name);
    mkdirSync(folder, { recursive: true });
    for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, path), text);
    git(folder, "init", "-q", "-b", "main");
    git(folder, "add", ".");
    git(folder, "commit", "-q", "-m", "first");
    return folder;
  }

  /** Every process that belongs to this home. */
  processes(): ProcessRow[] {
    return processesIn(this.paths);
  }

  /** Every process of runs of this thread, whatever group or session it has gone to. */
  processesOf(thread: string): ProcessRow[] {
    return allProcesses().filter((row) => {
      const env = environOf(row.pid);
      return env["TIDEGATE_THREAD"] === thread && isInside(env, this.paths);
    });
  }

  /** What the supervisor wrote down last, for a failure's words. */
  log(): string {
    return readFileSync(join(this.paths.log, "supervisor.log"), "utf8").split("\n").slice(-30).join("\n");
  }

  /** Ends everything that was started here and takes the folder away. */
  async dispose(): Promise<void> {
    for (const typed of this.#typed) if (!typed.isOver) typed.signal("SIGKILL");
    await eventually(
      () => "every process of the test's home is gone",
      () => {
        const left = this.processes();
        for (const { pid } of left) sendSignal(pid, "SIGKILL");
        return left.length === 0 ? true : undefined;
      },
    );
    rmSync(this.folder, { recursive: true, force: true });
  }
}
