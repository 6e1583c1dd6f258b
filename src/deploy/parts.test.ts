// A deploy of more than the fleet: its steps in their order under one drain, the bot's door beside the fleet's, what the first
// failure leaves, and what its receipt says of each step.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import type { Steps } from "#core/rolloutState.ts";
import { MINUTE } from "#core/time.ts";
import type { Receipt } from "#wire/receipt.ts";
import { ends, rehearse, says, viewed, type Rehearsed, type Script } from "#deploy/deployForTests.ts";
import { drainOf, FROM, runOf, T0, TO } from "#deploy/recordsForTests.ts";

const ALL: Steps = { parts: ["ledger", "bot"], waits: true, resident: true };
const LEDGER: Steps = { parts: ["ledger"], waits: true, resident: false };
const BOT: Steps = { parts: ["bot"], waits: true, resident: false };
const HANDED_OFF: Steps = { ...BOT, waits: false };

const stepsIn = ({ receipt }: Rehearsed): string[] => receipt.steps.map(({ step, outcome }) => `${step} ${outcome}`);
type Facts = NonNullable<Script["facts"]>;
const failing = (outcome: "failed" | "refused" | "none"): Facts => ({
  roll: [
    { kind: "uploaded", outcome: "landed", why: "" },
    { kind: "uploaded", outcome, why: "it does not start" },
  ],
});

test("ledger, bot and fleet under one drain, each proven before the next", async (context) => {
  const deployed = await rehearse(context, { steps: ALL, hasBot: true });
  assert.equal(
    deployed.effects.join(" "),
    "preflight drain look roll rollGate roll rollGate seal confirm upload liveGate reconcile lift done",
  );
  assert.deepEqual(deployed.lines, [
    "ledger: 3f9c1e2 → 7b02d9e",
    "bot: 3f9c1e2 → 7b02d9e",
    "resident: 3f9c1e2 → 7b02d9e, image a41b → c9e0",
    "fleet drained — /attach refuses new runs until 05:49:00Z",
    "the bot's door is closed with it — new asks are queued",
    "swapping the ledger — 3f9c1e2 → 7b02d9e",
    "ledger swapped in 0.5s",
    "ledger live — its /healthz serves 7b02d9e, generation 5",
    "swapping the bot — 3f9c1e2 → 7b02d9e",
    "bot swapped in 0.5s",
    "bot live — its /healthz serves 7b02d9e, generation 5",
    "fleet sealed — nothing is in flight, and nothing becomes so before 04:59:00Z",
    "swapping — 3f9c1e2 → 7b02d9e",
    "swapped",
    "live — /healthz serves 7b02d9e, generation 2",
    "1 restarted",
    "fleet reopened",
    "deployed 7b02d9e (ledger, bot, resident), closed 1s, killed 0",
  ]);
  ends(deployed, "deployed", 0);
  assert.deepEqual(deployed.brings, TO);
  const { receipt } = deployed;
  assert.deepEqual([receipt.step, receipt.outcome, receipt.killed], ["ledger, bot, resident", "landed", 0]);
  assert.deepEqual(stepsIn(deployed), ["ledger landed", "bot landed", "resident landed"]);
  const [ledger, bot, resident] = receipt.steps;
  assert.deepEqual(
    [ledger?.from, ledger?.to.bundle, ledger?.generation],
    [{ ...FROM, bundle: "ledger-b1b1b1" }, "ledger-b2b2b2", 5],
  );
  assert.deepEqual([resident?.to, resident?.generation], [TO, 2]);
  assert.ok((ledger?.until ?? 0) <= (bot?.since ?? 0), "one after the other");
  assert.deepEqual(
    receipt.phases.map((phase) => phase.phase),
    ["close", "wait", "roll", "seal", "swap", "live", "reconcile", "reopen"],
  );
});

test("whoever was waited for has ended before the swap is said to begin", async (context) => {
  const busy = viewed([runOf("r1", 9)]);
  const facts = { preflight: [busy], look: [busy, viewed([])] };
  const { lines } = await rehearse(context, { steps: BOT, facts });
  const at = (words: RegExp): number => lines.findIndex((line) => words.test(line));
  assert.ok(at(/^waits for r1/) >= 0 && at(/^waits for r1/) < at(/^r1 .* ended/), lines.join("\n"));
  assert.ok(at(/^r1 .* ended/) < at(/^swapping the bot/), lines.join("\n"));
});

