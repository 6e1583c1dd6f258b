// A receipt as text names its facts, says unknown where nobody told, and lets nothing in it steer a terminal.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "#wire/receipt.ts";
import { receiptLines, receiptTable } from "./receipt.ts";

const AT = Date.UTC(2026, 8, 17, 4, 44);
const MINUTE = 60_000;
const build = (commit: string, image: string) => ({ commit, bundle: `b-${commit}`, image });
const RECEIPT: Receipt = {
  format: 1,
  step: "resident",
  drainId: "d1d1d1d1",
  drainIds: ["d1d1d1d1"],
  mode: "drained",
  by: "ci",
  reason: "deploy 7b02d9e",
  startedAt: AT,
  endedAt: AT + 25 * MINUTE,
  result: "deployed",
  why: null,
  outcome: "landed",
  exitCode: 0,
  build: { from: build("3f9c1e2", "a41b"), to: build("7b02d9e", "c9e0"), imageChanged: true },
  generation: { from: 1, to: 2 },
  closed: { since: AT, by: "ci", principal: "drain", reason: "deploy \u001b[31m7b02d9e", until: AT + 65 * MINUTE },
  phases: [{ phase: "wait", since: AT, until: AT + 24 * MINUTE }],
  inFlight: [
    {
      runId: "r1",
      resource: "repo:local/sample",
      threadKey: "cli:r1",
      leaseUntil: AT,
      seenAt: AT,
      endedAt: AT + MINUTE,
      how: "released",
    },
  ],
  waited: "unknown",
  residents: [
    { resource: "repo:local/sample", imageBefore: "a41b", imageAfter: "c9e0", bootBefore: "b1", bootAfter: "unknown" },
  ],
  killed: 0,
  killedProcesses: [],
  reopened: { at: AT + 25 * MINUTE, cause: "lifted", stillClosedBy: [] },
  closedMs: 25 * MINUTE,
  effects: [],
};

test("a deploy that landed", () => {
  const text = receiptLines(RECEIPT, "/x/d1d1d1d1.json").join("\n");
  for (const words of [
    /^deploy d1d1d1d1 {3}resident {3}deployed/,
    /build +3f9c1e2 → 7b02d9e/,
    /image +a41b → c9e0/,
    /generation +1 → 2/,
    /closed +04:44:00Z by ci \(drain bearer\): deploy \[31m7b02d9e/,
    /reopened +05:09:00Z, lifted, closed 25m/,
    /in flight +r1 {3}sample {3}cli:r1 {3}ended, given back {3}04:45:00Z/,
    /phases +wait 24m/,
    /boot b1 → unknown/,
    /waited +unknown: the registry does not say/,
    /killed +0/,
    /kept in +\/x\//,
  ])
    assert.match(text, words);
  assert.equal(text.includes("\u001b"), false);
});

test("a deploy of which little is known, and one that killed", () => {
  const blind = receiptLines({
    ...RECEIPT,
    endedAt: null,
    result: "underWay",
    outcome: "unknown",
    why: "SIGKILL",
    closed: null,
    reopened: null,
    residents: "unknown",
    killed: "unknown",
    inFlight: [],
    phases: [],
    build: { ...RECEIPT.build, from: "unknown" },
    generation: { from: "unknown", to: null },
  }).join("\n");
  for (const words of [
    /not ended/,
    /build +unknown →/,
    /closed +never/,
    /in flight +nothing/,
    /phases +none/,
    /residents +unknown/,
    /killed +unknown/,
    /upload +unknown/,
    /why +SIGKILL/,
  ])
    assert.match(blind, words);
  const killed = receiptLines({
    ...RECEIPT,
    mode: "forced",
    closed: null,
    killed: 1,
    killedProcesses: [
      { pid: 7, startTicks: 1, resource: "repo:local/sample", threadKey: "cli:r1", runId: "r1", command: "sh" },
    ],
    waited: [
      { runId: "r2", resource: "repo:local/sample", threadKey: "cli:r2", since: 0, waitedMs: MINUTE, gaveUp: false },
      { runId: "r3", resource: "repo:local/sample", threadKey: "cli:r3", since: 0, waitedMs: MINUTE, gaveUp: true },
    ],
    reopened: { at: "unknown", cause: "unknown", stillClosedBy: "unknown" },
  }).join("\n");
  for (const words of [
    /closed +never: this deploy did not drain/,
    /killed +1/,
    /pid 7 {3}r1/,
    /waited +r2 \(cli:r2\) 1m, r3 \(cli:r3\) 1m, then gave up/,
  ])
    assert.match(killed, words);
  const held = receiptLines({
    ...RECEIPT,
    reopened: {
      at: AT,
      cause: "lifted",
      stillClosedBy: [{ id: "p", by: "ann", reason: "audit", until: AT, deploy: false }],
    },
  }).join("\n");
  assert.match(held, /still closed +by ann \(audit\) until 04:44:00Z/);
});

test("past deploys are a table", () => {
  const lines = receiptTable([RECEIPT, { ...RECEIPT, closedMs: null, killed: "unknown" }], true);
  assert.match(lines[0] ?? "", /^BEGAN +DRAIN +RESULT +BUILD +CLOSED +KILLED +BY$/);
  assert.match(lines[1] ?? "", /3f9c1e2 → 7b02d9e +25m +0 +ci$/);
  assert.match(lines[2] ?? "", /— +unknown +ci$/);
});
