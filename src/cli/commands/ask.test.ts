// `tidegate ask`: answered at once in the card's words, what is wrong named by its option, and with the same key asked once
// however often a roll makes it be sent.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { MINUTE } from "#core/time.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { BotForTests, NOW } from "../botForTests.ts";
import { cliWith, type TypedCli } from "../cliForTests.ts";

const bots: BotForTests[] = [];
after(() => Promise.all(bots.map((bot) => bot.stop())));
const real = clockOf(REAL_TIME);

async function stage(
  options: Parameters<typeof cliWith>[1] = {},
  more: Parameters<typeof cliWith>[2] = {},
): Promise<{ bot: BotForTests; typed: TypedCli }> {
  const bot = await BotForTests.start();
  bots.push(bot);
  return { bot, typed: cliWith({}, options, { bot, real, ...more }) };
}

const LOOK_MS = 5;
const ID = "r-00000000000000000001";
const DEPLOY = {
  state: "queued",
  cause: "deploy",
  bound: NOW + 65 * MINUTE,
  quietBy: NOW + 12 * MINUTE,
  position: 2,
  by: "lee@host",
  reason: "release 3f9c",
} as const;

test("an admitted ask is answered with its id and how to watch and stop it", async () => {
  const { bot, typed } = await stage();
  assert.equal(await typed.type("ask", "fix", "the", "bug", "--repo", "app"), 0);
  assert.equal(typed.out(), `run ${ID} is admitted: attaching the workspace`);
  assert.match(typed.err(), /watch it: npx tidegate runs watch r-0{19}1 {3}stop it: npx tidegate runs stop r-0{19}1$/);
  const { key, ...body } = z.looseObject({ key: z.string() }).parse(bot.asked[0]?.given);
  assert.match(key, /^cli-\w+$/);
  const nothing = { threadKey: null, leaseMs: null, ref: null, parent: null };
  const said = { resource: "app", text: "fix the bug", kind: "shell", by: "ann@here", channel: "cli" };
  assert.deepEqual(body, { ...said, ...nothing });
});

test("inv. 14: a queued ask is told at once for how long, its place, who closed the door and when that ends", async () => {
  const { bot, typed } = await stage();
  bot.card = DEPLOY;
  assert.equal(await typed.type("ask", "x", "--repo", "app"), 0);
  assert.equal(typed.out(), `run ${ID} is queued: deploy pending, 12 minutes · place 2`);
  assert.match(typed.err(), /closed by lee@host: release 3f9c, opens by itself 06:13Z, in 1h 5m/);
});

test("every option reaches the bot as it was typed", async () => {
  const { bot, typed } = await stage({ json: true });
  const options = ["--kind", "coding", "--thread", "cli:x", "--lease", "1h30m", "--ref", "main", "--key", "k-1"];
  assert.equal(await typed.type("ask", "x", "--repo", "local/app", ...options, "--by", "lee"), 0);
  const said = { key: "k-1", resource: "local/app", text: "x", kind: "coding", threadKey: "cli:x", ref: "main" };
  assert.deepEqual(bot.asked[0]?.given, { ...said, leaseMs: 90 * MINUTE, by: "lee", channel: "cli", parent: null });
  const answer: unknown = JSON.parse(typed.out());
  assert.equal(z.looseObject({ id: z.string() }).parse(answer).id, ID);
  await typed.type("ask", "x", "--repo", "local/app", "--key", "k-1");
  assert.equal(bot.runs.size, 1, "the same key is the same ask");
  assert.match(typed.out(), /"kind":"known"/);
});

test("what a later ask of a waiting thread wants otherwise is said not to count, and nothing else is", async () => {
  const { bot, typed } = await stage();
  bot.card = DEPLOY;
  assert.equal(await typed.type("ask", "one", "--repo", "app", "--thread", "cli:x", "--by", "ann", "--ref", "main"), 0);
  const wishes = ["--kind", "review", "--ref", "nope", "--lease", "3m", "--by", "bob"];
  assert.equal(await typed.type("ask", "two", "--repo", "app", "--thread", "cli:x", ...wishes), 0);
  const stays = "stays kind shell, ref main, lease of its kind, asked by ann";
  const line = `tidegate: run ${ID} ${stays}: --kind, --ref, --lease, --by of this one do not count`;
  assert.ok(typed.err().split("\n").includes(line), typed.err());
  const plain = await stage();
  plain.bot.card = DEPLOY;
  for (const text of ["one", "two"]) await plain.typed.type("ask", text, "--repo", "app", "--thread", "cli:x");
  assert.match(plain.typed.out(), /added to run/);
  assert.doesNotMatch(plain.typed.err(), /count/);
});

