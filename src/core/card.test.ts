// What a person reads of an ask: one table, so that a change of any surface's words is a change of this file.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { at, T0 } from "../../test/unit/coreSamples.ts";
import { ENDINGS, type Verdict } from "./ask.ts";
import { answerWords, CARD_CAUSES, CARD_STATES, cardWords, openingWords, type CardEvent } from "./card.ts";
import { SECOND } from "./time.ts";

const EVENT: CardEvent = {
  id: "r-000001",
  resource: "repo:local/app",
  threadKey: "web:T1",
  state: "queued",
  since: T0,
  bound: null,
  cause: null,
  position: null,
  quietBy: null,
  askedAt: T0,
  waitedMs: null,
  by: null,
  reason: null,
  verdict: null,
};
const FINISHED: Verdict = { ending: "finished", exit: 0, by: null, why: null };

const cards: readonly (readonly [says: string, more: Partial<CardEvent>])[] = [
  ["waiting for the deploy to finish · 65 min · place 3", { cause: "deploy", bound: at(65), position: 3 }],
  [
    "waiting for the deploy to finish · 12 min · place 1",
    { cause: "deploy", bound: at(65), quietBy: at(12), position: 1 },
  ],
  ["waiting for the deploy to finish · 12 min", { cause: "deploy", quietBy: at(12) }],
  ["waiting for the deploy to finish", { cause: "deploy" }],
  ["waiting for the fleet to reopen · 30 min · place 1", { cause: "drain", bound: at(30), position: 1 }],
  ["waiting for the run of this thread to end · place 1", { cause: "thread", position: 1 }],
  [
    "waiting for run r-000007 of this thread to end · its lease ends 05:29 · place 1",
    { cause: "thread", position: 1, holder: { id: "r-000007", leaseUntil: at(45) } },
  ],
  ["waiting for its turn · place 4", { cause: "queue", position: 4 }],
  ["waiting · place 2", { position: 2 }],
  ["attaching the workspace", { state: "attaching" }],
  ["waiting for the container to come back", { state: "waiting", cause: "resident" }],
  ["waiting for the container to come back · 3 min", { state: "waiting", cause: "resident", bound: at(3) }],
  ["waiting for the deploy to finish · 9 min", { state: "waiting", cause: "deploy", bound: at(9) }],
  ["running for 2m", { state: "running" }],
  ["running for 2m · lease ends 05:29", { state: "running", bound: at(45) }],
  [
    "running for 2m · lease ends 05:29 · after waiting 1410s for the resident",
    { state: "running", bound: at(45), waitedMs: 1_410 * SECOND + 999 },
  ],
  [
    "running for 2m · after waiting 39s for the run of its thread",
    { state: "running", waitedMs: 39 * SECOND, waitedBehind: "thread" },
  ],
  [
    "running for 2m · after waiting 39s for its turn",
    { state: "running", waitedMs: 39 * SECOND, waitedBehind: "queue" },
  ],
  ["stopping", { state: "stopping" }],
  ["ended", { state: "ended" }],
  ["finished", { state: "ended", verdict: FINISHED }],
  ["failed, exit 7", { state: "ended", verdict: { ...FINISHED, ending: "failed", exit: 7 } }],
  [
    "failed — no such branch",
    { state: "ended", verdict: { ...FINISHED, ending: "failed", exit: null, why: "no such branch" } },
  ],
  ["stopped", { state: "ended", verdict: { ...FINISHED, ending: "stopped", exit: null } }],
  ["ended: its lease is spent", { state: "ended", verdict: { ...FINISHED, ending: "leaseSpent", exit: null } }],
  [
    "refused — the thread is taken",
    { state: "ended", verdict: { ...FINISHED, ending: "refused", why: "the thread is taken" } },
  ],
  [
    "did not start — no such file",
    { state: "ended", verdict: { ...FINISHED, ending: "notStarted", why: "no such file" } },
  ],
  [
    "ended: its container was replaced",
    { state: "ended", verdict: { ...FINISHED, ending: "replaced", by: "container" } },
  ],
  [
    "ended: its container could not be reached — three tries",
    { state: "ended", verdict: { ...FINISHED, ending: "replaced", by: "transport", why: "three tries" } },
  ],
];
for (const [says, more] of cards)
  test(`a card reads: ${says}`, () => {
    const now = more.state === "running" ? at(2) : T0;
    assert.equal(cardWords({ ...EVENT, ...more }, now), says);
  });

const answers: readonly (readonly [says: string, more: Partial<CardEvent>])[] = [
  ["deploy pending, 12 minutes · place 3", { cause: "deploy", bound: at(65), quietBy: at(12), position: 3 }],
  ["deploy pending, 1 minute · place 1", { cause: "deploy", bound: at(65), quietBy: T0, position: 1 }],
  ["waiting for the deploy to finish · place 1", { cause: "deploy", position: 1 }],
  ["waiting for the fleet to reopen · 30 min · place 1", { cause: "drain", bound: at(30), position: 1 }],
  ["attaching the workspace", { state: "attaching", cause: null }],
];
for (const [says, more] of answers)
  test(`an ask is answered: ${says}`, () => assert.equal(answerWords({ ...EVENT, ...more }, T0), says));

test("a run that waited less than a second opens with nothing", () => {
  assert.equal(openingWords({ ...EVENT, waitedMs: 999 }), null);
  assert.equal(openingWords(EVENT), null);
  assert.equal(openingWords({ ...EVENT, waitedMs: 1_000 }), "after waiting 1s for the resident");
});

test("inv. 14: whatever a card tells, it reads as words of one line", () => {
  const verdict = fc.record({
    ending: fc.constantFrom(...ENDINGS),
    exit: fc.option(fc.integer({ min: 0, max: 255 })),
    by: fc.constantFrom("container" as const, "transport" as const, null),
    why: fc.constant(null),
  });
  const instant = fc.integer({ min: T0 - 1_000_000, max: T0 + 10_000_000 });
  const event = fc.record({
    state: fc.constantFrom(...CARD_STATES),
    cause: fc.constantFrom(...CARD_CAUSES, null),
    since: instant,
    bound: fc.option(instant),
    quietBy: fc.option(instant),
    position: fc.option(fc.integer({ min: 1, max: 300 })),
    waitedMs: fc.option(fc.nat()),
    verdict: fc.option(verdict),
  });
  fc.assert(
    fc.property(event, (more) => {
      for (const words of [cardWords({ ...EVENT, ...more }, T0), answerWords({ ...EVENT, ...more }, T0)])
        assert.match(words, /^[a-z][^\n]*$/);
    }),
  );
});
