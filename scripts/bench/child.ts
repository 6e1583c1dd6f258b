// A child process of the bench and the words between the two. Each child leads a group of its own, so that a Ctrl-C of the
// terminal reaches the bench alone, and each ends when the channel to the bench is gone, however the bench died.

import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type * as z from "zod";

const TAIL_CHARS = 2000;
const ENDS_WITHIN_MS = 2000;

/** A child of this bench. */
export class Child {
  readonly #process: ChildProcess;
  readonly #name: string;
  readonly #said: unknown[] = [];
  #hear: (() => void) | undefined;
  #tail = "";
  /** Resolves with what its end was, whoever ended it. */
  readonly ended: Promise<string>;

  /** Starts the module of this URL with one argument. */
  constructor(name: string, module: string, argument: object) {
    this.#name = name;
    this.#process = fork(fileURLToPath(module), [JSON.stringify(argument)], {
      detached: true,
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#tail = (this.#tail + text).slice(-TAIL_CHARS);
    });
    this.#process.on("message", (word) => {
      this.#said.push(word);
      this.#hear?.();
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#process.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
    this.#process.once("error", (error) => resolve(error.message));
    this.ended = promise;
  }

  /** Says something to the child. */
  send(word: object): void {
    this.#process.send(word);
  }

  /** The next thing that the child says; rejects when it ends before. */
  async next<T>(schema: z.ZodType<T>): Promise<T> {
    let how: string | undefined;
    void this.ended.then((word) => {
      how = word;
      this.#hear?.();
    });
    while (this.#said.length === 0) {
      if (how !== undefined) throw new Error(`${this.#name} ended with ${how}\n${this.#tail}`);
      await new Promise<void>((resolve) => {
        this.#hear = resolve;
      });
    }
    return schema.parse(this.#said.shift());
  }

  /** Lets the child end by itself, and insists after the bound; answers whether it went by itself. */
  async end(boundMs = ENDS_WITHIN_MS): Promise<boolean> {
    if (this.#process.connected) this.#process.disconnect();
    const insist = setTimeout(() => this.#process.kill("SIGKILL"), boundMs);
    const how = await this.ended;
    clearTimeout(insist);
    return how !== "SIGKILL";
  }
}

/** In a child: the argument that it was started with. */
export function argumentOf<T>(schema: z.ZodType<T>): T {
  return schema.parse(JSON.parse(process.argv[2] ?? "null"));
}

/** In a child: says something to the bench. */
export function tell(word: object): void {
  process.send?.(word);
}
