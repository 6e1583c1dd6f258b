// A real agent for tests: its own process, folders and token, spoken to over its port as a resident does.

import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import {
  agentPortFile,
  outputLine,
  procView,
  type AgentPortFile,
  type OutputLine,
  type ProcView,
} from "#wire/agent.ts";

const TOKEN = "a-token-of-the-tests-0123456789";

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** One agent of a test. */
export class AgentForTests {
  readonly folder: string;
  child: ChildProcess;
  port: AgentPortFile;

  private constructor(folder: string, child: ChildProcess, port: AgentPortFile) {
    this.folder = folder;
    this.child = child;
    this.port = port;
  }

  /** Starts one over a new folder. */
  static async start(): Promise<AgentForTests> {
    const folder = await mkdtemp(join(tmpdir(), "tidegate-agent-"));
    await mkdir(join(folder, "image", "bin"), { recursive: true });
    await writeFile(join(folder, "image", "image.json"), JSON.stringify({ id: "image-1", env: { FROM_IMAGE: "yes" } }));
    await writeFile(join(folder, "image", "bin", "greet"), "#!/bin/sh\necho greetings from the image\n", {
      mode: 0o755,
    });
    await writeFile(join(folder, "image", "bin", "noexec"), "echo never\n", { mode: 0o644 });
    await writeFile(join(folder, "token"), `${TOKEN}\n`, { mode: 0o600 });
    bundle(folder);
    return new AgentForTests(folder, ...(await launch(folder)));
  }

  /** Kills it and starts another over the same folder. */
  async replace(): Promise<void> {
    await this.kill();
    [this.child, this.port] = await launch(this.folder);
  }

  /** Starts a second process over the same folder, whatever becomes of it. */
  startAnother(): ChildProcess {
    return spawnAgent(this.folder, join(this.folder, "port-2.json"));
  }

  /** SIGKILL, and waits until it is gone. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await gone;
  }

  /** SIGTERM, waits, answers its exit code, and removes the folder. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const gone = once(this.child, "exit");
      this.child.kill("SIGTERM");
      await gone;
    }
    await rm(this.folder, { recursive: true, force: true });
    return this.child.exitCode;
  }

  /** One request; a body goes as JSON. */
  async fetch(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return await fetch(`http://127.0.0.1:${this.port.port}/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  }

  /** One request with a JSON answer. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.fetch(method, path, body);
    return { status: response.status, body: await response.json() };
  }

  /** One request whose answer must be a success of this shape. */
  async get<T>(schema: z.ZodType<T>, [method, path]: [string, string], body?: unknown): Promise<T> {
    const answer = await this.ask(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return schema.parse(answer.body);
  }

  /** A long operation's lines: its last one, and what was reported on the way. A refusal by status reads the same. */
  async operate(path: string, body: unknown): Promise<{ last: Record<string, unknown>; said: string[] }> {
    const response = await this.fetch("POST", path, body);
    const lines = (await response.text())
      .trim()
      .split("\n")
      .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
    return {
      last: lines.at(-1) ?? {},
      said: lines.flatMap((line) => (line["type"] === "progress" ? [String(line["text"])] : [])),
    };
  }

  /** Starts a shell command in a thread. */
  async shell(id: string, thread: string, text: string): Promise<ProcView> {
    return await this.get(procView, ["POST", "procs"], { id, thread, shell: text });
  }

  /** The output's lines from offsets; stops early when `until` says so. */
  async output(
    id: string,
    from: { out?: number; err?: number } = {},
    until: (line: OutputLine) => boolean = () => false,
  ): Promise<OutputLine[]> {
    const cut = new AbortController();
    const response = await fetch(
      `http://127.0.0.1:${this.port.port}/v1/procs/${id}/output?out=${from.out ?? 0}&err=${from.err ?? 0}&follow=1`,
      {
        headers: { authorization: `Bearer ${TOKEN}` },
        signal: cut.signal,
      },
    );
    const lines: OutputLine[] = [];
    let rest = "";
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) {
        const parts = (rest + decoder.decode(z.instanceof(Uint8Array).parse(chunk), { stream: true })).split("\n");
        rest = parts.pop() ?? "";
        for (const part of parts) {
          const line = outputLine.parse(JSON.parse(part));
          lines.push(line);
          if (until(line)) return lines;
        }
      }
    } finally {
      cut.abort();
    }
    return lines;
  }
}

