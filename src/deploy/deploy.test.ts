// Every way in which a deploy can end, every line it says and what its receipt holds, over a scripted port.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { ends, rehearse, says, viewed, type Script } from "#deploy/deployForTests.ts";
import { DRAIN_ID, auditOf, drainOf, runOf, T0 } from "#deploy/recordsForTests.ts";
import { findReceipt } from "#deploy/receiptFile.ts";

test("a quiet fleet: closed, sealed, swapped, proven, opened, with the lines of the protocol", async (context) => {
  const deployed = await rehearse(context);
  assert.deepEqual(deployed.effects, [
    "preflight",
    "drain",
    "look",
    "seal",
    "confirm",
    "upload",
    "liveGate",
    "reconcile",
    "lift",
    "done",
  ]);
  assert.deepEqual(deployed.lines, [
    "resident: 3f9c1e2 → 7b02d9e, image a41b → c9e0",
    "fleet drained — /attach refuses new runs until 05:49:00Z",
    "fleet sealed — nothing is in flight, and nothing becomes so before 04:59:00Z",
    "swapping — 3f9c1e2 → 7b02d9e",
    "swapped",
    "live — /healthz serves 7b02d9e, generation 2",
    "1 restarted",
    "fleet reopened",
    "deployed 7b02d9e, closed 0s, killed 0",
  ]);
  ends(deployed, "deployed", 0);
  assert.deepEqual(deployed.receipt.generation, { from: 1, to: 2 });
  assert.equal(deployed.receipt.build.imageChanged, true);
  assert.equal(deployed.receipt.killed, 0);
  assert.deepEqual(deployed.receipt.waited, [], "nobody waited, by the registry");
  assert.deepEqual(
    deployed.receipt.phases.map((phase) => phase.phase),
    ["close", "wait", "seal", "swap", "live", "reconcile", "reopen"],
  );
});

test("the seed's evening: each minute is said, each run is named, and its end too", async (context) => {
  const [coding, review] = [runOf("coding", 21), runOf("review", 22)];
  const deployed = await rehearse(context, {
    facts: {
      preflight: [viewed([coding, review])],
      look: [
        viewed([coding, review]),
        viewed([coding, review], { now: T0 + MINUTE }),
        viewed([coding], { now: T0 + 2 * MINUTE }),
        viewed([coding], { now: T0 + 3 * MINUTE }),
        viewed([], { now: T0 + 4 * MINUTE }),
      ],
    },
    audit: [
      auditOf("released", T0 + 90 * SECOND, { runId: "review" }),
      auditOf("leaseEnded", T0 + 200 * SECOND, { runId: "coding" }),
      auditOf("reopen", T0 + 5 * MINUTE, { drainId: DRAIN_ID, cause: "lifted" }),
    ],
  });
  says(deployed, /^waits for coding \(sample, cli:coding\) — its lease ends 05:05$/);
  says(deployed, /^waited 1m of 60m — 2 runs in flight, quiet by 05:06$/);
  says(deployed, /^review \(sample, cli:review\) ended — 1 run in flight$/);
  says(deployed, /^waited 3m of 60m — 1 run in flight, quiet by 05:05$/);
  const minutes = deployed.lines.filter((line) => line.startsWith("waited "));
  assert.equal(new Set(minutes).size, minutes.length, "no minute is said twice");
  ends(deployed, "deployed", 0);
  assert.deepEqual(
    deployed.receipt.inFlight.map((run) => [run.runId, run.how, run.endedAt]),
    [
      ["coding", "leaseEnded", T0 + 200 * SECOND],
      ["review", "released", T0 + 90 * SECOND],
    ],
  );
  assert.deepEqual(deployed.receipt.reopened, { at: T0 + 5 * MINUTE, cause: "lifted", stillClosedBy: [] });
  assert.equal(deployed.receipt.closedMs, T0 + 5 * MINUTE - (deployed.receipt.closed?.since ?? 0));
});

test("a wait that cannot end in time is said at once, and refuses naming the run", async (context) => {
  const deployed = await rehearse(context, {
    facts: { preflight: [viewed([runOf("long", 90)])], look: [viewed([runOf("long", 90)])] },
  });
  const drained = deployed.lines.findIndex((line) => line.startsWith("fleet drained"));
  assert.match(
    deployed.lines[drained + 2] ?? "",
    /^long \(sample, cli:long\) may go on until 06:14, beyond this wait's end at 05:44/,
  );
  says(
    deployed,
    /^nothing deployed — the wait of 1h ran out with 1 run in flight: long \(sample, cli:long\) until 06:14$/,
  );
  says(deployed, /^fleet reopened$/);
  ends(deployed, "refused", 3);
  assert.equal(
    deployed.effects.filter((effect) => effect === "pulse").length >= 50,
    true,
    "the drain is renewed all the while",
  );
  assert.deepEqual(
    deployed.receipt.inFlight.map((run) => run.how),
    ["inFlight"],
  );
});

