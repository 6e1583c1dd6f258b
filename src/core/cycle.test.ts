// A cycle restarts a container at most once, only behind its storage step, and ends that step before it answers; what it says of
// an image was read from inside.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cycleOf, nextCycle, type CycleAsk, type CycleFact, type CycleState, type InsideWord } from "./cycle.ts";
import type { ReconcileWord } from "./reconcile.ts";

const NEW = "c9e0";
const OLD = "a41b";
const askOf = (more: Partial<CycleAsk> = {}): CycleAsk => ({ pinned: NEW, wanted: NEW, own: null, ...more });
const insideOf = (more: Partial<InsideWord> = {}): InsideWord => ({ image: NEW, bootId: "boot-2", live: 0, ...more });
const inside = (more: Partial<InsideWord> = {}): CycleFact => ({ kind: "inside", inside: insideOf(more) });

const ON_OLD = inside({ image: OLD, bootId: "boot-1" });
const ON_NEW = inside();
const BEGUN: CycleFact = { kind: "begun" };
const BUSY: CycleFact = { kind: "busy", why: "in flight: run-a" };
const ABSENT: CycleFact = { kind: "absent" };
const UNSEEN: CycleFact = { kind: "unseen", why: "it does not answer" };
const ENDED: CycleFact = { kind: "ended" };
const restarted = (killed = 0): CycleFact => ({ kind: "restarted", killed });

const walk = (facts: readonly CycleFact[], ask: CycleAsk = askOf()): CycleState =>
  facts.reduce(nextCycle, cycleOf(ask));
const said = ({ effect }: CycleState): string => ("word" in effect ? `${effect.do} ${effect.word.state}` : effect.do);

const RESTARTING = [ON_OLD, BEGUN];
const RESTARTED = [...RESTARTING, restarted()];
const walks: readonly (readonly [says: string, facts: readonly CycleFact[], doing: string])[] = [
  ["looks inside before anything else", [], "probe"],
  ["leaves a container alone that is on the image", [ON_NEW], "answer current"],
  ["leaves it alone although runs live in it", [inside({ live: 3 })], "answer current"],
  ["starts none where none runs", [ABSENT], "answer inactive"],
  ["restarts none that it cannot see", [UNSEEN], "answer error"],
  ["asks its storage before it restarts one on another image", [ON_OLD], "begin"],
  ["inv. 11: restarts nothing that somebody works in", [ON_OLD, BUSY], "answer deferred"],
  ["restarts what nobody works in", RESTARTING, "restart"],
  ["looks inside again: a boot proves nothing", RESTARTED, "probe"],
  ["ends in storage before it answers", [...RESTARTED, ON_NEW], "end restarted"],
  ["and then answers", [...RESTARTED, ON_NEW, ENDED], "answer restarted"],
  ["restarts no second time where the old image comes up again", [...RESTARTED, ON_OLD], "end error"],
  ["ends when the container does not come back", [...RESTARTED, ABSENT], "end inactive"],
  ["ends when it cannot be seen after its restart", [...RESTARTED, UNSEEN], "end error"],
  ["ends when the restart fails", [...RESTARTING, UNSEEN], "end error"],
  ["and says so", [...RESTARTING, UNSEEN, ENDED], "answer error"],
];
for (const [says, facts, doing] of walks) test(`a cycle: ${says}`, () => assert.equal(said(walk(facts)), doing));