test("the first that fails stops the rest, and says what has landed and what has not", async (context) => {
  const deployed = await rehearse(context, { steps: ALL, hasBot: true, facts: failing("failed") });
  assert.deepEqual(deployed.effects.slice(3), ["roll", "rollGate", "roll", "lift", "done"]);
  assert.deepEqual(deployed.lines.slice(-4), [
    "fleet reopened",
    "partly deployed 7b02d9e — bot: it does not start",
    "landed: ledger; not landed: bot, resident",
    "then again: npx tidegate deploy",
  ]);
  ends(deployed, "failed", 5);
  assert.deepEqual(stepsIn(deployed), ["ledger landed", "bot failed", "resident none"]);
  assert.equal(deployed.receipt.steps[1]?.why, "it does not start");
  assert.deepEqual([deployed.receipt.steps[2]?.since, deployed.receipt.outcome], [null, "none"]);
});

const partial: readonly [name: string, facts: Facts, result: Receipt["result"], came: string][] = [
  ["a refused swap", failing("refused"), "refused", "bot refused"],
  ["a swap that never began", failing("none"), "failed", "bot none"],
  [
    "a bearer that may not",
    {
      roll: [
        { kind: "uploaded", outcome: "landed", why: "" },
        { kind: "denied", why: "scope" },
      ],
    },
    "denied",
    "bot none",
  ],
  ["a fleet that is not sealed in time", { seal: [{ kind: "denied", why: "scope" }] }, "denied", "resident none"],
  [
    "a fleet whose swap fails",
    { upload: [{ kind: "uploaded", outcome: "failed", why: "x" }] },
    "failed",
    "resident failed",
  ],
];
for (const [name, facts, result, came] of partial)
  test(`behind a step that has landed, ${name} ends with 5`, async (context) => {
    const deployed = await rehearse(context, { steps: ALL, facts });
    ends(deployed, result, 5);
    assert.ok(stepsIn(deployed).includes(came), stepsIn(deployed).join());
    says(deployed, /^partly deployed 7b02d9e — /);
  });

test("before any has landed nothing is partial", async (context) => {
  const deployed = await rehearse(context, {
    steps: ALL,
    facts: { roll: [{ kind: "uploaded", outcome: "failed", why: "it does not start" }] },
  });
  ends(deployed, "failed", 1);
  assert.deepEqual(deployed.lines.slice(-3, -1), [
    "nothing deployed — ledger: it does not start",
    "not landed: ledger, bot, resident",
  ]);
});

test("a swap whose answer is lost is proven by what is served", async (context) => {
  const deployed = await rehearse(context, { steps: BOT, facts: { roll: ["throw"] } });
  says(deployed, /^the swap of the bot gave no answer \(ECONNRESET\) — reading back what it serves, until 04:59:00Z$/);
  says(deployed, /^bot live — its \/healthz serves 7b02d9e, generation 5$/);
  ends(deployed, "deployed", 0);
  assert.deepEqual(stepsIn(deployed), ["bot landed"]);
});

test("one that is never seen stays unknown, neither failed nor deployed", async (context) => {
  const deployed = await rehearse(context, {
    steps: ALL,
    facts: {
      roll: [{ kind: "uploaded", outcome: "unknown", why: "no answer within the swap bound" }],
      rollGate: [{ kind: "unreadable", why: "ECONNREFUSED" }],
    },
  });
  const until = deployed.lines.filter((line) => line.startsWith("the swap of the ledger gave no answer"));
  assert.equal(until.length, 1, "said once, not at each look");
  says(deployed, /^unknown whether it landed — nobody knows whether the swap of the ledger landed: the ledger did not/);
  says(deployed, /^unknown: ledger; not landed: bot, resident$/);
  ends(deployed, "unknown", 8);
  assert.ok(!deployed.lines.some((line) => line.startsWith("waited ")), "a proof is no wait for runs");
});

test("what it turned out to be ends the reading back", async (context) => {
  const uploaded = { outcome: "failed", why: "it does not start", killed: [], ms: null } as const;
  const deployed = await rehearse(context, {
    steps: BOT,
    facts: {
      roll: ["throw"],
      rollGate: [
        {
          fact: { kind: "uploaded", outcome: "failed", why: "it does not start" },
          seen: [{ kind: "rolled", part: "bot", uploaded }],
        },
      ],
    },
  });
  ends(deployed, "failed", 1);
  assert.equal(deployed.lines.at(-2), "nothing deployed — bot: it does not start");
  assert.deepEqual([deployed.receipt.outcome, deployed.receipt.steps[0]?.outcome], ["failed", "failed"]);
});

