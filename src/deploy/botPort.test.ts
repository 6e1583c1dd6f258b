// The bot beside the fleet: what it has in hand is waited for and counted once, one that cannot be read is named, and its own
// word ends a wait for it alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE } from "#core/time.ts";
import { VirtualClock } from "#client/clientForTests.ts";
import { viewOf } from "#deploy/facts.ts";
import type { BotDoor } from "#deploy/fleetDoor.ts";
import { at, never, portOf } from "#deploy/portForTests.ts";
import { DRAIN_ID, drainOf, fleetOf, residentsOf, runOf, T0 } from "#deploy/recordsForTests.ts";
import type { DeployStep, Uploaded } from "#deploy/steps.ts";
/** A bot that has this much in hand at each look, the last for ever. */
function botWith(...hands: readonly (number | Error)[]): BotDoor & { readonly told: unknown[] } {
  let turn = 0;
  const told: unknown[] = [];
  return {
    told,
    health: () => {
      const now = hands[Math.min(turn, hands.length - 1)];
      turn += 1;
      return now instanceof Error ? Promise.reject(now) : Promise.resolve({ inFlight: now ?? 0 });
    },
    drain: () => Promise.reject(new Error("not asked for in this test")),
    undrain: (body) => {
      told.push(body);
      return Promise.reject(new Error("cut"));
    },
  };
}

test("what the bot has in hand is counted beyond what the registry names, never twice", () => {
  const runs = [runOf("r1", 5), runOf("r2", 5, { state: "attaching" })];
  const residents = residentsOf(fleetOf(runs, { attaching: 2 }));
  const inHands = (inFlight: number, of = residents): number => viewOf(of, [], { kind: "read", inFlight }).botInFlight;
  assert.deepEqual(
    [inHands(5), inHands(3), inHands(1)],
    [2, 0, 0],
    "two runs and an attach on its way are named already",
  );
  assert.equal(inHands(1, residentsOf(fleetOf())), 1, "with nothing registered all that it has is counted");
  const without = [{ resource: "repo:local/sample", reason: "x" }];
  assert.equal(
    viewOf(residents, without, { kind: "read", inFlight: 2 }).botInFlight,
    0,
    "left out, it is named all the same",
  );
  assert.equal(viewOf(residents).botInFlight, 0);
});

test("a look reads the bot too, and names one that it cannot read", async () => {
  const fleet = { residents: () => Promise.resolve(residentsOf(fleetOf())) };
  const step = { live: () => Promise.resolve({ drainId: null, generation: 1 }) };
  const seen = async (bot: BotDoor) => (await portOf({ fleet, step, bot }).port.look(at({ do: "look" }), never)).fact;
  assert.partialDeepStrictEqual(await seen(botWith(2)), { view: { botInFlight: 2, unreadable: [] } });
  assert.partialDeepStrictEqual(await seen(botWith(new Error("ECONNREFUSED"))), {
    view: { botInFlight: 0, unreadable: ["the bot (ECONNREFUSED)"] },
  });
});

test("where only the bot is waited for, its own word ends the pause", async () => {
  const clock = new VirtualClock();
  type Seen = Parameters<typeof fleetOf>;
  const wakes = async (then: "look" | "seal", view: Seen, ...hands: (number | Error)[]): Promise<boolean> => {
    const state = at({ do: "pause", at: clock.now() + MINUTE, then }, { view: fleetOf(...view) });
    const pause = portOf({ bot: botWith(...hands), clock }).port.pause(state, never);
    await clock.advance(MINUTE);
    const { fact } = await pause;
    return fact.kind === "woke" && fact.quiet;
  };
  const alone: Seen = [[], { botInFlight: 1 }];
  assert.equal(await wakes("look", alone, 1, new Error("cut"), 0), true, "one that is silent for once is asked again");
  assert.equal(await wakes("look", alone, 1), false);
  assert.equal(
    await wakes("look", [[runOf("r1", 5)], { botInFlight: 1 }], 0),
    false,
    "the fleet's watch tells of runs",
  );
  assert.equal(await wakes("look", [[], { attaching: 1, botInFlight: 1 }], 0), false);
  assert.equal(await wakes("seal", alone, 0), false, "a pause for something else is not cut short");
});

test("a drain that is replaced is lifted at the bot, which may have gone on alone", async () => {
  const bot = botWith(0);
  const minting = (of: BotDoor) => portOf({ bot: of }).port.mint(at({ do: "mint" }), never);
  const minted = { kind: "minted", id: "d2d2d2d2" } as const;
  assert.deepEqual(await minting(bot), { fact: minted, seen: [] });
  assert.deepEqual(bot.told, [{ id: DRAIN_ID, outcome: "none" }]);
  const queued = { asks: [], total: 0 };
  assert.deepEqual(await minting({ ...bot, undrain: () => Promise.resolve({ queued }) }), {
    fact: minted,
    seen: [{ kind: "asksQueued", queued }],
  });
});

test("a part is swapped and proven by its own step", async () => {
  const uploaded: Uploaded = { outcome: "landed", why: "", killed: [], ms: null };
  const served = { drainId: DRAIN_ID, generation: 3 };
  const ledger: DeployStep = {
    name: "ledger",
    live: () => Promise.resolve(served),
    swap: { upload: () => Promise.resolve(uploaded), recall: () => Promise.resolve(undefined) },
  };
  const { port } = portOf({ parts: { ledger } });
  const open = { asked: false };
  assert.partialDeepStrictEqual(await port.roll(at({ do: "roll", part: "ledger" }, open), never), {
    fact: { kind: "uploaded", outcome: "landed" },
  });
  assert.deepEqual(await port.rollGate(at({ do: "rollGate", part: "ledger" }, open), never), {
    fact: { kind: "serves", served },
    seen: [],
  });
});

test("what the old bot says of its queue right before its roll is kept, since it does not outlive that", async () => {
  const uploaded: Uploaded = { outcome: "landed", why: "", killed: [], ms: null };
  const swap = { upload: () => Promise.resolve(uploaded), recall: () => Promise.resolve(undefined) };
  const step: DeployStep = { name: "bot", live: () => Promise.reject(new Error("cut")), swap };
  const queued = { asks: [], total: 0 };
  const bot: BotDoor = { ...botWith(0), drain: () => Promise.resolve({ queued }) };
  const fleet = {
    drain: () => Promise.resolve({ now: T0, kind: "renewed" as const, drain: drainOf(DRAIN_ID, T0) }),
  };
  const { port } = portOf({ parts: { bot: step }, bot, fleet });
  const kinds = async (effect: "roll" | "rollGate") =>
    (await port[effect](at({ do: effect, part: "bot" }), never)).seen?.map((one) => one.kind);
  assert.deepEqual(await kinds("roll"), ["asksQueued", "rolled"]);
  assert.deepEqual(await kinds("rollGate"), [], "said once; the next word comes with the next pulse");
});
