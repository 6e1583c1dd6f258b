// The one watch of a process: a WebSocket on the registry that tells every waiter at once what closes the fleet. A watch
// that is down says nothing: nobody waits on a state that it cannot vouch for.

import { REAL } from "#core/budgets.ts";
import { closingDrain, nextEnd, type Drain, type DrainBook } from "#core/drain.ts";
import type { Instant } from "#core/time.ts";
import { problemOf, type Problem } from "#wire/errors.ts";
import { WATCH_CLOSE, type WatchFrame } from "#wire/fleet.ts";
import { connection, type WatchPorts } from "./watchSocket.ts";

/** What closes a resident, and when everything in flight has ended. */
export interface Closing {
  readonly drain: Drain;
  readonly quietBy: Instant | null;
}

/** What a waiter asks of the watch. */
export interface WatchView {
  /** Whether what it says is fresh. */
  readonly up: boolean;
  /** Moves with each frame and with each end that passes. */
  readonly version: number;
  /** What closes this resident now; undefined while nothing does, and while the watch is down. */
  closing(resource: string): Closing | undefined;
  /** Keeps the watch open until the returned function is called. */
  hold(): () => void;
  /** Calls at each change, also when the watch goes down; answers how to stop that. */
  subscribe(listener: () => void): () => void;
}

function refusalOf(code: number): Problem | undefined {
  if (code === WATCH_CLOSE.noBearer) return problemOf("BAD_BEARER", "GET /watch does not know this bearer");
  if (code === WATCH_CLOSE.beyondScope) return problemOf("BEYOND_SCOPE", "GET /watch wants a read or operator bearer");
  return undefined;
}

const bookOf = (frame: WatchFrame): DrainBook => ({ drains: frame.drains, tombstones: [], attempts: 0 });

/** The watch (protocol.md, "Quiet, seal, swap"): open while somebody holds it, connected again after a growing pause. */
export class Watch implements WatchView {
  readonly #ports: WatchPorts;
  readonly #listeners = new Set<() => void>();
  #holders = 0;
  #life: AbortController | null = null;
  #frame: WatchFrame | null = null;
  #receivedAt: Instant = 0;
  #untilNextFrame = new AbortController();
  #version = 0;
  #problem: Problem | null = null;

  constructor(ports: WatchPorts) {
    this.#ports = ports;
  }

  get up(): boolean {
    return this.#frame !== null;
  }

  get version(): number {
    return this.#version;
  }

  /** Why the fleet refused the watch for good, or null. */
  get problem(): Problem | null {
    return this.#problem;
  }

  /** The last state while the watch is up, else null. */
  get frame(): WatchFrame | null {
    return this.#frame;
  }

  closing(resource: string): Closing | undefined {
    const frame = this.#frame;
    if (frame === null) return undefined;
    const drain = closingDrain(bookOf(frame), resource, this.#registryNow(frame));
    return drain === undefined ? undefined : { drain, quietBy: frame.quietBy };
  }

  hold(): () => void {
    this.#holders += 1;
    if (this.#life === null && this.#problem === null) {
      this.#life = new AbortController();
      void this.#live(this.#life.signal);
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holders -= 1;
      if (this.#holders === 0) this.#close();
    };
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The registry's clock, as far as the last frame told it: never ahead, since a frame takes time to arrive. */
  #registryNow(frame: WatchFrame): Instant {
    return frame.now + (this.#ports.clock.now() - this.#receivedAt);
  }

  #close(): void {
    this.#life?.abort();
    this.#life = null;
    this.#untilNextFrame.abort();
    this.#frame = null;
  }

  #tell(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  async #live(signal: AbortSignal): Promise<void> {
    for (let failures = 0; ;) {
      const ended = await connection(this.#ports, signal, (frame) => this.#take(frame));
      if (signal.aborted) return;
      this.#problem = refusalOf(ended.code) ?? null;
      this.#down();
      if (this.#problem !== null) return;
      failures = ended.told ? 1 : failures + 1;
      const pause = Math.min(REAL.recheckMs * 2 ** (failures - 1), REAL.watchPingMs);
      await this.#ports.transport.real.sleep(pause, signal).catch(() => undefined);
      if (signal.aborted) return;
    }
  }

  #down(): void {
    const spoke = this.#frame !== null || this.#problem !== null;
    this.#frame = null;
    this.#untilNextFrame.abort();
    if (spoke) this.#tell();
  }

  #take(frame: WatchFrame): void {
    this.#frame = frame;
    this.#receivedAt = this.#ports.clock.now();
    this.#untilNextFrame.abort();
    this.#untilNextFrame = new AbortController();
    void this.#atEnds(frame, this.#untilNextFrame.signal);
    this.#tell();
  }

  /** At each end the waiters look by themselves: a registry that is late or dead keeps nobody waiting beyond it. */
  async #atEnds(frame: WatchFrame, signal: AbortSignal): Promise<void> {
    for (let ms = frame.msToNextEnd; ms !== null;) {
      try {
        await this.#ports.clock.sleep(ms, signal);
      } catch {
        return;
      }
      this.#tell();
      const now = this.#registryNow(frame);
      const next = nextEnd(bookOf(frame), now);
      ms = next === undefined ? null : Math.max(1, next - now);
    }
  }
}
