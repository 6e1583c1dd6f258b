// Where the package's own source lies. Tests hand over other entries; the product has these.

import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** What a release is built from. */
export interface Sources {
  /** The folder of the package: where imports resolve and whose commit a build names. */
  readonly root: string;
  /** The entry of the fleet Worker. */
  readonly worker: string;
  /** The entry of the agent. */
  readonly agent: string;
  /** The entries of the ledger Worker and of the bot; a stack without them is a fleet alone. */
  readonly ledger?: string;
  readonly bot?: string;
}

/** The sources of the fleet alone: its Worker and its agent. */
export function fleetSources(): Sources {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  return { root, worker: join(root, "src/fleet/entry.ts"), agent: join(root, "src/agent/main.ts") };
}

/** The sources of the package that runs. */
export function ownSources(): Sources {
  const fleet = fleetSources();
  return { ...fleet, ledger: join(fleet.root, "src/ledger/entry.ts"), bot: join(fleet.root, "src/bot/main.ts") };
}
