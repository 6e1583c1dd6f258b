// The contract of the ledger's port, for every filling of it: what the simulated one shows is evidence for the real one
// because both pass here.

import { test } from "node:test";
import { ASKS } from "./ledgerAsks.ts";
import { CARDS } from "./ledgerCards.ts";
import { KEPT } from "./ledgerKept.ts";
import { LOOKS } from "./ledgerLook.ts";
import { RUNS } from "./ledgerRuns.ts";
import { Bot, type Stand } from "./ledgerStand.ts";

/** Registers the whole contract over one filling, by its name; `open` answers a ledger that knows nothing. */
export function ledgerContract(name: string, open: () => Promise<Stand>): void {
  for (const [says, holds] of Object.entries({ ...ASKS, ...RUNS, ...KEPT, ...CARDS, ...LOOKS }))
    test(`${name}: ${says}`, async (t) => {
      const stand = await open();
      t.after(() => stand.end());
      await holds({ stand, bot: await Bot.begin(stand.ledger) });
    });
}
