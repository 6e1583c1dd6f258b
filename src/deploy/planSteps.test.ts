// A plan of more than the fleet: each step with its reason, also those that are left out, whom it would wait for and why, and
// the order of what would be done.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Steps } from "#core/rolloutState.ts";
import { planOf, planWords, type PlanSources } from "#deploy/plan.ts";
import { BUDGETS, fleetOf, FROM, runOf, T0, TO } from "#deploy/recordsForTests.ts";
import { chooseSteps, type StepFacts } from "#deploy/shapes.ts";

const KEPT = { ...FROM, image: TO.image };
const FACTS: readonly StepFacts[] = [
  { step: "ledger", runs: true, from: { ...KEPT, bundle: "l1" }, to: { ...TO, bundle: "l1" }, reconfigured: "nothing" },
  { step: "bot", runs: true, from: { ...KEPT, bundle: "p1" }, to: { ...TO, bundle: "p2" }, reconfigured: "nothing" },
  { step: "resident", runs: true, from: KEPT, to: TO, reconfigured: "nothing" },
];
const ALL: Steps = { parts: ["ledger", "bot"], waits: true, resident: true };
const LEDGER: Steps = { parts: ["ledger"], waits: true, resident: false };
const BOT: Steps = { parts: ["bot"], waits: true, resident: false };

const plan = (more: Partial<PlanSources> = {}) =>
  planOf(
    {
      choices: chooseSteps(FACTS, { only: [], skip: [] }),
      steps: { parts: ["bot"], waits: true, resident: true },
      mode: "drained",
      from: KEPT,
      to: TO,
      imageWasBuilt: true,
      superseding: "newer",
      view: fleetOf([runOf("r1", 20)], { botInFlight: 1 }),
      without: [],
      budgets: BUDGETS,
      ...more,
    },
    T0,
  );
const words = (more: Partial<PlanSources> = {}): readonly string[] => planWords(plan(more));

test("each step is said with its reason, also the one that is left out", () => {
  assert.deepEqual(words().slice(0, 3), [
    "ledger: its bundle is unchanged, so it stays",
    "bot: 3f9c1e2 → 7b02d9e — its bundle changes",
    "resident: 3f9c1e2 → 7b02d9e, image c9e0 unchanged — its bundle changes",
  ]);
  const { step, choices } = plan();
  assert.equal(step, "bot, resident");
  assert.deepEqual(
    choices.map((one) => one.included),
    [false, true, true],
  );
});

test("what the bot has in hand is waited for like any run", () => {
  assert.ok(words().some((line) => line.startsWith("would wait for 1 run in flight, 1 in the bot's hands, quiet by")));
  assert.ok(
    words({ view: fleetOf([], { botInFlight: 2 }) }).some((line) => /wait for 2 in the bot's hands \(/.test(line)),
  );
});

const orders: readonly [Partial<PlanSources>, string][] = [
  [{ steps: ALL }, "drain → wait for quiet → ledger → bot → seal → swap → live gate → reconcile → lift"],
  [{ steps: ALL, mode: "handoff" }, "drain → ledger → bot → swap under the runs → live gate → reconcile → lift"],
  [{ steps: ALL, mode: "undrained" }, "wait without a drain → ledger → bot → swap → live gate"],
  [{ steps: ALL, mode: "forced" }, "ledger → bot → swap over what runs → live gate"],
  [{ steps: BOT }, "drain → wait for quiet → bot → lift"],
  [{ steps: { ...BOT, waits: false } }, "drain → bot → lift"],
  [{ steps: LEDGER }, "ledger"],
  [{ steps: LEDGER, mode: "undrained" }, "ledger"],
];
for (const [more, order] of orders) test(`the order: ${order}`, () => assert.ok(words(more).includes(order)));

test("a plan that leaves the fleet alone says why it waits or does not, and nothing of an image", () => {
  const bot = words({ steps: BOT });
  assert.ok(bot.some((line) => /swapped once its runs have ended; .*"bot": \{"roll": "handoff"\}/.test(line)));
  assert.ok(bot.some((line) => line.startsWith("would wait for 1 run in flight")));
  assert.ok(!bot.some((line) => line.startsWith("image ")));
  const handedOff = words({ steps: { ...BOT, waits: false } });
  assert.ok(handedOff.some((line) => line.startsWith('"bot.roll" is "handoff"')));
  assert.ok(handedOff.some((line) => line.startsWith("would wait for nothing")));
  const ledger = words({ steps: LEDGER });
  assert.ok(ledger.includes("the ledger alone: nothing is closed, and nobody is waited for"));
  assert.ok(!ledger.some((line) => /would wait|longest lease/.test(line)));
});

test("a fleet that is swapped for its leases alone is said to be, and never to be swapped for itself", () => {
  const choices = chooseSteps([{ step: "resident", runs: true, from: TO, to: TO, reconfigured: "leases" }], {
    only: [],
    skip: [],
  });
  const lines = words({ steps: { parts: [], waits: true, resident: true }, from: TO, to: TO, choices });
  assert.ok(lines.some((line) => line.startsWith("only the leases of its kinds change")));
  assert.ok(!lines.some((line) => line.includes("for itself")));
});

test("a plan of no step says that, and nothing of an order or a wait", () => {
  const none = words({ steps: { ...LEDGER, parts: [] } });
  assert.deepEqual(none.slice(-2), ["nothing to deploy", "dry run: nothing was closed, built or swapped"]);
  assert.ok(!none.some((line) => line === "" || /alone|would wait/.test(line)));
});

test("only what would refuse it is said to", () => {
  const view = fleetOf([], { unreadable: ["the bot (ECONNREFUSED)"] });
  const refused = (more: Partial<PlanSources>): boolean =>
    words({ view, ...more }).some((line) =>
      line.startsWith("would be refused now: a part of the fleet cannot be read"),
    );
  assert.deepEqual([refused({}), refused({ steps: LEDGER }), refused({ mode: "forced" })], [true, false, false]);
  const apart = { view: fleetOf([], { protocol: 3 }), steps: LEDGER };
  assert.ok(words(apart).some((line) => line.startsWith("would be refused now: this build and the fleet are two")));
});
