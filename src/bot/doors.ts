// What closes the bot's doors: its copy of a deploy's drain, in memory and with ends of its own, the fleet's drains as the
// one watch tells them, and what a refused attach has taught. Whoever waits at a door is told at each change.

import type { Ask } from "#core/ask.ts";
import {
  closersOf,
  copyBefore,
  doorOf,
  metOf,
  nextOpening,
  passesChild,
  settleCopy,
  type Closed,
  type DoorFacts,
  type Met,
} from "#core/door.ts";
import {
  decideDrain,
  decideLift,
  EMPTY_BOOK,
  liveDrains,
  type Drain,
  type DrainAnswer,
  type DrainAsk,
  type DrainBook,
  type LiftAnswer,
} from "#core/drain.ts";
import { SECOND, type Instant, type Ms } from "#core/time.ts";
import type { Known } from "#client/ticket.ts";
import type { Clock } from "#client/ports.ts";
import type { WatchFrame } from "#wire/fleet.ts";

/** The watch as the doors use it. */
export interface DoorWatch {
  readonly frame: WatchFrame | null;
  /** Moves with each frame and with each end that passes. */
  readonly version: number;
  hold(): () => void;
  subscribe(listener: () => void): () => void;
}

/** What the doors are given. */
export interface DoorPorts {
  readonly clock: Clock;
  readonly watch: DoorWatch;
}

/** The frame's instants are the registry's; beside an instant of ours they are moved by as much as the clocks differ. */
function inOurTime(drain: Drain, skewMs: Ms): Drain {
  if (skewMs === 0) return drain;
  const phaseUntil = drain.phaseUntil === null ? null : drain.phaseUntil + skewMs;
  return { ...drain, until: drain.until + skewMs, phaseUntil };
}

/** Since when nothing is in flight under each drain, by the registry's clock: as it was known before, or since this frame. */
function quietUnder({ drains, quietBy, now }: WatchFrame, before: ReadonlyMap<string, Instant>): Map<string, Instant> {
  return new Map(quietBy === null ? drains.map(({ id }) => [id, before.get(id) ?? now]) : []);
}

/** Every repository's door. */
export class Doors {
  readonly #ports: DoorPorts;
  readonly #listeners = new Set<() => void>();
  readonly #met = new Map<string, Met>();
  #copy: DrainBook = EMPTY_BOOK;
  /** Ids of the copy that the registry was seen to know: only of these its silence says that they live no more. */
  readonly #seen = new Set<string>();
  #frame: WatchFrame | null = null;
  /** The last one that there was: a registry that is silent has told what is waited for all the same. */
  #last: WatchFrame | null = null;
  #skewMs: Ms = 0;
  /** Since when nothing is in flight under each drain: one instant, so that a wait which has not changed reads the same. */
  #quietSince = new Map<string, Instant>();
  #untilChange = new AbortController();
  #letGo: (() => void) | null = null;

  constructor(ports: DoorPorts) {
    this.#ports = ports;
  }

  /** Watches the registry from now on. */
  begin(): void {
    const { watch } = this.#ports;
    const release = watch.hold();
    const stop = watch.subscribe(() => this.#heard());
    this.#letGo = () => {
      stop();
      release();
    };
    this.#heard();
  }

