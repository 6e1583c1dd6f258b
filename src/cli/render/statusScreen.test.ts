// The one screen: what it says first, and that what is unknown never reads as open.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE } from "#core/time.ts";
import type { AskRow } from "#wire/bot.ts";
import { cardOf } from "../botForTests.ts";
import { bannerLines, drainWords, fleetWord, flightWords } from "./fleetBanner.ts";
import { auditRow, drainOf, NOW, residentRow, residentsOf, runRow } from "./screensForTests.ts";
import { statusJson, statusLine, statusScreen, suspectLines, type StatusView } from "./statusScreen.ts";

const read = (more: Parameters<typeof residentsOf>[0] = {}): StatusView => ({
  fleet: { kind: "read", residents: residentsOf(more), url: "http://127.0.0.1:8790" },
  host: null,
  bot: { kind: "none" },
  events: [],
  readAt: NOW,
});

test("an open fleet says so first, with what it serves", () => {
  const [first] = statusScreen(read(), NOW);
  assert.match(
    first ?? "",
    /^fleet {5}open {3}http:\/\/127\.0\.0\.1:8790 {3}build 3f9c1e2abcdef, bundle 7b02d9e, image a41bfff, generation 1$/,
  );
});

test("inv. 14: a closed fleet names who, why, since when and until when, before anything else", () => {
  const lines = statusScreen(
    read({ drains: [drainOf({ since: NOW - 3 * MINUTE })], quietBy: NOW + 25 * MINUTE, runs: [runRow()] }),
    NOW,
  );
  assert.match(lines[0] ?? "", /drained — attach refused/);
  assert.equal(lines[1]?.trim(), "drain by lee@host: release 3f9c");
  assert.equal(lines[2]?.trim(), "since 05:05Z, 3 min ago   ends by itself 05:46Z, in 38 min");
  assert.ok(lines.some((line) => line.includes("1 run in flight, quiet by 05:33Z, in 25 min")));
});

test("a deploy's drain says that it ends sooner if its deployer falls silent", () => {
  assert.match(
    drainWords(drainOf({ deploy: true }), NOW).join("\n"),
    /deploy, draining by lee@host.*\n.*in 2 min if its deployer falls silent/,
  );
});

test("a fleet that cannot be read is unknown, never open", () => {
  const view: StatusView = {
    fleet: { kind: "unknown", url: "http://x", why: "it does not answer", next: "npm start" },
    host: null,
    bot: { kind: "none" },
    events: [],
    readAt: NOW,
  };
  const text = statusScreen(view, NOW).join("\n");
  assert.match(text, /^fleet {5}unknown/);
  assert.match(text, /next: npm start/);
  assert.doesNotMatch(text, /open/);
  assert.equal(statusLine(view), "05:08:00Z unknown — it does not answer");
});

test("residents, runs in flight with their lease left, suspects with how to end them, events, and when it was read", () => {
  const residents = [
    residentRow({ readiness: "drained — attach refused", runsInFlight: 1, attaching: 1 }),
    residentRow({ resource: "repo:local/other", image: null, imageReport: "unknown" }),
  ];
  const view = {
    ...read({
      residents,
      runs: [runRow({ suspect: true })],
      waiting: [{ runId: "r-two", resource: "repo:local/app", threadKey: "cli:9", since: NOW - 120_000 }],
    }),
    events: [auditRow({ by: "lee@host", reason: "release" })],
  };
  const text = statusScreen(view, NOW).join("\n");
  assert.match(text, /^app +drained — attach refused +a41bfff current +1 \+1 attaching +repo:local\/app$/m);
  assert.match(text, /^other +ready +unknown +0/m);
  assert.match(text, /^r-one +app +cli:8f2 +run, running, suspect +20 min +25 min, until 05:33Z$/m);
  assert.match(text, /runs release r-one --reason/);
  assert.match(text, /^1 +r-two +app +cli:9 +2 min$/m);
  assert.match(text, /^05:08:00 {2}fleet {5}drained {11}by lee@host, release$/m);
  assert.match(text, /read 05:08:00Z$/);
});

test("what others wrote steers no terminal", () => {
  const evil = drainOf({ reason: "x\u001b[2Jy\nfleet     open" });
  const lines = bannerLines({ kind: "read", residents: residentsOf({ drains: [evil] }), url: "u" });
  assert.ok(lines.every((line) => !line.includes("\u001b") && !line.includes("\n")));
});

