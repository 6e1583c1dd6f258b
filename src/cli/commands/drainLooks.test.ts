// What `tidegate drain` shows of a fleet that reopens resident by resident, and what a person may say of a hold.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { cliWith } from "../cliForTests.ts";
import { auditRow, drainOf, NOW, residentRow, residentsOf, runRow } from "../render/screensForTests.ts";

const APP = "repo:local/app";
const HOLD = {
  drainId: "d-0123456789",
  since: NOW - 4 * MINUTE,
  until: NOW + 6 * MINUTE,
  askedAt: NOW - 12 * SECOND,
  said: "1 process is alive in it",
};
const DRAIN = {
  ...drainOf({ deploy: true, since: NOW - 20 * MINUTE }),
  phase: "reopening" as const,
  phaseSince: NOW - 4 * MINUTE,
  phaseUntil: NOW + 6 * MINUTE,
  until: NOW + 30 * MINUTE,
  holds: [APP],
  without: [{ resource: "repo:local/broken", reason: "its disk" }],
};
const RESIDENTS = residentsOf({
  drains: [DRAIN],
  quietBy: NOW + 25 * MINUTE,
  residents: [
    residentRow({ readiness: "drained — attach refused", imageReport: "pending", hold: HOLD }),
    residentRow({ resource: "repo:local/other" }),
  ],
  runs: [runRow({ resource: "repo:local/other", suspect: true })],
  waiting: [
    { runId: "r-two", resource: APP, threadKey: "cli:2", since: NOW - 3 * MINUTE },
    { runId: "r-three", resource: APP, threadKey: "cli:3", since: NOW - MINUTE },
  ],
});

test("drain status: who, since, why, phase and ends; runs with their lease, suspects, holds with the last probe, waiters in order", async () => {
  const typed = cliWith({ "/residents": RESIDENTS });
  assert.equal(await typed.type("drain"), 0);
  const text = typed.out();
  for (const words of [
    /^fleet {5}reopening — some residents still closed/,
    /deploy, reopening by lee@host: release 3f9c/,
    /since 04:48Z, 20 min ago, reopening since 05:04Z, 4 min ago {3}ends by itself 05:14Z, in 6 min; backstop 05:38Z, in 30 min/,
    /waits for the image report of app/,
    /without broken: its disk/,
    /quiet by 05:33Z, in 25 min/,
    /^r-one +other +cli:8f2 +run, running, suspect +20 min +25 min, until 05:33Z$/m,
    /^suspect {3}run r-one on other has no process/m,
    /^HELD +FOR +OPENS AT THE LATEST +ASKED +SAID$/m,
    /^app +4 min +05:14Z, in 6 min +12 s ago +1 process is alive in it$/m,
    /^1 +r-two +app +cli:2 +3 min\n2 +r-three +app +cli:3 +1 min$/m,
  ])
    assert.match(text, words);
});

test("drain status as one document names holds, suspects and waiters", async () => {
  const typed = cliWith({ "/residents": RESIDENTS }, { json: true });
  assert.equal(await typed.type("drain", "status"), 0);
  const shown = JSON.parse(typed.out());
  assert.deepEqual([shown.suspects, shown.holds], [["r-one"], [{ resource: APP, ...HOLD }]]);
  assert.deepEqual(
    shown.waiting.map((one: { runId: string }) => one.runId),
    ["r-two", "r-three"],
  );
  assert.equal(shown.drains[0].phase, "reopening");
});

test("a hold is released by a short name and a reason; what is wrong is refused before it is asked", async () => {
  const said = { now: NOW, resource: APP, drainId: DRAIN.id, held: ["repo:local/other"] };
  const good = cliWith({ "/residents": RESIDENTS, "/holds/release": said });
  assert.equal(await good.type("drain", "release", "app", "--reason", "being repaired"), 0);
  assert.deepEqual(good.server.asked.at(-1), {
    path: "/holds/release",
    body: { resource: APP, reason: "being repaired" },
  });
  assert.match(good.out(), /^app is open again without its report; held still: other\n.*repo rebuild app$/);
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ["app", "", /--reason: wants 1 to 200 characters\n {2}next: npx tidegate drain release app --reason/],
    ["app", "x".repeat(201), /--reason: wants 1 to 200/],
    ["ap", "why", /no repository is called "ap"; did you mean "app"\?\n {2}next: npx tidegate repo list/],
  ];
  for (const [name, reason, says] of cases) {
    const bad = cliWith({ "/residents": RESIDENTS });
    assert.equal(await bad.type("drain", "release", name, "--reason", reason), 2);
    assert.match(bad.err(), says);
    assert.equal(bad.server.count("/holds/release"), 0);
  }
});

