// The gate's door as a table: each state names one effect, and a fact that does not answer it changes nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { Drain } from "./drain.ts";
import {
  attachOf,
  nextAttach,
  refusedUntil,
  type AttachFact,
  type AttachState,
  type ProvisionFailure,
} from "./gate.ts";
import type { AttachAsk, Registration } from "./registration.ts";
import type { Arrival, Seal } from "./resident.ts";

const ASK: AttachAsk = {
  runId: "r1",
  threadKey: "t1",
  generation: 1,
  kind: "run",
  runKind: "coding",
  remainingMs: null,
  parent: null,
  replace: { by: "nobody" },
};
const ROW: Registration = {
  runId: "r1",
  threadKey: "t1",
  kind: "run",
  generation: 1,
  state: "running",
  seq: 3,
  since: 0,
  leaseUntil: 100,
  parent: null,
};
const SEAL: Seal = { drainId: "d1", attempt: 1, until: 900 };
const WHY: ProvisionFailure = { code: "ROLLING", detail: "", transient: true };
const DRAIN: Drain = {
  id: "d1",
  since: 0,
  until: 500,
  by: "",
  reason: "",
  principal: "",
  deploy: true,
  phase: "draining",
  phaseSince: 0,
  phaseUntil: 100,
  build: null,
  sealing: { state: "none", attempt: 0, until: 0 },
  holds: [],
  reported: [],
  without: [],
};

const OPEN: AttachFact = { kind: "looked", look: { kind: "open", parentUntil: null, sealStands: false, asked: null } };
const BLIND: AttachFact = { kind: "looked", look: { kind: "unreadable" } };
const WRITTEN: AttachFact = { kind: "rowed", row: { kind: "written", row: ROW } };
const SEALED: AttachFact = { kind: "rowed", row: { kind: "sealed", seal: SEAL } };
const TAKEN: AttachFact = { kind: "rowed", row: { kind: "taken", row: ROW } };
const arrived = (arrival: Arrival): AttachFact => ({ kind: "arrived", arrival, seal: SEAL });
const NEW = arrived({ kind: "new" });
const AGAIN = arrived({ kind: "registered", row: ROW });
const BUSY = arrived({ kind: "threadBusy", row: ROW, mayReplace: true });

const walk = (facts: readonly AttachFact[]): AttachState => facts.reduce(nextAttach, attachOf(ASK));
const said = ({ effect }: AttachState): string => (effect.do === "answer" ? effect.answer.kind : effect.do);

const attaches: readonly [string, readonly AttachFact[], string][] = [
  ["begins with its arrival", [], "arrive"],
  ["a new run is looked for", [NEW], "look"],
  ["told open it writes its row before any work", [NEW, OPEN], "row"],
  ["told closed it is refused with nothing written", [NEW, { kind: "closed", drain: DRAIN }], "draining"],
  ["an unknown resident is said to be one", [NEW, { kind: "unknownResident" }], "unknownResident"],
  ["an unreadable registry does not fail it", [NEW, BLIND], "row"],
  ["with its row it is provisioned", [NEW, OPEN, WRITTEN], "provision"],
  ["a seal that nobody was asked about is asked about", [NEW, OPEN, SEALED], "look"],
  ["a seal that nobody can be asked about refuses", [NEW, BLIND, SEALED], "draining"],
  ["a thread taken meanwhile is judged again", [NEW, OPEN, TAKEN], "arrive"],
  ["provisioned it is admitted in a step of its own", [NEW, OPEN, WRITTEN, { kind: "provisioned" }], "admit"],
  [
    "admitted it is answered",
    [NEW, OPEN, WRITTEN, { kind: "provisioned" }, { kind: "admitted", row: ROW }],
    "admitted",
  ],
  [
    "a row that went meanwhile is not admitted",
    [NEW, OPEN, WRITTEN, { kind: "provisioned" }, { kind: "admitted", row: null }],
    "leaseSpent",
  ],
  ["not provisioned it drops its row", [NEW, OPEN, WRITTEN, { kind: "notProvisioned", why: WHY }], "drop"],
  ["and is then answered", [NEW, OPEN, WRITTEN, { kind: "notProvisioned", why: WHY }, { kind: "dropped" }], "failed"],
  ["a registered run is not looked for", [AGAIN], "provision"],
  ["a registered run is admitted only with its row", [AGAIN, { kind: "provisioned" }], "admit"],
  ["a registered run whose workspace fails keeps its row", [AGAIN, { kind: "notProvisioned", why: WHY }], "failed"],
  ["an older generation is told so", [arrived({ kind: "oldGeneration", row: ROW })], "oldGeneration"],
  ["a lease that is over is told so", [arrived({ kind: "leaseSpent", row: ROW })], "leaseSpent"],
  ["a busy thread is told so", [arrived({ kind: "threadBusy", row: ROW, mayReplace: false })], "threadBusy"],
  ["who may replace has the old run ended first", [BUSY], "endOld"],
  ["and is then judged like any other", [BUSY, { kind: "oldEnded" }], "arrive"],
  ["but replaces once only", [BUSY, { kind: "oldEnded" }, BUSY], "threadBusy"],
  ["the second of one run joins", [arrived({ kind: "join" })], "join"],
  [
    "and gets its answer",
    [arrived({ kind: "join" }), { kind: "joined", answer: { kind: "failed", why: WHY } }],
    "failed",
  ],
  [
    "also an admission of its own generation",
    [arrived({ kind: "join" }), { kind: "joined", answer: { kind: "admitted", row: ROW, again: false } }],
    "admitted",
  ],
  [
    "another generation's admission is not its own",
    [
      arrived({ kind: "join" }),
      { kind: "joined", answer: { kind: "admitted", row: { ...ROW, generation: 2 }, again: false } },
    ],
    "arrive",
  ],
];
for (const [name, facts, expected] of attaches)
  test(`attach: ${name}`, () => assert.equal(said(walk(facts)), expected));

