// The contract of runs: only their holder speaks of them, the newest bot alone writes, a run goes to the next bot when it
// was left or lost and never before, its output has no gap and no part twice, what is said to it reaches it in order.

import assert from "node:assert/strict";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import type { LedgerClient } from "#client/ledger.ts";
import { APP, askOf, Bot, codeOf, FINISHED, refusal, statesOf, type Contract } from "./ledgerStand.ts";

const { id } = askOf(1);

/** Everything that a bot writes, by the bot. */
const WRITES: Readonly<Record<string, (bot: Bot) => Promise<unknown>>> = {
  ask: (bot) => bot.ask(askOf(9)),
  dispatch: (bot) => bot.dispatch(APP),
  giveBack: (bot) => bot.giveBack(id),
  progress: (bot) => bot.progress(id, { tries: 9 }),
  output: (bot) => bot.output(id, 0, "from an old bot"),
  heartbeat: (bot) => bot.ledger.heartbeat(bot.generation),
  handOff: (bot) => bot.ledger.handOff(bot.generation),
  reclaim: (bot) => bot.ledger.reclaim(bot.generation),
  say: (bot) => bot.say(id, "said-9", "steer"),
  end: (bot) => bot.end(id),
  note: (bot) => bot.note(id, "drain_wait", "waited", 5),
  told: (bot) => bot.ledger.told({ id, generation: bot.generation, drainId: "drain-a" }),
};

const everything = async (ledger: LedgerClient): Promise<unknown> => {
  const [entries, run, history] = [await ledger.entries(), await ledger.run(id), await ledger.history()];
  return [{ ...entries, now: 0 }, { ...run, now: 0 }, history.runs];
};

