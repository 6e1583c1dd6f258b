// What the ledger cannot read, written by hand between two starts: an entry stands and keeps its thread until an admin ends
// it, a count gives no number twice, and an object that cannot be read at all is said to be so.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { problemSchema } from "#wire/errors.ts";
import { APP, askOf, Bot, codeOf, FINISHED, WEB } from "../contract/ledgerStand.ts";
import { LedgerStack } from "./ledgerStack.ts";

async function begun(t: TestContext): Promise<LedgerStack> {
  const stack = await LedgerStack.begin(1);
  t.after(() => stack.dispose());
  return stack;
}

test("an entry of another build stands: it is listed and logged, keeps its thread, and an admin alone ends it", async (t) => {
  const stack = await begun(t);
  const bot = await Bot.begin(stack.client);
  await bot.admitted(askOf(1, { resource: WEB }));
  const name = `entry:web:T7|${askOf(7).id}`;
  await stack.byHand({ [name]: { shape: 9 } });
  const { entries, unreadable } = await stack.client.entries();
  const [id = ""] = unreadable;
  assert.deepEqual(
    entries.map(({ ask, state }) => [ask.id, ask.threadKey, state]),
    [
      [id, "web:T7", "running"],
      [askOf(1).id, "web:T1", "admitted"],
    ],
  );
  const said = stack.log().filter(({ event }) => /cannot read stand/.test(event));
  assert.deepEqual(
    said.map((line) => [line["level"], line["unreadable"]]),
    [["error", [id]]],
  );

  const behind = await bot.ask(askOf(8, { threadKey: "web:T7" }));
  assert.ok(behind.kind === "queued" && behind.behind === "thread");
  assert.equal(await bot.dispatch(APP), null);
  assert.deepEqual([id, (await stack.client.look()).unreadable], [askOf(7).id, [id]], "it is named by its own id");
  const { generation } = bot;
  const words = [
    () => bot.say(id, "said-1", "stop"),
    () => bot.giveBack(id),
    () => bot.progress(id),
    () => bot.output(id, 0, "x"),
    () => stack.client.told({ id, generation, drainId: "drain-1" }),
    () => bot.end(id),
  ];
  for (const word of words) assert.equal(await codeOf(word()), "RECORD_UNREADABLE");
  const newer = await Bot.begin(stack.client);
  await stack.client.handOff(newer.generation);
  await stack.restart();
  assert.ok(stack.storedKeys().includes(name), "and it lies there as it was");

  const end = { id, generation: newer.generation, verdict: FINISHED, leftId: "left-000001", writeUp: "by hand" };
  assert.equal(await codeOf(stack.client.end(end)), "RECORD_UNREADABLE");
  assert.equal((await stack.post("admin", "/end", end)).status, 200);
  assert.deepEqual([(await stack.client.entries()).unreadable, stack.storedKeys().includes(name)], [[], false]);
  const { ended } = await stack.client.run(id);
  assert.deepEqual([ended?.verdict, ended?.writeUp], [FINISHED, "by hand"]);
  assert.equal((await newer.dispatch(APP))?.ask.id, askOf(8).id, "its thread is free");
});

test("a record that cannot be read and has no id of its own is ended by the name that it is given, also the next such one", async (t) => {
  const stack = await begun(t);
  await Bot.begin(stack.client);
  for (const name of ["entry:web:T7|x", "entry:web:T8|y"]) {
    await stack.byHand({ [name]: { shape: 9 } });
    const { unreadable } = await stack.client.look();
    assert.deepEqual(unreadable, ["unreadable-1"]);
    const end = { id: "unreadable-1", generation: 1, verdict: FINISHED, leftId: "left-000001", writeUp: "" };
    assert.equal((await stack.post("admin", "/end", end)).status, 200);
    assert.deepEqual([(await stack.client.look()).unreadable, stack.storedKeys().includes(name)], [[], false]);
  }
});

test("a count that cannot be read fences every bot, and the next begins with a number that nobody had", async (t) => {
  const stack = await begun(t);
  const bot = await Bot.begin(stack.client);
  await bot.ask(askOf(1), false);
  await stack.byHand({ ledger: { shape: 9 } });
  assert.equal(await codeOf(bot.dispatch(APP)), "FENCED");
  const newer = await Bot.begin(stack.client);
  assert.ok(newer.generation > bot.generation + 1);
  const next = await newer.ask(askOf(2), false);
  assert.ok(next.kind === "queued" && next.entry.place === 2);
  assert.deepEqual(await newer.dispatchAll(APP), [askOf(1).id, askOf(2).id]);
});

test("an object that cannot be read is no ledger: everything but health says so, and when to ask again", async (t) => {
  const stack = await begun(t);
  const bot = await Bot.begin(stack.client);
  await stack.spoil();
  const { client } = stack;
  for (const call of [() => client.entries(), () => client.history(), () => bot.ask(askOf(1)), () => bot.dispatch(APP)])
    assert.equal(await codeOf(call()), "UNREADABLE");
  const { status, headers, body } = await stack.ask("read", "/entries");
  assert.deepEqual([status, headers.get("retry-after"), problemSchema.parse(body).code], [503, "5", "UNREADABLE"]);
  assert.equal((await stack.ask(null, "/healthz")).status, 200);
});
