// Behind the live gate: what the reconcile came to, who stays closed after the lift and to which ends, how each of them
// opened, and what the receipt and the exit code make of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import type { ReconcileEntry } from "#core/reconcile.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import { ends, rehearse, says, viewed, type Script } from "#deploy/deployForTests.ts";
import {
  auditOf,
  DRAIN_ID,
  drainOf,
  entryOf,
  FROM,
  reconciledOf,
  reconciling,
  runOf,
  T0,
} from "#deploy/recordsForTests.ts";
import { reconcileWords } from "#deploy/holdLines.ts";
import type { Performed } from "#deploy/port.ts";
import type { AuditRow } from "#wire/fleet.ts";

const SAMPLE = "repo:local/sample";
const OTHER = "repo:local/other";
const KEPT = { ...FROM, image: "c9e0" };

const held = (resource = SAMPLE, why = "1 process is alive in it"): ReconcileEntry =>
  entryOf(resource, { state: "deferred", image: "a41b", bootId: "boot1", why });

/** A look at who is held. */
const heldBy = (answer: ReconcileAnswer, stale: readonly string[] = [], rows?: readonly AuditRow[]): Performed => ({
  fact: { kind: "heldBy", held: answer.held, stale },
  seen: [{ kind: "reconciled", answer }, ...(rows === undefined ? [] : [{ kind: "audit", rows } as const])],
});

const begun = (entries: readonly ReconcileEntry[], who: readonly string[]) => (_: unknown, now: number) =>
  reconciling(reconciledOf(now, entries, who));

const freed = (at: number, cause: "reported" | "released", more: Partial<AuditRow> = {}): AuditRow =>
  auditOf("freed", at, { drainId: DRAIN_ID, resource: SAMPLE, cause, id: 9, ...more });

test("the words of a reconcile: all current, some restarted, and whoever is not done by name and reason", () => {
  const current = entryOf(SAMPLE, { state: "current" });
  const idle = entryOf(OTHER, { state: "inactive", image: null });
  const cases: readonly (readonly [readonly ReconcileEntry[], string])[] = [
    [[], "no container runs, nothing to restart"],
    [[idle], "no container runs, nothing to restart"],
    [[current], "1 container current, no restart"],
    [[current, { ...current, resource: OTHER }, current], "3 containers current, no restart"],
    [[current, idle], "1 container current, 1 not running, no restart"],
    [[entryOf(SAMPLE), entryOf(OTHER)], "2 restarted"],
    [
      [entryOf(OTHER), current, idle, held()],
      "1 restarted, 1 current, 1 not running, 1 deferred: sample (1 process is alive in it)",
    ],
    [[entryOf(OTHER, { state: "asked" })], "1 not answered yet: other"],
    [
      [entryOf(SAMPLE, { state: "stale", why: "image b1" }), entryOf(OTHER, { state: "error", why: "refused" })],
      "1 stale: sample (image b1), 1 failed: other (refused)",
    ],
  ];
  for (const [entries, words] of cases) assert.equal(reconcileWords(entries), words);
});

