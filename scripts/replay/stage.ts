// The stage: a fleet of its own in a temporary folder, with its repositories, the night's clock, and everything that a replay
// may ask of it. What is on it is real: workerd, containers, git, the command line.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { HOUR, MINUTE, SECOND, type Instant } from "#core/time.ts";
import { clockOf, type Clock } from "#node/clock.ts";
import { writeJsonFile } from "#node/files.ts";
import { findHostControl, type HostControl } from "#node/hostClient.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import { watchFrameSchema, type WatchFrame } from "#wire/fleet.ts";
import { resourceOf, shortNameOf } from "#wire/names.ts";
import { jsonOf } from "#wire/parse.ts";
import { Actor, type Speech } from "./actor.ts";
import { FleetAsks } from "./fleetAsks.ts";
import { SCALE } from "./night.ts";

const root = resolve(import.meta.dirname, "../..");

/** The repository that is on every stage. */
export const REPO = resourceOf("local", "switchboard");

const git = (cwd: string, ...args: string[]) =>
  execa("git", ["-c", "user.name=replay", "-c", "user.email=replay@localhost", "-c", "commit.gpgsign=false", ...args], {
    cwd,
  });

async function makeRepository(folder: string, name: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await git(folder, "init", "-q", "-b", "main");
  writeFileSync(join(folder, "README.md"), `${name}\n`);
  await git(folder, "add", "README.md");
  await git(folder, "commit", "-q", "-m", "begin");
}

/** What a run on the stage waits for before it ends. */
export type Cue = "coding" | "review" | "working" | `unit-${string}`;

/** How long programs take to begin on this machine: they are started that much before their instant. */
export interface Leads {
  readonly runMs: number;
  readonly deployMs: number;
}

/** What stands on a stage. */
export interface Setting {
  readonly repositories: readonly string[];
  /** The one whose container the platform never cycles, if there is one. */
  readonly stuck: string | null;
  /** Whether ledger and bot stand beside the fleet. */
  readonly bot: boolean;
}

/** A fleet for one night. */
export class Stage {
  readonly home = mkdtempSync(join(tmpdir(), "tidegate-replay-"));
  readonly paths: StatePaths = pathsOf(this.home);
  readonly asks = new FleetAsks(this.paths);
  readonly frames: WatchFrame[] = [];
  readonly actors: Actor[] = [];
  clock: Clock = { now: () => 0, sleep: () => Promise.resolve() };
  readonly #setting: Setting;
  #supervisor: ChildProcess | undefined;
  readonly #over = new AbortController();
  #socket: WebSocket | undefined;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  /** Brings the fleet up on a night that begins at this instant, with its repositories onboarded. */
  async open(begins: Instant, say: (line: string) => void): Promise<void> {
    await this.#make(begins, say);
    this.#watch();
  }

  /**
   * Makes the fleet, then brings it up once more with the night's clock, set so that `first`, the first act, comes as
   * soon as this machine can be ready for it. Answers how long a command line, and a deploy, takes to begin here, on the
   * night's clock.
   */
  async openFor(first: Instant, say: (line: string) => void): Promise<Leads> {
    const upMs = await this.#make(first - HOUR, say);
    const beginMs = await this.#timed(() => this.command(["drain", "status"]).ended);
    const deployMs = await this.#timed(() => this.command(["deploy", "all", "--dry-run"]).ended);
    await this.#down();
    const readyMs = upMs + beginMs + SECOND;
    this.#setClock(first - readyMs * SCALE);
    await this.#up();
    this.#watch();
    return { runMs: beginMs * SCALE, deployMs: deployMs * SCALE };
  }