test("attach: a re-attach says that it is one, and the look names the seal that is held", () => {
  const again = walk([AGAIN, { kind: "provisioned" }, { kind: "admitted", row: ROW }]);
  assert.deepEqual(again.effect, { do: "answer", answer: { kind: "admitted", row: ROW, again: true } });
  assert.deepEqual(walk([NEW]).effect, { do: "look", seal: SEAL });
});

const EVERY_FACT: readonly AttachFact[] = [
  NEW,
  OPEN,
  { kind: "closed", drain: DRAIN },
  { kind: "unknownResident" },
  WRITTEN,
  { kind: "oldEnded" },
  { kind: "provisioned" },
  { kind: "notProvisioned", why: WHY },
  { kind: "admitted", row: ROW },
  { kind: "dropped" },
  { kind: "joined", answer: { kind: "leaseSpent" } },
];
const ANSWERS: Readonly<Record<string, readonly AttachFact["kind"][]>> = {
  arrive: ["arrived"],
  look: ["looked", "closed", "unknownResident"],
  row: ["rowed"],
  endOld: ["oldEnded"],
  provision: ["provisioned", "notProvisioned"],
  admit: ["admitted"],
  drop: ["dropped"],
  join: ["joined"],
};

test("attach: a fact that does not answer the effect leaves it standing", () => {
  for (const [, facts] of attaches) {
    const state = walk(facts);
    for (const fact of EVERY_FACT.filter((one) => !ANSWERS[state.effect.do]?.includes(one.kind))) {
      assert.equal(nextAttach(state, fact), state, `${state.effect.do} took ${fact.kind}`);
    }
  }
});

test("inv. 1, 2: whatever is said in whatever order, nobody works without a row, nor is admitted but by its step", () => {
  const facts = [...EVERY_FACT, AGAIN, BUSY, arrived({ kind: "join" }), BLIND, SEALED, TAKEN];
  fc.assert(
    fc.property(fc.array(fc.constantFrom<AttachFact>(...facts), { maxLength: 40 }), (said_) => {
      let state = attachOf(ASK);
      for (const fact of said_) {
        const from = state.effect.do;
        const next = nextAttach(state, fact);
        const to = next.effect.do;
        if (to === "row") assert.ok(from === "look" || next === state, `a row was begun from ${from}`);
        if (to === "provision" && next !== state)
          assert.ok(from === "row" || from === "arrive", `work began at ${from}`);
        if (to === "provision" && from === "row") assert.equal(fact, WRITTEN);
        if (to === "admit" && next !== state) assert.equal(from, "provision");
        if (next.effect.do === "answer" && next.effect.answer.kind === "admitted" && next !== state)
          assert.ok(from === "admit" || from === "join", `admitted from ${from}`);
        if (from === "answer") assert.equal(next, state);
        state = next;
      }
    }),
    { numRuns: 500 },
  );
});

test("a refusal names the closing drain's end, else the seal's", () => {
  assert.equal(refusedUntil({ kind: "draining", drain: DRAIN, seal: null }), 500);
  assert.equal(refusedUntil({ kind: "draining", drain: null, seal: SEAL }), 900);
  assert.equal(refusedUntil({ kind: "draining", drain: null, seal: null }), null);
});
