// `tidegate runs`: what waits and what runs with its place and its lease, direct callers told apart, one run from near, and
// what is said to a run said once.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import * as z from "zod";
import { MINUTE } from "#core/time.ts";
import { refusal } from "#client/clientForTests.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { BotForTests, NOW, runOf } from "../botForTests.ts";
import { cliWith, type TypedCli } from "../cliForTests.ts";
import { residentRow, residentsOf, runRow } from "../render/screensForTests.ts";

const bots: BotForTests[] = [];
after(() => Promise.all(bots.map((bot) => bot.stop())));
const real = clockOf(REAL_TIME);
const A = "r-aa000000000000000001";
const B = "r-bb000000000000000001";
const C = "r-bb000000000000000002";
const RUNNING = { state: "running", bound: NOW + 25 * MINUTE } as const;
const ENDED = {
  state: "ended",
  since: NOW - 5 * MINUTE,
  askedAt: NOW - 20 * MINUTE,
  verdict: { ending: "failed", exit: 2, by: null, why: null },
} as const;
const QUEUED = {
  cause: "deploy",
  bound: NOW + 65 * MINUTE,
  quietBy: NOW + 12 * MINUTE,
  position: 1,
  by: "lee@host",
  reason: "release 3f9c",
} as const;

const APP = residentRow();
const OTHER = residentRow({ resource: "repo:local/other" });

async function stage(
  answers: Parameters<typeof cliWith>[0] = { "/residents": residentsOf({ residents: [APP, OTHER] }) },
  options: Parameters<typeof cliWith>[1] = {},
  width?: number,
): Promise<{ bot: BotForTests; typed: TypedCli }> {
  const bot = await BotForTests.start();
  bots.push(bot);
  return { bot, typed: cliWith(answers, options, { bot, real, ...(width === undefined ? {} : { width }) }) };
}

const MIXED = residentsOf({
  residents: [APP, OTHER],
  runs: [runRow({ runId: A }), runRow({ runId: "r-direct000001", resource: "repo:local/other", suspect: true })],
});

test("the list shows what waits and what runs, with its place, its lease and its card, then direct callers' runs", async () => {
  const { bot, typed } = await stage({ "/residents": MIXED });
  bot.add(runOf(A, RUNNING, { text: "fix the\nbug" }), runOf(B, QUEUED), runOf(C, ENDED));
  assert.equal(await typed.type("runs"), 0);
  const lines = typed.out().split("\n");
  assert.match(lines[0] ?? "", /^RUN +REPO +KIND +STATE +PLACE +LEASE LEFT +CARD +THREAD +ASKED +ASK$/);
  assert.match(
    lines[1] ?? "",
    /^r-aa0{17}1 +app +shell +running +— +25 min, until 05:33Z +running for 0s · lease ends 05:33 +its own +0 s ago, ann@here +fix the bug$/,
  );
  assert.match(
    lines[2] ?? "",
    /^r-bb0{17}1 +app +shell +queued +1 +— +waiting for the deploy to finish · 12 min · place 1 +/,
  );
  assert.deepEqual(lines.slice(3, 5), ["", "runs of direct callers of the fleet:"]);
  assert.match(lines[6] ?? "", /^r-direct000001 +other +cli:8f2 +run, running, suspect/);
  assert.equal(lines.length, 7, "what has ended is not listed, and a run of the bot's is no direct caller's");
  assert.match(typed.err(), /^suspect {3}run r-direct000001/);
});

test("without headers there are only rows; nothing at all says so", async () => {
  const bare = await stage({ "/residents": MIXED }, { headers: false });
  bare.bot.add(runOf(A, RUNNING));
  await bare.typed.type("runs", "list");
  assert.deepEqual(
    bare.typed
      .out()
      .split("\n")
      .map((line) => line.slice(0, 4)),
    ["r-aa", "r-di"],
  );
  const empty = await stage();
  assert.equal(await empty.typed.type("runs", "list"), 0);
  assert.deepEqual([empty.typed.out(), empty.typed.err()], ["", "tidegate: nothing in flight"]);
});

