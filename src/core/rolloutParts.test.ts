// The ledger and the bot under the deploy's one drain: each is swapped in its turn and proven by what it serves, the first
// that fails stops the rest, and what has landed is never forgotten.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  ALL_STEPS,
  anyChoice,
  anySteps,
  BLIND,
  BOT_ALONE,
  BOT_HANDED_OFF,
  BUSY,
  chosen,
  CLOSED,
  CONFIRMED,
  DENIED,
  DRAINED,
  LEDGER_ALONE,
  lifted,
  LOST,
  MINTED,
  MINUTE_LATER,
  OTHER,
  OVER,
  QUIET,
  reconciling,
  RUN,
  said,
  SEALED,
  serves,
  TABLE,
  TERM,
  times,
  TOLD,
  uploaded,
  viewed,
  walk,
  WOKE,
} from "../../test/unit/rolloutSamples.ts";
import { CLOCK } from "./budgets.ts";
import { PROTOCOL } from "./preflight.ts";
import { nextDeploy } from "./rollout.ts";
import {
  closesNothing,
  deployOf,
  DEPLOY_MODES,
  withSteps,
  type DeployFact,
  type DeployMode,
  type Steps,
} from "./rolloutState.ts";
import { SECOND } from "./time.ts";

const ROLLED = [uploaded("landed"), serves("d1")];
const LEDGER = [...CLOSED, QUIET, ...ROLLED];
const BOTH = [...LEDGER, ...ROLLED];
const BOT_BUSY = viewed({ botInFlight: 1 });
const BLIND_BOT = viewed({ unreadable: ["bot"] });
/** The bot is swapped before the wait of the resident's own step. */
const SOON: Steps = { parts: ["bot"], waits: false, resident: true };

const drained: readonly [says: string, facts: readonly DeployFact[], doing: string][] = [
  ["a quiet fleet rolls the ledger first", [...CLOSED, QUIET], "roll ledger"],
  ["in flight is waited for before the first of them", [...CLOSED, BUSY], "pause, then pulse"],
  ["so is what the bot has in hand", [...CLOSED, BOT_BUSY], "pause, then pulse"],
  ["word of quiet is followed by a look, since it knows nothing of the bot", [...CLOSED, BUSY, TOLD], "look"],
  ["a bot that cannot be read refuses it before it closes", [BLIND_BOT], "done refused nothing to lift"],
  ["and is nothing quiet once it is closed", [...CLOSED, BLIND_BOT], "pause, then pulse"],
  ["a part that was swapped is proven by what it serves", [...CLOSED, QUIET, uploaded("landed")], "rollGate ledger"],
  ["so is one whose answer was lost", [...CLOSED, QUIET, LOST], "rollGate ledger"],
  ["the old one proves nothing", [...CLOSED, QUIET, LOST, serves("d0", 7)], "pause, then rollGate"],
  ["nor does one that does not answer", [...CLOSED, QUIET, LOST, BLIND], "pause, then rollGate"],
  ["nor does silence", [...CLOSED, QUIET, LOST, LOST], "pause, then rollGate"],
  ["a pause of the proof that is cut short goes on", [...CLOSED, QUIET, LOST, BLIND, LOST], "pause, then rollGate"],
  ["and is asked again", [...CLOSED, QUIET, LOST, BLIND, WOKE], "rollGate ledger"],
  ["word of quiet moves no proof on", [...CLOSED, QUIET, LOST, BLIND, TOLD], "rollGate ledger"],
  ["what it turned out to be ends the proof", [...CLOSED, QUIET, LOST, uploaded("failed")], "lift none, failed"],
  ["that it landed is for the gate to see", [...CLOSED, QUIET, LOST, uploaded("landed")], "rollGate ledger"],
  ["a drain that is over before its swap is replaced", [...CLOSED, QUIET, OVER], "mint"],
  ["and the swap is begun under the new one", [...LEDGER, OVER, MINTED, DRAINED, QUIET], "roll bot"],
  ["served it is followed by the bot", LEDGER, "roll bot"],
  ["and that by the seal", BOTH, "seal"],
  ["behind which everything is as ever", [...BOTH, SEALED, CONFIRMED, ...ROLLED], "reconcile"],
  ["to its end", [...BOTH, SEALED, CONFIRMED, ...ROLLED, reconciling(), lifted()], "done deployed open"],
  ["a part that is refused stops the rest", [...LEDGER, uploaded("refused")], "lift none, refused"],
  ["so does one that failed", [...LEDGER, uploaded("failed")], "lift none, failed"],
  ["or never began", [...LEDGER, uploaded("none")], "lift none, failed"],
  ["or is not allowed", [...LEDGER, DENIED], "lift none, denied"],
  [
    "at its bound it is unknown, never failed",
    [...LEDGER, LOST, ...times(180, BLIND, WOKE), BLIND],
    "lift none, unknown",
  ],
  ["a signal while one is swapped lifts", [...CLOSED, QUIET, TERM], "lift none, stopped"],
  ["and while one is proven", [...CLOSED, QUIET, LOST, TERM], "lift none, stopped"],
  ["a drain that was over behind them is replaced", [...LEDGER, ...ROLLED, OVER, MINTED, DRAINED, QUIET], "seal"],
];
for (const [says, facts, doing] of drained)
  test(`drained: ${says}`, () => assert.equal(said(walk("drained", facts, ALL_STEPS).state), doing));

