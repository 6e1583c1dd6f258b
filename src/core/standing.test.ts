// A run that is not heard is tried for again and again, each stretch with its pauses, and never without an end.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CLOCK, LIMIT } from "./budgets.ts";
import { nextStanding, replacedBy, standingOf, type Standing, type StandingFact } from "./standing.ts";
import { MINUTE, SECOND } from "./time.ts";

const silent: StandingFact = { kind: "cut", heard: false };
const heard: StandingFact = { kind: "cut", heard: true };
const attached: StandingFact = { kind: "attached" };
const unattached: StandingFact = { kind: "unattached" };
const woke: StandingFact = { kind: "woke" };

/** A standing that these facts lead to, each at its instant. */
const after = (...facts: readonly (readonly [StandingFact, number])[]): Standing =>
  facts.reduce((state, [fact, now]) => nextStanding(state, fact, now), standingOf(0));

const LAST = CLOCK.standingMs;
const cases: readonly [name: string, facts: [StandingFact, number][], step: Standing["step"], failures: number][] = [
  ["output that was cut is attached for at once", [[heard, 5 * MINUTE]], { do: "attach" }, 0],
  [
    "what is attached is followed",
    [
      [heard, 1],
      [attached, 2],
    ],
    { do: "follow" },
    0,
  ],
  ["the first silent try is followed by another at once", [[silent, 1]], { do: "attach" }, 0],
  [
    "the second one pauses",
    [
      [silent, 1],
      [attached, 2],
      [silent, 3],
    ],
    { do: "pause", at: 3 + CLOCK.wakePollMs },
    0,
  ],
  [
    "a pause ends with an attach",
    [
      [silent, 1],
      [attached, 2],
      [silent, 3],
      [woke, 9],
    ],
    { do: "attach" },
    0,
  ],
  [
    "three tries within less than the silence are no standing failure",
    [
      [silent, 1],
      [attached, 2],
      [silent, 3],
      [woke, 9],
      [attached, 9],
      [silent, LAST - 1],
    ],
    { do: "pause", at: LAST - 1 + CLOCK.wakePollMs },
    0,
  ],
  [
    "two tries over the whole silence are none either",
    [
      [silent, 1],
      [attached, 2],
      [silent, 2 * LAST],
    ],
    { do: "pause", at: 2 * LAST + CLOCK.wakePollMs },
    0,
  ],
  [
    "three tries over the silence are one, and the run attaches again",
    [
      [silent, 1],
      [attached, 2],
      [silent, 3],
      [woke, 9],
      [attached, 9],
      [silent, LAST],
    ],
    { do: "attach" },
    1,
  ],
  [
    "a wake wait that is spent is one",
    [
      [heard, 1],
      [unattached, 3 * MINUTE],
    ],
    { do: "attach" },
    1,
  ],
  [
    "a word takes every failure away",
    [
      [heard, 1],
      [unattached, 2],
      [unattached, 3],
      [attached, 4],
      [heard, 5],
    ],
    { do: "attach" },
    0,
  ],
  [
    "behind the last one there is no other",
    [
      [heard, 1],
      [unattached, 2],
      [unattached, 3],
      [unattached, 4],
      [unattached, 5],
    ],
    { do: "giveUp" },
    LIMIT.tries + 1,
  ],
];
for (const [name, facts, step, failures] of cases)
  test(name, () => {
    const state = after(...facts);
    assert.deepEqual([state.step, state.failures], [step, failures]);
  });

test("the silence counts from the last word, over every standing failure", () => {
  const state = after([heard, 10], [unattached, 2 * MINUTE], [attached, 3 * MINUTE]);
  assert.equal(state.silentSince, 10);
  assert.equal(state.stretchSince, 2 * MINUTE);
});

test("what is gone after a standing failure is gone by transport, else by its container", () => {
  assert.equal(replacedBy(after([heard, 1], [attached, 2])), "container");
  assert.equal(replacedBy(after([heard, 1], [unattached, 2], [attached, 3])), "transport");
});

test("a fact that answers another step changes nothing", () => {
  const paused = after([silent, 1], [attached, 2], [silent, 3]);
  for (const fact of [silent, attached, unattached]) assert.equal(nextStanding(paused, fact, 4), paused);
  const following = standingOf(0);
  for (const fact of [attached, unattached, woke]) assert.equal(nextStanding(following, fact, 4), following);
});

test("whatever is unheard ends: its steps are bounded, and so is its time", () => {
  const took = fc.integer({ min: 0, max: CLOCK.wakeWaitMs });
  const isAttached = fc.boolean();
  fc.assert(
    fc.property(fc.infiniteStream(took), fc.infiniteStream(isAttached), (spans, answers) => {
      const span = (): number => spans.next().value ?? 0;
      let [state, now, steps] = [standingOf(0), 0, 0];
      for (; state.step.do !== "giveUp"; steps += 1) {
        assert.ok(steps < 1_000, "it ends");
        const { step } = state;
        if (step.do === "pause") now = step.at;
        else now += step.do === "attach" ? span() : Math.min(span(), 15 * SECOND);
        if (step.do === "pause") state = nextStanding(state, woke, now);
        else if (step.do === "follow") state = nextStanding(state, silent, now);
        else state = nextStanding(state, (answers.next().value ?? false) ? attached : unattached, now);
      }
      const longest = CLOCK.standingMs + LIMIT.tries * (CLOCK.wakeWaitMs + CLOCK.wakePollMs + 15 * SECOND);
      assert.ok(now <= (LIMIT.tries + 1) * longest, `it took ${now}`);
      assert.equal(state.failures, LIMIT.tries + 1);
    }),
  );
});