test("the watch says quiet: the seal is asked at once", async (context) => {
  const deployed = await rehearse(context, {
    facts: { look: [viewed([runOf("r1", 10)])], pause: [{ kind: "woke", quiet: true }] },
  });
  assert.deepEqual(deployed.effects.slice(2, 5), ["look", "pause", "seal"]);
  says(deployed, /^r1 \(sample, cli:r1\) ended$/);
  ends(deployed, "deployed", 0);
});

test("without the drain bearer: said, and 30 minutes", async (context) => {
  const deployed = await rehearse(context, {
    mode: "undrained",
    facts: { preflight: [viewed([runOf("r1", 45)])], look: [viewed([runOf("r1", 45)])] },
  });
  assert.equal(deployed.lines[1], "RESIDENT_DRAIN_TOKEN is not set — waiting without a drain");
  says(deployed, /^waited 29m of 30m — 1 run in flight, quiet by 05:29$/);
  assert.equal(deployed.effects.includes("drain") || deployed.effects.includes("lift"), false);
  ends(deployed, "refused", 3);
  assert.equal(deployed.receipt.closed, null);
  assert.equal(deployed.receipt.closedMs, null);
});

test("force: neither drains nor waits, and counts from the processes that died", async (context) => {
  const dead = [11, 12, 13].map((pid) => ({
    pid,
    startTicks: pid,
    resource: "repo:local/sample",
    threadKey: pid === 13 ? null : "cli:r1",
    command: "sh",
  }));
  const deployed = await rehearse(context, {
    mode: "forced",
    facts: { preflight: [viewed([runOf("r1", 45), runOf("r2", 45)])] },
    uploaded: { outcome: "landed", why: "", killed: dead, ms: 9 },
  });
  assert.deepEqual(deployed.effects, ["preflight", "upload", "liveGate", "done"]);
  assert.equal(deployed.receipt.killed, 2, "one run by its mark, and one process that nobody knows");
  assert.deepEqual(
    deployed.receipt.killedProcesses.map((one) => one.runId),
    ["r1", "r1", "unknown"],
  );
  assert.deepEqual(
    deployed.receipt.inFlight.map((run) => run.how),
    ["killed", "inFlight"],
  );
  says(deployed, /^deployed 7b02d9e, killed 2$/);
});

const refusals: readonly [string, Script["facts"], string, number, RegExp][] = [
  [
    "an unreadable fleet refuses before anything is closed",
    { preflight: [{ kind: "unreadable", why: "no answer" }] },
    "refused",
    3,
    /the fleet cannot be read: no answer/,
  ],
  [
    "three looks may not fail while closed",
    { look: [{ kind: "unreadable", why: "no answer" }] },
    "refused",
    3,
    /the fleet cannot be read/,
  ],
  [
    "another deploy's drain refuses at the preflight",
    { preflight: [viewed([], { drains: [drainOf("other-1", T0, { by: "ann" })] })] },
    "refused",
    3,
    /ann has been deploying since 04:44:00Z/,
  ],
  [
    "another deploy that came first refuses at the drain",
    { drain: [{ kind: "busy", drain: drainOf("other-1", T0, { by: "ann" }) }] },
    "refused",
    3,
    /ann has been deploying/,
  ],
  [
    "two protocols apart",
    { preflight: [viewed([], { protocol: 3 })] },
    "refused",
    3,
    /speaks protocol 3 and this build 1/,
  ],
  [
    "a bearer that may not drain",
    { drain: [{ kind: "denied", why: "beyond its scope" }] },
    "denied",
    4,
    /beyond its scope/,
  ],
  [
    "a seal that was taken away before the upload",
    { confirm: [{ kind: "over" }] },
    "refused",
    3,
    /ended between seal and swap/,
  ],
  ["a drain that is never answered", { drain: ["throw"] }, "failed", 1, /nothing deployed — ECONNRESET/],
  [
    "a swap that is refused",
    { upload: [{ kind: "uploaded", outcome: "refused", why: "busy" }] },
    "refused",
    3,
    /the swap was refused: busy/,
  ],
  [
    "a swap that fails",
    { upload: [{ kind: "uploaded", outcome: "failed", why: "does not start" }] },
    "failed",
    1,
    /the swap failed — does not start/,
  ],
  [
    "an upload that never began",
    { upload: [{ kind: "uploaded", outcome: "none", why: "build missing" }] },
    "failed",
    1,
    /nothing deployed — build missing/,
  ],
];
for (const [name, facts, result, code, words] of refusals) {
  test(`${name}: ${result}, exit ${code}, opened again`, async (context) => {
    const deployed = await rehearse(context, facts === undefined ? {} : { facts });
    says(deployed, words);
    ends(deployed, result, code);
    const asked = deployed.effects.includes("drain") && result !== "denied" && !/ann has/.test(words.source);
    if (asked && name !== "a seal that was taken away before the upload")
      assert.ok(deployed.effects.includes("lift"), "what may have been closed is lifted");
  });
}

