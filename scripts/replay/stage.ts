// The stage: a fleet of its own in a temporary folder, with one repository, the night's clock, and everything that a replay
// may ask of it. What is on it is real: workerd, containers, git, the command line.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import type { Scope } from "#core/scopes.ts";
import { MINUTE, SECOND, type Instant } from "#core/time.ts";
import { clockOf, type Clock } from "#node/clock.ts";
import { findHostControl, type HostControl } from "#node/hostClient.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import { readBearers } from "#node/tokens.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { writeJsonFile } from "#node/files.ts";
import {
  auditSchema,
  healthSchema,
  watchFrameSchema,
  type AuditRow,
  type Health,
  type WatchFrame,
} from "#wire/fleet.ts";
import type { InsideList } from "#wire/host.ts";
import { jsonOf } from "#wire/parse.ts";
import { SCALE, type Evening } from "./evening.ts";
import { Actor } from "./actor.ts";

const root = resolve(import.meta.dirname, "../..");
export const REPO = "repo:local/switchboard";

const git = (cwd: string, ...args: string[]) =>
  execa("git", ["-c", "user.name=replay", "-c", "user.email=replay@localhost", "-c", "commit.gpgsign=false", ...args], {
    cwd,
  });

async function makeRepository(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await git(folder, "init", "-q", "-b", "main");
  writeFileSync(join(folder, "README.md"), "switchboard\n");
  await git(folder, "add", "README.md");
  await git(folder, "commit", "-q", "-m", "begin");
}

/** What a run on the stage waits for before it ends. */
export type Cue = "coding" | "review";

/** How long programs take to begin on this machine: they are started that much before their instant. */
export interface Leads {
  readonly runMs: number;
  readonly deployMs: number;
}

/** A fleet for one night. */
export class Stage {
  readonly home = mkdtempSync(join(tmpdir(), "tidegate-replay-"));
  readonly paths: StatePaths = pathsOf(this.home);
  readonly frames: WatchFrame[] = [];
  readonly actors: Actor[] = [];
  clock: Clock = { now: () => 0, sleep: () => Promise.resolve() };
  #supervisor: ChildProcess | undefined;
  #watching = true;
  #socket: WebSocket | undefined;

  /**
   * Makes the fleet and onboards the repository, then brings it up once more with the night's clock, set so that the
   * first act comes as soon as this machine can be ready for it. Answers how long a command line, and a deploy, takes to
   * begin here, on the night's clock.
   */
  async open(evening: Evening, say: (line: string) => void): Promise<Leads> {
    const repository = join(this.home, "switchboard");
    await makeRepository(repository);
    this.configure("1");
    const upMs = await this.#timed(() => this.#up());
    say("the fleet is made; onboarding the repository");
    await this.command(["repo", "add", repository, "--name", "local/switchboard"]).ended;
    const beginMs = await this.#timed(() => this.command(["drain", "status"]).ended);
    const deployMs = await this.#timed(() => this.command(["deploy", "all", "--dry-run"]).ended);
    await this.#down();
    const readyMs = upMs + beginMs + SECOND;
    const night = { realEpochMs: Date.now(), virtualEpochMs: evening.codingStarts - readyMs * SCALE, scale: SCALE };
    writeJsonFile(this.paths.clock, night);
    await this.#up();
    this.clock = clockOf(night);
    this.#watch();
    return { runMs: beginMs * SCALE, deployMs: deployMs * SCALE };
  }

