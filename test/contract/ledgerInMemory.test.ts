// The ledger without a Worker keeps the contract of its port.

import { LedgerInMemory } from "#client/ledgerForTests.ts";
import { ledgerContract } from "./ledgerContract.ts";

ledgerContract("in memory", async () => {
  let now = 1_000_000;
  const ledger = new LedgerInMemory(() => now);
  return {
    ledger,
    pass: async (ms) => void (now += ms),
    restart: async () => ledger.restart(),
    end: async () => undefined,
  };
});
