// One person or program of a replay: a command line in a process of its own, with every line it said and when.

import { spawn, type ChildProcess } from "node:child_process";
import type { Instant } from "#core/time.ts";
import type { Clock } from "#node/clock.ts";

/** A line that an actor said. */
export interface Speech {
  readonly at: Instant;
  readonly stream: "out" | "err";
  readonly line: string;
}

interface Props {
  readonly program: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** How an actor ended. */
export interface ActorEnd {
  readonly exit: number;
  readonly at: Instant;
}

export class Actor {
  readonly said: Speech[] = [];
  readonly startedAt: Instant;
  /** What it was typed as. */
  readonly typed: string;
  readonly ended: Promise<ActorEnd>;
  over: ActorEnd | undefined;
  readonly #child: ChildProcess;

  constructor(args: readonly string[], props: Props, clock: Clock) {
    this.startedAt = clock.now();
    this.typed = args.join(" ");
    const child = spawn(props.program, args, { cwd: props.cwd, env: props.env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    for (const stream of ["out", "err"] as const) {
      let rest = "";
      const source = stream === "out" ? child.stdout : child.stderr;
      source.on("data", (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split("\n");
        rest = lines.pop() ?? "";
        this.said.push(...lines.map((line) => ({ at: clock.now(), stream, line })));
      });
    }
    this.ended = new Promise((resolve) => {
      child.on("error", () => resolve({ exit: 127, at: clock.now() }));
      child.on("close", (code) => {
        this.over = { exit: code ?? 1, at: clock.now() };
        resolve(this.over);
      });
    });
  }

  /** Everything it said on one stream. */
  words(stream: Speech["stream"]): string {
    return this.said
      .filter((speech) => speech.stream === stream)
      .map((speech) => speech.line)
      .join("\n");
  }

  /** The first line that matches. */
  saying(pattern: RegExp): Speech | undefined {
    return this.said.find((speech) => pattern.test(speech.line));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Sends it a signal while it lives: as a person at the keyboard ends it, where none is named. */
  end(signal: "SIGINT" | "SIGKILL" = "SIGINT"): void {
    if (this.over === undefined) this.#child.kill(signal);
  }
}