test("in a narrow terminal no line wraps, and the card stays; --quiet says nothing for people", async () => {
  const narrow = await stage({ "/residents": MIXED }, {}, 84);
  narrow.bot.add(runOf(A, RUNNING, { text: "fix the bug" }), runOf(B, QUEUED), runOf(C, ENDED));
  assert.equal(await narrow.typed.type("runs", "list", "--all"), 0);
  const lines = narrow.typed.out().split("\n");
  assert.ok(lines.every((line) => line.length <= 84));
  assert.match(lines[2] ?? "", /^r-bb0{17}1 +app +waiting for the deploy to finish · 12 min · place 1/);
  const quiet = await stage({ "/residents": MIXED }, { quiet: true });
  assert.equal(await quiet.typed.type("runs", "list"), 0);
  const empty = await stage(undefined, { quiet: true });
  assert.equal(await empty.typed.type("runs", "list"), 0);
  assert.deepEqual([quiet.typed.err(), empty.typed.out(), empty.typed.err()], ["", "", ""]);
});

test("--all reads the history to its limit, page by page, the newest first", async () => {
  const { bot, typed } = await stage(undefined, { headers: false });
  const ids = Array.from({ length: 230 }, (_, index) => `r-${String(index).padStart(12, "0")}`);
  bot.add(...ids.map((id) => runOf(id, { ...ENDED, threadKey: "cli:mine" })));
  assert.equal(await typed.type("runs", "list", "--all", "--limit", "225"), 0);
  const shown = typed.out().split("\n");
  assert.deepEqual(
    shown.map((line) => line.slice(0, 14)),
    ids.toReversed().slice(0, 225),
  );
  assert.match(shown[0] ?? "", /^r-0+229 +app +shell +05:03Z, 5 min ago +/);
  assert.match(shown[0] ?? "", / failed, exit 2 +cli:mine +ann@here +do it$/);
});

test("--repo shows one repository's; one that is not there, or a bad limit, is named by its option", async () => {
  const { bot, typed } = await stage({ "/residents": MIXED });
  bot.add(runOf(A, RUNNING), runOf(B, { ...QUEUED, resource: "repo:local/other" }));
  await typed.type("runs", "list", "--repo", "other");
  assert.match(typed.out(), /^r-bb0/m);
  assert.match(typed.out(), /^r-direct/m);
  assert.doesNotMatch(typed.out(), /r-aa0/);
  assert.equal(await typed.type("runs", "list", "--repo", "othr"), 2);
  assert.match(typed.err(), /^tidegate: --repo: no repository is called "othr"; did you mean "other"\?/m);
  for (const bad of ["0", "x", "5001", "-1"]) {
    assert.equal(await typed.type("runs", "list", `--limit=${bad}`), 2, bad);
    assert.match(typed.err(), /--limit: must be a whole number from 1 to 5000\n {2}next: .+$/);
  }
});

test("as a document, and as events, each row says whose it is", async () => {
  const document = await stage({ "/residents": MIXED }, { json: true });
  document.bot.add(runOf(A, RUNNING), runOf(C, ENDED));
  await document.typed.type("runs", "list", "--all");
  const id = z.looseObject({ id: z.string() });
  const shape = z.object({
    now: z.number(),
    asks: z.array(id),
    ended: z.array(id),
    next: z.null(),
    runs: z.array(z.looseObject({ runId: z.string(), direct: z.boolean() })),
    attaching: z.number(),
  });
  const shown = shape.strict().parse(JSON.parse(document.typed.out()));
  assert.deepEqual([shown.asks.map((row) => row.id), shown.ended.map((row) => row.id)], [[A], [C]]);
  assert.deepEqual(
    shown.runs.map(({ runId, direct }) => [runId, direct]),
    [
      [A, false],
      ["r-direct000001", true],
    ],
  );
  const events = await stage({ "/residents": MIXED }, { ndjson: true });
  events.bot.add(runOf(A, RUNNING), runOf(C, ENDED));
  await events.typed.type("runs", "list", "--all");
  const types = events.typed
    .out()
    .split("\n")
    .map((line) => z.looseObject({ type: z.string() }).parse(JSON.parse(line)).type);
  assert.deepEqual(types, ["ask", "ended", "run", "run"]);
});