test("the ledger alone closes nothing and waits for nobody", async (context) => {
  const busy = viewed([runOf("r1", 45)]);
  const deployed = await rehearse(context, { steps: LEDGER, hasBot: true, facts: { preflight: [busy] } });
  assert.deepEqual(deployed.effects, ["preflight", "roll", "rollGate", "done"]);
  assert.deepEqual(deployed.lines, [
    "ledger: 3f9c1e2 → 7b02d9e",
    "the ledger alone — nothing is closed, and nobody is waited for",
    "swapping the ledger — 3f9c1e2 → 7b02d9e",
    "ledger swapped in 0.5s",
    "ledger live — its /healthz serves 7b02d9e, generation 5",
    "deployed 7b02d9e (ledger), killed 0",
  ]);
  ends(deployed, "deployed", 0);
  const { closed, outcome, build, residents } = deployed.receipt;
  assert.deepEqual([closed, outcome, build.imageChanged, deployed.brings], [null, "landed", false, null]);
  assert.ok(residents !== "unknown" && residents.every((one) => one.imageAfter === "unknown"));
});

test("a bot that hands its runs off is not waited for, and its runs are said to live on", async (context) => {
  const busy = viewed([runOf("r1", 90)]);
  const deployed = await rehearse(context, { steps: HANDED_OFF, facts: { preflight: [busy], look: [busy] } });
  assert.deepEqual(deployed.effects, ["preflight", "drain", "look", "roll", "rollGate", "lift", "done"]);
  says(deployed, /^the bot hands its runs off — they live on in their containers, and nobody is waited for$/);
  says(deployed, /^r1 \(sample, cli:r1\) lives on$/);
  assert.ok(!deployed.lines.some((line) => /beyond this wait|waits for/.test(line)));
  ends(deployed, "deployed", 0);
});