  /** Answers how long the fleet took to come up, in real time. */
  async #make(begins: Instant, say: (line: string) => void): Promise<number> {
    const { repositories } = this.#setting;
    await Promise.all(repositories.map((one) => makeRepository(this.#folderOf(one), shortNameOf(one))));
    this.configure("1");
    mkdirSync(this.paths.state, { recursive: true, mode: 0o700 });
    this.#setClock(begins);
    const upMs = await this.#timed(() => this.#up());
    say(`the fleet is made; onboarding ${repositories.map(shortNameOf).join(", ")}`);
    const added = repositories.map((one) =>
      this.command(["repo", "add", this.#folderOf(one), "--name", one.replace(/^repo:/, "")]),
    );
    for (const actor of added) {
      const { exit } = await actor.ended;
      if (exit !== 0) throw new Error(`a repository was not onboarded: ${actor.words("err")}`);
    }
    return upMs;
  }

  #folderOf(resource: string): string {
    return join(this.home, shortNameOf(resource));
  }

  #setClock(virtualEpochMs: Instant): void {
    const night = { realEpochMs: Date.now(), virtualEpochMs, scale: SCALE };
    writeJsonFile(this.paths.clock, night);
    this.clock = clockOf(night);
  }

  async #timed(work: () => Promise<unknown>): Promise<number> {
    const since = performance.now();
    await work();
    return performance.now() - since;
  }

  async #up(): Promise<void> {
    const { stuck, bot } = this.#setting;
    const words = ["scripts/replay/supervise.ts", "--home", this.home];
    if (stuck !== null) words.push("--stuck", stuck);
    if (bot) words.push("--bot");
    const child = spawn(process.execPath, words, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
      env: this.#env({}),
    });
    this.#supervisor = child;
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const ended = once(child, "exit").then(() => Promise.reject(new Error(`the fleet did not come up: ${said}`)));
    ended.catch(() => undefined);
    await Promise.race([once(child.stdout, "data"), ended]);
  }

  async #down(): Promise<void> {
    const child = this.#supervisor;
    this.#supervisor = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const ended = once(child, "exit");
    await this.control.down(true).catch(() => child.kill("SIGTERM"));
    await ended;
  }

  /** The file whose being there is the cue. */
  cueFile(cue: Cue): string {
    return join(this.home, `${cue}-ends`);
  }

  give(cue: Cue): void {
    if (existsSync(this.home)) writeFileSync(this.cueFile(cue), "");
  }

  /** A shell line that lives until its cue is given, whatever boot it is begun in. */
  livesUntil(cue: Cue, word: string): string {
    return `echo ${word}; while [ ! -e '${this.cueFile(cue)}' ]; do sleep 0.05; done; echo ${word} is done`;
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

  /** Waits until an instant of the night; rejects when the stage is closed before it. */
  async until(instant: Instant): Promise<void> {
    await this.clock.sleep(Math.max(0, instant - this.clock.now()), this.#over.signal);
  }

  /** Looks again and again until there is something, at most `minutes` of the night. */
  async finds<T>(what: string, find: () => T | undefined, minutes: number): Promise<T> {
    for (const end = this.clock.now() + minutes * MINUTE; ; await this.clock.sleep(MINUTE / 20)) {
      const found = find();
      if (found !== undefined) return found;
      if (this.clock.now() > end) throw new Error(`never seen: ${what}\n${this.#said()}`);
    }
  }

  /** Waits until a frame of the watch shows this, at most `minutes` of the night. */
  sees(what: string, shows: (frame: WatchFrame) => boolean, minutes: number): Promise<WatchFrame> {
    return this.finds(what, () => this.frames.slice(-1).find(shows), minutes);
  }

  /** Waits until an actor has said this, at most `minutes` of the night. */
  hears(actor: Actor, pattern: RegExp, minutes: number): Promise<Speech> {
    return this.finds(`a line like ${String(pattern)}`, () => actor.saying(pattern), minutes);
  }

  /** The last words of everybody on the stage, for whoever has to find out what went wrong. */
  #said(): string {
    const tail = (actor: Actor): string[] => actor.said.slice(-6).map(({ line }) => `    ${line}`);
    return this.actors.flatMap((actor) => [`  ${actor.typed}`, ...tail(actor)]).join("\n");
  }

  get control(): HostControl {
    return findHostControl(this.paths);
  }

  /** What the Worker has logged with these words in it. */
  logged(words: string): string[] {
    const log = readFileSync(join(this.paths.log, "workerd.log"), "utf8");
    return log.split("\n").filter((line) => line.includes(words));
  }

  /** Keeps one watch up over every swap, and every frame of it. */
  #watch(): void {
    if (this.#over.signal.aborted) return;
    const url = this.asks.url.replace("http", "ws");
    const socket = new WebSocket(`${url}/watch`, {
      headers: { authorization: `Bearer ${this.asks.bearer("read")}` },
    });
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
    this.#over.abort(new Error("the stage is closed"));
    this.#socket?.close();
    for (const actor of this.actors) actor.end();
    await Promise.all(this.actors.map((actor) => actor.ended));
    await this.#down();
    rmSync(this.home, { recursive: true, force: true });
  }
}