  /** Resolves once the registry has told its state, or after `boundMs`: unread, it is no drain for an ask. */
  async ready(boundMs: Ms, real: Clock): Promise<void> {
    const over = new AbortController();
    const told = new Promise<void>((resolve) => {
      const stop = this.onChange(() => this.#frame !== null && resolve());
      over.signal.addEventListener("abort", stop, { once: true });
      if (this.#frame !== null) resolve();
    });
    await Promise.race([told, real.sleep(boundMs, over.signal).catch(() => undefined)]);
    over.abort();
  }

  /** Watches no more. */
  end(): void {
    this.#letGo?.();
    this.#letGo = null;
    this.#untilChange.abort();
  }

  /** Calls at each change of what closes; answers how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What closes this repository's door, null while it is open. */
  closed(resource: string): Closed | null {
    return doorOf(this.#facts(resource), this.#now());
  }

  /** Whether a part of a run in flight passes this door where it is closed. */
  passesChild(resource: string): boolean {
    return passesChild(this.#facts(resource), this.#now());
  }

  /** Everything that closes it, what ends last first. */
  closers(resource: string): readonly Closed[] {
    return closersOf(this.#facts(resource), this.#now());
  }

  /** When what this door is closed by is over, where it ends with the last run in flight; null where nobody can say. */
  quietBy(closed: Closed): Instant | null {
    const hasTold = this.#last?.drains.some(({ id }) => id === closed.drainId) === true;
    const frame = this.#frame ?? (hasTold ? this.#last : null);
    if (!closed.endsQuiet || frame === null) return null;
    const { quietBy, now } = frame;
    return (quietBy ?? this.#quietSince.get(closed.drainId) ?? now) + this.#skewMs;
  }

  /** Which state of the registry is known: what changed after it may overtake an answer of the fleet. */
  get version(): number {
    return this.#ports.watch.version;
  }

  /** An attach of this ask that went out at this version was refused by a drain. */
  met({ resource, parent }: Pick<Ask, "resource" | "parent">, known: Known, version: number): void {
    if (this.version !== version && this.#frame !== null) return this.#changed();
    this.#met.set(resource, metOf({ ...known, wasChild: parent !== null }, this.#now()));
    this.#changed();
  }

  /** The deploy's drain that the bot has a copy of. */
  get pending(): Drain | null {
    return liveDrains(this.#copy, this.#now())[0] ?? null;
  }

  /** Every drain of the copy. */
  get pendingAll(): readonly Drain[] {
    return liveDrains(this.#copy, this.#now());
  }

  /** Residents that a reopening holds. */
  get held(): string[] {
    const live = liveDrains({ ...EMPTY_BOOK, drains: this.#fleet() }, this.#now());
    return [...new Set(live.flatMap((drain) => (drain.phase === "reopening" ? drain.holds : [])))];
  }

  /** `POST /drain`: the copy, created or renewed. */
  drain(ask: DrainAsk): DrainAnswer {
    const now = this.#now();
    const answer = decideDrain(copyBefore(this.#copy, ask.id, this.#fleet(), now), ask, now);
    if (answer.kind === "created" || answer.kind === "renewed") {
      this.#copy = answer.book;
      this.#settle();
      this.#changed();
    }
    return answer;
  }

  /** `POST /undrain`: the copy falls; idempotent. */
  lift(id: string): LiftAnswer {
    const answer = decideLift(this.#copy, { id, outcome: "none", force: true }, null, this.#now());
    if (answer.kind !== "deferred") this.#copy = answer.book;
    this.#changed();
    return answer;
  }

  #now(): Instant {
    return this.#ports.clock.now();
  }

  #facts(resource: string): DoorFacts {
    const [fleet, told] = [this.#fleet(), this.#drainsOf(this.#last)];
    return { copy: this.#copy, fleet, told, met: this.#met.get(resource) ?? null, resource };
  }

  #fleet(): readonly Drain[] {
    return this.#drainsOf(this.#frame);
  }

  #drainsOf(frame: WatchFrame | null): readonly Drain[] {
    return (frame?.drains ?? []).map((drain) => inOurTime(drain, this.#skewMs));
  }

  #heard(): void {
    const { frame } = this.#ports.watch;
    if (frame !== this.#frame) {
      this.#frame = frame;
      if (frame !== null) this.#learnSkew(this.#now() - frame.now);
      if (frame !== null) this.#last = frame;
      // Whatever a refusal taught is older than what the registry tells now.
      if (frame !== null) this.#met.clear();
      if (frame !== null) this.#quietSince = quietUnder(frame, this.#quietSince);
      this.#settle();
    }
    this.#changed();
  }

  /** How long a frame was on its way is no difference of clocks: what is told by it would read otherwise at each frame. */
  #learnSkew(ms: Ms): void {
    if (Math.abs(ms - this.#skewMs) >= SECOND) this.#skewMs = ms;
  }

  #settle(): void {
    const frame = this.#frame;
    if (frame === null) return;
    const known = new Set(frame.drains.map((drain) => drain.id));
    for (const { id } of this.pendingAll) if (known.has(id)) this.#seen.add(id);
    this.#copy = settleCopy(this.#copy, this.#seen, this.#fleet(), this.#now());
  }

  #changed(): void {
    this.#untilChange.abort();
    this.#untilChange = new AbortController();
    void this.#atNextOpening(this.#untilChange.signal);
    for (const listener of this.#listeners) listener();
  }

  /** A door that opens by itself is found open then, whoever is silent. */
  async #atNextOpening(signal: AbortSignal): Promise<void> {
    const now = this.#now();
    const at = nextOpening({ copy: this.#copy, fleet: this.#fleet(), met: [...this.#met.values()] }, now);
    if (at === null || this.#letGo === null) return;
    try {
      await this.#ports.clock.sleep(at - now, signal);
    } catch {
      return;
    }
    this.#changed();
  }
}
