// What `tidegate status` says where nobody answers: whom it asked, and never to type what was just typed.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { problemOf } from "#wire/errors.ts";
import { BotForTests } from "../botForTests.ts";
import { cliWith } from "../cliForTests.ts";

const bots: BotForTests[] = [];
after(() => Promise.all(bots.map((bot) => bot.stop())));

test("a stack that is away is named part by part, and what is next starts it", async () => {
  const bot = await BotForTests.start();
  bots.push(bot);
  bot.refusals.push("cut", "cut");
  const away = Response.json(problemOf("UNREACHABLE", "nobody serves this fleet now"), { status: 503 });
  const typed = cliWith({ "/residents": away }, {}, { bot, real: clockOf(REAL_TIME) });
  assert.equal(await typed.type("status"), 1);
  assert.match(typed.out(), /The fleet cannot be reached: nobody serves this fleet now\n +next: npm start$/m);
  assert.match(typed.out(), /The bot cannot be reached: http:\S+ does not answer .*\n +next: npm start$/m);
  assert.doesNotMatch(typed.out(), /next: .*npx tidegate status/);
});