const others: readonly [says: string, mode: DeployMode, steps: Steps, facts: readonly DeployFact[], doing: string][] = [
  ["the ledger alone closes nothing", "drained", LEDGER_ALONE, [BUSY], "roll ledger"],
  ["nor asks it for anything else", "drained", LEDGER_ALONE, [BLIND_BOT], "roll ledger"],
  ["and has nothing to lift", "drained", LEDGER_ALONE, [BUSY, ...ROLLED], "done deployed nothing to lift"],
  [
    "failed it has nothing to lift either",
    "drained",
    LEDGER_ALONE,
    [BUSY, uploaded("failed")],
    "done failed nothing to lift",
  ],
  [
    "it respects another deploy",
    "drained",
    LEDGER_ALONE,
    [viewed({ drains: [OTHER] })],
    "done refused nothing to lift",
  ],
  [
    "it refuses a protocol two apart",
    "drained",
    LEDGER_ALONE,
    [viewed({ protocol: PROTOCOL + 2 })],
    "done refused nothing to lift",
  ],
  ["a fleet that does not answer refuses it", "drained", LEDGER_ALONE, [BLIND], "done refused nothing to lift"],
  ["the bot alone closes the door", "drained", BOT_ALONE, [BUSY], "drain"],
  ["and waits", "drained", BOT_ALONE, [...CLOSED, BUSY], "pause, then pulse"],
  ["quiet it rolls and lifts", "drained", BOT_ALONE, [...CLOSED, QUIET, ...ROLLED], "lift none, deployed"],
  ["handed off it does not wait", "drained", BOT_HANDED_OFF, [...CLOSED, BUSY], "roll bot"],
  ["not for the bot's own either", "drained", BOT_HANDED_OFF, [...CLOSED, BOT_BUSY], "roll bot"],
  ["but never over what it cannot read", "drained", BOT_HANDED_OFF, [...CLOSED, BLIND_BOT], "pause, then pulse"],
  ["rolled under runs, the fleet's own wait begins with a look", "drained", SOON, [...CLOSED, BUSY, ...ROLLED], "look"],
  ["which finds them still", "drained", SOON, [...CLOSED, BUSY, ...ROLLED, BUSY], "pause, then pulse"],
  ["or sees that they have ended", "drained", SOON, [...CLOSED, BUSY, ...ROLLED, QUIET], "seal"],
  ["over a quiet fleet it needs none", "drained", SOON, [...CLOSED, QUIET, ...ROLLED], "seal"],
  ["under a handoff each is swapped under the runs", "handoff", ALL_STEPS, [...CLOSED, BUSY], "roll ledger"],
  [
    "but not while a workspace is made",
    "handoff",
    ALL_STEPS,
    [...CLOSED, viewed({ runs: [RUN], attaching: 1 })],
    "pause, then pulse",
  ],
  ["and the fleet behind them", "handoff", ALL_STEPS, [...CLOSED, BUSY, ...ROLLED, ...ROLLED], "seal"],
  ["undrained it waits for a quiet look", "undrained", ALL_STEPS, [BUSY], "pause, then look"],
  ["seen quiet it rolls", "undrained", ALL_STEPS, [QUIET], "roll ledger"],
  ["and looks before the next, since nothing is closed", "undrained", ALL_STEPS, [QUIET, ...ROLLED], "look"],
  ["where somebody came it waits", "undrained", ALL_STEPS, [QUIET, ...ROLLED, BUSY], "pause, then look"],
  ["else it goes on", "undrained", ALL_STEPS, [QUIET, ...ROLLED, QUIET, ...ROLLED, QUIET], "upload"],
  [
    "behind the last of them there is nothing to look for",
    "undrained",
    BOT_ALONE,
    [QUIET, ...ROLLED],
    "done deployed nothing to lift",
  ],
  [
    "undrained the ledger alone waits for nobody",
    "undrained",
    LEDGER_ALONE,
    [BUSY, ...ROLLED],
    "done deployed nothing to lift",
  ],
  ["forced it rolls over what runs", "forced", ALL_STEPS, [BUSY], "roll ledger"],
  ["and over what does not answer", "forced", ALL_STEPS, [BLIND], "roll ledger"],
  ["to the upload", "forced", ALL_STEPS, [BUSY, ...ROLLED, ...ROLLED], "upload"],
];
for (const [says, mode, steps, facts, doing] of others)
  test(`${mode}: ${says}`, () => assert.equal(said(walk(mode, facts, steps).state), doing));

