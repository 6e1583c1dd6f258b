// A receipt as text names its facts, says unknown where nobody told, and lets nothing in it steer a terminal.

import assert from "node:assert/strict";
import { test } from "node:test";
import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { receiptLines, receiptTable } from "./receipt.ts";

const AT = Date.UTC(2026, 8, 17, 4, 44);
const MINUTE = 60_000;
const build = (commit: string, image: string) => ({ commit, bundle: `b-${commit}`, image });
const RECEIPT: Receipt = {
  format: 1,
  step: "resident",
  steps: [],
  restart: false,
  drainId: "d1d1d1d1",
  drainIds: ["d1d1d1d1"],
  mode: "drained",
  without: [],
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
  queued: null,
  residents: [
    {
      resource: "repo:local/sample",
      imageBefore: "a41b",
      imageAfter: "c9e0",
      bootBefore: "b1",
      bootAfter: "unknown",
      reconcile: "restarted",
      why: null,
      killed: 0,
      hold: "reported",
      holdEndedAt: AT + 25 * MINUTE,
    },
  ],
  unreconciled: null,
  cut: null,
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
    /boot b1 → unknown {3}restarted, reported 05:09:00Z/,
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

test("who waited in the bot's queue is named beside who waited at the fleet's door, and the rest is counted", () => {
  const asked = { resource: "repo:local/sample", by: "lee", cause: "deploy", askedAt: AT, since: AT } as const;
  const asks = [
    { ...asked, id: "a1", threadKey: "web:T1", waitedMs: 3 * MINUTE, how: "queued" },
    { ...asked, id: "a2", threadKey: "web:T2", cause: "thread", waitedMs: MINUTE, how: "ended" },
    { ...asked, id: "a3", threadKey: "web:T3", by: "\u001b[31mann", waitedMs: "unknown", how: "unknown" },
  ] as const;
  const linesOf = (more: Partial<Receipt>): string[] => receiptLines({ ...RECEIPT, waited: [], ...more });
  const named = linesOf({ queued: { asks: [...asks], more: 9 } });
  const from = named.findIndex((line) => /^ {2}waited/.test(line));
  const words = named.slice(from, from + 5);
  for (const [index, pattern] of [
    /waited +nobody at the fleet's door$/,
    /queued +a1 +sample +web:T1 +lee +3m$/,
    /^ +a2 +sample +web:T2 +lee +1m, behind its thread's run too, then stopped$/,
    /^ +a3 +sample +web:T3 +\S*ann +unknown, how it left the queue is unknown$/,
    /^ +and 9 more$/,
  ].entries())
    assert.match(words[index] ?? "", pattern);
  const nobody = linesOf({ queued: { asks: [], more: 0 } }).join("\n");
  assert.match(nobody, /waited +nobody$/m);
  assert.doesNotMatch(nobody, /queued/);
  assert.match(linesOf({ queued: "unknown" }).join("\n"), /queued +unknown: the bot does not say/);
  assert.match(linesOf({}).join("\n"), /waited +nobody$/m, "where no bot is part of it");
});

test("a receipt of a build that knew no queue is read", () => {
  const { queued: _, ...older } = RECEIPT;
  assert.equal(receiptSchema.parse(older).queued, null);
});

test("what the reconcile came to at each resident, how its hold ended, who was left out, and what was cut", () => {
  const [one] = RECEIPT.residents === "unknown" ? [] : RECEIPT.residents;
  assert.ok(one);
  const resident = (name: string, more: Partial<typeof one>) => ({ ...one, resource: `repo:local/${name}`, ...more });
  const text = receiptLines({
    ...RECEIPT,
    mode: "handoff",
    cut: 2,
    without: [{ resource: "repo:local/broken", reason: "its disk" }],
    unreconciled: "no answer",
    residents: [
      resident("current", { reconcile: "current", hold: "none", holdEndedAt: null }),
      resident("stale", { reconcile: "deferred", why: "1 process is alive in it", hold: "bound", killed: 2 }),
      resident("person", { reconcile: "error", why: "no answer", hold: "released" }),
      resident("admin", { reconcile: "stale", hold: "lifted" }),
      resident("still", { reconcile: "asked", hold: "held", holdEndedAt: null }),
      resident("idle", { reconcile: "inactive", hold: "unknown", holdEndedAt: null }),
      resident("old", { reconcile: "unknown", hold: "none", holdEndedAt: null }),
    ],
  }).join("\n");
  for (const words of [
    /^deploy d1d1d1d1 {3}resident {3}deployed \(handoff\)$/m,
    /current {3}image a41b → c9e0 {3}boot b1 → unknown {3}current, no restart$/m,
    /not restarted yet \(1 process is alive in it\), opened at its bound without a report: stale 05:09:00Z, its restart ended 2 processes of runs$/m,
    /cannot be reached \(no answer\), released by a person 05:09:00Z$/m,
    /its object runs an older Worker, lifted by an admin's force 05:09:00Z$/m,
    /has not answered, still closed when last seen$/m,
    /no container runs, how its hold ended is unknown$/m,
    /old {3}image a41b → c9e0 {3}boot b1 → unknown$/m,
    /left out +broken: its disk$/m,
    /reconcile +not done: no answer$/m,
    /cut +2 streams of output, picked up again$/m,
  ])
    assert.match(text, words);
  const unread = receiptLines({ ...RECEIPT, residents: "unknown", unreconciled: "over", closed: null }).join("\n");
  assert.match(unread, /residents +unknown\n +reconcile +not done: over/);
  assert.match(unread, /closed +never: the drain was not granted/);
});

test("a receipt of an earlier build is read, and says nothing of what that build did not know", () => {
  const { without, unreconciled, cut, residents, steps, restart, ...old } = RECEIPT;
  assert.deepEqual([without, unreconciled, cut, steps, restart], [[], null, null, [], false]);
  const rows = (residents === "unknown" ? [] : residents).map(
    ({ resource, imageBefore, imageAfter, bootBefore, bootAfter }) => ({
      resource,
      imageBefore,
      imageAfter,
      bootBefore,
      bootAfter,
    }),
  );
  const read = receiptSchema.parse({ ...old, residents: rows });
  assert.match(receiptLines(read).join("\n"), /sample {3}image a41b → c9e0 {3}boot b1 → unknown$/m);
  assert.doesNotMatch(receiptLines(read).join("\n"), /cut|left out|reconcile/);
});

test("a deploy of several steps says of each from which build to which, and how far it came", () => {
  const step = (name: "ledger" | "bot" | "resident", more: object) => ({
    step: name,
    from: build("3f9c1e2", "a41b"),
    to: build("7b02d9e", "c9e0"),
    outcome: "none" as const,
    why: null,
    since: null,
    until: null,
    generation: null,
    ...more,
  });
  const steps = [
    step("ledger", { outcome: "landed", since: AT, until: AT + 2 * MINUTE, generation: 4, from: "unknown" }),
    step("bot", { outcome: "failed", since: AT, until: AT, why: "it does not start" }),
    step("resident", {}),
  ];
  const text = receiptLines({ ...RECEIPT, step: "ledger, bot, resident", steps, result: "failed" }).join("\n");
  for (const words of [
    /^deploy d1d1d1d1 {3}ledger, bot, resident {3}failed/,
    /steps +ledger +unknown → 7b02d9e\/b-7b02d9e +landed, 2m, generation 4$/m,
    /bot +3f9c1e2\/b-3f9c1e2 → 7b02d9e\/b-7b02d9e +failed, 0s: it does not start$/m,
    /resident +3f9c1e2\/b-3f9c1e2 → \S+ +not begun$/m,
    /image +a41b → c9e0/,
  ])
    assert.match(text, words);
  const odd = [
    step("bot", { outcome: "unknown", since: AT, until: AT }),
    step("ledger", { since: AT, until: AT, why: "this build is gone" }),
    step("ledger", { outcome: "refused", since: AT, until: AT }),
  ];
  const bot = receiptLines({ ...RECEIPT, steps: odd, restart: true, without: [{ resource: "repo:a/b", reason: "x" }] });
  assert.match(bot.join("\n"), /^restart d1d1d1d1/);
  assert.match(bot.join("\n"), /unknown whether it landed, 0s$/m);
  assert.match(bot.join("\n"), /nothing swapped, 0s: this build is gone$/m);
  assert.match(bot.join("\n"), /refused, 0s$/m);
  assert.doesNotMatch(bot.join("\n"), /^ +(image|residents|generation) /m, "what it did not touch is not told of");
  assert.match(bot.join("\n"), /left out +b: x$/m);
});

test("who was never closed out, and why", () => {
  const of = (more: Partial<Receipt>) => receiptLines({ ...RECEIPT, closed: null, ...more }).join("\n");
  const [from, to] = [build("3f9c1e2", "a41b"), build("7b02d9e", "c9e0")];
  const ledger = { step: "ledger" as const, from, to, outcome: "landed" as const, why: null };
  const steps = [{ ...ledger, since: AT, until: AT, generation: 2 }];
  assert.match(of({ steps }), /closed +never: the ledger alone closes nothing$/m);
  assert.match(of({}), /closed +never: the drain was not granted$/m);
  assert.match(of({ mode: "undrained" }), /closed +never: this deploy did not drain$/m);
});

test("past deploys are a table", () => {
  const lines = receiptTable([RECEIPT, { ...RECEIPT, closedMs: null, killed: "unknown" }], true);
  assert.match(lines[0] ?? "", /^BEGAN +DRAIN +RESULT +BUILD +CLOSED +KILLED +BY$/);
  assert.match(lines[1] ?? "", /3f9c1e2 → 7b02d9e +25m +0 +ci$/);
  assert.match(lines[2] ?? "", /— +unknown +ci$/);
});
