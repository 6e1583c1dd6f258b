// The ledger's Worker in real workerd keeps the contract of its port; its process comes back from SIGKILL.

import { setTimeout as pause } from "node:timers/promises";
import { LedgerStack } from "../embedded/ledgerStack.ts";
import { ledgerContract } from "./ledgerContract.ts";

ledgerContract("in workerd", async () => {
  const stack = await LedgerStack.begin(60);
  const { client: ledger } = stack;
  return {
    ledger,
    async pass(ms) {
      const end = (await ledger.health()).now + ms;
      while ((await ledger.health()).now < end) await pause(10);
    },
    restart: () => stack.restart(),
    end: () => stack.dispose(),
  };
});
