// `tidegate repo`: a closed resident never looks ready, its test is answered at once, and its rebuild ends nobody unasked.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE } from "#core/time.ts";
import { lines, refusal } from "#client/clientForTests.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { cliWith } from "../cliForTests.ts";
import { drainOf, NOW, residentRow, residentsOf, runRow } from "../render/screensForTests.ts";
import { BotForTests, NOW as BOT_NOW, runOf } from "../botForTests.ts";
import type { Confirm } from "../confirm.ts";
import { repoRebuild } from "./repoRebuild.ts";

const APP = "repo:local/app";
const closed = "drained — attach refused";
const MADE = { type: "resident", resource: APP, ref: "main", commit: "0123456789abcdef" };

test("the list leads with the drain, and a closed row is closed beside whatever its container reports", async () => {
  const reports = ["current", "pending", "stale", "unknown"] as const;
  const residents = reports.map((imageReport) =>
    residentRow({ resource: `repo:local/${imageReport}`, readiness: closed, imageReport, image: "a41bffff" }),
  );
  const typed = cliWith({ "/residents": residentsOf({ drains: [drainOf()], residents }) });
  assert.equal(await typed.type("repo", "list"), 0);
  const shown = typed.out().split("\n");
  assert.match(shown[0] ?? "", /^fleet {5}drained — attach refused/);
  assert.match(shown[1] ?? "", /drain by lee@host: release 3f9c/);
  for (const report of reports)
    assert.ok(
      shown.some((line) => new RegExp(`^${report} +${closed} +a41bfff ${report} `).test(line)),
      `${report}: ${typed.out()}`,
    );
  assert.doesNotMatch(typed.out(), /\bready\b|\bwarm\b/);
});

test("where one resident is held, its row alone is closed and its report is what is wanted", async () => {
  const drain = { ...drainOf({ deploy: true }), phase: "reopening" as const, holds: [APP] };
  const residents = [
    residentRow({ readiness: closed, imageReport: "pending" }),
    residentRow({ resource: "repo:local/other" }),
    residentRow({ resource: "repo:local/dark", readiness: "unreadable", readable: false }),
  ];
  const shown = residentsOf({ drains: [{ ...drain, holds: [APP, "repo:local/dark"] }], residents });
  const typed = cliWith({ "/residents": shown });
  await typed.type("repo", "list");
  assert.match(typed.out(), /^fleet {5}reopening — some residents still closed/);
  assert.match(typed.out(), /^app +drained — attach refused +a41bfff pending/m);
  assert.match(typed.out(), /^other +ready +a41bfff current/m);
  assert.match(typed.out(), /^dark +drained — attach refused, unreadable +/m, "one that cannot be read is closed too");
  const open = cliWith({ "/residents": residentsOf({ residents }) });
  await open.type("repo", "list");
  assert.match(open.out(), /^dark +unreadable +/m);
});

test("the list shows how many asks wait for each repository and what for; without a bot it has no such column", async () => {
  const residents = residentsOf({ residents: [residentRow(), residentRow({ resource: "repo:local/other" })] });
  const bot = await BotForTests.start();
  try {
    const wait = { cause: "deploy", bound: BOT_NOW + 12 * MINUTE, position: 1 } as const;
    bot.add(runOf("r-00000000000a", wait), runOf("r-00000000000b", { ...wait, position: 2 }));
    bot.add(runOf("r-00000000000c", { state: "running", resource: "repo:local/other" }));
    const typed = cliWith({ "/residents": residents }, {}, { bot, real: clockOf(REAL_TIME) });
    assert.equal(await typed.type("repo", "list"), 0);
    assert.match(typed.out(), /^RESIDENT +STATE +IMAGE +IN FLIGHT +QUEUED +RESOURCE$/m);
    assert.match(
      typed.out(),
      /^app +ready +a41bfff current +0 +2, waiting for the deploy to finish · 12 min +repo:local\/app$/m,
    );
    assert.match(typed.out(), /^other +ready +a41bfff current +0 +0 +repo:local\/other$/m);
    bot.refusals.push("UNREACHABLE");
    assert.equal(await typed.type("repo", "list"), 0);
    assert.match(typed.err(), /what is queued is unknown: .*told by the test/);
  } finally {
    await bot.stop();
  }
  const without = cliWith({ "/residents": residents });
  await without.type("repo", "list");
  assert.doesNotMatch(without.out() + without.err(), /QUEUED|unknown/);
});

const HELD = {
  ...drainOf({ deploy: true, since: NOW - 20 * MINUTE }),
  phase: "reopening" as const,
  phaseUntil: NOW + 6 * MINUTE,
  holds: [APP],
};
const TESTED = residentsOf({
  drains: [HELD],
  residents: [
    residentRow({ test: "npm test", readiness: closed }),
    residentRow({ resource: "repo:local/other", test: "npm test" }),
  ],
});