test("only a deploy of the ledger alone closes nothing", () => {
  const all = [ALL_STEPS, LEDGER_ALONE, BOT_ALONE, BOT_HANDED_OFF, { ...LEDGER_ALONE, resident: true }];
  assert.deepEqual(all.map(closesNothing), [false, true, false, false, false]);
});

test("what has landed and what has not is kept, whatever stopped the deploy", () => {
  const { state } = walk("drained", [...LEDGER, uploaded("failed")], ALL_STEPS);
  assert.deepEqual([state.landed, state.steps], [["ledger"], { parts: ["bot"], waits: true, resident: true }]);
  assert.deepEqual(state.stop, { kind: "failed", why: "bot: " });
  const whole = walk("drained", [...BOTH, SEALED, CONFIRMED, ...ROLLED], ALL_STEPS).state;
  assert.deepEqual([whole.landed, whole.outcome], [["ledger", "bot", "resident"], "landed"]);
});

test("the proof of a part lasts to the swap bound from its swap on, whatever is heard of it meanwhile", () => {
  const { state } = walk("drained", [...CLOSED, QUIET], ALL_STEPS);
  const proving = nextDeploy(state, LOST, SECOND);
  assert.equal(proving.partUntil, SECOND + CLOCK.swapBoundMs);
  assert.equal(nextDeploy(proving, uploaded("unknown"), 9 * SECOND).partUntil, proving.partUntil);
  const late = proving.partUntil - 1;
  assert.deepEqual(nextDeploy(proving, BLIND, late).effect, { do: "pause", at: late + 1, then: "rollGate" });
  assert.equal(said(nextDeploy(proving, BLIND, late + 1)), "lift none, unknown");
});

test("a deploy that finds its drain over and cannot mint another id ends there", () => {
  const { state } = walk("drained", [...CLOSED, { kind: "over" }], ALL_STEPS);
  const minting = { ...state, effect: { do: "mint" as const }, asked: false };
  assert.equal(said(nextDeploy(minting, LOST, 0)), "done failed nothing to lift");
});

test("a gate without a part is nobody's", () => {
  const { state } = walk("drained", [...CLOSED, QUIET, LOST, BLIND], ALL_STEPS);
  const odd = withSteps(state, { ...ALL_STEPS, parts: [] });
  assert.equal(nextDeploy(odd, WOKE, 0), odd);
});

test("a deploy whose budget runs out on the bot alone names it", () => {
  const { state } = walk("drained", [...CLOSED, BOT_BUSY, ...times(100, ...MINUTE_LATER, BOT_BUSY)], ALL_STEPS);
  assert.equal(said(state), "lift none, refused");
  assert.ok(state.stop?.kind === "refused" && state.stop.by.kind === "busy" && state.stop.by.botInFlight === 1);
});

test("whatever is said, the parts are swapped in their order, each behind the proof of the one before", () => {
  const mode = fc.constantFrom(...DEPLOY_MODES);
  fc.assert(
    fc.property(mode, anySteps, fc.array(anyChoice, { maxLength: 120 }), (how, steps, choices) => {
      let [state, now] = [withSteps(deployOf(how, "d1", TABLE, 0), steps), 0];
      for (const one of choices) {
        const { fact, at } = chosen(state, one, now);
        now = at;
        const next = nextDeploy(state, fact, now);
        const whole = [...next.landed.filter((name) => name !== "resident"), ...next.steps.parts];
        assert.deepEqual(whole, steps.parts, "nothing is lost, and nothing swapped twice");
        if (next.effect.do === "roll") assert.equal(next.effect.part, next.steps.parts[0]);
        if (["seal", "upload"].includes(next.effect.do)) assert.deepEqual(next.steps.parts, []);
        if (next.landed.length > state.landed.length) assert.equal(fact.kind, "serves");
        const rolls = next.effect.do === "roll" && next !== state;
        if (rolls && how === "drained" && !closesNothing(steps)) assert.ok(next.asked, "behind its drain");
        state = next;
      }
    }),
    { numRuns: 1_000 },
  );
});
