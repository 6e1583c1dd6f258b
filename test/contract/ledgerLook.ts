// The contract of a look: everything that has not ended, each as one line, however much was asked and said; whoever takes
// one in hand asks for it whole.

import assert from "node:assert/strict";
import { LIMIT } from "#core/budgets.ts";
import { lineOf } from "#wire/ledgerAnswers.ts";
import { APP, askOf, Bot, refusal, type Contract } from "./ledgerStand.ts";

const { id } = askOf(1);

/** What a look is held to, and how much is taken. */
export const LOOKS: Contract = {
  "a look has one line of each, in the order of arrival, with the beginning of its text and how much was said": async ({
    stand,
    bot,
  }) => {
    const text = "x".repeat(LIMIT.askChars);
    await bot.admitted(askOf(1, { text }));
    await bot.ask(askOf(2, { parent: id }), false);
    await bot.ask(askOf(3), false);
    await bot.say(id, "said-1", "steer", text);
    await bot.say(id, "said-2", "stop", "");
    await bot.progress(id, { delivered: 1, reading: { procId: "p", bootId: "b", out: 1, err: 2 } });
    const [look, whole] = [await stand.ledger.look(), await stand.ledger.entries()];
    assert.deepEqual(
      look.entries,
      whole.entries.map((entry) => lineOf(entry)),
    );
    assert.deepEqual([look.generation, look.unreadable], [whole.generation, []]);
    const [first] = look.entries;
    assert.deepEqual([first?.said, first?.delivered, first?.ask.text], [2, 1, text.slice(0, LIMIT.shownChars)]);
    assert.equal((await stand.ledger.run(id)).entry.ask.text, text);
  },

  "many runs are taken over by as many answers as it takes, each once": async ({ stand, bot }) => {
    const many = LIMIT.reclaimedAtOnce + 3;
    for (let n = 1; n <= many; n += 1) await bot.admitted(askOf(n));
    await stand.ledger.handOff(bot.generation);
    const newer = await Bot.begin(stand.ledger);
    const answers = [];
    for (let n = 0; n < 3; n += 1) answers.push((await stand.ledger.reclaim(newer.generation)).entries);
    assert.deepEqual(
      answers.map((entries) => entries.length),
      [LIMIT.reclaimedAtOnce, 3, 0],
    );
    assert.deepEqual(
      answers.flat().map(({ ask }) => ask.id),
      Array.from({ length: many }, (_, n) => askOf(n + 1).id),
    );
  },

  "a text more than an ask can have is refused by its bytes, and says how many those would be": async ({ bot }) => {
    const text = "漢".repeat(15_000);
    await bot.ask(askOf(1, { text }), false);
    assert.equal((await bot.say(id, "said-1", "steer", text)).kind, "added");
    for (const more of [
      bot.say(id, "said-2", "steer", text),
      bot.ask(askOf(2, { text, threadKey: "web:T1" }), false),
    ]) {
      const problem = await refusal(more);
      assert.deepEqual([problem.code, problem.field], ["TOO_LARGE", "text"]);
      assert.match(problem.detail, /would have 135004 bytes, 45002 characters, 2 messages; it takes 120000 bytes/);
    }
    const run = await bot.dispatch(APP);
    assert.ok(run !== null && Buffer.byteLength(run.ask.text) < LIMIT.argumentBytes);
  },
};
