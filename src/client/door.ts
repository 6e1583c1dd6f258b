// One resident's door as a process knows it. Its waiters are let in in the order in which they arrived, one at a time
// through the door and a few at a time into provisioning. While the watch vouches for the door a waiter costs no
// request; without it only the first one asks again.

import { CLOCK, LIMIT } from "#core/budgets.ts";
import { saidEnd } from "#core/drain.ts";
import type { Clock } from "./ports.ts";
import { keyOf, type Answered, type DoorOfTicket, type Known, type Ticket } from "./ticket.ts";
import type { WatchView } from "./watch.ts";

/** What a door is given. */
export interface DoorPorts {
  readonly clock: Clock;
  readonly watch: WatchView;
}

/** The door of one resident. */
export class Door implements DoorOfTicket {
  readonly #ports: DoorPorts;
  readonly #resource: string;
  readonly #onWaiters: () => void;
  /** Who waits, by arrival. */
  readonly #queue: Ticket[] = [];
  #atDoor: Ticket | null = null;
  #inside = 0;
  #open = false;
  #refusal: Known | null = null;
  #refusedAtVersion = -1;
  #retry: AbortController | null = null;
  #saidKey = "";

  constructor(ports: DoorPorts, resource: string, onWaiters: () => void) {
    this.#ports = ports;
    this.#resource = resource;
    this.#onWaiters = onWaiters;
  }

  get hasWaiters(): boolean {
    return this.#queue.length > 0 || this.#atDoor !== null;
  }

  get version(): number {
    return this.#ports.watch.version;
  }

  known(): Known | undefined {
    const { watch } = this.#ports;
    const closing = watch.up ? watch.closing(this.#resource) : undefined;
    if (closing !== undefined) return { ...closing.drain, until: saidEnd(closing.drain), quietBy: closing.quietBy };
    return this.#open ? undefined : (this.#refusal ?? undefined);
  }

  wait(ticket: Ticket): void {
    if (ticket.place === "door" || ticket.place === "waiting") return;
    this.#takeOut(ticket);
    ticket.place = "waiting";
    const later = this.#queue.findLastIndex((other) => other.n < ticket.n) + 1;
    this.#queue.splice(later, 0, ticket);
    this.#onWaiters();
    this.changed();
  }

  passed(ticket: Ticket): void {
    const overtaken = this.#ports.watch.up && this.version > ticket.askedAtVersion;
    if (!ticket.passes && !overtaken) this.#open = true;
    if (ticket.place === "door") {
      this.#atDoor = null;
      this.#inside += 1;
      ticket.place = "inside";
    }
    this.#pump();
  }

  answered(ticket: Ticket, answer: Answered): void {
    if (answer.kind !== "draining") return this.leave(ticket);
    this.#refusal = answer.known;
    this.#refusedAtVersion = Math.max(this.#refusedAtVersion, ticket.askedAtVersion);
    this.#open = false;
    this.#stopRetry();
    this.#takeOut(ticket);
    this.wait(ticket);
  }

  leave(ticket: Ticket): void {
    this.#takeOut(ticket);
    this.#pump();
    this.#onWaiters();
    if (!this.hasWaiters) this.#stopRetry();
  }

  /** The watch has changed, or somebody waits: judge the door anew. */
  changed(): void {
    const { watch } = this.#ports;
    if (watch.up && watch.version > this.#refusedAtVersion) this.#open = watch.closing(this.#resource) === undefined;
    const known = this.known();
    // What the watch told last is still the best that is known while it is down.
    if (known !== undefined) this.#refusal = known;
    const key = known === undefined ? "" : keyOf(known);
    if (key !== this.#saidKey) for (const ticket of this.#queue) ticket.poke();
    this.#saidKey = key;
    this.#pump();
  }

  #takeOut(ticket: Ticket): void {
    if (ticket.place === "inside") this.#inside -= 1;
    if (ticket === this.#atDoor) this.#atDoor = null;
    if (ticket.place === "waiting") this.#queue.splice(this.#queue.indexOf(ticket), 1);
    ticket.place = "outside";
  }

  /** Lets the first one come to the door when it stands open and nobody is at it. */
  #pump(): void {
    if (this.#queue.length === 0 || this.#atDoor !== null) return;
    if (!this.#open) return this.#retryLater();
    if (this.#inside < LIMIT.provisioningSlots) this.#callFirst();
  }

  #callFirst(): void {
    this.#stopRetry();
    const first = this.#queue.shift();
    if (first === undefined) return;
    this.#atDoor = first;
    first.place = "door";
    first.poke();
  }

  /** Nobody will say when this door opens: the watch is down, or the door itself refuted what it says. */
  #retryLater(): void {
    const { watch, clock } = this.#ports;
    if (watch.up && watch.closing(this.#resource) !== undefined) return this.#stopRetry();
    if (this.#retry !== null) return;
    const retry = new AbortController();
    this.#retry = retry;
    clock.sleep(CLOCK.pollMs, retry.signal).then(
      () => {
        this.#retry = null;
        if (this.#atDoor === null) this.#callFirst();
      },
      () => undefined,
    );
  }

  #stopRetry(): void {
    this.#retry?.abort();
    this.#retry = null;
  }
}
