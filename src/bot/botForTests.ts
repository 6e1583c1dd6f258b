// What the bot's tests run on: the fake fleet and its container, the ledger in memory, a clock that moves when told; and
// bots over them, each of which can be killed so that nothing of it does anything any more.

import assert from "node:assert/strict";
import { budgetsOf, DEFAULT_LEASES, REAL } from "#core/budgets.ts";
import { attachWith } from "#client/attach.ts";
import { FakeFleet, VirtualClock } from "#client/clientForTests.ts";
import { fleetClient } from "#client/fleet.ts";
import type { LedgerClient } from "#client/ledger.ts";
import { LedgerInMemory } from "#client/ledgerForTests.ts";
import type { Clock, MintId } from "#client/ports.ts";
import { Turnstile } from "#client/turnstile.ts";
import { Watch } from "#client/watch.ts";
import { configOf, configSchema } from "#wire/config.ts";
import { askAnswerSchema, type AskAnswer, type AskBody } from "#wire/bot.ts";
import { raise } from "#wire/errors.ts";
import type { ResidentRow } from "#wire/fleet.ts";
import { beginBot, type Bot } from "./bot.ts";
import { Container } from "./containerForTests.ts";
import { Secrets } from "./harness/secrets.ts";
import { logWith } from "./log.ts";
import type { BotParts } from "./parts.ts";

export const BEARERS = {
  admin: "admin-secret",
  operator: "operator-secret",
  read: "read-secret",
  drain: "drain-secret",
};

/** What two words and one bearer say of a request. */
export interface Asking {
  readonly body?: unknown;
  readonly as?: keyof typeof BEARERS | null;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function residentRow(resource: string): ResidentRow {
  const nothing = { setup: null, test: null, hold: null, image: null, bootId: null, detail: null };
  const counts = { runsInFlight: 0, attaching: 0, opsInFlight: 0, suspect: 0 };
  return {
    ...nothing,
    ...counts,
    resource,
    url: "/repositories/app",
    state: "ready",
    readiness: "ready",
    imageReport: "current",
    readable: true,
  };
}

/** A stack without a bot. */
export class World {
  readonly clock = new VirtualClock();
  readonly server = new FakeFleet(this.clock);
  readonly container = new Container(this.server);
  readonly ledger = new LedgerInMemory(() => this.clock.now());
  readonly variables: Record<string, string> = {};
  readonly files: Record<string, string> = {};
  /** Every line that any bot logged. */
  readonly logged: string[] = [];
  resources = ["repo:local/app", "repo:local/web"];
  #minted = 0;

  constructor() {
    const { longestLeaseMs, capMinutes } = budgetsOf(DEFAULT_LEASES);
    this.server.answers.set("/residents", () => {
      const sum = {
        now: this.clock.now(),
        protocol: 1,
        build: { commit: "c", bundle: "b", image: "i" },
        generation: 1,
      };
      const none = {
        drainId: null,
        draining: null,
        drains: [],
        unreadableDrains: 0,
        runs: [],
        attaching: 0,
        quietBy: null,
      };
      const residents = this.resources.map(residentRow);
      return Response.json({ ...sum, ...none, residents, longestLeaseMs, capMinutes });
    });
  }

  readonly mintId: MintId = (prefix) => `${prefix}-${String((this.#minted += 1)).padStart(8, "0")}`;

  /** The events of every card, in order. */
  async cards(): Promise<string[]> {
    const { cards } = await this.ledger.cards({ after: 0, limit: 200 });
    return cards.map(({ event }) => `${event.id} ${event.state}${event.cause === null ? "" : ` ${event.cause}`}`);
  }
}

const NEVER = new Promise<never>(() => undefined);

/** The process of one bot: what it does goes through here until it is killed. */
export class Life {
  readonly #diesAt: number | null;
  #calls = 0;
  #isDead = false;
  /** Nothing that this process says reaches the ledger. */
  isLedgerAway = false;
  /** Resolves when it is killed. */
  readonly died: Promise<void>;
  readonly #die: () => void;

  /** `diesAt`: its n-th word to anybody is its last; that is heard, and its answer is not. */
  constructor(diesAt: number | null) {
    this.#diesAt = diesAt;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.died = promise;
    this.#die = resolve;
  }

  get calls(): number {
    return this.#calls;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  kill(): void {
    this.#isDead = true;
    this.#die();
  }

