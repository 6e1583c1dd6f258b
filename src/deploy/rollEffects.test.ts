// The swap of a part is renewed under, bounded, and proven by what it serves; what a lost answer was is asked of whoever
// carried it out, and never inferred.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { deployOf, type DeployMode, type DeployState } from "#core/rolloutState.ts";
import { VirtualClock } from "#client/clientForTests.ts";
import type { Beats } from "#deploy/drainEffects.ts";
import { BUDGETS, DRAIN_ID, T0 } from "#deploy/recordsForTests.ts";
import { roll, rollGate, type RollParts } from "#deploy/rollEffects.ts";
import type { DeployStep, Uploaded } from "#deploy/steps.ts";

const never = new AbortController().signal;
const at = (effect: "roll" | "rollGate", more: Partial<DeployState> = {}): DeployState => ({
  ...deployOf("drained", DRAIN_ID, BUDGETS, T0),
  effect: { do: effect, part: "bot" },
  asked: true,
  ...more,
});
const landed: Uploaded = { outcome: "landed", why: "", killed: [], ms: 7 };
const refused: Uploaded = { outcome: "refused", why: "not live", killed: [], ms: null };

interface World {
  readonly swap?: Partial<DeployStep["swap"]>;
  readonly live?: DeployStep["live"];
  readonly over?: boolean;
  readonly without?: boolean;
}

function world({ swap, live, over = false, without = false }: World = {}) {
  const clock = new VirtualClock();
  const happened: string[] = [];
  const unused = (): Promise<never> => Promise.reject(new Error("not asked for in this test"));
  const step: DeployStep = {
    name: "bot",
    live: live ?? unused,
    swap: { upload: unused, recall: () => Promise.resolve(undefined), ...swap },
  };
  const beats: Beats = {
    beat: () => {
      happened.push("beat");
      return Promise.resolve(over ? "over" : "goesOn");
    },
    taken: () => [],
    keepOn: (_state, signal) =>
      new Promise((resolve) => {
        happened.push("keeps on");
        signal.addEventListener("abort", () => {
          happened.push("ends");
          resolve();
        });
      }),
  };
  const parts: RollParts = { parts: without ? {} : { bot: step }, beats, clock };
  return { parts, clock, happened };
}

test("a part is swapped under its drain, which is renewed from before the swap to its answer", async () => {
  const asked: unknown[] = [];
  const upload: DeployStep["swap"]["upload"] = (ask) => {
    asked.push(ask);
    return Promise.resolve(landed);
  };
  const { parts, happened } = world({ swap: { upload } });
  assert.deepEqual(await roll(parts, at("roll"), never), {
    fact: { kind: "uploaded", outcome: "landed", why: "" },
    seen: [{ kind: "rolled", part: "bot", uploaded: landed }],
  });
  assert.deepEqual(asked, [{ drainId: DRAIN_ID, mode: "drained" }]);
  assert.deepEqual(happened, ["beat", "keeps on", "ends"]);
});

test("a deploy that closed nothing swaps without a drain, and a forced one as it was typed", async () => {
  const modes: string[] = [];
  const upload: DeployStep["swap"]["upload"] = ({ mode }) => {
    modes.push(mode);
    return Promise.resolve(landed);
  };
  const { parts } = world({ swap: { upload } });
  const all: readonly (readonly [DeployMode, boolean])[] = [
    ["drained", false],
    ["handoff", false],
    ["handoff", true],
    ["undrained", false],
    ["forced", false],
  ];
  for (const [mode, asked] of all) await roll(parts, at("roll", { mode, asked }), never);
  assert.deepEqual(modes, ["undrained", "undrained", "handoff", "undrained", "forced"]);
});

test("a drain that is over is not swapped under", async () => {
  const { parts, happened } = world({ over: true });
  assert.deepEqual(await roll(parts, at("roll"), never), { fact: { kind: "over" } });
  assert.deepEqual(happened, ["beat"]);
});

test("a swap that does not answer within its bound is unknown, and is called off", async () => {
  const signals: AbortSignal[] = [];
  const upload: DeployStep["swap"]["upload"] = (_ask, signal) => {
    signals.push(signal);
    return new Promise(() => undefined);
  };
  const { parts, clock, happened } = world({ swap: { upload } });
  const rolled = roll(parts, at("roll"), never);
  await clock.advance(CLOCK.swapBoundMs - 1);
  assert.equal(signals[0]?.aborted, false);
  await clock.advance(1);
  assert.deepEqual((await rolled).fact, {
    kind: "uploaded",
    outcome: "unknown",
    why: "no answer within the swap bound",
  });
  assert.equal(signals[0]?.aborted, true);
  assert.deepEqual(happened, ["beat", "keeps on", "ends"]);
});

test("a part that this stack does not run is not swapped, and proves nothing", async () => {
  const { parts } = world({ without: true });
  assert.partialDeepStrictEqual((await roll(parts, at("roll"), never)).fact, { kind: "uploaded", outcome: "none" });
  assert.equal((await rollGate(parts, at("rollGate"), never)).fact.kind, "unreadable");
});

test("the gate renews the drain, and is passed by this deploy's own id alone", async () => {
  const serving = (drainId: string | null) => world({ live: () => Promise.resolve({ drainId, generation: 4 }) });
  const ours = serving(DRAIN_ID);
  assert.deepEqual(await rollGate(ours.parts, at("rollGate"), never), {
    fact: { kind: "serves", served: { drainId: DRAIN_ID, generation: 4 } },
  });
  assert.deepEqual(ours.happened, ["beat"]);
  const old = await rollGate(serving("d0").parts, at("rollGate"), never);
  assert.deepEqual(old.fact, { kind: "serves", served: { drainId: "d0", generation: 4 } });
  const silent = world({ live: () => Promise.reject(new Error("ECONNREFUSED")) });
  assert.deepEqual((await rollGate(silent.parts, at("rollGate"), never)).fact, {
    kind: "unreadable",
    why: "ECONNREFUSED",
  });
});

test("while it is not passed, whoever swapped knows of one that ended without landing", async () => {
  const recalling = async (uploaded: Uploaded, live: DeployStep["live"]) =>
    rollGate(world({ live, swap: { recall: () => Promise.resolve(uploaded) } }).parts, at("rollGate"), never);
  const old = () => Promise.resolve({ drainId: null, generation: 3 });
  const silent = () => Promise.reject(new Error("ECONNREFUSED"));
  for (const live of [old, silent])
    assert.deepEqual(await recalling(refused, live), {
      fact: { kind: "uploaded", outcome: "refused", why: "not live" },
      seen: [{ kind: "rolled", part: "bot", uploaded: refused }],
    });
  assert.equal((await recalling(landed, old)).fact.kind, "serves", "that it landed is for the gate to see");
  const lost = world({ live: old, swap: { recall: () => Promise.reject(new Error("cut")) } });
  assert.equal((await rollGate(lost.parts, at("rollGate"), never)).fact.kind, "serves");
});
