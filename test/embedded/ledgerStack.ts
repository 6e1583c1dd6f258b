// The ledger as a test reaches it: the product's own Worker in real workerd over a folder of the test's own, started and
// killed as the test says, and spoken to over HTTP with each scope's bearer.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serialize } from "node:v8";
import { DatabaseSync } from "node:sqlite";
import * as z from "zod";
import { ledgerClient, type LedgerClient } from "#client/ledger.ts";
import type { Scope } from "#core/scopes.ts";
import { bundleWorker, keepBundle, type Bundle } from "#embed/bundles.ts";
import { fleetSources } from "#embed/sources.ts";
import { endWorkerd, startWorkerd, type Workerd } from "#embed/workerd.ts";
import { LEDGER_WORKER } from "#embed/workerdConfig.ts";
import { clockOf, REAL_TIME, scaledFromNow } from "#node/clock.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import { bearerVariables, makeBearers, type Bearers } from "#node/tokens.ts";
import { HOST_PROTOCOL, type ClockSetting, type Settings } from "#wire/host.ts";
import { jsonOf } from "#wire/parse.ts";

/** One answer, read whole. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
  readonly text: string;
}

const lineSchema = z.looseObject({ part: z.string(), event: z.string() });

let bundled: Promise<Bundle> | undefined;
/** The same Worker for every ledger of this process. */
function theWorker(): Promise<Bundle> {
  const { root } = fleetSources();
  return (bundled ??= bundleWorker(join(root, "src/ledger/entry.ts"), root));
}

/** A ledger whose workerd the test owns; it is gone with `dispose`. */
export class LedgerStack {
  readonly paths: StatePaths;
  readonly bearers: Bearers;
  readonly client: LedgerClient;
  readonly #clock: ClockSetting;
  #workerd: Workerd | undefined;

  private constructor(scale: number) {
    this.paths = pathsOf(mkdtempSync(join(tmpdir(), "tidegate-ledger-")));
    mkdirSync(this.paths.state);
    this.bearers = makeBearers(this.paths.tokens);
    this.#clock = scaledFromNow(Date.now(), scale);
    const url = (): string => this.url;
    this.client = ledgerClient({
      get baseUrl() {
        return url();
      },
      fetch,
      bearer: (scope) => this.bearers[scope],
      real: clockOf(REAL_TIME),
    });
  }

  /** A ledger that answers, and knows nothing. */
  static async begin(scale: number): Promise<LedgerStack> {
    const bundle = await theWorker();
    const stack = new LedgerStack(scale);
    try {
      keepBundle(stack.paths, bundle);
      await stack.start();
    } catch (error) {
      await stack.dispose();
      throw error;
    }
    return stack;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#workerd?.port ?? 0}`;
  }

  async #settings(): Promise<Settings> {
    const build = { commit: "commit-1", bundle: (await theWorker()).id, image: "none" };
    return {
      protocol: HOST_PROTOCOL,
      clock: this.#clock,
      build,
      generation: 1,
      drainId: "drain-1",
      kinds: {},
      hostUrl: "",
    };
  }

  /** Starts a workerd over the same storage. */
  async start(): Promise<void> {
    this.#workerd = await startWorkerd({
      worker: LEDGER_WORKER,
      paths: this.paths,
      settings: await this.#settings(),
      secrets: bearerVariables(this.bearers),
      path: process.env["PATH"] ?? "",
      onSpawned: () => undefined,
    });
  }

  /** Ends workerd by SIGKILL, in the middle of whatever it does. */
  async kill(): Promise<void> {
    if (this.#workerd !== undefined) await endWorkerd(this.#workerd.id);
  }

  /** Another process over the same storage. */
  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async dispose(): Promise<void> {
    await this.kill();
    rmSync(this.paths.home, { recursive: true, force: true });
  }

  /** A request with this scope's bearer, a text in its place, or none. */
  async ask(bearer: Scope | { readonly token: string } | null, path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    const token = typeof bearer === "string" ? this.bearers[bearer] : bearer?.token;
    if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
    const response = await fetch(`${this.url}${path}`, { ...init, headers });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: jsonOf(text), text };
  }

  /** A POST with a JSON body. */
  post(bearer: Scope | { readonly token: string } | null, path: string, body: unknown): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    return this.ask(bearer, path, { method: "POST", headers, body: JSON.stringify(body) });
  }

  /** How often the object has come to life. */
  boots(): number {
    return this.log().filter(({ part, event }) => part === "ledger" && event === "boot").length;
  }

  /** The Worker's log, line by line. */
  log(): z.infer<typeof lineSchema>[] {
    return readFileSync(join(this.paths.log, "ledger.log"), "utf8")
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => lineSchema.parse(jsonOf(line)));
  }

  get #file(): string {
    const folder = join(this.paths.storage, "tidegate-ledger");
    return join(folder, readdirSync(folder).find((name) => /^[0-9a-f]{64}\.sqlite$/.test(name)) ?? "");
  }

  #database(): DatabaseSync {
    return new DatabaseSync(this.#file);
  }

  /** Spoils the object's file; no workerd lives meanwhile. */
  async spoil(): Promise<void> {
    await this.kill();
    const file = this.#file;
    for (const part of ["-wal", "-shm"]) rmSync(`${file}${part}`, { force: true });
    writeFileSync(file, "this is no database, and was one");
    await this.start();
  }

  /** Writes keys of the object as a hand or another build might have; null takes one away. No workerd lives meanwhile. */
  async byHand(keys: Readonly<Record<string, unknown>>): Promise<void> {
    await this.kill();
    const database = this.#database();
    for (const [key, value] of Object.entries(keys))
      if (value === null) database.prepare("DELETE FROM _cf_KV WHERE key = ?").run(key);
      else database.prepare("INSERT OR REPLACE INTO _cf_KV (key, value) VALUES (?, ?)").run(key, serialize(value));
    database.close();
    await this.start();
  }

  /** The keys that lie on disk now. */
  storedKeys(): string[] {
    const database = this.#database();
    const rows = z.array(z.object({ key: z.string() })).parse(database.prepare("SELECT key FROM _cf_KV").all());
    database.close();
    return rows.map(({ key }) => key);
  }
}
