// The product's own client on real time, reaching one stack: what a caller, a deployer and a waiting process are made of.

import { randomUUID } from "node:crypto";
import { attachWith, type Attach, type AttachAsk } from "#client/attach.ts";
import { fleetClient, type FleetClient } from "#client/fleet.ts";
import type { OpenSocket } from "#client/ports.ts";
import type { Transport } from "#client/transport.ts";
import { Turnstile } from "#client/turnstile.ts";
import { Watch } from "#client/watch.ts";
import { clockOf, REAL_TIME, type Clock } from "#node/clock.ts";
import type { Reach } from "./stackUp.ts";

/** One process's view of a fleet. */
export interface Caller {
  readonly fleet: FleetClient;
  readonly watch: Watch;
  readonly attach: Attach;
  readonly clock: Clock;
}

// Node's WebSocket takes headers for its upgrade, which the standard's types do not know.
const openSocket: OpenSocket = (url, headers) => {
  const options: object = { headers };
  return new WebSocket(url, options);
};

/** The client of one stack. */
export function callerOf({ url, bearers }: Reach): Caller {
  const clock = clockOf(REAL_TIME);
  const transport: Transport = {
    baseUrl: url,
    fetch: (to, init) => fetch(to, init),
    bearer: (scope) => bearers[scope],
    real: clock,
  };
  const fleet = fleetClient(transport);
  const watch = new Watch({ transport, clock, openSocket });
  const attach = attachWith({ fleet, clock, turnstile: new Turnstile({ clock, watch }) });
  return { fleet, watch, attach, clock };
}

/** An ask that nobody made before. */
export function newAsk(resource: string): AttachAsk {
  const id = randomUUID();
  const ask = { resource, runId: `bench-${id}`, threadKey: `bench:${id}`, generation: 0, runKind: "shell" };
  return { ...ask, parent: null, replace: { by: "nobody" }, ref: null };
}

/** Nanoseconds of the machine's own clock, the same for every process of it. */
export const machineNs = (): bigint => process.hrtime.bigint();

/** Whole microseconds between two readings of that clock. */
export const microseconds = (from: bigint, to: bigint): number => Number((to - from) / 1000n);
