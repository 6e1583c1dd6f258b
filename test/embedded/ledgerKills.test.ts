// What a kill takes from the ledger: nothing that it had acknowledged. Its workerd is ended between steps and in the
// middle of them, and every ask, run, message and byte is as it was answered, once.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { LedgerClient } from "#client/ledger.ts";
import { isUnreachable } from "#client/transport.ts";
import { APP, askOf, Bot } from "../contract/ledgerStand.ts";
import { LedgerStack } from "./ledgerStack.ts";

async function begun(t: TestContext): Promise<{ stack: LedgerStack; ledger: LedgerClient; bot: Bot }> {
  const stack = await LedgerStack.begin(1);
  t.after(() => stack.dispose());
  return { stack, ledger: stack.client, bot: await Bot.begin(stack.client) };
}

const id = askOf(1).id;

/** Everything that the ledger tells, but its clock and how long somebody is believed to live. */
async function told(ledger: LedgerClient): Promise<unknown> {
  const { generation, entries } = await ledger.entries();
  const { runs } = await ledger.history();
  const details = [];
  for (const one of [...entries.map(({ ask }) => ask.id), ...runs.map((run) => run.id)]) {
    const { now: _, entry, ...run } = await ledger.run(one);
    details.push({ ...run, entry: { ...entry, heldUntil: 0 } });
  }
  const { data } = await ledger.outputFrom({ id });
  return { generation, runs, details, data, receipts: (await ledger.receipts()).receipts };
}

test("killed after any step, the ledger tells what it told before, and goes on there", async (t) => {
  const { stack, ledger, bot } = await begun(t);
  await bot.admitted(askOf(1));
  const steps: readonly (() => Promise<unknown>)[] = [
    () => bot.ask(askOf(2), false),
    () => bot.ask(askOf(3, { threadKey: "web:T2" }), false),
    () => bot.dispatch(APP),
    () => bot.giveBack(askOf(2).id),
    () => bot.dispatch(APP),
    () => bot.progress(id, { reading: { procId: "p", bootId: "b", out: 0, err: 0 } }),
    () => bot.output(id, 0, "first ", { reading: { procId: "p", bootId: "b", out: 6, err: 0 } }),
    () => bot.output(id, 6, "second"),
    () => bot.say(id, "said-1", "steer"),
    () => bot.say(id, "said-2", "followUp"),
    () => bot.progress(id, { delivered: 1 }),
    () => bot.note(id, "drain_wait", "waited", 5),
    () => ledger.heartbeat(bot.generation),
    () => bot.end(id),
    () => ledger.keepReceipt({ drainId: "drain-1", result: "deployed" }),
    () => ledger.handOff(bot.generation),
    () => ledger.begin("the next"),
    () => ledger.reclaim(bot.generation + 1),
  ];
  for (const [n, step] of steps.entries()) {
    await step();
    const before = await told(ledger);
    await stack.restart();
    assert.deepEqual(await told(ledger), before, `step ${n}: ${String(step)}`);
  }
  const { entries } = await ledger.entries();
  assert.deepEqual(
    entries.map(({ ask, state, holder }) => [ask.id, state, holder]),
    [
      [askOf(2).id, "admitted", bot.generation + 1],
      [`left-of-${id}`, "queued", 0],
    ],
  );
});

/** Asks again until there is an answer. */
async function insisted<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      await pause(10);
    }
  }
}

/** Kills and restarts the ledger whenever so many more of a count have come in, until all have. */
async function killedWhile(
  stack: LedgerStack,
  count: () => number,
  total: number,
  work: Promise<unknown>,
): Promise<void> {
  const each = Math.floor(total / 4);
  for (let next = each; next < total; next += each) {
    while (count() < next) await pause(1);
    await stack.restart();
  }
  await work;
}

test("killed in the middle of asks, each that was answered is there, each key once, and each is dispatched once", async (t) => {
  const { stack, ledger, bot } = await begun(t);
  const total = 120;
  let answers = 0;
  const asking = Promise.all(
    Array.from({ length: 6 }, async (_, lane) => {
      for (let n = lane; n < total; n += 6) {
        const answer = await insisted(() => bot.ask(askOf(n), false));
        assert.ok(answer.kind === "queued" || answer.kind === "known");
        answers += 1;
      }
    }),
  );
  await killedWhile(stack, () => answers, total, asking);
  const { entries } = await ledger.entries();
  assert.deepEqual(
    entries.map(({ ask }) => ask.id).toSorted(),
    Array.from({ length: total }, (_, n) => askOf(n).id),
  );
  assert.deepEqual(
    entries.map(({ place }) => place),
    Array.from({ length: total }, (_, n) => n + 1),
  );

  const taken: string[] = [];
  const dispatching = (async () => {
    for (
      let next = await insisted(() => bot.dispatch(APP));
      next !== null;
      next = await insisted(() => bot.dispatch(APP))
    )
      taken.push(next.ask.id);
  })();
  const held = async (): Promise<string[]> => (await ledger.heartbeat(bot.generation)).ids;
  await killedWhile(stack, () => taken.length, total - 4, dispatching);
  assert.equal(new Set(taken).size, taken.length, "none is dispatched twice");
  const inOrder = entries.map(({ ask }) => ask.id);
  assert.deepEqual(
    taken,
    inOrder.filter((one) => taken.includes(one)),
    "in the order of arrival",
  );
  assert.deepEqual(await held(), inOrder, "one whose answer was lost is named by the heartbeat");
});

test("killed in the middle of a run's output, it is whole, byte for byte", async (t) => {
  const { stack, ledger, bot } = await begun(t);
  await bot.admitted(askOf(1));
  const whole = Buffer.from(Array.from({ length: 40_000 }, (_, n) => (n * 7 + (n >> 8)) % 256));
  let at = 0;
  const writing = (async () => {
    while (at < whole.length) {
      const data = whole.subarray(at, at + 97).toString("base64");
      at = (await insisted(() => bot.output(id, at, "", { data }))).length;
    }
  })();
  await killedWhile(stack, () => at, whole.length, writing);
  const { data } = await ledger.outputFrom({ id });
  assert.ok(Buffer.from(data, "base64").equals(whole));
});
