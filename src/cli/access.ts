// The stack that a command means: found from the folder it is typed in, with its tokens, its clock and its fleet. Nothing
// is made on disk by looking.

import { budgetsOf, type Budgets } from "#core/budgets.ts";
import type { Config } from "#wire/config.ts";
import { clockSettingSchema } from "#wire/host.ts";
import { attachWith, type Attach } from "#client/attach.ts";
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

/** Looks the stack up. Throws CONFIG_INVALID or STATE_HALF_WRITTEN when its files cannot be used. */
export function accessOf(ask: AccessAsk): FleetAccess {
  const paths = pathsOf(homeOf(ask));
  const config = readConfig(paths.config);
  const bearers = withEnv(readBearers(paths.tokens) ?? NO_BEARERS, ask.env);
  // A fleet that comes back may listen elsewhere, and one that went away is looked for where it was last.
  let last = `http://127.0.0.1:${config.port}`;
  const urlNow = (): string => {
    last = (liveSupervisor(paths) ?? readSupervisorFile(paths))?.url ?? last;
    return (config.fleetUrl ?? last).replace(/\/+$/, "");
  };
  const clock = clockOfStack(paths);
  // Where nobody has started a fleet there is no bearer either, and the missing fleet is what is to be said.
  const nowhere = Object.values(bearers).every((bearer) => bearer === "") && liveSupervisor(paths) === undefined;
  const bearerOf = (scope: keyof Bearers): string => {
    if (nowhere) throw new Failure("NOT_UP", `no fleet has been up in ${paths.home}`);
    return bearers[scope];
  };
  const transport: Transport = {
    get baseUrl() {
      return urlNow();
    },
    fetch: (to, init) => fetch(to, init),
    bearer: bearerOf,
    real: ask.real,
  };
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket });
  const attach = attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) });
  return {
    paths,
    config,
    budgets: budgetsOf(config.leases),
    bearers,
    clock,
    url: urlNow(),
    transport,
    fleet,
    watch,
    attach,
  };
}
