// The ledger's object is gone from memory when nobody asks it for ten seconds. That is no restart of its process: a bot
// that fell silent loses its runs at the end of its lease, however often the object came and went meanwhile.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { Bot, askOf } from "../contract/ledgerStand.ts";
import { LedgerStack } from "./ledgerStack.ts";

test("an object that comes back to memory renews nobody's lease", async (t) => {
  // Eviction is in real time: a ledger lease of this clock is over before it.
  const stack = await LedgerStack.begin(4);
  t.after(() => stack.dispose());
  const bot = await Bot.begin(stack.client);
  const { heldUntil } = await bot.admitted(askOf(1));
  const newer = await Bot.begin(stack.client);
  const boots = stack.boots();
  // Health is the Worker's own, and asks the object nothing.
  for (const end = performance.now() + 11_000; performance.now() < end;) {
    await stack.client.health();
    await pause(200);
  }
  const { now, entries } = await stack.client.reclaim(newer.generation);
  assert.equal(stack.boots(), boots + 1, "it was gone, and is back");
  assert.ok(now >= heldUntil);
  assert.deepEqual(
    entries.map(({ ask }) => ask.id),
    [askOf(1).id],
  );
});
