// A run that is followed: its output byte for byte over cut streams and rolls, its cards between, its code as this process's
// own, and left alone by whoever stops watching.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CLOCK } from "#core/budgets.ts";
import type { Verdict } from "#core/ask.ts";
import { MINUTE } from "#core/time.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import { BotForTests, NOW, runOf } from "./botForTests.ts";
import { cliWith, type TypedCli } from "./cliForTests.ts";

const bots: BotForTests[] = [];
after(() => Promise.all(bots.map((bot) => bot.stop())));
const real = clockOf(REAL_TIME);
const LOOK_MS = 5;
const ID = "r-0000000000000000000a";
const RUNNING = { state: "running", bound: NOW + 45 * MINUTE, waitedMs: 1_410_000 } as const;

async function stage(options: Parameters<typeof cliWith>[1] = {}): Promise<{ bot: BotForTests; typed: TypedCli }> {
  const bot = await BotForTests.start();
  bots.push(bot);
  return { bot, typed: cliWith({}, options, { bot, real }) };
}

const verdictOf = (more: Partial<Verdict> = {}): Verdict => ({
  ending: "finished",
  exit: 0,
  by: null,
  why: null,
  ...more,
});

/** The end of a run as its card says it. */
const ended = (more: Partial<Verdict> = {}) => ({ state: "ended", bound: null, verdict: verdictOf(more) }) as const;

/** Waits for what a process has said; the test's own bound ends a wait for what never comes. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await sleep(LOOK_MS);
}

/** Bytes that no text is made of, longer than any piece of the stream. */
const BYTES = Uint8Array.from({ length: 1_003 }, (_, index) => (index * 7 + (index >> 8)) % 256);

test("the output comes byte for byte on its streams, with nothing of tidegate's own on stdout, and the run's code", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(ID, RUNNING));
  bot.write(ID, "out", BYTES.subarray(0, 400));
  bot.write(ID, "err", BYTES.subarray(0, 33));
  const typing = typed.type("runs", "watch", ID);
  await until(() => typed.written("out").length === 400);
  bot.write(ID, "out", BYTES.subarray(400));
  bot.move(ID, ended({ ending: "failed", exit: 7 }), { ranMs: 4 * MINUTE });
  assert.equal(await typing, 7);
  assert.deepEqual(new Uint8Array(typed.written("out")), BYTES);
  assert.deepEqual(new Uint8Array(typed.written("err")), BYTES.subarray(0, 33));
  assert.equal(typed.out(), "");
  assert.match(
    typed.err(),
    /^tidegate: run r-0{19}a: running for .* · lease ends 05:53 · after waiting 1410s for the resident$/m,
  );
  assert.match(typed.err(), /^tidegate: run r-0{19}a: failed, exit 7$/m);
  assert.match(typed.err(), /^tidegate: it ran 4 min; what it left: npx tidegate runs show r-0{19}a$/m);
});

test("over rolls that cut the stream in the middle of an event nothing is lost and nothing comes twice", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(ID, RUNNING));
  bot.cuts.push(1, 120, 7, 0, 300);
  bot.write(ID, "out", BYTES);
  bot.write(ID, "err", BYTES.subarray(0, 500));
  const typing = typed.type("runs", "watch", ID);
  await until(() => bot.count("output") === 3);
  bot.refusals.push("UNREACHABLE", "ROLLING");
  await until(() => typed.written("out").length === BYTES.length && typed.written("err").length === 500);
  bot.move(ID, ended());
  assert.equal(await typing, 0);
  assert.deepEqual(new Uint8Array(typed.written("out")), BYTES);
  assert.deepEqual(new Uint8Array(typed.written("err")), BYTES.subarray(0, 500));
  assert.equal(bot.cuts.length, 0, "every cut was met");
  assert.equal(typed.err().match(/running for/g)?.length, 1, "a card that was told is not told again");
  assert.match(typed.err(), /the bot is away/);
  assert.match(typed.err(), /the bot answers again/);
});

test("from now on: what was written before is left out", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(ID, RUNNING));
  bot.write(ID, "out", Buffer.from("before\n"));
  const typing = typed.type("runs", "watch", ID, "--from-now");
  await until(() => typed.err().includes("running"));
  bot.write(ID, "out", Buffer.from("behind\n"));
  bot.move(ID, ended());
  assert.equal(await typing, 0);
  assert.equal(typed.written("out").toString(), "behind\n");
});