const answers: readonly (readonly [says: string, facts: readonly CycleFact[], word: ReconcileWord])[] = [
  [
    "what is current names its image and its boot",
    [ON_NEW],
    { state: "current", image: NEW, bootId: "boot-2", why: null, killed: 0 },
  ],
  [
    "what was restarted names the new boot and what ended with the old one",
    [...RESTARTING, restarted(2), ON_NEW, ENDED],
    { state: "restarted", image: NEW, bootId: "boot-2", why: null, killed: 2 },
  ],
  [
    "what is deferred names who works there, and the image that it is on",
    [ON_OLD, BUSY],
    { state: "deferred", image: OLD, bootId: "boot-1", why: "in flight: run-a", killed: 0 },
  ],
  [
    "what comes up on another image again names that image",
    [...RESTARTING, restarted(1), inside({ image: OLD, bootId: "boot-3" }), ENDED],
    {
      state: "error",
      image: OLD,
      bootId: "boot-3",
      why: `the container was restarted and still reports image ${OLD}`,
      killed: 1,
    },
  ],
  [
    "what cannot be restarted names why",
    [...RESTARTING, UNSEEN, ENDED],
    { state: "error", image: null, bootId: null, why: "it does not answer", killed: 0 },
  ],
  ["what is absent names nothing", [ABSENT], { state: "inactive", image: null, bootId: null, why: null, killed: 0 }],
];
for (const [says, facts, word] of answers)
  test(`the word of a cycle: ${says}`, () => assert.deepEqual(walk(facts).effect, { do: "answer", word }));

test("an object that still pins another image than the deploy wants says so, and does nothing", () => {
  const { effect } = cycleOf(askOf({ pinned: OLD }));
  assert.ok(effect.do === "answer");
  const { state, why, image } = effect.word;
  assert.deepEqual([state, image], ["stale", null]);
  assert.match(why ?? "", /pins image a41b/);
});

test("a resident that asks by itself brings its container onto what it pins", () => {
  assert.equal(said(walk([], askOf({ pinned: OLD, wanted: null }))), "probe");
  assert.equal(said(walk([ON_NEW], askOf({ pinned: OLD, wanted: null, own: "run-a" }))), "begin");
});

test("the storage step and the restart are given what was read inside", () => {
  const live = inside({ image: OLD, bootId: "boot-1", live: 2 });
  const read = insideOf({ image: OLD, bootId: "boot-1", live: 2 });
  assert.deepEqual(walk([live]).effect, { do: "begin", inside: read });
  assert.deepEqual(walk([live, BEGUN]).effect, { do: "restart", inside: read });
});

const ROLLED = restarted(1);
const FACTS = [ON_OLD, ON_NEW, BEGUN, BUSY, ABSENT, UNSEEN, ENDED, ROLLED];
const answeredBy: Readonly<Record<CycleState["effect"]["do"], readonly CycleFact[]>> = {
  probe: [ON_OLD, ON_NEW, ABSENT, UNSEEN],
  begin: [BEGUN, BUSY],
  restart: [ROLLED, UNSEEN],
  end: [ENDED],
  answer: [],
};

test("a fact that does not answer the effect leaves it standing, and one that does moves it on", () => {
  for (const [says, facts] of walks) {
    const state = walk(facts);
    for (const fact of FACTS)
      assert.equal(
        nextCycle(state, fact) === state,
        !answeredBy[state.effect.do].includes(fact),
        `${says}: ${fact.kind}`,
      );
  }
});

test("inv. 11: whatever comes, a container is restarted once, behind its step, and the step is ended before the answer", () => {
  const asks = fc.constantFrom(askOf(), askOf({ wanted: null, own: "run-a" }), askOf({ pinned: OLD, wanted: null }));
  fc.assert(
    fc.property(asks, fc.array(fc.constantFrom(...FACTS), { maxLength: 30 }), (ask, facts) => {
      let state = cycleOf(ask);
      const done: string[] = [];
      for (const fact of facts) {
        const next = nextCycle(state, fact);
        if (next !== state) done.push(`${state.effect.do} ${fact.kind}`);
        state = next;
      }
      const at = (what: string): number => done.indexOf(what);
      assert.ok(done.filter((one) => one.startsWith("restart ")).length <= 1, "restarted twice");
      if (state.effect.do === "restart") assert.equal(done.at(-1), "begin begun");
      if (state.effect.do !== "answer") return;
      assert.equal(at("end ended") >= 0, at("begin begun") >= 0, "a step was begun and not ended");
      const { word } = state.effect;
      if (word.state === "current" || word.state === "restarted") assert.equal(word.image, ask.pinned);
      assert.equal(word.state === "restarted", at("restart restarted") >= 0 && word.image === ask.pinned);
    }),
    { numRuns: 1_000 },
  );
});