/** The bytes of one output among lines. */
export function bytesOf(lines: readonly OutputLine[], name: "out" | "err"): Buffer {
  return Buffer.concat(
    lines.flatMap((line) => ("s" in line && line.s === name ? [Buffer.from(line.d, "base64")] : [])),
  );
}

/** A new git repository with one commit; answers its path. */
export async function sampleRepository(
  folder: string,
  files: Record<string, string> = { "README.md": "hello\n" },
): Promise<string> {
  const path = await mkdtemp(join(folder, "origin-"));
  git(path, "init", "--quiet", "--initial-branch=main");
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  commitAll(path, "first");
  return path;
}

/** Commits everything in a checkout; answers the commit. */
export function commitAll(path: string, message: string): string {
  git(path, "add", "--all");
  git(
    path,
    "-c",
    "user.name=test",
    "-c",
    "user.email=test@localhost",
    "commit",
    "--quiet",
    "--allow-empty",
    "--message",
    message,
  );
  return git(path, "rev-parse", "HEAD");
}

/** Runs git; throws what it said when it failed. */
export function git(cwd: string, ...args: string[]): string {
  const end = spawnSync("git", args, { cwd, encoding: "utf8" });
  if (end.status !== 0) throw new Error(`git ${args.join(" ")}: ${end.stderr}`);
  return end.stdout.trim();
}

/** Polls until something is there; throws when the bound has passed. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined> | T | undefined,
  boundMs: number = REAL.requestMs,
): Promise<T> {
  const deadline = performance.now() + boundMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`never: ${what}`);
    await pause(REAL.endLookMs);
  }
}

async function launch(folder: string): Promise<[ChildProcess, AgentPortFile]> {
  const portFile = join(folder, "port.json");
  await rm(portFile, { force: true });
  const child = spawnAgent(folder, portFile);
  const port = await eventually(
    "the agent listens",
    async () => {
      if (child.exitCode !== null) throw new Error(`the agent ended with ${child.exitCode}`);
      const text = await readFile(portFile, "utf8").catch(() => undefined);
      return text === undefined ? undefined : agentPortFile.parse(JSON.parse(text));
    },
    REAL.startMs,
  );
  return [child, port];
}

/** One file, as an image holds it: that it can be bundled is part of what is tested. */
function bundle(folder: string): void {
  const esbuild = createRequire(import.meta.url).resolve("esbuild/bin/esbuild");
  const args = [
    "--bundle",
    "--platform=node",
    "--format=esm",
    "--log-level=warning",
    `--outfile=${join(folder, "agent.mjs")}`,
  ];
  const end = spawnSync(process.execPath, [esbuild, join(import.meta.dirname, "main.ts"), ...args], {
    encoding: "utf8",
  });
  if (end.status !== 0) throw new Error(`esbuild: ${end.stderr}`);
}

function spawnAgent(folder: string, portFile: string): ChildProcess {
  return spawn(process.execPath, [join(folder, "agent.mjs")], {
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      LANG: "C.UTF-8",
      SECRET_OF_THE_HOST: "never shown",
      TIDEGATE_DATA: join(folder, "data"),
      TIDEGATE_IMAGE: join(folder, "image"),
      TIDEGATE_AGENT_TOKEN_FILE: join(folder, "token"),
      TIDEGATE_PORT_FILE: portFile,
    },
    stdio: ["ignore", "inherit", process.env["AGENT_LOG"] ? "inherit" : "ignore"],
  });
}