test("a resident that nobody holds is told so, and the process ends refused", async () => {
  const typed = cliWith({ "/residents": RESIDENTS, "/holds/release": refusal("NOT_HELD") });
  assert.equal(await typed.type("drain", "release", "other", "--reason", "why"), 3);
  assert.match(typed.err(), /No reopening waits for this resident[\s\S]*drain status/);
});

test("the log: newest last, by whose bearer and under which drain; as documents too; a limit that is none is refused", async () => {
  const rows = [
    auditRow({ what: "reconcile", drainId: "d-1", by: "ci", reason: "deploy 7b02d9e" }),
    auditRow({ id: 2, at: NOW + MINUTE, what: "held", principal: "registry", drainId: "d-1", resource: APP }),
    auditRow({
      id: 3,
      at: NOW + 2 * MINUTE,
      what: "freed",
      drainId: "d-1",
      resource: APP,
      cause: "released",
      reason: "why",
    }),
    auditRow({ id: 4, at: NOW + 10 * MINUTE, what: "stale", principal: "registry", resource: APP, cause: "bound" }),
  ];
  const table = cliWith({ "/audit": { rows } });
  assert.equal(await table.type("drain", "log", "--limit", "4"), 0);
  const lines = table.out().split("\n");
  assert.match(lines[0] ?? "", /^WHEN +WHAT +WHERE +BEARER +DRAIN +DETAILS$/);
  assert.match(lines[1] ?? "", /^2026-09-18T05:08:00Z +reconcile begun +fleet +drain +d-1 +by ci, deploy 7b02d9e$/);
  assert.match(lines[2] ?? "", /held to report +app +registry +d-1$/);
  assert.match(lines[3] ?? "", /hold over +app +drain +d-1 +why, cause: released$/);
  assert.match(lines[4] ?? "", /stale: no report +app +registry +— +cause: bound$/);
  const document = cliWith({ "/audit": { rows } }, { json: true });
  await document.type("drain", "log");
  assert.deepEqual(JSON.parse(document.out()), rows);
  const stream = cliWith({ "/audit": { rows } }, { ndjson: true });
  await stream.type("drain", "log");
  assert.deepEqual(
    stream
      .out()
      .split("\n")
      .map((line) => JSON.parse(line).id),
    [1, 2, 3, 4],
  );
  for (const limit of ["0", "1001", "many", "1.5", "-3"]) {
    const bad = cliWith({ "/audit": { rows } });
    assert.equal(await bad.type("drain", "log", `--limit=${limit}`), 2, limit);
    assert.match(bad.err(), /--limit: must be a whole number from 1 to 1000\n {2}next: npx tidegate drain log/);
    assert.equal(bad.server.count("/audit"), 0);
  }
});

test("a lift that leaves residents held names each, its end, and what opens it now", async () => {
  const undrained = {
    now: NOW,
    kind: "lifted",
    deferredUntil: null,
    remaining: [DRAIN],
    held: [APP],
    heldUntil: NOW + 6 * MINUTE,
  };
  const drains = { now: NOW, draining: DRAIN, drains: [DRAIN], unreadable: 0 };
  const typed = cliWith({ "/drain": drains, "/undrain": undrained });
  assert.equal(await typed.type("drain", "lift", DRAIN.id), 0);
  assert.equal(
    typed.out(),
    [
      "app stays closed until it reports its image, or opens 05:14Z, in 6 min",
      '  open it now: npx tidegate drain release app --reason "…"',
      "the others are open",
    ].join("\n"),
  );
});
