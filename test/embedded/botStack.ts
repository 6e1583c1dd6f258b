// A whole stack as a test of the bot reaches it: fleet, ledger and bot as the product serves them, the bot's process by its
// id, and its places, at which it dies or stands still as the test says.

import { existsSync, globSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { botClient, type BotClient } from "#client/bot.ts";
import { ledgerClient, type LedgerClient } from "#client/ledger.ts";
import type { Transport } from "#client/transport.ts";
import { REAL } from "#core/budgets.ts";
import { ownSources, type Sources } from "#embed/sources.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { readJsonFile, writeJsonFile } from "#node/files.ts";
import { allProcesses, environOf, identityOf, isSameProcess } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import type { DrainBody } from "#wire/drain.ts";
import { problemIn } from "#wire/errors.ts";
import { clockSettingSchema, type HostBuild, type ProcessId, type SwapAnswer } from "#wire/host.ts";
import { PLACE_FILE, TAKEN_FILE, type Place } from "./botPlace.ts";
import { FleetStack } from "./fleetStack.ts";
import { eventually } from "./hostStack.ts";

/** Of an agent's record of a process: what it runs, and since when. */
const begunSchema = z.object({ argv: z.array(z.string()), startedAt: z.number() });

/** What is done around a kill. */
export interface Killing {
  /** Once the place is set. */
  readonly meanwhile?: () => Promise<unknown>;
  /** Once it is dead, and before the next one is looked for. */
  readonly dead?: () => Promise<void>;
}

/** A deploy that has closed the fleet and the bot's door and lives. */
export interface Deploying {
  readonly id: string;
  /** It dies: nothing is renewed any more, and nothing lifted. */
  die(): void;
  /** It lifts both. */
  lift(): Promise<void>;
}

/** Asks again while nobody answers, as whoever has given their ask a key may. */
export async function again<T>(what: string, ask: () => Promise<T>): Promise<T> {
  return eventually(what, async () => {
    try {
      return await ask();
    } catch (error) {
      const code = problemIn(error)?.code;
      if (code !== "UNREACHABLE" && code !== "ROLLING") throw error;
      return undefined;
    }
  });
}

/** A stack with ledger and bot, shared by the tests of one file and ended after them. */
export class BotStack extends FleetStack {
  override sources(): Sources {
    return { ...ownSources(), bot: join(import.meta.dirname, "fixtures", "botAtPlaces.ts") };
  }

  #transport(urlOf: () => string | null): Transport {
    return {
      get baseUrl() {
        return urlOf() ?? "";
      },
      fetch: (to, init) => fetch(to, init),
      bearer: (scope) => this.bearer(scope),
      real: clockOf(REAL_TIME),
    };
  }

  get botUrl(): string {
    return readSupervisorFile(this.paths)?.botUrl ?? "";
  }

  readonly bot: BotClient = botClient(this.#transport(() => this.botUrl));
  readonly ledger: LedgerClient = ledgerClient(
    this.#transport(() => readSupervisorFile(this.paths)?.ledgerUrl ?? null),
  );

  /** The bot's process; undefined while there is none. */
  botProcess(): ProcessId | undefined {
    const supervisor = readSupervisorFile(this.paths)?.supervisor.pid;
    const row = allProcesses().find(
      ({ pid, parent }) => parent === supervisor && environOf(pid)["TIDEGATE_BOT"] !== undefined,
    );
    return row === undefined ? undefined : identityOf(row.pid);
  }

  /** The ledger's workerd; undefined while there is none. */
  ledgerProcess(): ProcessId | undefined {
    const supervisor = readSupervisorFile(this.paths);
    const row = allProcesses().find(
      ({ pid, parent, command }) =>
        parent === supervisor?.supervisor.pid && command === "workerd" && pid !== supervisor.workerd?.pid,
    );
    return row === undefined ? undefined : identityOf(row.pid);
  }

  /** The stack's instant. */
  now(): number {
    const read = readJsonFile(this.paths.clock, clockSettingSchema);
    return clockOf(read.kind === "value" ? read.value : REAL_TIME).now();
  }

  /** Waits until another bot than this one answers. */
  async nextBot(last: ProcessId): Promise<ProcessId> {
    await eventually("the bot is gone", () => (isSameProcess(last) ? undefined : true));
    await eventually("the next bot answers", () => this.bot.health().catch(() => undefined));
    return this.theBot();
  }

  theBot(): Promise<ProcessId> {
    return eventually("there is a bot", () => this.botProcess());
  }

  /** The next bot that comes by there dies, or stands still. */
  place(place: Place): void {
    writeJsonFile(join(this.home, PLACE_FILE), place);
    this.goOn();
  }

  /** Waits until a bot has come by. */
  async cameBy(place: Place): Promise<void> {
    const taken = join(this.home, TAKEN_FILE);
    await eventually(`a bot comes by ${place.when} ${place.path}`, () => (existsSync(taken) ? true : undefined));
  }

  /** A bot that stands still goes on. */
  goOn(): void {
    rmSync(join(this.home, TAKEN_FILE), { force: true });
  }

  /** Kills the bot at that place and waits until the next one answers. */
  async killAt(place: Omit<Place, "does">, { meanwhile, dead }: Killing = {}): Promise<void> {
    const bot = await this.theBot();
    const killing: Place = { ...place, does: "kill" };
    this.place(killing);
    const acted = meanwhile?.();
    await this.cameBy(killing);
    await eventually("it is dead", () => (isSameProcess(bot) ? undefined : true));
    await dead?.();
    await this.nextBot(bot);
    await acted;
  }

  /** A deploy closes the fleet and the bot's door, and goes on asking for both until it dies or lifts. */
  async deploying(id: string, more: Partial<DrainBody> = {}): Promise<Deploying> {
    const ask = { minutes: 65, by: "a test", reason: "a test rolls the bot", deploy: true, ...more };
    const body: DrainBody = { build: null, without: [], ...ask, id };
    await this.drain(id, ask);
    await this.bot.drain(body);
    const beat = setInterval(() => {
      void this.drain(id, ask).catch(() => undefined);
      void this.bot.drain(body).catch(() => undefined);
    }, REAL.recheckMs).unref();
    const die = (): void => clearInterval(beat);
    return {
      id,
      die,
      lift: async () => {
        die();
        await this.lift(id);
        await this.bot.undrain({ id, outcome: "none", force: false });
      },
    };
  }

  /** Swaps the ledger or the bot under this drain, for its own build or for another one. */
  async roll(step: "ledger" | "bot", drainId: string, build?: HostBuild): Promise<SwapAnswer> {
    const { parts } = await this.control().status();
    const served = parts[step]?.build;
    if (served === undefined) throw new Error(`this stack serves no ${step}`);
    return this.control().swap({ step, drainId, mode: "sealed", build: build ?? served });
  }

  /** What this file of the home folder holds, line by line. */
  linesOf(name: string): string[] {
    const file = join(this.home, name);
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  }

  /** Every process that an agent of this stack has begun, in the order in which they came to it. */
  begunProcesses(): readonly z.infer<typeof begunSchema>[] {
    const folders = globSync("*/data/procs/*/proc.json", { cwd: this.paths.containers });
    const read = folders.map((name) => readJsonFile(join(this.paths.containers, name), begunSchema));
    return read
      .flatMap((one) => (one.kind === "value" ? [one.value] : []))
      .toSorted((a, b) => a.startedAt - b.startedAt);
  }

  botLog(): string {
    return readFileSync(join(this.paths.log, "bot.log"), "utf8");
  }
}