test("a part that cannot be read is said to be unknown, the rest is shown, and the command has failed", async () => {
  const noBot = await stage({ "/residents": MIXED });
  noBot.bot.refusals.push("UNREACHABLE");
  assert.equal(await noBot.typed.type("runs", "list"), 1);
  assert.match(noBot.typed.out(), /^r-direct/m);
  assert.match(noBot.typed.err(), /asks are unknown: .*told by the test\n {2}next: /);
  const noFleet = await stage({ "/residents": refusal("UNREACHABLE") });
  noFleet.bot.add(runOf(A, RUNNING));
  assert.equal(await noFleet.typed.type("runs", "list", "--repo", "repo:local/app"), 1);
  assert.match(noFleet.typed.out(), /^r-aa0/m);
  assert.match(noFleet.typed.err(), /the fleet cannot be read/);
  const neither = await stage({ "/residents": refusal("UNREACHABLE") });
  neither.bot.refusals.push("UNREACHABLE");
  assert.equal(await neither.typed.type("runs", "list"), 1);
});

test("a stack without a bot lists its registrations as ever, and says what a bot is asked", async () => {
  const typed = cliWith({ "/residents": MIXED });
  assert.equal(await typed.type("runs", "list"), 0);
  assert.match(typed.out(), /^RUN +RESIDENT +THREAD +STATE +AGE +LEASE LEFT\nr-aa0/);
  for (const command of [
    ["show", "last"],
    ["watch", "last"],
    ["stop", A],
    ["steer", A, "x"],
  ])
    assert.ok([1, 125].includes(await typed.type("runs", ...command)));
  assert.match(typed.err(), /this stack has no bot.*\n {2}next: /);
});