test("the words of what is in flight", () => {
  assert.equal(flightWords(residentsOf()), "nothing in flight");
  assert.equal(
    flightWords(residentsOf({ runs: [runRow(), runRow()], attaching: 1, quietBy: NOW + MINUTE })),
    "2 runs in flight, 1 attaching, quiet by 05:09Z, in 1 min",
  );
  assert.equal(flightWords(residentsOf({ attaching: 2 })), "0 runs in flight, 2 attaching");
  assert.deepEqual(suspectLines([runRow()], NOW), []);
});

test("a fleet that reopens resident by resident is neither open nor drained", () => {
  const drain = { ...drainOf({ deploy: true }), phase: "reopening" as const, holds: ["repo:local/app"] };
  const fleet = { kind: "read" as const, residents: residentsOf({ drains: [drain] }), url: "u" };
  assert.match(fleetWord(fleet), /^reopening/);
  assert.match(bannerLines(fleet).join("\n"), /waits for the image report of app/);
});

test("a phase with its own bound names it, and what stands behind it; who is left out is named too", () => {
  const swapping = {
    ...drainOf({ deploy: true, since: NOW - MINUTE }),
    phase: "swapping" as const,
    phaseSince: NOW - MINUTE,
    phaseUntil: NOW + 14 * MINUTE,
    without: [{ resource: "repo:local/broken", reason: "its disk" }],
  };
  assert.deepEqual(drainWords(swapping, NOW).slice(0, 3), [
    "deploy, swapping by lee@host: release 3f9c",
    "since 05:07Z, 1 min ago, swapping since 05:07Z, 1 min ago   ends by itself 05:22Z, in 14 min; backstop 05:48Z, in 40 min",
    "without broken: its disk",
  ]);
});

test("the screen shows who is held, for how long, to when, and what it last said", () => {
  const hold = { drainId: "d", since: NOW - MINUTE, until: NOW + 9 * MINUTE, askedAt: null, said: null };
  const text = statusScreen(read({ residents: [residentRow({ hold, imageReport: "pending" })] }), NOW).join("\n");
  assert.match(text, /^app +1 min +05:17Z, in 9 min +not yet +nothing yet$/m);
  assert.doesNotMatch(statusScreen(read({ residents: [residentRow()] }), NOW).join("\n"), /HELD/);
});

const queuedRows = (count: number): AskRow[] =>
  Array.from({ length: count }, (_, index) => {
    const card = cardOf(`r-${index}`, { cause: "drain", bound: NOW + 30 * MINUTE, position: index + 1 });
    const times = { askedAt: NOW - 2 * MINUTE, admittedAt: null, tries: 0 };
    const who = { kind: "shell", by: "ann@here", channel: "cli" } as const;
    return {
      ...times,
      ...who,
      id: card.id,
      resource: card.resource,
      threadKey: card.threadKey,
      card,
      says: "",
      text: "x",
    };
  });

test("inv. 14: what the bot has queued is on the screen, by repository and in order, and a bot that cannot be read is unknown", () => {
  const list = { now: NOW, live: queuedRows(12), unreadable: [], ended: [], next: null };
  const view: StatusView = { ...read({ residents: [residentRow()] }), bot: { kind: "read", url: "http://bot", list } };
  const text = statusScreen(view, NOW).join("\n");
  assert.match(text, /^bot {7}0 in flight, 12 queued {3}http:\/\/bot$/m);
  assert.match(
    text,
    /^app +ready +a41bfff current +0 +12, waiting for the fleet to reopen · 30 min +repo:local\/app$/m,
  );
  assert.match(text, /^r-0 +app +its own +2 min +waiting for the fleet to reopen · 30 min · place 1$/m);
  assert.match(text, /^and 2 more: npx tidegate runs list$/m);
  assert.doesNotMatch(text, /^r-10 /m);
  const dark = { kind: "unknown", url: "http://bot", why: "it does not answer", next: "npm start" } as const;
  const unknown = statusScreen({ ...view, bot: dark }, NOW).join("\n");
  assert.match(unknown, /^bot {7}unknown {3}http:\/\/bot\n {10}it does not answer\n {10}next: npm start$/m);
  assert.doesNotMatch(unknown, /QUEUED/);
});

test("the one document has the state in a word", () => {
  assert.equal(JSON.parse(JSON.stringify(statusJson(read()))).state, "open");
});
