// All doors of a process, behind one watch that is open only while somebody waits at one of them.

import { Door, type DoorPorts } from "./door.ts";
import { Ticket } from "./ticket.ts";

/** Hands out places at residents' doors, numbered by arrival (protocol.md, "The caller's wait"). */
export class Turnstile {
  readonly #ports: DoorPorts;
  readonly #doors = new Map<string, Door>();
  #tickets = 0;
  #letGo: (() => void) | null = null;

  constructor(ports: DoorPorts) {
    this.#ports = ports;
    ports.watch.subscribe(() => {
      for (const door of this.#doors.values()) door.changed();
    });
  }

  /** A place at a resident's door. `passes`: a run in flight or its child, whom no drain holds. Every place must be left. */
  ticket(resource: string, passes: boolean): Ticket {
    this.#tickets += 1;
    return new Ticket(this.#doorOf(resource), this.#tickets, passes);
  }

  #doorOf(resource: string): Door {
    const known = this.#doors.get(resource);
    if (known !== undefined) return known;
    const door = new Door(this.#ports, resource, () => this.#watchWhileNeeded());
    this.#doors.set(resource, door);
    return door;
  }

  #watchWhileNeeded(): void {
    const needed = [...this.#doors.values()].some((door) => door.hasWaiters);
    if (needed) {
      this.#letGo ??= this.#ports.watch.hold();
      return;
    }
    this.#letGo?.();
    this.#letGo = null;
  }
}
