// What of `tidegate.jsonc` is released with the parts: the fleet its leases, the bot its kinds and its roll. A part that starts again
// starts with what it was released with, whatever the file says by then.

import { isDeepStrictEqual } from "node:util";
import type { Leases } from "#core/budgets.ts";
import type { Config } from "#wire/config.ts";
import type { BotConfig, StepName } from "#wire/host.ts";

/** What goes with a release, or is served; null where nobody says. */
export interface Released {
  readonly leases: Leases | null;
  readonly bot: BotConfig | null;
}

/** What this folder releases. */
export const releasedOf = ({
  leases,
  kinds,
  bot,
}: Config): { readonly [of in keyof Released]: NonNullable<Released[of]> } => ({
  leases,
  bot: { kinds, roll: bot.roll },
});

/** What of the configuration a release changes in a part; what nobody says is taken to be as it was. */
export type Reconfigured = "nothing" | "leases" | "kinds" | "roll";

const differ = <T>(served: T | null, offered: T | null): boolean =>
  served !== null && offered !== null && !isDeepStrictEqual(served, offered);

/** What a release changes of how one part is configured; the ledger has nothing of it. */
export function reconfigured(step: StepName, served: Released, offered: Released): Reconfigured {
  if (step === "ledger") return "nothing";
  if (step === "resident") return differ(served.leases, offered.leases) ? "leases" : "nothing";
  if (differ(served.bot?.kinds ?? null, offered.bot?.kinds ?? null)) return "kinds";
  return differ(served.bot?.roll ?? null, offered.bot?.roll ?? null) ? "roll" : "nothing";
}
