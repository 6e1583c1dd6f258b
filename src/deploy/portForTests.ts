// The port of a deploy over a fleet, a bot and parts that a test answers for: what it does not answer is not asked for.

import { deployOf, type DeployEffect, type DeployState } from "#core/rolloutState.ts";
import { problemOf, TidegateError, type ErrorCode } from "#wire/errors.ts";
import { BUDGETS, DRAIN_ID, drainOf, T0, TO } from "#deploy/recordsForTests.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";
import { fleetPort, type FleetPortParts } from "#deploy/fleetPort.ts";
import { quietWatch } from "#deploy/quietWatch.ts";
import type { DeployStep } from "#deploy/steps.ts";

/** A signal that never fires. */
export const never = new AbortController().signal;
/** A deploy of which this effect stands. */
export const at = (effect: DeployEffect, more: Partial<DeployState> = {}): DeployState => ({
  ...deployOf("drained", DRAIN_ID, BUDGETS, T0),
  effect,
  fromGeneration: 1,
  drain: drainOf(DRAIN_ID, T0),
  asked: true,
  ...more,
});
/** A refusal of this code. */
export const refusing = (code: ErrorCode, more: Record<string, unknown> = {}) =>
  new TidegateError(problemOf(code, "x", more));

/** What a test answers for. */
export interface World {
  readonly bot?: BotDoor;
  readonly parts?: FleetPortParts["parts"];
  readonly clock?: FleetPortParts["clock"];
  readonly fleet?: Partial<FleetDoor>;
  readonly step?: Partial<DeployStep>;
  readonly swap?: Partial<DeployStep["swap"]>;
  readonly without?: FleetPortParts["without"];
}

/** The port over such a world, with what it kept and how long it slept. */
export function portOf(world: World = {}) {
  const watch = quietWatch();
  const kept: unknown[] = [];
  const unused = (): Promise<never> => Promise.reject(new Error("not asked for in this test"));
  const asked: unknown[] = [];
  // Time passes at once, but only when the turn of whoever waits for something else is over.
  const clock = world.clock ?? {
    now: () => T0,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        asked.push(ms);
        signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
        if (ms <= 0) setImmediate(resolve);
      }),
  };
  const fleet: FleetDoor = {
    residents: unused,
    drains: unused,
    drain: unused,
    seal: unused,
    reconcile: unused,
    reconciled: unused,
    undrain: unused,
    newestAudit: unused,
    ...world.fleet,
  };
  const step: DeployStep = {
    name: "resident",
    live: unused,
    ...world.step,
    swap: { upload: unused, recall: unused, ...world.swap },
  };
  const asker = { by: "ci", reason: "r", build: TO };
  const parts: FleetPortParts = {
    fleet,
    bot: world.bot ?? null,
    watch,
    step,
    parts: world.parts ?? {},
    budgets: BUDGETS,
    clock,
    mint: () => "d2d2d2d2",
    asker,
    without: world.without ?? [],
    hurried: () => true,
    keep: (state) => kept.push(state),
  };
  return { port: fleetPort(parts), watch, kept, asked };
}