  async #timed(work: () => Promise<unknown>): Promise<number> {
    const since = performance.now();
    await work();
    return performance.now() - since;
  }

  async #up(): Promise<void> {
    const child = spawn(process.execPath, ["scripts/replay/supervise.ts", "--home", this.home], {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: this.#env({}),
    });
    this.#supervisor = child;
    let words = "";
    child.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()));
    const ended = once(child, "exit").then(() => Promise.reject(new Error(`the fleet did not come up: ${words}`)));
    ended.catch(() => undefined);
    await Promise.race([once(child.stdout, "data"), ended]);
  }

  async #down(): Promise<void> {
    const child = this.#supervisor;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    await this.command(["down", "--now"]).ended;
    if (child.exitCode === null) child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }

  /** The file whose being there is the cue. */
  cueFile(cue: Cue): string {
    return join(this.home, `${cue}-ends`);
  }

  give(cue: Cue): void {
    if (existsSync(this.home)) writeFileSync(this.cueFile(cue), "");
  }

  /** What the image is made of: a release of this evening changes it. */
  configure(version: string): void {
    writeFileSync(join(this.home, "VERSION"), `${version}\n`);
    writeFileSync(this.paths.config, JSON.stringify({ port: 0, image: { files: ["VERSION"] } }));
  }

  #env(more: Readonly<Record<string, string>>): Record<string, string> {
    const kept = Object.entries(process.env).filter(
      ([name, value]) => value !== undefined && !name.startsWith("RESIDENT_"),
    );
    return {
      ...Object.fromEntries(kept.map(([name, value]) => [name, value ?? ""])),
      TIDEGATE_HOME: this.home,
      NO_COLOR: "1",
      ...more,
    };
  }

  /** A command line as a person types it, in a process of its own. */
  command(args: readonly string[], more: Readonly<Record<string, string>> = {}): Actor {
    const actor = new Actor(
      args,
      { cwd: this.home, env: this.#env(more), program: join(root, "bin/tidegate") },
      this.clock,
    );
    this.actors.push(actor);
    return actor;
  }

  /** Waits until an instant of the night. */
  async until(instant: Instant): Promise<void> {
    await this.clock.sleep(Math.max(0, instant - this.clock.now()));
  }

  /** Waits until a frame of the watch shows this, at most `minutes` of the night. */
  async sees(what: string, shows: (frame: WatchFrame) => boolean, minutes: number): Promise<WatchFrame> {
    for (const end = this.clock.now() + minutes * MINUTE; ; await this.clock.sleep(MINUTE / 20)) {
      const frame = this.frames.at(-1);
      if (frame !== undefined && shows(frame)) return frame;
      if (this.clock.now() > end) throw new Error(`never seen: ${what}`);
    }
  }

  get control(): HostControl {
    return findHostControl(this.paths);
  }

  inside(): Promise<InsideList> {
    return this.control.inside(REPO);
  }

  #bearer(scope: Scope): string {
    return readBearers(this.paths.tokens)?.[scope] ?? "";
  }

  async #get(path: string): Promise<unknown> {
    const url = readSupervisorFile(this.paths)?.url ?? "";
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${this.#bearer("read")}` } });
    return jsonOf(await response.text());
  }

  async health(): Promise<Health> {
    return healthSchema.parse(await this.#get("/healthz"));
  }

  async audit(): Promise<AuditRow[]> {
    return auditSchema.parse(await this.#get("/audit?after=0&limit=1000")).rows;
  }

  /** Keeps one watch up over every swap, and every frame of it. */
  #watch(): void {
    if (!this.#watching) return;
    const url = (readSupervisorFile(this.paths)?.url ?? "").replace("http", "ws");
    const socket = new WebSocket(`${url}/watch`, { headers: { authorization: `Bearer ${this.#bearer("read")}` } });
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const frame = watchFrameSchema.safeParse(jsonOf(String(data)));
      if (frame.success) this.frames.push(frame.data);
    });
    socket.addEventListener("close", () => void this.clock.sleep(MINUTE / 20).then(() => this.#watch()));
    socket.addEventListener("error", () => undefined);
  }

  /** Ends everything on the stage and takes the folder away. */
  async close(): Promise<void> {
    this.#watching = false;
    this.#socket?.close();
    for (const actor of this.actors) actor.end();
    await Promise.all(this.actors.map((actor) => actor.ended));
    await this.#down();
    rmSync(this.home, { recursive: true, force: true });
  }
}
