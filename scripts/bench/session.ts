// One run of the bench: what it has started and must end, how it tells its progress, and how it is stopped.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sources } from "#embed/sources.ts";
import { Child } from "./child.ts";
import { copySources, WITHOUT_GATE } from "./sources.ts";
import { startStack, type BenchStack } from "./stack.ts";

/** The two builds that stacks are made of. */
export interface Builds {
  readonly gate: Sources;
  readonly noGate: Sources;
}

/** Everything that a bench holds while it runs. */
export class Session {
  readonly builds: Builds;
  readonly #folder: string;
  readonly #stop = new AbortController();
  readonly #say: (line: string) => void;
  readonly #ends = new Set<() => Promise<void>>();
  readonly #begun = performance.now();

  constructor(say: (line: string) => void) {
    this.#say = say;
    this.#folder = mkdtempSync(join(tmpdir(), "tidegate-bench-"));
    this.builds = {
      gate: copySources(join(this.#folder, "gate"), null),
      noGate: copySources(join(this.#folder, "no-gate"), WITHOUT_GATE),
    };
  }

  /** Fires when the bench is stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** One line of progress. */
  say(line: string): void {
    const seconds = ((performance.now() - this.#begun) / 1000).toFixed(0);
    this.#say(`${seconds.padStart(4)} s  ${line}`);
  }

  /** Starts a stack that this bench ends. */
  async stack(name: string, sources: Sources, residents: readonly string[]): Promise<BenchStack> {
    this.signal.throwIfAborted();
    const end = Promise.withResolvers<() => Promise<void>>();
    const started = startStack({ name, sources, residents, signal: this.signal });
    started.then(
      (stack) => end.resolve(() => stack.end()),
      () => end.resolve(async () => undefined),
    );
    const whenUp = async (): Promise<void> => await (await end.promise)();
    this.#ends.add(whenUp);
    const stack = await started;
    return {
      ...stack,
      end: async () => {
        this.#ends.delete(whenUp);
        await stack.end();
      },
    };
  }

  /** Starts an actor that this bench ends; `watches`: it holds a watch from its start, as a deployer does. */
  actor(stack: BenchStack, watches: boolean): Child {
    const child = new Child("an actor", import.meta.resolve("./actor.ts"), { reach: stack.reach, watches });
    this.#ends.add(async () => void (await child.end()));
    return child;
  }

  /** Gives up what runs. */
  stop(why: string): void {
    this.#stop.abort(new Error(why));
  }

  /** Ends everything that was started, and leaves nothing behind. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#ends].map((end) => end()));
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
