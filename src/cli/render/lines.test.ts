// Every line that is printed, from values to text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "#core/time.ts";
import { ResidentDrainingError } from "#client/drainingError.ts";
import type { Verdict } from "#client/work.ts";
import type { RunEnd } from "#client/run.ts";
import { Failure } from "#node/failure.ts";
import { problemOf, TidegateError } from "#wire/errors.ts";
import type { WatchFrame } from "#wire/fleet.ts";
import { CliError, OwnFailure } from "../exit.ts";
import { eventLine, isNews } from "./eventLine.ts";
import { plain, shortened } from "./plain.ts";
import { problemJson, problemLines, problemWords } from "./problem.ts";
import { runChanges } from "./runChanges.ts";
import {
  endLines,
  notStartedHint,
  openingWords,
  replacedWords,
  resetWords,
  transportWords,
  verdictWords,
  waitWords,
  workWords,
} from "./runLines.ts";
import { auditRow, NOW, runRow } from "./screensForTests.ts";
import { table } from "./table.ts";
import { instantWords, spanWords } from "./times.ts";

test("instants are absolute and relative together, another day's with its date", () => {
  assert.equal(instantWords(NOW + 41 * MINUTE, NOW), "05:49Z, in 41 min");
  assert.equal(instantWords(NOW - 3 * MINUTE, NOW), "05:05Z, 3 min ago");
  assert.equal(instantWords(NOW + 24 * 60 * MINUTE, NOW), "2026-09-19 05:08Z, in 1d");
  assert.equal(spanWords(12 * SECOND), "12 s");
  assert.equal(spanWords(65 * MINUTE), "1h 5m");
});

test("tables have headers in capitals, or none, and nothing after the last column", () => {
  assert.deepEqual(
    table(
      ["A", "LONG"],
      [
        ["x", "y"],
        ["xyz", "z\u001b[1m"],
      ],
    ),
    ["A     LONG", "x     y", "xyz   z[1m"],
  );
  assert.deepEqual(table(["A"], [["x"]], false), ["x"]);
});

test("texts are shortened without steering anything", () => {
  assert.equal(plain("a\tb\nc\u0007"), "a b c");
  assert.equal(shortened("abcdef", 4), "abc…");
});

test("a wait says on whom, how long it has lasted, its bound and what happens there", () => {
  const note = {
    resource: "repo:local/app",
    cause: "draining" as const,
    since: NOW - 7 * MINUTE,
    bound: NOW + 28 * MINUTE,
  };
  const known = {
    until: NOW + 41 * MINUTE,
    quietBy: NOW + 11 * MINUTE,
    by: "lee@host",
    reason: "release",
    line: "waiting for the deploy to finish · 12 min",
  };
  assert.equal(
    waitWords({ ...note, ...known }, NOW),
    "waiting for the deploy to finish · 12 min — lee@host: release, quiet by 05:19Z, ends by itself 05:49Z; waited 7 min of 35 min, gives up 05:36Z, in 28 min",
  );
  const rolling = {
    until: null,
    quietBy: null,
    by: null,
    reason: null,
    line: "waiting for the container to come back",
  };
  assert.match(
    waitWords({ ...note, cause: "transient", ...rolling }, NOW),
    /^waiting for the container to come back; waited/,
  );
});

test("the opening line counts the whole wait in seconds", () => {
  const binding = {
    resource: "r",
    runId: "i",
    threadKey: "t",
    generation: 0,
    kind: "run",
    again: false,
    leaseUntil: NOW,
    fleetGeneration: 1,
  } as const;
  const place = { workspace: "w", branch: "b", base: "b", head: "h", bootId: "b", image: "i", admittedAt: NOW };
  assert.equal(
    openingWords({ binding: { ...binding, ...place }, wokeAfterMs: 1_410_999, drainWaitMs: 1 }),
    "after waiting 1410s for the resident",
  );
});

test("the last line names the branch and what is not committed", () => {
  assert.equal(
    workWords({ branch: "tidegate/x", head: "h", ahead: 2, dirty: true }),
    "work stays on branch tidegate/x: 2 commits on it, what is not committed is kept for a week",
  );
  assert.equal(
    workWords({ branch: "tidegate/x", head: "h", ahead: 0, dirty: false }),
    "work stays on branch tidegate/x: no new commit, nothing uncommitted",
  );
});