test("a test on a resident that a hold closes is answered at once with the record and 3; one that is open is let in", async () => {
  const typed = cliWith({ "/residents": TESTED });
  const until = typed.cli.access().clock.now() + MINUTE;
  typed.server.book = { drains: [{ ...HELD, until, phaseUntil: until }], tombstones: [], attempts: 0 };
  assert.equal(await typed.type("repo", "test", "app"), 3);
  assert.equal(typed.server.count("/attach"), 1, "asked once, and not waited for");
  assert.match(typed.err(), /deploy, reopening by lee@host: release 3f9c/);
  assert.match(typed.err(), /ends by itself .*, in 1 min/);
  assert.match(typed.err(), /waits for the image report of app/);
  assert.match(typed.err(), /\n {2}next: .+$/);
  assert.equal(await typed.type("repo", "test", "other"), 0);
  assert.deepEqual(typed.server.admitted.length, 1);
});

const BUSY = residentsOf({
  residents: [residentRow({ runsInFlight: 1 }), residentRow({ resource: "repo:local/other" })],
  runs: [runRow(), runRow({ runId: "r-two", resource: "repo:local/other" })],
});

test("a rebuild goes on over a resident with nothing in flight, streamed to its end", async () => {
  const progress = { type: "progress", line: "a new container, with a fresh mirror" };
  const typed = cliWith({
    "/residents": residentsOf({ residents: [residentRow()] }),
    "/rebuild": lines([progress, MADE]),
  });
  assert.equal(await typed.type("repo", "rebuild", "app"), 0);
  assert.deepEqual(typed.server.asked.at(-1), { path: "/rebuild", body: { resource: APP, force: false } });
  assert.match(typed.err(), /a new container, with a fresh mirror/);
  assert.equal(typed.out(), "repo:local/app has a new container, its mirror at main 0123456789ab");
});

test("a rebuild over runs in flight is refused, naming each that is there and no other", async () => {
  const typed = cliWith({ "/residents": BUSY });
  assert.equal(await typed.type("repo", "rebuild", "app"), 3);
  assert.match(
    typed.err(),
    /^tidegate: app has in flight: r-one \(cli:8f2\) until 05:33:00Z\n {2}next: .*rebuild app --force$/,
  );
  assert.doesNotMatch(typed.err(), /r-two/);
  assert.equal(typed.server.count("/rebuild"), 0);
});

test("by force the runs are named first; nobody to ask is a usage error, no is refused, yes and --yes end them", async () => {
  const force = async (confirm: Confirm, yes = false) => {
    const typed = cliWith({ "/residents": BUSY, "/rebuild": lines([MADE]) });
    const met = await repoRebuild(typed.cli, "app", { force: true, yes }, confirm).then(
      () => null,
      (error: unknown) => error,
    );
    assert.match(typed.err(), /--force ends:\n {2}r-one \(cli:8f2\) until 05:33:00Z/, "named before anything else");
    return { met, asked: typed.server.asked.filter((one) => one.path === "/rebuild") };
  };
  const never: Confirm = () => Promise.reject(new Error("not to be asked"));
  const nobody = await force(() => Promise.resolve(undefined));
  assert.match(String(nobody.met), /--force wants --yes where nobody can be asked/);
  const no = await force(() => Promise.resolve(false));
  assert.match(String(no.met), /not rebuilt/);
  assert.deepEqual([nobody.asked, no.asked], [[], []]);
  for (const one of [await force(() => Promise.resolve(true)), await force(never, true)]) {
    assert.equal(one.met, null);
    assert.deepEqual(one.asked, [{ path: "/rebuild", body: { resource: APP, force: true } }]);
  }
});

test("a rebuild that fails half-way, that the fleet refuses, or that is typed wrong says so with its code", async () => {
  const one = residentsOf({ residents: [residentRow()] });
  const failed = {
    type: "error",
    problem: { code: "SETUP_FAILED", status: 422, title: "t", detail: "npm ci", next: "n" },
  };
  const broken = cliWith({ "/residents": one, "/rebuild": lines([failed]) });
  assert.equal(await broken.type("repo", "rebuild", "app"), 1);
  const raced = cliWith({ "/residents": one, "/rebuild": refusal("RESIDENT_BUSY") });
  assert.equal(await raced.type("repo", "rebuild", "app"), 3);
  const unknown = cliWith({ "/residents": one });
  assert.equal(await unknown.type("repo", "rebuild", "ap"), 2);
  assert.match(unknown.err(), /did you mean "app"/);
  const odd = cliWith({ "/residents": one });
  assert.equal(await odd.type("repo", "rebuild", "app", "--yes"), 2);
  assert.match(odd.err(), /--yes: .*\n {2}next: npx tidegate repo rebuild app --force --yes/);
});