test("a lost upload that landed is read back, and its dead are asked for", async (context) => {
  const deployed = await rehearse(context, {
    facts: {
      upload: ["throw"],
      readBack: [
        { kind: "unreadable", why: "starting" },
        {
          fact: { kind: "serves", served: { drainId: DRAIN_ID, generation: 2 } },
          seen: [{ kind: "uploaded", uploaded: { outcome: "landed", why: "", killed: [], ms: 3 } }],
        },
      ],
    },
  });
  says(deployed, /^the swap gave no answer \(ECONNRESET\) — reading back what is served, until 04:59:00Z$/);
  says(deployed, /the swap landed: its answer was lost/);
  assert.equal(deployed.receipt.killed, 0, "counted by the answer that was recalled");
  ends(deployed, "deployed", 0);
});

test("a lost upload that is never served stays unknown, neither failed nor deployed", async (context) => {
  const deployed = await rehearse(context, {
    facts: {
      upload: ["throw"],
      readBack: [{ kind: "serves", served: { drainId: null, generation: 1 } }],
      lift: [(_, now) => ({ kind: "deferred", at: now + MINUTE })],
    },
  });
  says(deployed, /^unknown whether it landed/);
  says(deployed, /^fleet stays closed — an upload may still land; it opens by itself at /);
  ends(deployed, "unknown", 8);
  assert.equal(deployed.receipt.killed, "unknown");
  assert.equal(deployed.receipt.closedMs, "unknown");
  assert.equal(deployed.receipt.reopened, null);
});

test("a drain that ended is followed by a new one, and the receipt knows both", async (context) => {
  const deployed = await rehearse(context, {
    facts: { pulse: [{ kind: "over" }], look: [viewed([runOf("r1", 10)]), viewed([])] },
  });
  says(deployed, /^drain d1d1d1d1 ended before the swap .* — closing anew as d2d2d2d2$/);
  assert.deepEqual(deployed.receipt.drainIds, [DRAIN_ID, "d2d2d2d2"]);
  assert.equal(deployed.file.endsWith("d2d2d2d2.json"), true);
  assert.equal(findReceipt(deployed.paths, DRAIN_ID).kind, "found", "it is found by either id");
  ends(deployed, "deployed", 0);
});

test("the lift is tried twice, and what nobody confirmed is said with its end", async (context) => {
  const deployed = await rehearse(context, { facts: { lift: ["throw"] } });
  assert.equal(deployed.effects.filter((effect) => effect === "lift").length, 2);
  says(deployed, /^the lift was not answered \(ECONNRESET\) — the fleet opens by itself at 04:54:00Z$/);
  assert.equal(deployed.receipt.reopened, null);
  ends(deployed, "deployed", 0);
});

test("a person's drain that still closes the fleet is the very last line", async (context) => {
  const remaining = [
    drainOf("person-1", T0, { by: "ann", reason: "audit", deploy: false, phaseUntil: null, until: T0 + 30 * MINUTE }),
  ];
  const deployed = await rehearse(context, {
    facts: {
      lift: [
        (_, now) => ({
          fact: { kind: "lifted", held: [], leftMs: 0 },
          seen: [{ kind: "lifted", at: now, remaining }],
        }),
      ],
    },
  });
  assert.equal(
    deployed.lines.at(-1),
    "fleet stays closed by ann (audit) until 05:14:00Z — npx tidegate drain lift opens it",
  );
  assert.equal(deployed.lines.includes("fleet reopened"), false);
});

test("a lost pulse is asked again until one is answered", async (context) => {
  const deployed = await rehearse(context, {
    facts: {
      look: [viewed([runOf("r1", 10)]), viewed([])],
      pulse: ["throw", "throw", (state, now) => ({ kind: "drained", drain: drainOf(state.drainId, now) })],
    },
  });
  assert.equal(deployed.lines.filter((line) => line.startsWith("no answer to the pulse")).length, 2);
  ends(deployed, "deployed", 0);
});

test("a fleet that is not sealed yet is asked again soon, and said once", async (context) => {
  const deployed = await rehearse(context, {
    facts: {
      seal: [
        { kind: "notSealed", unreadable: [] },
        { kind: "notSealed", unreadable: [] },
        (state, now) => ({
          kind: "sealed",
          drain: drainOf(state.drainId, now, { phase: "swapping", phaseUntil: now + CLOCK.swapBoundMs }),
          leftMs: CLOCK.swapBoundMs,
        }),
      ],
    },
  });
  says(deployed, /^not sealed yet/);
  ends(deployed, "deployed", 0);
});