test("a run is shown whole: card, door, times, what was asked and said, notes, verdict and write-up", async () => {
  const { bot, typed } = await stage();
  const text = "fix it\n\u001b[2Jand test";
  const message = { seq: 1, key: "k", kind: "steer", text: "quicker", at: NOW, reached: true } as const;
  const followUp = { ...message, seq: 2, kind: "followUp", text: "then push", reached: false } as const;
  const note = { at: NOW, kind: "drain_wait", text: "waited 23m 30s for drain d-1", ms: 1_410_000 };
  const stop = { ...message, seq: 3, kind: "stop", text: "", reached: false } as const;
  const later = { ...message, seq: 4, text: "and push", reached: false } as const;
  const written = { messages: [message, followUp, stop, later], notes: [note], text, ref: "main", tries: 2 };
  bot.add(runOf(A, { ...RUNNING, waitedMs: 1_410_000 }, { ...written, askedAt: NOW - 30 * MINUTE }));
  bot.write(A, "out", Buffer.from("hello"));
  assert.equal(await typed.type("runs", "show", A), 0);
  const shown = typed.out();
  for (const words of [
    /^run r-aa0{17}1 {3}app {3}shell {3}thread cli:r-aa0{17}1 {3}by ann@here over cli$/m,
    /^card {6}running for .* · lease ends 05:33 · after waiting 1410s for the resident$/m,
    /^asked {5}.*04:38Z, /m,
    /^admitted {2}.*05:08Z, .* after 30 min {3}begun 2 times$/m,
    /^lease {5}until .*05:33Z, /m,
    /^ref {7}main$/m,
    /^output {4}out 5 bytes, err 0 bytes$/m,
    /^ASK\n {2}fix it\n {2}\[2Jand test$/m,
    /^05:08Z +steer +arrived +quicker$/m,
    /^05:08Z +follow-up +for afterwards +then push$/m,
    /^05:08:00Z +drain_wait +waited 23m 30s for drain d-1$/m,
    /^watch it: npx tidegate runs watch r-aa0{17}1 {3}stop it: npx tidegate runs stop r-aa0{17}1$/m,
  ])
    assert.match(shown, words);
  bot.move(A, { ...ENDED, waitedMs: null }, { writeUp: "all is well\n", leftId: B, ranMs: 4 * MINUTE });
  const after = await stageShown(bot, A);
  assert.match(after, /^card {6}failed, exit 2$/m);
  assert.match(after, /^ended {5}.*05:03Z, .* {3}ran 4 min$/m);
  assert.match(after, /^left {6}run r-bb0{17}1: what was said/m);
  assert.match(after, /^05:08Z +follow-up +dropped by the stop +then push$/m);
  assert.match(after, /^05:08Z +steer +left +and push$/m);
  assert.match(after, /^05:08Z +stop +heeded$/m);
  assert.match(after, /^WRITE-UP\n {2}all is well\n\nits output again: /m);
  bot.add(runOf(B, QUEUED));
  assert.match(await stageShown(bot, B), /^door {6}closed by lee@host: release 3f9c, opens by itself /m);
});

async function stageShown(bot: BotForTests, id: string): Promise<string> {
  const typed = cliWith({}, {}, { bot, real });
  await typed.type("runs", "show", id);
  return typed.out();
}

test("as a document a run is what the bot answers", async () => {
  const { bot, typed } = await stage(undefined, { json: true });
  bot.add(runOf(A, RUNNING));
  await typed.type("runs", "show", A);
  assert.deepEqual(JSON.parse(typed.out()), bot.runs.get(A)?.detail);
});

test("a run is its id, the unique beginning of it with or without r-, or the one that was asked for last", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(A, RUNNING), runOf(B, { ...ENDED, askedAt: NOW + 1 }), runOf(C, ENDED));
  const shown = async (name: string): Promise<string> => {
    const before = typed.out().length;
    await typed.type("runs", "show", name);
    return /run (r-\w+) /.exec(typed.out().slice(before))?.[1] ?? "";
  };
  assert.deepEqual([await shown("r-aa"), await shown("aa"), await shown(C), await shown("last")], [A, A, C, B]);
  assert.equal(await typed.type("runs", "show", "bb"), 2);
  assert.match(
    typed.err(),
    /run: "bb" is the beginning of 2 ids: r-bb0{17}2, r-bb0{17}1\n {2}next: more of it, such as r-bb0{17}2$/,
  );
  assert.equal(await typed.type("runs", "show", "r-ab000000000000000001"), 2);
  assert.match(typed.err(), /run: the bot knows none of the id r-ab0{17}1\n {2}next: npx tidegate runs list --all$/);
  assert.equal(await typed.type("runs", "show", "r-aa00000000000000001"), 2);
  assert.match(typed.err(), /run: none is called "r-aa0{16}1"; did you mean "r-aa0{17}1"\?/);
  const nothing = await stage();
  assert.equal(await nothing.typed.type("runs", "show", "last"), 2);
  assert.match(nothing.typed.err(), /nothing has been asked for yet\n {2}next: npx tidegate ask/);
});

test("a direct caller's run is not the bot's, and what ends it is named", async () => {
  const { typed } = await stage({ "/residents": MIXED });
  assert.equal(await typed.type("runs", "stop", "r-direct000001"), 2);
  assert.match(
    typed.err(),
    /r-direct000001 is a direct caller's.*\n {2}next: npx tidegate runs release r-direct000001 --reason/,
  );
});

