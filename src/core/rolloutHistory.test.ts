// Whatever a fleet says or does not say: a deploy that closes it uploads only behind its swap and its confirmation and lifts
// whatever it asked for, and every deploy ends within its clocks.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  anyChoice,
  anySteps,
  BLIND,
  BUSY,
  chosen,
  DENIED,
  DRAINED,
  ended,
  heldBy,
  lifted,
  LOST,
  NOT_SEALED,
  OVER,
  serves,
  TABLE,
  WOKE,
} from "../../test/unit/rolloutSamples.ts";
import { CLOCK } from "./budgets.ts";
import { nextDeploy } from "./rollout.ts";
import { deployOf, DEPLOY_MODES, withSteps, type DeployFact } from "./rolloutState.ts";
import { MINUTE } from "./time.ts";

for (const mode of ["drained", "handoff"] as const)
  test(`${mode}: it uploads only behind its swap and a confirmation, and lifts whatever it asked for`, () => {
    fc.assert(
      fc.property(anySteps, fc.array(anyChoice, { maxLength: 150 }), (steps, choices) => {
        let [state, now] = [withSteps(deployOf(mode, "d1", TABLE, 0), steps), 0];
        let behind: readonly string[] = [];
        for (const one of choices) {
          const { fact, at } = chosen(state, one, now);
          now = at;
          const next = nextDeploy(state, fact, now);
          if (next.effect.do !== state.effect.do) behind = [...behind.slice(-1), fact.kind];
          if (next.effect.do === "upload" && state.effect.do !== "upload")
            assert.deepEqual(behind, ["sealed", "confirmed"]);
          if (next.effect.do === "done" && state.effect.do !== "done") {
            const left = next.stop?.kind === "stopped" && next.outcome === "unknown";
            assert.ok(next.lifted !== null || !next.asked || left, `done from ${state.effect.do} with ${fact.kind}`);
            assert.ok(next.stop !== null);
          }
          if (next.stop?.kind === "deployed") {
            assert.equal(next.outcome, steps.resident ? "landed" : "none");
            assert.deepEqual(next.landed, [...steps.parts, ...(steps.resident ? ["resident"] : [])]);
          }
          if (next.effect.do === "holds") assert.ok(next.lifted === "open" && next.stop?.kind === "deployed");
          state = next;
        }
      }),
      { numRuns: 2_000 },
    );
  });

test("from whatever a deploy has come to, the fleet's silence, its chatter or its refusals end it within its clocks", () => {
  const mode = fc.constantFrom(...DEPLOY_MODES);
  const ending = fc.constantFrom<readonly DeployFact[]>(
    [LOST, WOKE],
    [BLIND, LOST, WOKE, OVER],
    [BUSY, DRAINED, WOKE, NOT_SEALED, serves("d0", 7), lifted("repo:a/b"), heldBy(["repo:a/b"]), LOST],
    [DENIED, LOST, WOKE],
  );
  fc.assert(
    fc.property(mode, anySteps, fc.array(anyChoice, { maxLength: 60 }), ending, (how, steps, choices, facts) => {
      let [state, now] = [withSteps(deployOf(how, "d1", TABLE, 0), steps), 0];
      for (const one of choices) {
        const { fact, at } = chosen(state, one, now);
        state = nextDeploy(state, fact, at);
        now = at;
      }
      const swaps = 3 * CLOCK.swapBoundMs;
      const bound = now + TABLE.deployWaitMs + swaps + 2 * CLOCK.cycleBoundMs + 3 * MINUTE;
      const end = ended(state, facts, now);
      assert.ok(end <= bound, `ended ${end - bound} ms too late`);
    }),
    { numRuns: 300 },
  );
});
