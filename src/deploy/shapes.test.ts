// Which steps a deploy has, and why: by what the stack runs, what the release changes, and what a person typed.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Build } from "#core/drain.ts";
import type { StepName } from "#wire/host.ts";
import { FROM, TO } from "#deploy/recordsForTests.ts";
import {
  chooseRestart,
  chooseSteps,
  shapesOf,
  stepsOf,
  swapFor,
  type StepFacts,
  type StepsAsked,
} from "#deploy/shapes.ts";

/** A stack that runs everything and a folder that has everything; these steps change their bundle. */
function facts(changed: readonly StepName[], more: Partial<Record<StepName, Partial<StepFacts>>> = {}): StepFacts[] {
  return (["ledger", "bot", "resident"] as const).map((step) => {
    const from: Build = { ...FROM, image: TO.image, bundle: `${step}-1` };
    const to: Build = { ...TO, bundle: changed.includes(step) ? `${step}-2` : `${step}-1` };
    return { step, runs: true, from, to, reconfigured: "nothing", ...more[step] };
  });
}

const NONE: StepsAsked = { only: [], skip: [] };
const image = { from: { ...FROM, bundle: "resident-1" } };
const absent = { runs: false, from: null };

const table: readonly [says: string, facts: StepFacts[], asked: StepsAsked, done: StepName[]][] = [
  [
    "everything that has changed, in its order",
    facts(["resident", "bot", "ledger"]),
    NONE,
    ["ledger", "bot", "resident"],
  ],
  ["a part whose bundle is unchanged stays", facts(["bot"]), NONE, ["bot"]],
  ["the fleet whose image alone changes is done", facts([], { resident: image }), NONE, ["resident"]],
  ["beside a part that changes too", facts(["bot"], { resident: image }), NONE, ["bot", "resident"]],
  ["where nothing changes the fleet is swapped for itself", facts([]), NONE, ["resident"]],
  [
    "what is served is unknown, so it is done",
    facts(["ledger"], { resident: { from: null } }),
    NONE,
    ["ledger", "resident"],
  ],
  [
    "a part whose configuration alone changes is done",
    facts([], { bot: { reconfigured: "kinds" }, resident: { reconfigured: "leases" } }),
    NONE,
    ["bot", "resident"],
  ],
  ["and is a release, by which nothing else is swapped", facts([], { bot: { reconfigured: "roll" } }), NONE, ["bot"]],
  ["what the stack does not run is left out", facts(["bot", "resident"], { bot: absent }), NONE, ["resident"]],
  ["and its change is no release", facts(["bot"], { bot: absent }), NONE, ["resident"]],
  ["what the folder does not have is left out", facts(["bot", "resident"], { bot: { to: null } }), NONE, ["resident"]],
  ["--only is nothing else", facts(["ledger", "bot", "resident"]), { only: ["bot"], skip: [] }, ["bot"]],
  ["also where that is unchanged", facts(["resident"]), { only: ["ledger", "bot"], skip: [] }, ["ledger", "bot"]],
  [
    "--skip is everything else",
    facts(["ledger", "bot", "resident"]),
    { only: [], skip: ["ledger"] },
    ["bot", "resident"],
  ],
  ["also the fleet", facts(["bot", "resident"]), { only: [], skip: ["resident"] }, ["bot"]],
  ["a part that is skipped brings no fleet along", facts(["bot"]), { only: [], skip: ["bot"] }, []],
  ["nothing changes, and the fleet is skipped", facts([]), { only: [], skip: ["resident"] }, []],
];
for (const [says, given, asked, done] of table)
  test(`the steps: ${says}`, () => {
    const choices = chooseSteps(given, asked);
    assert.deepEqual(
      shapesOf(choices).map((one) => one.step),
      done,
    );
    assert.equal(choices.length, 3, "those that are left out are named too");
    assert.ok(choices.every((one) => one.why !== ""));
  });

const whys: readonly [facts: StepFacts[], asked: StepsAsked, why: Partial<Record<StepName, string>>][] = [
  [
    facts(["ledger"], { resident: image }),
    NONE,
    { ledger: "its bundle changes", bot: "its bundle is unchanged, so it stays", resident: "its image changes" },
  ],
  [
    facts([], { bot: { reconfigured: "kinds" }, resident: { reconfigured: "leases" } }),
    NONE,
    { bot: "its kinds change", resident: "its leases change" },
  ],
  [facts([], { bot: { reconfigured: "roll" } }), NONE, { bot: "how it leaves its runs changes" }],
  [facts([]), NONE, { resident: "nothing changes, so it is swapped for itself" }],
  [
    facts([], { resident: { from: null }, bot: absent, ledger: { to: null } }),
    NONE,
    {
      resident: "what is served is unknown",
      bot: "this stack runs none",
      ledger: "this folder has none",
    },
  ],
  [
    facts(["bot"]),
    { only: ["bot", "ledger"], skip: [] },
    {
      bot: "its bundle changes",
      ledger: "its bundle is unchanged",
      resident: "left out by --only bot --only ledger",
    },
  ],
  [facts(["bot"]), { only: [], skip: ["bot"] }, { bot: "left out by --skip" }],
];
test("each step says why it is done, or left out", () => {
  for (const [given, asked, expected] of whys) {
    const said = chooseSteps(given, asked).map(({ step, why }) => [step, why]);
    assert.partialDeepStrictEqual(Object.fromEntries(said), expected);
  }
});

test("a restart is of what is served: each that was named, or all that the stack runs", () => {
  const given = facts([], { ledger: absent });
  const named = (...steps: StepName[]): string[] => shapesOf(chooseRestart(given, steps)).map((one) => one.step);
  assert.deepEqual(
    [named(), named("bot"), named("resident", "bot")],
    [["bot", "resident"], ["bot"], ["bot", "resident"]],
  );
  assert.deepEqual(
    chooseRestart(given, ["bot"]).map((one) => one.why),
    ["this stack runs none", "the same build again", "not named, so it stays"],
  );
  assert.deepEqual(named("ledger"), []);
});

test("only a bot that hands its runs off is swapped without a wait, and only where the fleet is not swapped too", () => {
  const steps = (names: readonly StepName[], roll: "drain" | "handoff") =>
    stepsOf(
      names.map((step) => ({ step })),
      roll,
    );
  assert.deepEqual(steps(["bot"], "handoff"), { parts: ["bot"], resident: false, waits: false });
  assert.equal(steps(["ledger", "bot"], "handoff").waits, false);
  assert.equal(steps(["bot"], "drain").waits, true);
  assert.equal(steps(["ledger"], "handoff").waits, true, "it has nothing to wait for");
  assert.deepEqual(steps(["resident", "bot", "ledger"], "handoff"), {
    parts: ["ledger", "bot"],
    resident: true,
    waits: true,
  });
});

test("under runs only what leaves them alive is swapped: the same image, and no bot that waits for them", () => {
  const kept = { ...FROM, image: TO.image };
  const how = (names: readonly StepName[], botRoll: "drain" | "handoff", from: Build | null = kept) =>
    swapFor(
      names.map((step) => ({ step, from, to: TO })),
      { residentSwap: "handoff", botRoll },
    );
  assert.deepEqual(
    [how(["resident"], "drain"), how(["bot", "resident"], "handoff"), how(["ledger", "resident"], "drain")],
    ["handoff", "handoff", "handoff"],
  );
  assert.deepEqual(
    [how(["bot", "resident"], "drain"), how(["resident"], "handoff", FROM), how(["bot"], "handoff")],
    ["drained", "drained", "drained"],
  );
});
