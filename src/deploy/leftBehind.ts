// What a killed deploy of this folder has left behind is lifted by the next one, which need not wait for its pulse: whoever
// holds the folder's lock knows that the deployer of a receipt without an end is dead. One that had begun to swap is not
// touched, since its upload may go on; its own bounds end it.

import { REAL } from "#core/budgets.ts";
import type { Drain } from "#core/drain.ts";
import { clockOf } from "#core/time.ts";
import type { Receipt } from "#wire/receipt.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { within } from "#deploy/facts.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";
import { warning, type Line } from "#deploy/line.ts";
import { listReceipts } from "#deploy/receiptFile.ts";

/** The drains whose deployers were of this folder and never came to an end, while nothing of theirs is swapped. */
export function leftBehind(drains: readonly Drain[], receipts: readonly Receipt[]): readonly Drain[] {
  const unended = new Set(receipts.filter(({ endedAt }) => endedAt === null).flatMap(({ drainIds }) => drainIds));
  return drains.filter(({ id, deploy, phase }) => deploy && phase === "draining" && unended.has(id));
}

/** What is asked of the two doors. */
export interface Doors {
  readonly fleet: Pick<FleetDoor, "drains" | "undrain">;
  readonly bot: Pick<BotDoor, "undrain"> | null;
}

/** Lifts what dead deploys of this folder left, by the deploy that holds its lock; answers what to say of it. */
export async function liftLeftBehind(paths: StatePaths, { fleet, bot }: Doors, signal: AbortSignal): Promise<Line[]> {
  const said: Line[] = [];
  try {
    const { drains } = await fleet.drains(signal);
    for (const { id, by, since } of leftBehind(drains, listReceipts(paths))) {
      const body = { id, outcome: "none" } as const;
      await fleet.undrain(body, signal);
      said.push(warning(`the deploy by ${by} of ${clockOf(since)} is dead: its drain ${id} is lifted`));
      // A copy that the bot keeps ends by its own pulse.
      await bot?.undrain(body, within(REAL.liftTryMs, signal)).catch(() => undefined);
    }
  } catch {
    // The deploy's own first effect meets what is wrong here, and says it.
  }
  return said;
}