  async through<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isDead) return NEVER;
    const answer = await work().catch((error: unknown) => {
      if (this.#isDead) return NEVER;
      throw error;
    });
    return this.#isDead ? NEVER : answer;
  }

  /** One word to the ledger or the fleet. */
  word<T>(work: () => Promise<T>): Promise<T> {
    return this.through(async () => {
      this.#calls += 1;
      const isLast = this.#calls === this.#diesAt;
      const answer = await work();
      if (isLast) this.kill();
      return answer;
    });
  }

  /** The ledger as this process reaches it. */
  ledgerOf(ledger: LedgerClient): LedgerClient {
    return new Proxy(ledger, {
      get:
        (target, name: keyof LedgerClient) =>
        (...given: readonly unknown[]) =>
          this.word<unknown>(() => {
            if (this.isLedgerAway) raise("UNREACHABLE", "the ledger is away");
            return Reflect.apply(target[name], target, given) as Promise<unknown>;
          }),
    });
  }

  clockOf(clock: Clock): Clock {
    return { now: () => clock.now(), sleep: (ms, signal) => this.through(() => clock.sleep(ms, signal)) };
  }
}

/** How a bot is to be. */
export interface Wishes {
  readonly kinds?: object;
  readonly roll?: "drain" | "handoff";
  /** Its last word. */
  readonly diesAt?: number;
  /** The last bot that its supervisor knows to have ended. */
  readonly gone?: number;
}

/** A bot of the test, with its life. */
export interface Living {
  readonly bot: Bot;
  readonly life: Life;
}

/** What a bot of this world is made of. */
function partsIn(world: World, life: Life, { kinds = {}, roll = "drain" }: Wishes): BotParts {
  const clock = life.clockOf(world.clock);
  const transport = {
    baseUrl: "http://fleet",
    fetch: (url: string, init: RequestInit) => life.word(() => world.server.fetch(url, init)),
    bearer: () => "secret",
    real: clock,
  };
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket: () => world.server.openSocket() });
  const config = configOf(configSchema.parse({ kinds }));
  const secrets = new Secrets({
    variable: (name) => world.variables[name],
    file: (path) => world.files[path],
    own: [],
  });
  return {
    upload: { build: { commit: "c1", bundle: "b1", image: "i1" }, generation: 7, drainId: null },
    roll,
    kinds: config.kinds,
    budgets: budgetsOf(config.leases),
    fleet,
    attach: attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) }),
    watch,
    ledger: life.ledgerOf(world.ledger),
    clock,
    real: clock,
    mintId: world.mintId,
    signalNumber: () => 15,
    secrets,
    log: logWith(clock, { write: (line) => void world.logged.push(line), mask: (text) => secrets.mask(text) }),
  };
}

/** Begins a bot; one whose death is to come at once never begins. */
export async function born(world: World, wishes: Wishes = {}): Promise<Living> {
  const life = new Life(wishes.diesAt ?? null);
  let bot: Bot | undefined;
  const begun = beginBot(partsIn(world, life, wishes), BEARERS, wishes.gone ?? null).then((made) => (bot = made));
  await world.clock.settle();
  // A registry that cannot be read is waited for, and not for long.
  while (bot === undefined && !life.isDead) await world.clock.advance(REAL.connectMs);
  await Promise.race([begun, life.died]);
  await world.clock.settle();
  return { bot: bot ?? (await NEVER_A_BOT), life };
}

const NEVER_A_BOT: Promise<Bot> = Promise.resolve(Object.freeze({ fetch: () => NEVER }) as unknown as Bot);

/** One request to a bot. */
export function request({ bot }: Living, way: string, asking: Asking = {}): Promise<Response> {
  const [method = "GET", path = "/"] = way.split(" ");
  const { body, as = "operator", headers = {}, signal } = asking;
  return bot.fetch(
    new Request(`http://bot${path}`, {
      method,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${BEARERS[as]}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

/** Asks for a run; fails when that is refused. */
export async function asked(living: Living, text: string, more: Partial<AskBody> = {}): Promise<AskAnswer> {
  const body = { key: `key of ${text}`, resource: "app", text, ...more };
  const response = await request(living, "POST /asks", { body });
  const answer: unknown = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return askAnswerSchema.parse(answer);
}