test("each verdict that an exit code does not say is said", () => {
  const said = (verdict: Verdict): string | null => verdictWords(verdict, 45 * MINUTE);
  assert.equal(said({ kind: "finished", exit: 0, signal: null }), null);
  assert.match(said({ kind: "finished", exit: 143, signal: "SIGTERM" }) ?? "", /SIGTERM/);
  assert.match(said({ kind: "leaseSpent" }) ?? "", /the lease of 45m is over/);
  assert.match(said({ kind: "replaced", by: "container" }) ?? "", /^container replaced — .*--resume/);
  assert.match(said({ kind: "replaced", by: "transport" }) ?? "", /out of reach .* not known$/);
  assert.match(said({ kind: "stopped" }) ?? "", /free/);
  assert.equal(said({ kind: "notStarted", why: "x: not found" }), "x: not found");
  assert.match(said({ kind: "failed", why: "that" }) ?? "", /that/);
});

test("control reset and container replaced are two words, and a silence is neither", () => {
  assert.equal(resetWords(), "control reset — picking up the output where it stood");
  assert.equal(replacedWords(["sh", "-c", "make resume"]), "container replaced — goes on by make resume");
  assert.equal(replacedWords(["claude", "-p", "go on"]), "container replaced — goes on by claude -p go on");
  const note = { silentMs: 4 * MINUTE, failures: 2, goesOn: true, why: "nobody serves this fleet now" };
  assert.equal(
    transportWords(note),
    "nothing heard of the run for 4 min (nobody serves this fleet now) — attaching again, 2 of 3",
  );
  assert.match(transportWords({ ...note, goesOn: false }), /now\)$/);
});

test("a registration that could not be given back is named, with what ends it", () => {
  const end: RunEnd = {
    verdict: { kind: "stopped" },
    attached: null,
    work: null,
    pushed: { ok: true, said: "pushed" },
    notReleased: "away",
  };
  const text = endLines(end, null).join("\n");
  assert.match(text, /could not be given back \(away\)/);
  assert.match(text, /pushed/);
});

test("one word with blanks that cannot be started gets the shell's form", () => {
  assert.equal(notStartedHint(["echo it's"])?.includes("-- sh -c 'echo it'\\''s'"), true);
  assert.equal(notStartedHint(["nosuch"]), null);
  assert.equal(notStartedHint(["a b", "c"]), null);
});

test("every error says what is wrong and ends with what to type next", () => {
  const all = [
    new CliError("bad", "type this"),
    new ResidentDrainingError("repo:local/app", 900 * SECOND, NOW),
    new Failure("NOT_UP", "nobody home"),
    new TidegateError(problemOf("NO_SUCH_REF", "the ref does not exist: nope")),
    new OwnFailure(new TidegateError(problemOf("UNREACHABLE", "refused"))),
    new Error("a defect"),
    "thrown text",
  ];
  for (const error of all) assert.match(problemLines(problemWords(error)), /^tidegate: .+\n(.*\n)* {2}next: .+$/);
  assert.match(problemWords(all[3]).what, /^the ref does not exist: nope$/);
  const { next } = problemWords(new TidegateError(problemOf("BAD_BEARER", "GET /runs")));
  assert.match(next, /^RESIDENT_ADMIN_TOKEN, .*RESIDENT_DRAIN_TOKEN: export, or unset, /);
  assert.equal(JSON.parse(problemJson(problemWords(all[1]))).error.code, "RESIDENT_DRAINING");
});

test("events are lines, known and unknown ones, and a lift is told once", () => {
  assert.equal(
    eventLine(auditRow({ what: "leaseEnded", resource: "repo:local/app", runId: "r-one" })),
    "05:08:00  app       run ended by its lease  run r-one",
  );
  assert.match(eventLine(auditRow({ what: "somethingNew", cause: "pulse" })), /somethingNew +cause: pulse$/);
  assert.equal(isNews(auditRow({ what: "reopen", cause: "lifted" })), false);
  assert.equal(isNews(auditRow({ what: "reopen", cause: "pulse" })), true);
});

test("runs that began and ended between two states are told, those being provisioned are not", () => {
  const frame = (...runs: WatchFrame["runs"]): WatchFrame => ({
    type: "state",
    now: NOW,
    generation: 1,
    drains: [],
    runs,
    attaching: 0,
    quietBy: null,
    msToNextEnd: null,
  });
  const one = runRow();
  assert.deepEqual(runChanges(null, frame(one)).length, 1);
  assert.match(
    runChanges(frame(), frame(one))[0] ?? "",
    /^05:08:00 {2}app +run started +run r-one, thread cli:8f2, lease until 05:33Z$/,
  );
  assert.match(runChanges(frame(one), frame())[0] ?? "", /run ended +run r-one, after 20 min$/);
  assert.deepEqual(runChanges(frame(), frame(runRow({ state: "attaching" }), runRow({ kind: "provision" }))), []);
});