/** What runs are held to. */
export const RUNS: Contract = {
  "what an older bot writes is refused and changes nothing, and what one that was never numbered writes": async ({
    stand,
    bot,
  }) => {
    await bot.admitted(askOf(1));
    await bot.ask(askOf(2), false);
    const newer = await Bot.begin(stand.ledger);
    assert.equal(newer.generation, bot.generation + 1);
    const before = await everything(stand.ledger);
    const unknown = Object.assign(Object.create(newer), { generation: newer.generation + 7 });
    for (const [what, write] of Object.entries(WRITES)) {
      assert.equal(await codeOf(write(bot)), "FENCED", what);
      assert.equal(await codeOf(write(unknown)), "FENCED", what);
    }
    assert.deepEqual(await everything(stand.ledger), before);
  },

  "of a run that another bot holds, or nobody, only its messages and notes are taken": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    await bot.ask(askOf(2), false);
    const newer = await Bot.begin(stand.ledger);
    for (const what of ["giveBack", "progress", "output", "end"]) {
      assert.equal(await codeOf(WRITES[what]?.(newer) ?? assert.fail()), "RUN_NOT_HELD", what);
    }
    assert.equal(await codeOf(newer.end(askOf(2).id)), "RUN_NOT_HELD", "a queued one has no end but a stop");
    assert.equal((await newer.say(id, "said-1", "steer")).kind, "taken");
    await newer.note(id, "drain_wait", "waited", 5);
    assert.equal(await codeOf(newer.progress("nobody-known")), "NO_SUCH_RUN");
    assert.equal(await codeOf(newer.note("nobody-known", "drain_wait", "", 5)), "NO_SUCH_RUN");
    assert.equal(await codeOf(newer.say("nobody-known", "said-2", "stop")), "NO_SUCH_RUN");
  },

  "a bot that is silent for a ledger lease loses its runs to the next, and not a moment earlier": async ({
    stand,
    bot,
  }) => {
    const { heldUntil } = await bot.admitted(askOf(1));
    await bot.ask(askOf(2), false);
    const newer = await Bot.begin(stand.ledger);
    for (let taken = 0; taken === 0; await stand.pass(CLOCK.heartbeatMs)) {
      const { now, entries } = await stand.ledger.reclaim(newer.generation);
      taken = entries.length;
      assert.equal(taken, now >= heldUntil ? 1 : 0, `${heldUntil - now} ms before its end`);
      for (const entry of entries)
        assert.deepEqual(
          [entry.ask.id, entry.state, entry.holder, entry.heldUntil, entry.tries],
          [id, "admitted", newer.generation, now + CLOCK.ledgerLeaseMs, 1],
        );
    }
    assert.deepEqual((await stand.ledger.reclaim(newer.generation)).entries, []);
    assert.deepEqual(await statesOf(stand), [`${id} admitted`, `${askOf(2).id} queued`]);
  },

  "a heartbeat holds everything of its bot for one more lease, and names it": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    await bot.admitted(askOf(2));
    await bot.ask(askOf(3), false);
    const beat = await stand.ledger.heartbeat(bot.generation);
    assert.deepEqual(beat.ids, [id, askOf(2).id]);
    const held = (await stand.ledger.entries()).entries.map((entry) => entry.heldUntil);
    assert.deepEqual(held, [beat.now + CLOCK.ledgerLeaseMs, beat.now + CLOCK.ledgerLeaseMs, 0]);
  },

  "runs that are handed off are the next bot's at once, and go on where they were read": async ({ stand, bot }) => {
    const at = { procId: "proc-1", bootId: "boot-1", out: 40, err: 2 };
    await bot.admitted(askOf(1));
    await bot.admitted(askOf(2));
    await bot.progress(id, { reading: at });
    assert.deepEqual((await stand.ledger.handOff(bot.generation)).ids, [id, askOf(2).id]);
    assert.deepEqual(await statesOf(stand), [`${id} handedOff`, `${askOf(2).id} handedOff`]);
    await stand.restart();
    const newer = await Bot.begin(stand.ledger);
    const { entries } = await stand.ledger.reclaim(newer.generation);
    assert.deepEqual(
      entries.map((entry) => [entry.ask.id, entry.state, entry.reading]),
      [
        [id, "running", at],
        [askOf(2).id, "admitted", null],
      ],
    );
  },

  "what a bot that is gone holds is handed off in its name, by the newest bot alone": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    const newer = await Bot.begin(stand.ledger);
    assert.deepEqual((await stand.ledger.reclaim(newer.generation)).entries, [], "it may live");
    assert.equal((await refusal(stand.ledger.handOff(bot.generation))).code, "FENCED");
    assert.deepEqual((await stand.ledger.handOff(newer.generation)).ids, []);
    assert.deepEqual((await stand.ledger.handOff(newer.generation, bot.generation)).ids, [id]);
    assert.equal((await stand.ledger.reclaim(newer.generation)).entries[0]?.holder, newer.generation);
  },

  "a lease lapses only while the ledger was up to hear its bot": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    await stand.pass(CLOCK.ledgerLeaseMs);
    const before = (await stand.ledger.health()).now;
    await stand.restart();
    const newer = await Bot.begin(stand.ledger);
    const heldUntil = (await stand.ledger.entries()).entries[0]?.heldUntil ?? 0;
    assert.ok(heldUntil >= before + CLOCK.ledgerLeaseMs, "it is held for a whole lease from the restart on");
    const { now, entries } = await stand.ledger.reclaim(newer.generation);
    assert.equal(entries.length, now >= heldUntil ? 1 : 0);
  },

  "progress is noted as it is said, and nothing of it goes back": async ({ bot }) => {
    const { leaseUntil } = await bot.admitted(askOf(1));
    assert.ok(leaseUntil);
    await bot.say(id, "said-1", "steer");
    const { entry } = await bot.progress(id, { delivered: 1, tries: 2, leaseUntil: leaseUntil - 5 });
    assert.deepEqual([entry.state, entry.delivered, entry.tries, entry.leaseUntil], ["running", 1, 2, leaseUntil - 5]);
    const later = (await bot.progress(id, { delivered: 0, tries: 1, leaseUntil })).entry;
    assert.deepEqual([later.delivered, later.tries, later.leaseUntil], [1, 2, leaseUntil - 5]);
    assert.equal((await refusal(bot.progress(id, { delivered: 2 }))).field, "delivered", "nothing was said yet");
  },

  "how a run ended is noted once, and whoever takes it over is told": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    const verdict = { ending: "failed", exit: 3, by: null, why: "as it said" } as const;
    assert.deepEqual((await bot.progress(id, { verdict })).entry.verdict, verdict);
    const later = { ...verdict, ending: "replaced", exit: null, by: "container" } as const;
    assert.deepEqual((await bot.progress(id, { verdict: later })).entry.verdict, verdict);
    await bot.ledger.handOff(bot.generation);
    const newer = await Bot.begin(stand.ledger);
    const { entries } = await stand.ledger.reclaim(newer.generation);
    assert.deepEqual(
      entries.map((entry) => entry.verdict),
      [verdict],
    );
  },

  "output is appended where it stands: an overlap is trimmed, a gap is refused": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    const at = { procId: "proc-1", bootId: "boot-1", out: 5, err: 0 };
    assert.equal((await bot.output(id, 0, "hello", { reading: at })).length, 5);
    assert.equal((await bot.output(id, 0, "hello", { reading: at })).length, 5, "twice is once");
    assert.equal((await bot.output(id, 3, "lo, wör")).length, 11);
    const gap = await refusal(bot.output(id, 12, "later", { reading: { ...at, out: 17 } }));
    assert.deepEqual([gap.code, gap["length"]], ["OUTPUT_GAP", 11]);
    assert.equal((await bot.output(id, 0, "oh", { stream: "err" })).length, 2);
    const part = await stand.ledger.outputFrom({ id, from: 7 });
    assert.deepEqual([Buffer.from(part.data, "base64").toString(), part.from, part.length], ["wör", 7, 11]);
    assert.equal((await stand.ledger.outputFrom({ id, from: 11 })).data, "");
    assert.equal((await refusal(stand.ledger.outputFrom({ id, from: 12 }))).field, "from");
    const run = await stand.ledger.run(id);
    assert.deepEqual([run.output.out.length, run.output.err.length], [11, 2]);
    assert.deepEqual([run.entry.state, run.entry.reading], ["running", at], "a refused append notes no reading");
    await bot.end(id);
    assert.equal((await stand.ledger.outputFrom({ id, stream: "err" })).data, btoa("oh"), "and after its end");
    assert.equal(await codeOf(stand.ledger.outputFrom({ id: "nobody-known" })), "NO_SUCH_RUN");
  },

  "of long output its head and its last part are kept, byte for byte, and what lies between is named": async ({
    stand,
    bot,
  }) => {
    await bot.admitted(askOf(1));
    const size = 100_003;
    const parts = 8;
    const whole = Buffer.from(Array.from({ length: size * parts }, (_, n) => (n * 31 + (n >> 8)) % 256));
    let answer = await bot.output(id, 0, "");
    for (let n = 0; n < parts; n += 1) {
      const data = whole.subarray(n * size, (n + 1) * size).toString("base64");
      answer = await bot.output(id, n * size, "", { data });
    }
    const cut = { from: LIMIT.outputHeadBytes, to: whole.length - LIMIT.outputTailBytes };
    assert.deepEqual([answer.length, answer.truncated], [whole.length, cut]);
    const read = Buffer.alloc(whole.length);
    let at = 0;
    while (at < whole.length) {
      const part = await stand.ledger.outputFrom({ id, from: at });
      const bytes = Buffer.from(part.data, "base64");
      assert.ok(bytes.length > 0 && bytes.length <= LIMIT.outputPartBytes);
      bytes.copy(read, part.from);
      at = part.from + bytes.length;
    }
    assert.ok(read.subarray(0, cut.from).equals(whole.subarray(0, cut.from)), "the head");
    assert.ok(read.subarray(cut.to).equals(whole.subarray(cut.to)), "the last part");
    assert.ok(
      read.subarray(cut.from, cut.to).every((byte) => byte === 0),
      "and nothing in between",
    );
  },

  "what is said to a live run is kept in its order, each once": async ({ stand, bot }) => {
    await bot.admitted(askOf(1));
    assert.equal((await bot.say(id, "said-1", "steer", "one")).kind, "taken");
    assert.equal((await bot.say(id, "said-1", "steer", "one")).kind, "known");
    await bot.say(id, "said-2", "followUp", "two");
    await stand.ledger.handOff(bot.generation);
    assert.equal((await bot.say(id, "said-3", "stop", "")).kind, "taken", "also while it is handed off");
    assert.equal((await bot.say(id, "said-4", "stop", "")).kind, "known", "it is told to stop already");
    const messages = (await stand.ledger.run(id)).entry.messages;
    assert.deepEqual(
      messages.map(({ seq, key, kind, text }) => [seq, key, kind, text]),
      [
        [1, "said-1", "steer", "one"],
        [2, "said-2", "followUp", "two"],
        [3, "said-3", "stop", ""],
      ],
    );
  },

  "what is said to an ask that waits is a part of it, and a stop takes it out of the queue": async ({ stand, bot }) => {
    await bot.ask(askOf(1), false);
    await bot.ask(askOf(2), false);
    const added = await bot.say(id, "said-1", "steer", "and more");
    assert.deepEqual([added.kind, added.entry?.ask.text], ["added", "ask 1\nand more"]);
    assert.equal((await bot.say(id, "said-1", "steer", "and more")).kind, "known");
    assert.equal((await bot.say(id, "said-2", "stop")).kind, "ended");
    assert.equal((await bot.say(id, "said-3", "steer")).kind, "over");
    assert.equal((await bot.say(id, "said-1", "steer")).kind, "known", "it was said while it waited");
    const run = await stand.ledger.run(id);
    assert.deepEqual([run.ended?.verdict.ending, run.ended?.n, run.entry.state], ["stopped", 1, "queued"]);
    assert.deepEqual(await bot.dispatchAll(APP), [askOf(2).id], "its place is free");
  },

  "what was not told to a run at its end becomes one ask; a stop answers what was said before it": async ({ bot }) => {
    await bot.admitted(askOf(1));
    for (const n of [1, 2, 3]) await bot.say(id, `said-${n}`, "steer", `text ${n}`);
    await bot.progress(id, { delivered: 1 });
    const { kind, left } = await bot.end(id);
    const wanted = { ...askOf(1), id: `left-of-${id}`, key: "key-1/left", text: "text 2\ntext 3", leaseMs: null };
    assert.deepEqual([kind, left?.ask, left?.state], ["ended", wanted, "queued"]);
    assert.deepEqual(await bot.dispatchAll(APP), [`left-of-${id}`]);
    await bot.say(`left-of-${id}`, "said-4", "steer", "text 4");
    await bot.say(`left-of-${id}`, "said-5", "stop", "");
    const over = await bot.end(`left-of-${id}`, { ...FINISHED, ending: "stopped" });
    assert.deepEqual([over.kind, over.left], ["ended", null]);
  },

  "a follow-up waits for the run's end, whatever reaches the run after it": async ({ bot }) => {
    await bot.admitted(askOf(1));
    await bot.say(id, "said-1", "followUp", "at the end");
    await bot.say(id, "said-2", "steer", "now");
    await bot.progress(id, { delivered: 2 });
    const { left } = await bot.end(id);
    assert.equal(left?.ask.text, "at the end");
    const waits = left.ask.id;
    const added = await bot.say(waits, "said-3", "steer", "and more");
    assert.deepEqual(
      [added.entry?.ask.text, added.entry?.messages.map(({ kind }) => kind)],
      ["at the end\nand more", ["added"]],
    );
    await bot.dispatch(APP);
    assert.equal((await bot.end(waits)).left, null, "what was added to an ask is a part of it");
  },

  "one run takes so many messages and no more, and a stop always": async ({ bot }) => {
    await bot.admitted(askOf(1));
    const long = "x".repeat(LIMIT.askChars);
    const fits = Math.floor(LIMIT.joinedChars / LIMIT.askChars);
    for (let n = 1; n <= fits; n += 1) assert.equal((await bot.say(id, `said-${n}`, "steer", long)).kind, "taken");
    assert.equal(await codeOf(bot.say(id, "said-more", "steer", long)), "TOO_LARGE");
    assert.equal((await bot.say(id, "said-stop", "stop", "")).kind, "taken");
    await bot.ask(askOf(2, { text: long }), false);
    for (let n = 1; n < fits; n += 1) {
      const added = await bot.say(askOf(2).id, `more-${n}`, "followUp", long.slice(0, -1));
      assert.equal(added.kind, "added");
    }
    assert.equal(await codeOf(bot.ask(askOf(3, { threadKey: "web:T2", text: long }), false)), "TOO_LARGE");
  },
};