test("inv. 14: a wait is told at its start with who closed the door, and again each minute with what is left", async () => {
  const bot = await BotForTests.start();
  bots.push(bot);
  const typed = cliWith({}, {}, { bot, real });
  const { clock } = typed.server;
  const at = clock.now();
  const door = {
    cause: "deploy",
    bound: at + 30 * MINUTE,
    position: 1,
    by: "lee@host",
    reason: "release 3f9c",
  } as const;
  bot.add(runOf(ID, door));
  const typing = typed.type("runs", "watch", ID);
  await until(() => typed.err().includes("closed by"));
  await clock.advance(CLOCK.noteEveryMs);
  await until(() => typed.err().includes("29 min"));
  bot.move(ID, { quietBy: at + 30 * MINUTE - 1 });
  for (const length of [1, 2]) {
    bot.write(ID, "out", Buffer.from("."));
    await until(() => typed.written("out").length === length);
  }
  bot.move(ID, { ...RUNNING, cause: null, position: null, by: null, reason: null });
  await until(() => typed.err().includes("running"));
  bot.move(ID, ended());
  assert.equal(await typing, 0);
  const lines = typed.err().split("\n");
  assert.match(lines[0] ?? "", /waiting for the deploy to finish · 30 min · place 1$/);
  assert.match(lines[1] ?? "", /^tidegate: {3}closed by lee@host: release 3f9c, opens by itself .*, in 30 min$/);
  assert.match(lines[2] ?? "", /waiting for the deploy to finish · 29 min · place 1$/);
  assert.match(lines[3] ?? "", /running for/);
});

test("a stack that goes away is said, with the run left alone and how to watch it again", async () => {
  const bot = await BotForTests.start();
  bots.push(bot);
  const typed = cliWith({}, {}, { bot, real, isKept: false });
  bot.add(runOf(ID, RUNNING));
  const typing = typed.type("runs", "watch", ID);
  await until(() => typed.err().includes("running"));
  bot.refusals.push(...Array.from({ length: 9 }, () => "cut" as const));
  bot.cut();
  assert.equal(await typing, 125);
  assert.match(typed.err(), /^tidegate: The bot cannot be reached: .*; run r-0{19}a is left alone$/m);
  assert.match(
    typed.err(),
    /\n {2}next: bring it up \(npm start\), then watch it again: npx tidegate runs watch r-0{19}a$/,
  );
});

test("a run that was refused never ran, and what to type is said", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(ID, ended({ ending: "refused", exit: null, why: "the ref does not exist: nope" }), { ranMs: 3 }));
  assert.equal(await typed.type("runs", "watch", ID), 125);
  assert.match(typed.err(), /^tidegate: it never ran; .*: npx tidegate ask "…" --repo app --thread cli:r-0{19}a$/m);
  assert.doesNotMatch(typed.err(), /it ran/);
});

test("a watch whose bearer is refused says that the run was taken all the same", async () => {
  const { bot, typed } = await stage();
  bot.refused.add("output");
  assert.equal(await typed.type("ask", "x", "--repo", "app", "--watch"), 4);
  assert.match(
    typed.err(),
    /run r-0{19}1 is taken and goes on, and only its watch is refused\n {2}next: correct RESIDENT_/,
  );
});

test("a run that writes nothing is told each minute, and one that is waited for in any case", async () => {
  for (const [how, quiet] of [
    [["runs", "watch", ID], true],
    [["runs", "watch", ID], false],
    [["ask", "x", "--repo", "app", "--wait", "--thread", "cli:x"], false],
  ] as const) {
    const bot = await BotForTests.start();
    bots.push(bot);
    const typed = cliWith({}, {}, { bot, real });
    const { clock } = typed.server;
    const running = { ...RUNNING, since: clock.now(), bound: clock.now() + 45 * MINUTE };
    bot.card = running;
    if (how[0] === "runs") bot.add(runOf(ID, running));
    const typing = typed.type(...how);
    await until(() => /^tidegate: run \S+: running for/m.test(typed.err()));
    const id = how[0] === "runs" ? ID : "r-00000000000000000001";
    const told = (): number =>
      typed
        .err()
        .split("\n")
        .filter((line) => line.includes("running for")).length;
    const before = told();
    if (!quiet) bot.write(id, "out", Buffer.from("."));
    if (!quiet && how[0] === "runs") await until(() => typed.written("out").length === 1);
    await clock.advance(CLOCK.noteEveryMs);
    assert.equal(told() - before, quiet || how[0] === "ask" ? 1 : 0, how.join(" "));
    await clock.advance(CLOCK.noteEveryMs);
    await until(() => told() > before);
    bot.move(id, ended());
    assert.equal(await typing, 0);
  }
});