test("one container that has not reported: said up front with its ends, opened on its report, and all is well", async (context) => {
  const at = T0 + 2 * MINUTE;
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([held(), entryOf(OTHER)], [SAMPLE])],
      holds: [
        (_, now) => heldBy(reconciledOf(now, [held(), entryOf(OTHER)], [SAMPLE])),
        (_, now) => heldBy(reconciledOf(now, [entryOf(SAMPLE), entryOf(OTHER)]), [], [freed(at, "reported")]),
      ],
    },
    audit: [
      auditOf("reopen", T0 + SECOND, { drainId: DRAIN_ID, cause: "lifted" }),
      freed(at, "reported"),
      auditOf("reopen", at, { drainId: DRAIN_ID, cause: "reported", id: 10 }),
    ],
  });
  assert.deepEqual(deployed.effects.slice(-6), ["reconcile", "lift", "holds", "pause", "holds", "done"]);
  assert.deepEqual(deployed.lines.slice(-5), [
    "1 restarted, 1 deferred: sample (1 process is alive in it)",
    "fleet reopened for 1 of 2 residents",
    "fleet stays closed — sample still reports the pre-deploy image; reopens on its report, bound 04:54:00Z, backstop 05:49:00Z",
    "sample reopened — it reports image c9e0",
    "deployed 7b02d9e, closed 0s, killed 0",
  ]);
  ends(deployed, "deployed", 0);
  const { receipt } = deployed;
  assert.deepEqual(
    receipt.residents === "unknown" ? [] : receipt.residents.map((one) => [one.resource, one.reconcile]),
    [
      [SAMPLE, "restarted"],
      [OTHER, "restarted"],
    ],
  );
  const [sample] = receipt.residents === "unknown" ? [] : receipt.residents;
  assert.deepEqual([sample?.imageBefore, sample?.imageAfter, sample?.bootAfter], ["a41b", "c9e0", "boot2"]);
  assert.deepEqual([sample?.hold, sample?.holdEndedAt, sample?.why], ["reported", at, null]);
  assert.deepEqual([receipt.reopened?.at, receipt.reopened?.cause], [T0 + SECOND, "lifted"], "the lift's own row");
  assert.deepEqual(
    receipt.phases.map((phase) => phase.phase),
    ["close", "wait", "seal", "swap", "live", "reconcile", "reopen", "hold"],
  );
});

test("one that never reports is open at its bound, named stale, and the deploy ends with 6", async (context) => {
  const stale = auditOf("stale", T0 + 10 * MINUTE, { drainId: DRAIN_ID, resource: SAMPLE, cause: "bound", id: 9 });
  const over = (now: number): ReconcileAnswer => reconciledOf(now, [held()], [], { drain: null });
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([held()], [SAMPLE])],
      holds: [
        (state, now) =>
          now < state.holdUntil
            ? heldBy(reconciledOf(T0, [held()], [SAMPLE], { now }))
            : heldBy(over(now), [SAMPLE], [stale]),
      ],
    },
    audit: [stale],
  });
  says(deployed, /^sample opened at its bound without a report — stale; restarted at its next quiet attach$/);
  says(deployed, /^held for 3m, to 04:54:00Z at the latest — 1 deferred: sample \(1 process is alive in it\)$/);
  says(deployed, /^never reported the new image: sample$/);
  says(deployed, /npx tidegate repo rebuild sample$/);
  ends(deployed, "deployed", 6);
  const [sample] = deployed.receipt.residents === "unknown" ? [] : deployed.receipt.residents;
  assert.deepEqual(
    [sample?.reconcile, sample?.why, sample?.hold, sample?.imageAfter],
    ["deferred", "1 process is alive in it", "bound", "a41b"],
  );
});

test("a hold that a person releases is no stale container", async (context) => {
  const row = freed(T0 + MINUTE, "released", { principal: "drain", reason: "being repaired" });
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([held()], [SAMPLE])],
      holds: [(_, now) => heldBy(reconciledOf(now, [held()], [], { drain: null }), [], [row])],
    },
    audit: [row],
  });
  says(deployed, /^sample reopened — released by drain: being repaired$/);
  ends(deployed, "deployed", 0);
  const [sample] = deployed.receipt.residents === "unknown" ? [] : deployed.receipt.residents;
  assert.equal(sample?.hold, "released");
});