test("release takes what its siblings take: last, a beginning, an id of nobody; an empty name is said to be empty", async () => {
  const { bot, typed } = await stage({ "/residents": MIXED, "/runs/release": { kind: "released" } });
  bot.add(runOf(A, { ...RUNNING, askedAt: NOW + 1 }), runOf(B, QUEUED));
  const released = async (...words: string[]): Promise<string> => {
    const before = typed.out().length;
    assert.equal(await typed.type("runs", "release", ...words, "--reason", "why"), 0, words.join(" "));
    return /run (\S+) is ended/.exec(typed.out().slice(before))?.[1] ?? "";
  };
  assert.deepEqual([await released("last"), await released("bb"), await released(C)], [A, B, C]);
  assert.equal(await released("r-dir"), "r-direct000001");
  assert.equal(await released("r-nobody-knows"), "r-nobody-knows", "whom nobody knows the fleet judges");
  assert.equal(await typed.type("runs", "release", "zz", "--reason", "why"), 2);
  assert.match(typed.err(), /run: none is called "zz"/);
  for (const command of [["show"], ["watch"], ["stop"], ["release", "--reason", "why"]]) {
    assert.equal(await typed.type("runs", command[0] ?? "", "", ...command.slice(1)), 2);
    assert.match(typed.err(), /tidegate: run: is empty\n {2}next: npx tidegate runs show last$/);
  }
});

test("stop: a run is told, a queued ask is out, and what had ended is no failure", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(A, RUNNING), runOf(B, QUEUED), runOf(C, ENDED));
  for (const id of [A, B, C]) assert.equal(await typed.type("runs", "stop", id), 0);
  const [told, out, over] = typed.out().split("\n");
  assert.match(told ?? "", /^run r-aa0{17}1 is told to stop; npx tidegate runs watch/);
  assert.equal(out, "run r-bb000000000000000001 is out of the queue, and its place is free");
  assert.equal(over, "run r-bb000000000000000002 had ended already");
});

test("steer and follow-up are said once over a roll, added to what waits, and refused by what has ended", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(A, RUNNING), runOf(B, QUEUED), runOf(C, ENDED));
  bot.refusals.push("ROLLING", "FENCED", "UNREACHABLE");
  assert.equal(await typed.type("runs", "steer", A, "be", "quick"), 0);
  assert.equal(bot.count("steer"), 4);
  assert.equal(await typed.type("runs", "steer", A, "then push", "--follow-up", "--key", "k-1"), 0);
  assert.equal(await typed.type("runs", "steer", A, "then push", "--follow-up", "--key", "k-1"), 0);
  const said = bot.runs.get(A)?.detail.messages.map(({ kind, text }) => [kind, text]);
  assert.deepEqual(said, [
    ["steer", "be quick"],
    ["followUp", "then push"],
  ]);
  assert.match(typed.err(), /the bot is away \(told by the test\)/);
  assert.equal(await typed.type("runs", "steer", B, "and this"), 0);
  assert.match(typed.out(), /waits still, and this is added to what was asked$/);
  assert.equal(await typed.type("runs", "steer", C, "too late"), 3);
  assert.match(
    typed.err(),
    /has ended, and hears nothing more; an ask of its thread goes on where it ended\n {2}next: npx tidegate ask "…" --repo app --thread cli:r-bb0{17}2/,
  );
  assert.equal(await typed.type("runs", "steer", A, ""), 2);
  assert.match(typed.err(), /<text>: is empty\n {2}next: npx tidegate runs steer/);
  assert.equal(await typed.type("runs", "steer", A, "x", "--key", ""), 2);
  assert.match(typed.err(), /--key: is empty/);
});

test("what is said answers as a document with its key", async () => {
  const { bot, typed } = await stage(undefined, { json: true });
  bot.add(runOf(A, RUNNING));
  await typed.type("runs", "steer", A, "x", "--key", "k-1");
  assert.deepEqual(JSON.parse(typed.out()), { now: NOW, id: A, kind: "taken", key: "k-1" });
});