test("Ctrl-C leaves the run alone, says so, and how to stop it", async () => {
  const { bot, typed } = await stage();
  const typing = typed.type("ask", "x", "--repo", "app", "--watch");
  await until(() => typed.err().includes("attaching the workspace\n"));
  typed.interrupt();
  assert.equal(await typing, 130);
  assert.match(
    typed.err(),
    /run r-0{19}1 is left alone and goes on; watch it again: npx tidegate runs watch r-0{19}1 {3}stop it: npx tidegate runs stop r-0{19}1$/,
  );
  assert.equal(bot.count("stop"), 0);
  assert.equal(bot.runs.get("r-00000000000000000001")?.detail.card.state, "attaching");
});

test("an ask that is watched says its answer on stderr, shows the output, and ends with the run's code; --wait shows none", async () => {
  for (const [how, shown] of [
    ["--watch", "hello\n"],
    ["--wait", ""],
  ] as const) {
    const { bot, typed } = await stage();
    const typing = typed.type("ask", "x", "--repo", "app", how);
    await until(() => bot.runs.size === 1);
    bot.write("r-00000000000000000001", "out", Buffer.from("hello\n"));
    bot.move("r-00000000000000000001", ended({ ending: "failed", exit: 3 }));
    assert.equal(await typing, 3);
    assert.equal(typed.written("out").toString(), shown);
    assert.equal(typed.out(), "");
    assert.match(typed.err(), /^tidegate: run r-0{19}1 is admitted/);
  }
});

test("each verdict has the code that `run` has for it, and a failure on the way is tidegate's own", async () => {
  const cases: [Partial<Verdict>, number][] = [
    [{}, 0],
    [{ ending: "failed", exit: 42 }, 42],
    [{ ending: "failed", exit: null, why: "an error inside the bot" }, 125],
    [{ ending: "stopped", exit: null }, 130],
    [{ ending: "leaseSpent", exit: null }, 124],
    [{ ending: "notStarted", exit: null }, 127],
    [{ ending: "refused", exit: null }, 125],
    [{ ending: "replaced", exit: null, by: "container" }, 125],
  ];
  for (const [verdict, code] of cases) {
    const { bot, typed } = await stage();
    bot.add(runOf(ID, ended(verdict)));
    assert.equal(await typed.type("runs", "watch", ID), code, JSON.stringify(verdict));
  }
  const refused = await stage();
  refused.bot.refusals.push("INTERNAL");
  assert.equal(await refused.typed.type("runs", "watch", ID), 125);
  const unknown = await stage();
  assert.equal(await unknown.typed.type("runs", "watch", ID), 2);
});

test("what was said and never reached the run is named at its end", async () => {
  const { bot, typed } = await stage();
  bot.add(runOf(ID, ended(), { leftId: "r-0000000000000000000b" }));
  await typed.type("runs", "watch", ID);
  assert.match(typed.err(), /what was said to it and did not reach it is run r-0{19}b$/);
});

test("as events: the answer, cards, bytes at their offset, and the end, a line each; as JSON the end alone", async () => {
  const { bot, typed } = await stage({ ndjson: true, quiet: true });
  bot.add(runOf(ID, ended({ exit: 0 })));
  bot.write(ID, "err", Buffer.from("hello"));
  assert.equal(await typed.type("runs", "watch", ID), 0);
  const events = typed
    .out()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  assert.deepEqual(events[0], { type: "output", stream: "err", from: 0, data: btoa("hello") });
  assert.deepEqual(events.at(-1), { type: "end", id: ID, verdict: verdictOf(), leftId: null, exit: 0 });
  assert.equal(events.length, 3);
  assert.equal(typed.err(), "");
  const document = await stage({ json: true, quiet: true });
  document.bot.add(runOf(ID, ended()));
  await document.typed.type("runs", "watch", ID);
  assert.deepEqual(JSON.parse(document.typed.err()), { id: ID, verdict: verdictOf(), leftId: null, exit: 0 });
  const waited = await stage({ json: true });
  const typing = waited.typed.type("ask", "x", "--repo", "app", "--wait");
  await until(() => waited.bot.runs.size === 1);
  waited.bot.move("r-00000000000000000001", ended());
  await typing;
  const end = { id: "r-00000000000000000001", verdict: verdictOf(), leftId: null, exit: 0 };
  assert.deepEqual(JSON.parse(waited.typed.out()), end, "stdout is the document's where no output is shown");
  assert.doesNotMatch(waited.typed.err(), /"verdict"/);
});
