// The stack that a command means: found from the folder it is typed in, with its tokens, its clock and its fleet. Nothing
// is made on disk by looking.

import { budgetsOf, type Budgets } from "#core/budgets.ts";
import type { Config } from "#wire/config.ts";
import { clockSettingSchema, type SupervisorFile } from "#wire/host.ts";
import { attachWith, type Attach } from "#client/attach.ts";
import { botClient, type BotClient } from "#client/bot.ts";
import { fleetClient, type FleetClient } from "#client/fleet.ts";
import type { Clock, OpenSocket } from "#client/ports.ts";
import type { Transport } from "#client/transport.ts";
import { Turnstile } from "#client/turnstile.ts";
import { Watch } from "#client/watch.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { readConfig } from "#node/config.ts";
import { Failure } from "#node/failure.ts";
import { readJsonFile } from "#node/files.ts";
import { findHome, pathsOf, type StatePaths } from "#node/stateFolder.ts";
import { liveSupervisor, readSupervisorFile } from "#node/supervisorFile.ts";
import { readBearers, withEnv, type Bearers } from "#node/tokens.ts";
import { CliError, EXIT } from "./exit.ts";

/** The stack's bot, as a command reaches it. */
export interface BotAccess {
  /** Where it answers; null in a stack that has none. */
  readonly url: () => string | null;
  /** Throws what to do where there is none. */
  readonly client: BotClient;
  /** Whether somebody brings it back once it is away. */
  readonly isKept: () => boolean;
}

/** One stack, as a command reaches it. */
export interface FleetAccess {
  readonly paths: StatePaths;
  readonly config: Config;
  readonly budgets: Budgets;
  readonly bearers: Bearers;
  /** The stack's own clock. */
  readonly clock: Clock;
  readonly url: string;
  readonly transport: Transport;
  readonly fleet: FleetClient;
  readonly watch: Watch;
  readonly attach: Attach;
  readonly bot: BotAccess;
}

/** What the root knows when a command first asks for its stack. */
export interface AccessAsk {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly packageRoot: string;
  readonly real: Clock;
}

const NO_BEARERS: Bearers = { admin: "", operator: "", read: "", drain: "" };

/** The home that this folder means; without one, the package's own. */
export function homeOf(ask: Pick<AccessAsk, "cwd" | "env" | "packageRoot">): string {
  return findHome(ask.cwd, ask.env) ?? ask.packageRoot;
}

// Node's WebSocket takes headers for its upgrade, which the standard's types do not know.
const openSocket: OpenSocket = (url, headers) => {
  const options: object = { headers };
  return new WebSocket(url, options);
};

function clockOfStack(paths: StatePaths): Clock {
  const read = readJsonFile(paths.clock, clockSettingSchema);
  return clockOf(read.kind === "value" ? read.value : REAL_TIME);
}

const trimmed = (url: string): string => url.replace(/\/+$/, "");

/** Where the stack's parts are, looked up at each request: what comes back may listen elsewhere. */
interface Places {
  readonly fleet: () => string;
  readonly bot: () => string | null;
}

function placesOf(paths: StatePaths, { port, fleetUrl, botUrl }: Config): Places {
  const file = (): SupervisorFile | undefined => liveSupervisor(paths) ?? readSupervisorFile(paths);
  // A fleet that went away is looked for where it was last.
  let last = `http://127.0.0.1:${port}`;
  return {
    fleet: () => {
      last = file()?.url ?? last;
      return trimmed(fleetUrl ?? last);
    },
    bot: () => {
      const found = botUrl ?? (fleetUrl === null ? (file()?.botUrl ?? null) : null);
      return found === null ? null : trimmed(found);
    },
  };
}

/** What is missing where there is no bot: the whole stack, its address, or the bot of a stack that was begun without one. */
function noBot({ home }: StatePaths, { fleetUrl }: Config, isUp: boolean): Error {
  const what = "this stack has no bot, which takes asks and knows their runs";
  if (fleetUrl !== null) return new CliError(what, `set "botUrl" in tidegate.jsonc, beside "fleetUrl"`, EXIT.failed);
  if (!isUp) return new Failure("NOT_UP", `no fleet is up in ${home}`);
  return new CliError(what, "begin the stack anew, which then has one: npx tidegate down; npm start", EXIT.failed);
}

/** Looks the stack up. Throws CONFIG_INVALID or STATE_HALF_WRITTEN when its files cannot be used. */
export function accessOf(ask: AccessAsk): FleetAccess {
  const paths = pathsOf(homeOf(ask));
  const config = readConfig(paths.config);
  const bearers = withEnv(readBearers(paths.tokens) ?? NO_BEARERS, ask.env);
  const places = placesOf(paths, config);
  const isUp = (): boolean => liveSupervisor(paths) !== undefined;
  const clock = clockOfStack(paths);
  // Where nobody has started a fleet there is no bearer either, and the missing fleet is what is to be said.
  const nowhere = Object.values(bearers).every((bearer) => bearer === "") && !isUp();
  const bearer = (scope: keyof Bearers): string => {
    if (nowhere) throw new Failure("NOT_UP", `no fleet is up in ${paths.home}, and none has been`);
    return bearers[scope];
  };
  const wire = { fetch: (to: string, init: RequestInit) => fetch(to, init), bearer, real: ask.real };
  const transport: Transport = {
    ...wire,
    get baseUrl() {
      return places.fleet();
    },
  };
  const botTransport: Transport = {
    ...wire,
    what: "bot",
    get baseUrl() {
      const url = places.bot();
      if (url === null) throw noBot(paths, config, isUp());
      return url;
    },
  };
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket });
  const attach = attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) });
  const bot = {
    url: places.bot,
    client: botClient(botTransport),
    isKept: () => config.botUrl !== null || isUp(),
  };
  const stack = { paths, config, budgets: budgetsOf(config.leases), bearers, clock };
  return { ...stack, url: places.fleet(), transport, fleet, watch, attach, bot };
}