test("the other ways in which a hold ends are told apart", async (context) => {
  const opened = async (...last: readonly Performed[]) =>
    (await rehearse(context, { facts: { reconcile: [begun([held()], [SAMPLE])], holds: last } })).lines.find((line) =>
      line.startsWith("sample "),
    );
  const idle = reconciledOf(T0, [entryOf(SAMPLE, { state: "inactive", image: null })]);
  assert.equal(await opened(heldBy(idle, [], [freed(T0, "reported")])), "sample reopened — no container runs there");
  assert.equal(
    await opened(heldBy(reconciledOf(T0, [held()]), [], [])),
    "sample reopened — an admin lifted what held it",
  );
  assert.equal(
    await opened({ fact: { kind: "heldBy", held: [], stale: [] }, seen: [{ kind: "audit", rows: [] }] }),
    "sample is held no more by this deploy — a later one has taken over",
  );
});

test("an admin's force behind the lift is the end of the hold, by the registry's log", async (context) => {
  const rows = [
    auditOf("lift", T0, { drainId: DRAIN_ID, reason: "forced", id: 1 }),
    auditOf("held", T0, { drainId: DRAIN_ID, resource: SAMPLE, id: 2 }),
    auditOf("lift", T0 + MINUTE, { drainId: DRAIN_ID, reason: "forced", id: 3 }),
  ];
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([held()], [SAMPLE])],
      holds: [heldBy(reconciledOf(T0, [held()], [], { drain: null }), [], rows)],
    },
    audit: rows,
  });
  const [sample] = deployed.receipt.residents === "unknown" ? [] : deployed.receipt.residents;
  assert.deepEqual(
    [sample?.hold, sample?.holdEndedAt],
    ["lifted", T0 + MINUTE],
    "a deploy whose reason is so named lifts nothing",
  );
});

test("a look at the holds that is never answered is said, and nobody is called reported", async (context) => {
  const deployed = await rehearse(context, {
    facts: { reconcile: [begun([held()], [SAMPLE])], holds: ["throw"] },
  });
  says(deployed, /^who is held cannot be read \(ECONNRESET\) — asked again$/);
  says(deployed, /^who still holds sample: npx tidegate drain status$/);
  ends(deployed, "deployed", 6);
  const [sample] = deployed.receipt.residents === "unknown" ? [] : deployed.receipt.residents;
  assert.equal(sample?.hold, "held", "still held when last seen");
});

test("a release that keeps the image says nothing of a pre-deploy image", async (context) => {
  const deployed = await rehearse(context, {
    from: KEPT,
    facts: {
      reconcile: [begun([entryOf(SAMPLE, { state: "error", why: "it does not answer" })], [SAMPLE])],
      holds: [(_, now) => heldBy(reconciledOf(now, [entryOf(SAMPLE)]), [], [freed(now, "reported")])],
    },
  });
  says(deployed, /^1 failed: sample \(it does not answer\)$/);
  says(deployed, /^fleet stays closed — sample has not reported its image yet; reopens on its report, bound /);
});

const unreconciled: readonly (readonly [string, NonNullable<Script["facts"]>, RegExp])[] = [
  [
    "is never answered",
    { reconcile: ["throw"] },
    /^not reconciled \(ECONNRESET\) — each container comes onto the image/,
  ],
  [
    "finds its drain over",
    { reconcile: [{ kind: "over" }] },
    /^not reconciled \(the drain was over before it\) — each container/,
  ],
  [
    "may not be asked",
    { reconcile: [{ kind: "denied", why: "beyond its scope" }] },
    /^not reconciled \(beyond its scope\)/,
  ],
];
for (const [name, facts, words] of unreconciled) {
  test(`a reconcile that ${name} never holds the lift; the deploy ends with 6, since no container has reported`, async (context) => {
    const deployed = await rehearse(context, { facts });
    says(deployed, words);
    ends(deployed, "deployed", 6);
    assert.notEqual(deployed.receipt.unreconciled, null);
    const over = name === "finds its drain over";
    assert.equal(deployed.lines.includes("fleet reopened"), !over, "a drain that is over has no lift of ours");
  });
}

