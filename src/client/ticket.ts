// One run's place at a resident's door, from its first ask until it is let in or gives up.

import type { DrainPhase } from "#core/drain.ts";
import type { Instant, Ms } from "#core/time.ts";
import type { Clock } from "./ports.ts";

/** What is known of why a door is closed. */
export interface Known {
  readonly id: string;
  readonly deploy: boolean;
  readonly phase: DrainPhase;
  /** When it ends by itself at the latest: its own end, or sooner the bound of a phase that nobody renews. */
  readonly until: Instant;
  readonly quietBy: Instant | null;
  readonly reason: string;
  readonly by: string;
}

/** Changes with whatever a waiter is told of it. */
export const keyOf = (known: Known): string => `${known.id} ${known.phase} ${known.until} ${known.quietBy ?? ""}`;

/** What an ask came to. */
export type Answered = { readonly kind: "draining"; readonly known: Known } | { readonly kind: "admitted" | "other" };

/** The door as its tickets see it. */
export interface DoorOfTicket {
  readonly hasWaiters: boolean;
  readonly version: number;
  known(): Known | undefined;
  wait(ticket: Ticket): void;
  passed(ticket: Ticket): void;
  answered(ticket: Ticket, answer: Answered): void;
  leave(ticket: Ticket): void;
}

/** A place: `door` means that it is this ticket's turn to ask, `inside` that its workspace is being made. */
export class Ticket {
  /** The order of arrival. */
  readonly n: number;
  /** Whether it passes closed doors: its admission says nothing of whether the door is open to others. */
  readonly passes: boolean;
  place: "outside" | "waiting" | "door" | "inside" = "outside";
  /** The watch's version as the last ask went out: what changed after it may have overtaken the answer. */
  askedAtVersion = 0;
  readonly #door: DoorOfTicket;
  #wake: AbortController | null = null;

  constructor(door: DoorOfTicket, n: number, passes: boolean) {
    this.#door = door;
    this.n = n;
    this.passes = passes;
  }

  /** Whether others wait for this door, so that asking now would overtake them. */
  get othersWait(): boolean {
    return this.#door.hasWaiters;
  }

  /** Whether it is this ticket's turn. */
  get mayAsk(): boolean {
    return this.place === "door";
  }

  /** What closes the door, as far as this process knows. */
  get known(): Known | undefined {
    return this.#door.known();
  }

  /** Takes its place in the order of arrival. */
  wait(): void {
    this.#door.wait(this);
  }

  /** An ask goes out now. */
  asking(): void {
    this.askedAtVersion = this.#door.version;
  }

  /** The door let it in: the next may come. */
  passed(): void {
    this.#door.passed(this);
  }

  /** The ask was answered. */
  answered(answer: Answered): void {
    this.#door.answered(this, answer);
  }

  /** It no longer waits here. */
  leave(): void {
    this.#door.leave(this);
  }

  /** Rests for `ms`, less when its turn comes or what is known of the door changes; rejects as soon as it is stopped. */
  async rest(clock: Clock, ms: Ms, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.mayAsk) return;
    const wake = new AbortController();
    this.#wake = wake;
    const stop = (): void => wake.abort();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await clock.sleep(ms, wake.signal);
    } catch {
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener("abort", stop);
      this.#wake = null;
    }
  }

  /** Ends its rest. */
  poke(): void {
    this.#wake?.abort();
  }
}
