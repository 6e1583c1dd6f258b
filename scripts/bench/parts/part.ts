// What the parts of a bench share: how one is asked for, and the runs that they begin and end.

import type { AttachAsk } from "#client/attach.ts";
import type { FleetClient } from "#client/fleet.ts";
import type { ArmName } from "../blocks.ts";
import type { PartResult } from "../results.ts";
import type { Session } from "../session.ts";

/** A run as its detach names it. */
export type RunOf = Pick<AttachAsk, "resource" | "runId" | "threadKey">;

/** How much of a part is wanted. */
export interface Extent {
  /** The arms of a block; without any `again` there is no A/A, and the row is `few`. */
  readonly order: readonly ArmName[];
  readonly blocks: number;
  readonly budgetMs: number;
}

/** A part of the bench. */
export interface Part {
  readonly quick: Extent;
  readonly full: Extent;
  readonly measure: (session: Session, extent: Extent) => Promise<Omit<PartResult, "id" | "tookMs">>;
}

const ENDED_AT_ONCE = 16;
const MINUTES = 5;

/** Ends one run as its caller does. */
export async function detach(fleet: FleetClient, { resource, runId, threadKey }: RunOf): Promise<void> {
  await fleet.detach({ resource, runId, threadKey, generation: 0 });
}

/** Ends many runs, some at once. */
export async function detachAll(fleet: FleetClient, runs: readonly RunOf[]): Promise<void> {
  const left = [...runs];
  const worker = async (): Promise<void> => {
    for (let run = left.pop(); run !== undefined; run = left.pop()) await detach(fleet, run);
  };
  await Promise.all(Array.from({ length: ENDED_AT_ONCE }, worker));
}

/** Closes the fleet under this id. */
export async function close(fleet: FleetClient, id: string, deploy: boolean): Promise<void> {
  await fleet.drain({
    id,
    minutes: MINUTES,
    by: "bench",
    reason: "the bench closes the fleet",
    deploy,
    build: null,
    without: [],
  });
}

/** Opens it again. */
export async function open(fleet: FleetClient, id: string): Promise<void> {
  await fleet.undrain({ id, outcome: "none", force: false });
}
