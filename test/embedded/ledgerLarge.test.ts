// A ledger that is filled within its own limits goes on answering: what it tells of everything is one line each, and the
// largest entry that it takes is stored, told whole, ended and kept.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { ledgerLookSchema } from "#wire/ledgerLook.ts";
import { APP, askOf, Bot, codeOf } from "../contract/ledgerStand.ts";
import { LedgerStack } from "./ledgerStack.ts";

async function begun(t: TestContext): Promise<{ stack: LedgerStack; bot: Bot }> {
  const stack = await LedgerStack.begin(1);
  t.after(() => stack.dispose());
  return { stack, bot: await Bot.begin(stack.client) };
}

test("a queue as full as the ledger can be, in asks and in their texts, is looked at, dispatched and taken over", async (t) => {
  const { stack, bot } = await begun(t);
  const text = "漢".repeat(LIMIT.ledgerChars / LIMIT.ledgerEntries);
  const together = 20;
  for (let n = 0; n < LIMIT.ledgerEntries; n += together)
    await Promise.all(Array.from({ length: together }, (_, m) => bot.ask(askOf(n + m, { text }), false)));
  assert.equal(await codeOf(bot.ask(askOf(LIMIT.ledgerEntries), false)), "LEDGER_FULL");

  const answer = await stack.ask("read", "/entries?brief=1");
  assert.ok(answer.text.length < LIMIT.ledgerEntries * LIMIT.lineBytes, `${answer.text.length}`);
  assert.equal(ledgerLookSchema.parse(answer.body).entries.length, LIMIT.ledgerEntries);
  assert.equal((await bot.dispatch(APP))?.ask.text, text, "who takes one in hand has it whole");
  for (let n = 1; n < LIMIT.reclaimedAtOnce; n += 1) await bot.dispatch(APP);

  await stack.restart();
  await stack.client.handOff(bot.generation);
  const newer = await Bot.begin(stack.client);
  const { entries } = await stack.client.reclaim(newer.generation);
  assert.deepEqual([entries.length, entries[0]?.ask.text], [LIMIT.reclaimedAtOnce, text]);
});

test("the largest entry is stored and told whole, and a bot takes over as many as it asks for at once", async (t) => {
  const { stack, bot } = await begun(t);
  // As long as JSON makes it, while it is shortest where characters are counted.
  const dear = "\u0001";
  const each = dear.repeat(Math.floor(LIMIT.joinedBytes / LIMIT.messages / 6) - 1);
  const ids = Array.from({ length: LIMIT.reclaimedAtOnce }, (_, n) => askOf(n).id);
  for (const [n, id] of ids.entries()) {
    const key = `${dear.repeat(LIMIT.threadKeyChars - 8)}${n}`;
    await bot.admitted(askOf(n, { text: dear.repeat(LIMIT.askChars), key, by: dear.repeat(LIMIT.byChars) }));
    // The rest of them is of the first one alone: each is a step of its own.
    const messages = n === 0 ? LIMIT.messages : 20;
    for (let m = 0; m < messages; m += 1)
      await bot.say(id, `${dear.repeat(LIMIT.threadKeyChars - 12)}${n}-${m}`, "followUp", each);
  }
  const [id = ""] = ids;
  await stack.client.handOff(bot.generation);
  await stack.restart();
  const newer = await Bot.begin(stack.client);
  const { entries } = await stack.client.reclaim(newer.generation);
  assert.equal(entries.length, ids.length);
  assert.equal(entries[0]?.messages.length, LIMIT.messages);
  const { left } = await newer.end(id, { ending: "failed", exit: 1, by: null, why: dear.repeat(LIMIT.writeUpChars) });
  assert.ok((left?.ask.text.length ?? 0) > each.length * LIMIT.messages);
  const run = await stack.client.run(id);
  assert.deepEqual([run.entry.messages.length, run.ended?.verdict.ending], [LIMIT.messages, "failed"]);
  assert.equal((await stack.client.history({ limit: LIMIT.rowsAPage })).runs[0]?.id, id);
});

test("an older bot, which does not ask for lines, has every entry whole", async (t) => {
  const { stack, bot } = await begun(t);
  const entry = await bot.admitted(askOf(1, { text: "x".repeat(LIMIT.askChars) }));
  assert.deepEqual((await stack.client.entries()).entries, [entry]);
  assert.equal((await stack.ask("read", "/entries?brief=0")).status, 400);
});
