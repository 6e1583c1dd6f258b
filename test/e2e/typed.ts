// One command as it was typed: a process of its own, with every byte that it wrote and how it ended.

import { spawn, type ChildProcess } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { REAL } from "#core/budgets.ts";

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

/** How a command ended, with all it wrote. */
export interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly bytes: Buffer;
  readonly out: string;
  readonly err: string;
}

/** Where and with what a command is typed. */
export interface Typing {
  readonly program: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A command's process. */
export class Typed {
  readonly child: ChildProcess;
  readonly #ended: Promise<End>;
  #isBound = false;
  readonly #words: string;
  readonly #out: Buffer[] = [];
  readonly #err: Buffer[] = [];

  constructor(args: readonly string[], typing: Typing) {
    const { program, cwd, env } = typing;
    this.#words = [program, ...args].join(" ");
    // In the test's own group, so that a test that is killed takes its commands along.
    this.child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout?.on("data", (chunk: Buffer) => this.#out.push(chunk));
    this.child.stderr?.on("data", (chunk: Buffer) => this.#err.push(chunk));
    this.#ended = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code, signal) => {
        resolve({ code, signal, bytes: Buffer.concat(this.#out), out: this.out, err: this.err });
      });
    });
    this.#ended.catch(() => undefined);
  }

  /** How it ends. From the first wait on it has a bound: what hangs fails its own test, and not the whole stage. */
  get ended(): Promise<End> {
    if (!this.#isBound) setTimeout(() => this.signal("SIGKILL"), 4 * REAL.startMs).unref();
    this.#isBound = true;
    return this.#ended;
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error(`${this.#words} was not started`);
    return pid;
  }

  get out(): string {
    return Buffer.concat(this.#out).toString();
  }

  get err(): string {
    return Buffer.concat(this.#err).toString();
  }

  /** Whether it runs no longer. */
  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Waits until either stream has said this; one that ends before has failed the test. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const words = (): string => `${this.#words} says ${String(pattern)}; it said:\n${this.out}${this.err}`;
    return await eventually(words, () => {
      const isOver = this.isOver;
      const found = pattern.exec(this.out) ?? pattern.exec(this.err);
      if (found === null && isOver) throw new Error(`it ended before: ${words()}`);
      return found ?? undefined;
    });
  }

  /** Sends a signal to the command itself. */
  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }
}
