// One upload a deploy: once it has begun, whatever is said or lost, all that follows is the proof of it, the lift and the
// end. A second one would come without its seal.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { anyStep, APP, BUDGETS, drainOf, reconcilingDrain, swappingDrain, T0 } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import { UPLOAD_OUTCOMES } from "./drain.ts";
import { PROTOCOL, type FleetView } from "./preflight.ts";
import { nextDeploy } from "./rollout.ts";
import { deployOf, DEPLOY_MODES, type DeployEffect, type DeployFact, type DeployState } from "./rolloutState.ts";
import { SECOND } from "./time.ts";

const clear: FleetView = {
  protocol: PROTOCOL,
  now: T0,
  drains: [],
  unreadableDrains: 0,
  runs: [],
  attaching: 0,
  quietBy: null,
  unreadable: [],
  botInFlight: 0,
};
const viewed: DeployFact = { kind: "viewed", view: clear, served: { drainId: "drain-0", generation: 7 } };
const lost: DeployFact = { kind: "lost", why: "cut" };
const woke: DeployFact = { kind: "woke", quiet: false };
const begin: readonly DeployFact[] = [
  viewed,
  { kind: "drained", drain: drainOf() },
  viewed,
  { kind: "sealed", drain: swappingDrain(), leftMs: CLOCK.swapBoundMs },
  { kind: "confirmed" },
];

/** A deploy of each mode whose upload begins now. */
function uploading(mode: (typeof DEPLOY_MODES)[number]): DeployState {
  const facts = mode === "drained" || mode === "handoff" ? begin : [viewed];
  const state = facts.reduce((now, fact) => nextDeploy(now, fact, T0), deployOf(mode, "drain-a", BUDGETS, T0));
  assert.equal(state.effect.do, "upload");
  return state;
}

for (const mode of DEPLOY_MODES)
  test(`${mode}: a pause of the proof that is cut short is not taken for a look at the fleet`, () => {
    for (const outcome of ["unknown", "landed"] as const) {
      const facts: readonly DeployFact[] = [
        { kind: "uploaded", outcome, why: "" },
        { kind: "unreadable", why: "500" },
      ];
      const paused = facts.reduce((state, fact) => nextDeploy(state, fact, T0), uploading(mode));
      const then = outcome === "unknown" ? "readBack" : "liveGate";
      assert.deepEqual(paused.effect, { do: "pause", at: T0 + CLOCK.retryMs, then });
      const cut = nextDeploy(paused, lost, T0 + SECOND);
      assert.deepEqual(cut.effect, { do: "pause", at: T0 + SECOND + CLOCK.retryMs, then });
      assert.equal(cut.outcome, outcome);
      assert.deepEqual(nextDeploy(cut, woke, T0 + SECOND).effect, { do: then });
    }
  });

const served: readonly (readonly [says: string, drainId: string | null, generation: number, proves: boolean])[] = [
  ["its own id under a later generation is", "drain-a", 8, true],
  ["its own id under the generation before it is not", "drain-a", 7, false],
  ["another upload's later generation is not", "drain-b", 8, false],
  ["a restart without any upload is not", null, 8, false],
];
for (const mode of DEPLOY_MODES)
  for (const [says, drainId, generation, proves] of served)
    test(`${mode}: what is served proves an upload: ${says}`, () => {
      const fact: DeployFact = { kind: "serves", served: { drainId, generation } };
      const landed = nextDeploy(uploading(mode), { kind: "uploaded", outcome: "landed", why: "" }, T0);
      const lostAnswer = nextDeploy(uploading(mode), lost, T0);
      const next = nextDeploy(landed, fact, T0);
      const goesOn = landed.asked ? next.effect.do === "reconcile" : next.stop?.kind === "deployed";
      assert.equal(goesOn, proves);
      assert.equal(next.effect.do === "pause", !proves);
      const readBack = nextDeploy(lostAnswer, fact, T0);
      assert.deepEqual([readBack.effect.do, readBack.outcome], proves ? ["liveGate", "landed"] : ["pause", "unknown"]);
    });

const anyFact: fc.Arbitrary<DeployFact> = fc.oneof(
  fc.constantFrom<DeployFact>(...begin, lost, woke, lost, woke, { kind: "woke", quiet: true }, { kind: "over" }),
  fc.constantFrom<DeployFact>({ kind: "denied", why: "scope" }, { kind: "unreadable", why: "500" }),
  fc.constantFrom<DeployFact>(
    { kind: "reconciling", drain: reconcilingDrain(), leftMs: CLOCK.cycleBoundMs },
    { kind: "lifted", held: [], leftMs: 0 },
    { kind: "lifted", held: [APP], leftMs: CLOCK.cycleBoundMs },
    { kind: "heldBy", held: [APP], stale: [] },
    { kind: "heldBy", held: [], stale: [APP] },
  ),
  fc.constantFrom(...UPLOAD_OUTCOMES).map((outcome) => ({ kind: "uploaded" as const, outcome, why: "" })),
  fc
    .constantFrom("drain-a", "drain-0")
    .map((drainId) => ({ kind: "serves" as const, served: { drainId, generation: 8 } })),
);
const proof: readonly DeployEffect["do"][] = ["upload", "readBack", "liveGate", "reconcile", "lift", "holds", "done"];

test("inv. 4: after its upload has begun a deploy proves, lifts and ends, and uploads no second time", () => {
  const histories = fc.array(fc.tuple(anyFact, anyStep), { maxLength: 40 });
  fc.assert(
    fc.property(fc.constantFrom(...DEPLOY_MODES), histories, (mode, history) => {
      let state = uploading(mode);
      let now = T0;
      for (const [fact, later] of history) {
        const before = state;
        now += later;
        state = nextDeploy(state, fact, now);
        const doing = state.effect.do === "pause" ? state.effect.then : state.effect.do;
        assert.ok(proof.includes(doing), `${doing} after the upload, by ${fact.kind}`);
        if (before.effect.do !== "upload") assert.notEqual(state.effect.do, "upload", `again by ${fact.kind}`);
        if (state.stop?.kind === "deployed") assert.equal(state.outcome, "landed");
      }
    }),
    { numRuns: 500 },
  );
});