test("what the bot has in hand is waited for and said, each minute and at the end", async (context) => {
  const deployed = await rehearse(context, {
    steps: BOT,
    facts: { look: [viewed([runOf("r1", 90)], { botInFlight: 2 }), viewed([], { botInFlight: 1 })] },
  });
  says(deployed, /^waited 1m of 60m — 1 run in flight, 2 in the bot's hands, quiet by 06:14$/);
  says(deployed, /^waited 2m of 60m — 1 in the bot's hands$/);
  says(deployed, /^r1 \(sample, cli:r1\) ended — 1 in the bot's hands$/);
  says(deployed, /^nothing deployed — the wait of 1h ran out with 1 in the bot's hands$/);
  ends(deployed, "refused", 3);
});

test("a bot that cannot be read is named: it refuses before anything is closed, and is looked at again behind it", async (context) => {
  const blind = viewed([], { unreadable: ["the bot (ECONNREFUSED)"] });
  const refused = await rehearse(context, { steps: BOT, facts: { preflight: [blind] } });
  assert.deepEqual(refused.effects, ["preflight", "done"]);
  says(refused, /^nothing deployed — the fleet cannot be read: the bot \(ECONNREFUSED\)$/);
  ends(refused, "refused", 3);
  const seen = await rehearse(context, { steps: BOT, facts: { look: [blind, viewed([])] } });
  says(seen, /^the bot \(ECONNREFUSED\) cannot be read — nothing is taken for quiet; look 1 of 3$/);
  ends(seen, "deployed", 0);
});

const signals: readonly [effect: "roll" | "rollGate", came: string][] = [
  ["roll", "ledger unknown"],
  ["rollGate", "ledger unknown"],
];
for (const [effect, came] of signals)
  test(`a signal during ${effect} lifts, and what was under way is unknown`, async (context) => {
    const deployed = await rehearse(context, { steps: ALL, signalIn: effect, facts: { [effect]: ["hang"] } });
    ends(deployed, "stopped", 130);
    assert.deepEqual(deployed.effects.slice(-3), [effect, "lift", "done"]);
    assert.deepEqual(deployed.aborted, [effect]);
    assert.ok(stepsIn(deployed).includes(came));
    says(deployed, /^unknown: ledger; not landed: bot, resident$/);
  });

test("a signal behind a step that has landed says so", async (context) => {
  const deployed = await rehearse(context, { steps: ALL, signalIn: "seal", facts: { seal: ["hang"] } });
  ends(deployed, "stopped", 130);
  says(deployed, /^partly deployed 7b02d9e — ended by SIGINT$/);
  says(deployed, /^landed: ledger, bot; not landed: resident$/);
});

test("a bot that was not told of the lift opens by itself, said once though the lift was tried twice", async (context) => {
  const told = { kind: "botDoor", closed: true, why: "ECONNREFUSED" } as const;
  const deployed = await rehearse(context, {
    steps: BOT,
    facts: {
      lift: [
        { fact: { kind: "lost", why: "cut" }, seen: [told] },
        { fact: { kind: "lifted", held: [], leftMs: 0 }, seen: [told] },
      ],
    },
  });
  const lines = deployed.lines.filter((line) => line.startsWith("the bot was not told"));
  assert.deepEqual(lines, ["the bot was not told of the lift (ECONNREFUSED) — its door opens by itself within 2m"]);
});

test("a bot that takes the drain for over is said once, again only if that comes again, and nothing waits for it", async (context) => {
  const renewed = (closed: boolean) => (state: { readonly drainId: string }, now: number) => ({
    fact: { kind: "drained" as const, drain: drainOf(state.drainId, now) },
    seen: [{ kind: "botDoor" as const, closed, why: closed ? null : "it is over" }],
  });
  const busy = viewed([runOf("r1", 9)]);
  const deployed = await rehearse(context, {
    steps: BOT,
    hasBot: true,
    facts: {
      look: [busy, busy, busy, busy, busy, viewed([])],
      pulse: [false, false, true, false, false].map(renewed),
    },
  });
  const said = "the bot takes this drain for over (it is over) — its door is closed by the fleet's own record";
  assert.deepEqual(
    deployed.lines.filter((line) => line.startsWith("the bot takes")),
    [said, said],
  );
  ends(deployed, "deployed", 0);
});

test("the receipt is kept in the ledger too, once it is whole; a ledger that does not take it fails nothing", async (context) => {
  const kept: Receipt[] = [];
  const keepInLedger = (receipt: Receipt): Promise<void> => {
    kept.push(receipt);
    return Promise.resolve();
  };
  const deployed = await rehearse(context, { keepInLedger });
  assert.deepEqual(kept, [deployed.receipt]);
  assert.ok(!deployed.lines.some((line) => line.includes("the ledger")));
  const refused = await rehearse(context, { keepInLedger: () => Promise.reject(new Error("no answer")) });
  says(refused, /^the receipt is kept in this folder alone: the ledger does not take it \(no answer\)$/);
  ends(refused, "deployed", 0);
});

async function restarted(context: TestContext, script: Script): Promise<Rehearsed> {
  return rehearse(context, { from: TO, restart: true, ...script });
}

test("a restart closes and waits like a deploy, and says that it is one", async (context) => {
  const deployed = await restarted(context, { steps: BOT });
  assert.equal(deployed.lines[0], "bot: 7b02d9e → 7b02d9e");
  assert.equal(deployed.lines.at(-1), "restarted 7b02d9e (bot), closed 0s, killed 0");
  ends(deployed, "deployed", 0);
  assert.equal(deployed.receipt.restart, true);
  const withBot = await restarted(context, { steps: BOT, hasBot: true });
  assert.deepEqual(withBot.lines.slice(1, 3), [
    "fleet drained — /attach refuses new runs until 05:49:00Z",
    "the bot's door is closed with it — new asks are queued",
  ]);
  const failed = await restarted(context, { steps: ALL, facts: failing("failed") });
  says(failed, /^partly restarted 7b02d9e — bot: /);
  const nothing = await restarted(context, { steps: BOT, facts: { drain: [{ kind: "denied", why: "scope" }] } });
  says(nothing, /^nothing restarted — scope$/);
});

test("undrained and forced, each says how its parts are swapped", async (context) => {
  const undrained = await rehearse(context, { mode: "undrained", steps: HANDED_OFF });
  says(undrained, /^RESIDENT_DRAIN_TOKEN is not set — the bot is swapped without a drain$/);
  assert.deepEqual(undrained.effects, ["preflight", "roll", "rollGate", "done"]);
  const forced = await rehearse(context, {
    mode: "forced",
    steps: BOT,
    facts: { preflight: [viewed([runOf("r1", 9)])] },
  });
  assert.deepEqual(forced.effects, ["preflight", "roll", "rollGate", "done"]);
  assert.equal(forced.lines[1], "swapping the bot — 3f9c1e2 → 7b02d9e");
});

test("a drain that is over before a part's swap is replaced, and the part is swapped under the new one", async (context) => {
  const deployed = await rehearse(context, {
    steps: BOT,
    facts: { roll: [{ kind: "over" }, { kind: "uploaded", outcome: "landed", why: "" }] },
  });
  assert.deepEqual(deployed.effects.slice(3, 7), ["roll", "mint", "drain", "look"]);
  ends(deployed, "deployed", 0);
  assert.ok((deployed.receipt.steps[0]?.since ?? 0) > T0);
  assert.ok((deployed.receipt.endedAt ?? 0) < T0 + MINUTE + CLOCK.lookMs);
});