test("a reconcile whose answer is lost is asked again until it is there", async (context) => {
  const deployed = await rehearse(context, { facts: { reconcile: ["throw", begun([entryOf(SAMPLE)], [])] } });
  says(deployed, /^no answer to the reconcile \(ECONNRESET\) — asked again, to 04:54:00Z at the latest$/);
  says(deployed, /^fleet reopened$/);
  ends(deployed, "deployed", 0);
  assert.equal(deployed.receipt.unreconciled, null);
});

test("processes of runs that a restart ended are killed ones, counted once however often they are told", async (context) => {
  const dead = entryOf(SAMPLE, { killed: 2 });
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([dead, held(OTHER)], [OTHER])],
      holds: [
        (_, now) => heldBy(reconciledOf(now, [dead, held(OTHER)], [OTHER])),
        (_, now) => heldBy(reconciledOf(now, [dead, entryOf(OTHER, { killed: 1 })])),
      ],
    },
  });
  says(deployed, /^the restart of sample ended 2 processes of runs$/);
  assert.equal(deployed.receipt.killed, 3);
  says(deployed, /^deployed 7b02d9e, closed 0s, killed 3$/);
});

test("who waits at a held resident waits to its own opening, the others to the lift", async (context) => {
  const run = runOf("r1", 10);
  const look = viewed([run]);
  const waiting = [SAMPLE, OTHER].map((resource, index) => ({
    runId: `w${index}`,
    resource,
    threadKey: `cli:w${index}`,
    since: T0,
  }));
  const seen = (look.seen ?? []).map((one) =>
    one.kind === "residents" ? { ...one, residents: { ...one.residents, waiting } } : one,
  );
  const at = T0 + 5 * MINUTE;
  const deployed = await rehearse(context, {
    facts: {
      look: [{ ...look, seen }, viewed([])],
      reconcile: [begun([held(), entryOf(OTHER)], [SAMPLE])],
      holds: [(_, now) => heldBy(reconciledOf(now, [entryOf(SAMPLE), entryOf(OTHER)]), [], [freed(at, "reported")])],
    },
    audit: [freed(at, "reported")],
  });
  const waited = deployed.receipt.waited === "unknown" ? [] : deployed.receipt.waited;
  assert.equal(waited.find((one) => one.runId === "w0")?.waitedMs, 5 * MINUTE);
  assert.notEqual(waited.find((one) => one.runId === "w1")?.waitedMs, 5 * MINUTE);
});

test("a person's drain and a hold are said both, the person's at the very end", async (context) => {
  const remaining = [
    drainOf("person-1", T0, { by: "ann", reason: "audit", deploy: false, phaseUntil: null, until: T0 + 30 * MINUTE }),
  ];
  const deployed = await rehearse(context, {
    facts: {
      reconcile: [begun([held()], [SAMPLE])],
      lift: [
        (state, now) => ({
          fact: { kind: "lifted", held: state.held, leftMs: CLOCK.cycleBoundMs },
          seen: [{ kind: "lifted", at: now, remaining }],
        }),
      ],
      holds: [(_, now) => heldBy(reconciledOf(now, [entryOf(SAMPLE)]), [], [freed(now, "reported")])],
    },
  });
  says(deployed, /^this deploy's drain is lifted — the fleet stays closed by ann \(audit\) until 05:14:00Z$/);
  says(deployed, /^fleet stays closed — sample still reports/);
  assert.match(deployed.lines.at(-1) ?? "", /^fleet stays closed by ann \(audit\) until 05:14:00Z/);
});

test("a signal while somebody is held leaves at once: the deploy stands and says so", async (context) => {
  const deployed = await rehearse(context, {
    signalIn: "holds",
    facts: { reconcile: [begun([held()], [SAMPLE])], holds: ["hang"] },
  });
  says(deployed, /^SIGINT — leaves; the deploy stands, and sample opens by its report or the bound$/);
  says(deployed, /^deployed 7b02d9e — left by SIGINT while sample had not reported$/);
  ends(deployed, "stopped", 130);
  assert.equal(deployed.receipt.outcome, "landed");
});
