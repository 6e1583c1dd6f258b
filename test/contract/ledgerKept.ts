// The contract of what is kept: the end of a run once and for all, the history in pages, notes, receipts, and that a
// process which comes back finds everything as it was answered.

import assert from "node:assert/strict";
import { LIMIT } from "#core/budgets.ts";
import type { Verdict } from "#core/ask.ts";
import { APP, askOf, Bot, codeOf, FINISHED, refusal, statesOf, WEB, type Contract } from "./ledgerStand.ts";

const { id } = askOf(1);

/** What is kept is held to this. */
export const KEPT: Contract = {
  "a run ends once, with its verdict and write-up, and its thread is free": async ({ stand, bot }) => {
    const entry = await bot.admitted(askOf(1));
    const verdict: Verdict = { ending: "replaced", exit: null, by: "transport", why: "not heard" };
    const { now, kind } = await bot.end(id, verdict, "what it did");
    assert.equal(kind, "ended");
    assert.deepEqual((await bot.end(id, FINISHED, "another")).kind, "already");
    const run = await stand.ledger.run(id);
    assert.deepEqual(run.entry, entry);
    assert.deepEqual(run.ended, { n: 1, endedAt: now, verdict, leftId: null, writeUp: "what it did" });
    assert.deepEqual(await statesOf(stand), []);
    assert.equal((await bot.ask(askOf(2, { threadKey: askOf(1).threadKey }))).kind, "admitted");
    assert.equal(await codeOf(bot.progress(id)), "NO_SUCH_RUN");
    assert.equal(await codeOf(stand.ledger.run("nobody-known")), "NO_SUCH_RUN");
  },

  "what is left of a run takes nobody's place": async ({ stand, bot }) => {
    for (const n of [1, 2, 3]) await bot.admitted(askOf(n));
    await bot.end(askOf(3).id);
    await bot.say(id, "said-1", "steer");
    for (const leftId of [askOf(2).id, askOf(3).id, id]) {
      const end = { id, generation: bot.generation, verdict: FINISHED, leftId, writeUp: "" };
      assert.equal((await refusal(stand.ledger.end(end))).field, "leftId");
    }
    assert.deepEqual(await statesOf(stand), [`${id} admitted`, `${askOf(2).id} admitted`]);
  },

  "remarks stay with their run, live and ended; the same twice is one, and the newest are kept": async ({
    stand,
    bot,
  }) => {
    await bot.admitted(askOf(1));
    await bot.note(id, "drain_wait", "waited for the deploy", 1_410_000);
    await bot.note(id, "drain_wait", "waited for the deploy", 1_410_000);
    await bot.note(id, "remark", "of no length", null);
    await bot.note(id, "remark", "of no length", null);
    await bot.end(id);
    await bot.note(id, "remark", "of no length", 0);
    const notes = async (): Promise<unknown[]> =>
      (await stand.ledger.run(id)).notes.map(({ kind, text, ms }) => [kind, text, ms]);
    assert.deepEqual(await notes(), [
      ["drain_wait", "waited for the deploy", 1_410_000],
      ["remark", "of no length", null],
      ["remark", "of no length", 0],
    ]);
    for (let n = 1; n < LIMIT.notesARun; n += 1) await bot.note(id, "remark", "of no length", n);
    const kept = await notes();
    assert.deepEqual([kept.length, kept[0]], [LIMIT.notesARun, ["remark", "of no length", 0]]);
  },

  "a process that comes back finds everything as it was answered": async ({ stand, bot }) => {
    for (const n of [1, 2, 3]) await bot.ask(askOf(n), n !== 3);
    await bot.output(id, 0, "some output");
    await bot.say(id, "said-1", "steer");
    await bot.end(askOf(2).id);
    await bot.note(id, "drain_wait", "waited", 5);
    await stand.ledger.keepReceipt({ drainId: "drain-1", result: "deployed" });
    const all = async (): Promise<unknown> => {
      const { entries, generation } = await stand.ledger.entries();
      return [
        generation,
        entries.map((entry) => ({ ...entry, heldUntil: 0 })),
        (await stand.ledger.history()).runs,
        (await stand.ledger.run(id)).notes,
        (await stand.ledger.outputFrom({ id })).data,
        (await stand.ledger.receipts()).receipts,
      ];
    };
    const before = await all();
    await stand.restart();
    assert.deepEqual(await all(), before);
    assert.equal((await bot.ask(askOf(2))).kind, "known");
    const next = await bot.ask(askOf(4), false);
    assert.ok(next.kind === "queued" && next.entry.place === 4, "places go on");
    const said = await bot.say(id, "said-2", "steer");
    assert.equal(said.entry?.messages.at(-1)?.seq, 2, "and so do messages");
    assert.equal((await Bot.begin(stand.ledger)).generation, bot.generation + 1);
  },

  "the history comes newest first, in pages, of one repository or one thread": async ({ stand, bot }) => {
    for (let n = 1; n <= 5; n += 1) {
      const more = n % 2 === 0 ? { resource: WEB, threadKey: "web:even" } : { text: "x".repeat(500) };
      await bot.admitted(askOf(n, more));
      await bot.end(askOf(n).id);
    }
    const idsOf = (rows: readonly { id: string }[]): number[] => rows.map((row) => Number(row.id.slice(4)));
    const first = await stand.ledger.history({ limit: 2 });
    assert.deepEqual([idsOf(first.runs), first.next], [[5, 4], 4]);
    const second = await stand.ledger.history({ limit: 2, before: first.next ?? 0 });
    const third = await stand.ledger.history({ limit: 2, before: second.next ?? 0 });
    assert.deepEqual([idsOf(second.runs), idsOf(third.runs), third.next], [[3, 2], [1], null]);
    assert.deepEqual(idsOf((await stand.ledger.history({ resource: WEB })).runs), [4, 2]);
    assert.deepEqual(idsOf((await stand.ledger.history({ thread: "web:even", before: 4, resource: WEB })).runs), [2]);
    assert.deepEqual(idsOf((await stand.ledger.history({ thread: "web:T3", resource: APP })).runs), [3]);
    assert.ok((first.runs[0]?.text.length ?? 0) <= 200, "a list shows the beginning of a text");
    assert.equal((await stand.ledger.run(askOf(5).id)).entry.ask.text.length, 500);
    assert.equal((await refusal(stand.ledger.history({ limit: LIMIT.rowsAPage + 1 }))).field, "limit");
    assert.equal((await refusal(stand.ledger.history({ before: 0 }))).field, "before");
    assert.equal((await refusal(stand.ledger.history({ resource: "app" }))).field, "resource");
  },

  "a deploy's receipt is kept whole under its drain's id, the newest first": async ({ stand }) => {
    const receiptOf = (n: number, result: string) => ({ drainId: `drain-${n}`, result, phases: [{ at: n }] });
    for (const n of [1, 2, 3]) await stand.ledger.keepReceipt(receiptOf(n, "underWay"));
    await stand.ledger.keepReceipt(receiptOf(1, "deployed"));
    const { receipts } = await stand.ledger.receipts();
    assert.deepEqual(receipts, [receiptOf(1, "deployed"), receiptOf(3, "underWay"), receiptOf(2, "underWay")]);
    assert.deepEqual((await stand.ledger.receipts({ limit: 1 })).receipts, [receiptOf(1, "deployed")]);
    assert.deepEqual((await stand.ledger.receipts({ id: "drain-2" })).receipts, [receiptOf(2, "underWay")]);
    assert.deepEqual((await stand.ledger.receipts({ id: "drain-9" })).receipts, []);
    assert.equal((await refusal(stand.ledger.keepReceipt({ drainId: "x" }))).field, "receipt.drainId");
  },
};