test("the same key with another text says that the first one stands", async () => {
  const { typed } = await stage();
  await typed.type("ask", "one", "--repo", "app", "--key", "k");
  await typed.type("ask", "one", "--repo", "app", "--key", "k");
  assert.doesNotMatch(typed.err(), /another text/);
  await typed.type("ask", "two", "--repo", "app", "--key", "k");
  assert.match(
    typed.err(),
    /^tidegate: run r-0{19}1 was asked for with another text under this key; that one stands$/m,
  );
});

const WRONG: readonly (readonly [typed: readonly string[], says: RegExp])[] = [
  [["", "--repo", "app"], /^tidegate: <text>: is empty\n {2}next: npx tidegate ask "/],
  [["   ", "--repo", "app"], /^tidegate: <text>: is empty\n {2}next: npx tidegate ask "/],
  [
    ["x".repeat(20_001), "--repo", "app"],
    /^tidegate: <text>: is longer than .*\n {2}next: .*npx tidegate ask - --repo app </,
  ],
  [["x", "--repo", "app", "--thread", ""], /^tidegate: --thread: is empty\n {2}next: --thread cli:mine$/],
  [["x", "--repo", "app", "--lease", "-5m"], /^tidegate: --lease: must be more than 0\n/],
  [["x", "--repo", "a b"], /^tidegate: --repo: is no repository.*\n {2}next: npx tidegate repo list$/],
  [["x", "--repo", "app", "--kind", "Coding"], /^tidegate: --kind: is no kind.*\n {2}next: --kind shell/],
  [["x", "--repo", "app", "--thread", "a b"], /^tidegate: --thread: has a character.*\n {2}next: --thread cli:mine$/],
  [["x", "--repo", "app", "--lease", "45"], /^tidegate: --lease: "45" is no span.*\n {2}next: --lease 45m/],
  [["x", "--repo", "app", "--ref", "-x"], /^tidegate: --ref: .*\n {2}next: --ref main$/],
  [["x", "--repo", "app", "--key", ""], /^tidegate: --key: is empty\n {2}next: --key mine-1$/],
  [["x", "--repo", "app", "--by", ""], /^tidegate: --by: is empty\n {2}next: --by ann$/],
];

test("what does not fit is refused by its option with what to type, and the bot is not asked", async () => {
  for (const [words, says] of WRONG) {
    const { bot, typed } = await stage();
    assert.equal(await typed.type("ask", ...words), 2, words.join(" "));
    assert.match(typed.err(), says);
    assert.equal(bot.asked.length, 0);
  }
});

test("- as the text is stdin, without the lines' ends that it ends with", async () => {
  const { bot, typed } = await stage({}, { stdin: Readable.from([Buffer.from("fix\nth"), Buffer.from("is\n\n")]) });
  assert.equal(await typed.type("ask", "-", "--repo", "app"), 0);
  assert.equal(z.looseObject({ text: z.string() }).parse(bot.asked[0]?.given).text, "fix\nthis");
  assert.equal(typed.err().match(/terminal/), null);
  const terminal = Object.assign(Readable.from([Buffer.from("x\n")]), { isTTY: true });
  const person = await stage({}, { stdin: terminal });
  await person.typed.type("ask", "-", "--repo", "app");
  assert.match(person.typed.err(), /^tidegate: the text is read from this terminal; Ctrl-D ends it\n/);
});

test("a stdin that is no text, empty or without an end is refused, and the bot is not asked", async () => {
  const endless = async function* (): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(10_000, "x");
  };
  for (const [stdin, says] of [
    [Readable.from([Buffer.from([0xff, 0xfe])]), /<text>: stdin is no UTF-8 text/],
    [Readable.from([Buffer.from(" \n")]), /<text>: is empty/],
    [endless(), /<text>: stdin has more than the 20000 characters/],
  ] as const) {
    const { bot, typed } = await stage({}, { stdin });
    assert.equal(await typed.type("ask", "-", "--repo", "app"), 2);
    assert.match(typed.err(), says);
    assert.equal(bot.asked.length, 0);
  }
});

test("what only the bot knows to be wrong is named by its option, too, and a refusal that names none is its own", async () => {
  const { bot, typed } = await stage();
  bot.refusals.push({
    code: "BAD_FIELD",
    detail: 'kind: no kind is called "codng"; did you mean "coding"?',
    field: "kind",
  });
  assert.equal(await typed.type("ask", "x", "--repo", "app"), 2);
  assert.match(typed.err(), /^tidegate: --kind: no kind is called "codng"; did you mean "coding"\?\n {2}next: --kind/);
  const knows = await stage();
  const better = { detail: "kind: kind ci wants KEY: the file /nope cannot be read", next: "create the file /nope" };
  knows.bot.refusals.push({ code: "BAD_FIELD", field: "kind", ...better });
  await knows.typed.type("ask", "x", "--repo", "app");
  assert.match(knows.typed.err(), /^tidegate: --kind: kind ci wants KEY: .*\n {2}next: create the file \/nope$/);
  const other = await stage();
  const detail = 'no repository is called "ap"; did you mean "app"?';
  other.bot.refusals.push({ code: "NO_SUCH_RESIDENT", detail, field: "resource" });
  assert.equal(await other.typed.type("ask", "x", "--repo", "ap"), 2);
  assert.match(
    other.typed.err(),
    /^tidegate: --repo: no repository is called "ap"; .*\n {2}next: npx tidegate repo list$/,
  );
  const denied = await stage();
  denied.bot.refusals.push("BEYOND_SCOPE");
  assert.equal(await denied.typed.type("ask", "x", "--repo", "app"), 4);
  const full = await stage();
  full.bot.refusals.push("LEDGER_FULL");
  assert.equal(await full.typed.type("ask", "x", "--repo", "app"), 1);
  assert.match(full.typed.err(), /no room/);
});

test("while the bot rolls the same ask is sent again with the same key, and that is said once", async () => {
  const { bot, typed } = await stage();
  bot.refusals.push("ROLLING", "UNREACHABLE", "cut", "cut", "FENCED");
  assert.equal(await typed.type("ask", "x", "--repo", "app"), 0);
  const keys = bot.asked.map(({ given }) => z.looseObject({ key: z.string() }).parse(given).key);
  assert.ok(keys.length >= 5);
  assert.equal(new Set(keys).size, 1);
  assert.equal(typed.err().match(/the bot is away/g)?.length, 1);
  assert.match(typed.err(), /the bot is away \(told by the test\): asking again for at most 15 min/);
  assert.match(typed.err(), /the bot answers again/);
});

test("an ask whose answer was lost is the same ask, answered", async () => {
  const { bot, typed } = await stage();
  await typed.type("ask", "x", "--repo", "app", "--key", "k");
  bot.refusals.push("cut", "cut");
  await typed.type("ask", "x", "--repo", "app", "--key", "k");
  assert.equal(bot.runs.size, 1);
  assert.match(typed.out(), /was asked for before: attaching the workspace$/);
});

test("a bot that nobody brings back is not waited for; one that stays away is given up with the key to type", async () => {
  const gone = await stage({}, { isKept: false });
  gone.bot.refusals.push("UNREACHABLE");
  assert.equal(await gone.typed.type("ask", "x", "--repo", "app"), 1);
  assert.equal(gone.bot.count("ask"), 1);
  const bot = await BotForTests.start();
  bots.push(bot);
  const away = cliWith({}, {}, { bot });
  bot.refusals.push(...Array.from({ length: 5_000 }, () => "ROLLING" as const));
  const typing = away.type("ask", "x", "--repo", "app", "--key", "k-9");
  const { clock } = away.server;
  let over = false;
  void typing.then(() => (over = true));
  while (!over) await clock.advance(10_000);
  assert.equal(await typing, 1);
  assert.match(away.err(), /the bot is away: waited \d+ min of 15 min/);
  assert.match(away.err(), /the bot has not answered for 15 min.*\n {2}next: the same command with --key k-9/);
});

test("Ctrl-C while the bot is away stops the asking, and says how to ask the same again", async () => {
  const { bot, typed } = await stage();
  bot.refusals.push(...Array.from({ length: 1_000 }, () => "ROLLING" as const));
  const typing = typed.type("ask", "x", "--repo", "app", "--key", "k-2");
  while (!typed.err().includes("away")) await sleep(LOOK_MS);
  typed.interrupt();
  assert.equal(await typing, 130);
  assert.match(typed.err(), /stopped asking; it may have been taken: the same command with --key k-2 is the same ask$/);
});

test("a stack without a bot says so and what to do, and asks nobody", async () => {
  const typed = cliWith({});
  assert.equal(await typed.type("ask", "x", "--repo", "app"), 1);
  assert.match(typed.err(), /this stack has no bot/);
  assert.match(typed.err(), /\n {2}next: /);
});
