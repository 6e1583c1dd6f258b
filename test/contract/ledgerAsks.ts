// The contract of asks: a key is one ask, a thread has one live run, a repository's queue goes in the order of arrival and
// each of it once, and what waits holds nothing.

import assert from "node:assert/strict";
import type { Ask } from "#core/ask.ts";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import type { Doors } from "#core/turn.ts";
import { APP, askOf, Bot, codeOf, refusal, statesOf, WEB, type Contract } from "./ledgerStand.ts";

/** What asks are held to. */
export const ASKS: Contract = {
  "an ask is admitted with its run's row in one step, and its lease begins then": async ({ stand, bot }) => {
    const answer = await bot.ask(askOf(1));
    assert.equal(answer.kind, "admitted");
    const { entries, generation, unreadable } = await stand.ledger.entries();
    const [entry] = entries;
    assert.ok(entry);
    const { now } = answer;
    assert.deepEqual(entry, {
      ask: askOf(1),
      askedAt: now,
      place: 1,
      state: "admitted",
      holder: bot.generation,
      heldUntil: now + CLOCK.ledgerLeaseMs,
      admittedAt: now,
      leaseUntil: now + 45 * MINUTE,
      tries: 1,
      reading: null,
      messages: [],
      delivered: 0,
      toldOf: null,
      metDrain: null,
      verdict: null,
    });
    assert.deepEqual([generation, unreadable, entries.length], [bot.generation, [], 1]);
  },

  "a run's lease is its ask's own, else its kind's, else the one that is given": async ({ stand, bot }) => {
    const doors = { ...bot.doors(true), leaseMs: 3 * MINUTE, leases: { review: 25 * MINUTE } };
    const leaseOf = async (n: number, more: object): Promise<number> => {
      const answer = await stand.ledger.ask({ ask: askOf(n, more), doors });
      assert.equal(answer.kind, "admitted");
      return "entry" in answer ? (answer.entry?.leaseUntil ?? 0) - answer.now : 0;
    };
    assert.equal(await leaseOf(1, {}), 3 * MINUTE);
    assert.equal(await leaseOf(2, { kind: "review" }), 25 * MINUTE);
    assert.equal(await leaseOf(3, { kind: "review", leaseMs: 7 * MINUTE }), 7 * MINUTE);
  },

  "the same key is the same ask, live, queued and ended": async ({ bot }) => {
    await bot.admitted(askOf(1));
    await bot.ask(askOf(2), false);
    const again = async (ask: ReturnType<typeof askOf>): Promise<unknown> => {
      const answer = await bot.ask(ask);
      assert.equal(answer.kind, "known");
      return answer.kind === "known" ? [answer.id, answer.entry?.state, answer.position] : undefined;
    };
    assert.deepEqual(await again(askOf(1)), [askOf(1).id, "admitted", 0]);
    assert.deepEqual(await again(askOf(9, { key: "key-1" })), [askOf(1).id, "admitted", 0], "under another id");
    assert.deepEqual(await again(askOf(9, { id: askOf(2).id })), [askOf(2).id, "queued", 1], "under another key");
    await bot.say(askOf(1).id, "said-1", "steer");
    assert.deepEqual(await again(askOf(9, { key: "said-1" })), [askOf(1).id, "admitted", 0], "said to it before");
    await bot.progress(askOf(1).id, { delivered: 1 });
    await bot.end(askOf(1).id);
    for (const ask of [askOf(1), askOf(9, { key: "key-1" }), askOf(9, { key: "said-1" })])
      assert.deepEqual(await again(ask), [askOf(1).id, undefined, 0], "and once it has ended");
  },

  "a thread has one live run; what else is asked there waits behind it, as one ask": async ({ stand, bot }) => {
    const thread = { threadKey: "web:T" };
    await bot.admitted(askOf(1, thread));
    const second = await bot.ask(askOf(2, thread));
    assert.ok(second.kind === "queued" && second.behind === "thread" && second.position === 1);
    const third = await bot.ask(askOf(3, thread));
    assert.ok(third.kind === "added" && third.entry.ask.text === "ask 2\nask 3" && third.position === 1);
    assert.equal(await bot.dispatch(APP), null, "its thread is busy");
    await bot.end(askOf(1).id);
    assert.equal((await bot.dispatch(APP))?.ask.text, "ask 2\nask 3");
    assert.deepEqual(await statesOf(stand), ["ask-000002 admitted"]);
    const known = await bot.ask(askOf(3, thread));
    assert.ok(known.kind === "known" && known.id === askOf(2).id);
  },

  "a child of a live run waits for its thread alone, whatever is closed": async ({ bot }) => {
    const parent = askOf(1).id;
    await bot.ask(askOf(7, { threadKey: "web:T" }));
    await bot.admitted(askOf(1));
    assert.equal((await bot.ask(askOf(2, { parent }), false)).kind, "admitted");
    assert.equal((await bot.ask(askOf(3, { parent: "nobody-known" }), false)).kind, "queued");
    assert.equal((await bot.ask(askOf(4, { parent, threadKey: "web:T" }), false)).kind, "queued");
    assert.equal(await bot.dispatch(APP, false), null);
    await bot.end(askOf(7).id);
    assert.equal((await bot.dispatch(APP, false))?.ask.id, askOf(4).id, "its thread is free");
    assert.equal(await bot.dispatch(APP, false), null);
  },

  "a queued ask holds nothing, and a repository's queue goes in the order of arrival, each once": async ({
    stand,
    bot,
  }) => {
    for (const n of [1, 2, 3]) {
      const answer = await bot.ask(askOf(n), false);
      assert.ok(answer.kind === "queued" && answer.behind === "door" && answer.position === n);
      const { holder, heldUntil, admittedAt, leaseUntil, tries } = answer.entry;
      assert.deepEqual([holder, heldUntil, admittedAt, leaseUntil, tries], [0, 0, null, null, 0]);
    }
    await bot.ask(askOf(4, { resource: WEB }), false);
    assert.equal(await bot.dispatch(APP, false), null, "the door is closed");
    const late = await bot.ask(askOf(5));
    assert.ok(late.kind === "queued" && late.behind === "queue" && late.position === 4, "behind who came earlier");
    assert.deepEqual(
      await bot.dispatchAll(APP),
      [1, 2, 3, 5].map((n) => askOf(n).id),
    );
    assert.deepEqual(await bot.dispatchAll(WEB), [askOf(4).id]);
    assert.deepEqual(
      (await stand.ledger.entries()).entries.map(({ place }) => place),
      [1, 2, 3, 4, 5],
    );
  },

  "a newcomer waits behind whoever stands at the door, and a part of a run in flight behind a door that refuses it":
    async ({ stand, bot }) => {
      const ask = async (of: Ask, more: Partial<Doors>): Promise<string> => {
        const answer = await stand.ledger.ask({ ask: of, doors: bot.doors(more.open ?? true, more) });
        return answer.kind === "queued" ? `queued behind the ${answer.behind}` : answer.kind;
      };
      const { id } = (await bot.admitted(askOf(1))).ask;
      assert.equal(await ask(askOf(2), { passed: [] }), "queued behind the queue");
      const next = async (more: Partial<Doors>): Promise<string | undefined> =>
        (await stand.ledger.dispatch({ resource: APP, doors: bot.doors(more.open ?? true, more) })).entry?.ask.id;
      assert.equal(await next({ passed: [] }), undefined);
      assert.equal(await next({ passed: [id] }), askOf(2).id);
      const child = askOf(3, { parent: id });
      assert.equal(await ask(child, { open: false, passesChild: false }), "queued behind the door");
      assert.equal(await next({ open: false, passesChild: false }), undefined);
      assert.equal(await next({ open: false, passesChild: true }), child.id);
      const newer = await Bot.begin(stand.ledger);
      assert.equal((await newer.ask(askOf(4))).kind, "queued", "nobody knows whether they are past the door");
    },

  "a stop that has ended an ask which waited is known": async ({ bot }) => {
    const { id } = askOf(1);
    await bot.ask(askOf(1), false);
    const ended = await bot.say(id, "stop-1", "stop", "");
    assert.deepEqual(
      [ended.kind, ended.entry?.messages.map(({ key, kind }) => [key, kind])],
      ["ended", [["stop-1", "stop"]]],
    );
    assert.equal((await bot.say(id, "stop-1", "stop", "")).kind, "known");
    assert.equal((await bot.say(id, "stop-2", "stop", "")).kind, "over");
  },

  "many who ask for the next at once get each ask once, in order": async ({ bot }) => {
    for (let n = 1; n <= 12; n += 1) await bot.ask(askOf(n), false);
    const taken = await Promise.all(Array.from({ length: 20 }, () => bot.dispatch(APP)));
    const ids = taken.flatMap((entry) => (entry === null ? [] : [entry.ask.id]));
    assert.deepEqual(
      ids.toSorted(),
      Array.from({ length: 12 }, (_, n) => askOf(n + 1).id),
    );
  },

  "many who ask under one key at once are one ask": async ({ stand, bot }) => {
    const asked = await Promise.all([1, 2, 3, 4, 5].map((n) => bot.ask(askOf(n, { key: "one" }))));
    assert.deepEqual(asked.map(({ kind }) => kind).toSorted(), ["admitted", "known", "known", "known", "known"]);
    assert.equal((await stand.ledger.entries()).entries.length, 1);
  },

  "an ask that waits is told once under a drain, and once under the next": async ({ stand, bot }) => {
    const { id } = askOf(1);
    await bot.ask(askOf(1), false);
    const toldOf = async (drainId: string): Promise<unknown> => {
      await stand.ledger.told({ id, generation: bot.generation, drainId });
      return (await stand.ledger.entries()).entries[0]?.toldOf;
    };
    assert.deepEqual(
      [await toldOf("drain-a"), await toldOf("drain-a"), await toldOf("drain-b")],
      ["drain-a", "drain-a", "drain-b"],
    );
    await bot.say(id, "stop-1", "stop");
    await stand.ledger.told({ id, generation: bot.generation, drainId: "drain-c" });
    assert.equal(
      await codeOf(stand.ledger.told({ id: "nobody-known", generation: bot.generation, drainId: "drain-c" })),
      "NO_SUCH_RUN",
    );
  },

  "an ask keeps which drain it met last, also in the history": async ({ stand, bot }) => {
    const { id } = askOf(1);
    const { generation } = bot;
    const met = async (): Promise<unknown> => (await stand.ledger.run(id)).entry.metDrain;
    await stand.ledger.ask({ ask: askOf(1), doors: { ...bot.doors(false), closedBy: "drain-a" } });
    assert.equal(await met(), "drain-a");
    await bot.dispatch(APP);
    await stand.ledger.giveBack({ id, generation, closedBy: "drain-b" });
    assert.equal(await met(), "drain-b");
    await stand.ledger.told({ id, generation, drainId: "drain-c" });
    await bot.say(id, "stop-1", "stop");
    assert.equal(await met(), "drain-c");
  },

  "a run that meets a closed door waits again at its old place, without a lease": async ({ bot }) => {
    for (const n of [1, 2]) await bot.ask(askOf(n), false);
    await bot.dispatch(APP);
    const back = await bot.giveBack(askOf(1).id);
    const { state, place, holder, leaseUntil, admittedAt, tries } = back.entry;
    assert.deepEqual([back.kind, back.position], ["queued", 1]);
    assert.deepEqual([state, place, holder, leaseUntil, admittedAt, tries], ["queued", 1, 0, null, null, 0]);
    const again = await bot.giveBack(askOf(1).id);
    assert.deepEqual({ ...again, now: 0 }, { ...back, now: 0 }, "twice is once");
    assert.deepEqual(
      await bot.dispatchAll(APP),
      [1, 2].map((n) => askOf(n).id),
    );
    await bot.progress(askOf(1).id);
    assert.equal(await codeOf(bot.giveBack(askOf(1).id)), "RUN_NOT_HELD", "one that runs is past the door");
    assert.equal(await codeOf(bot.giveBack("nobody-known")), "NO_SUCH_RUN");
  },

  "what was said to a run before it came back is told in its order, and a stop ends it": async ({ stand, bot }) => {
    const { id } = askOf(1);
    await bot.admitted(askOf(1));
    await bot.say(id, "said-1", "steer", "first");
    await bot.giveBack(id);
    await bot.say(id, "said-2", "followUp", "second");
    const entry = await bot.dispatch(APP);
    assert.deepEqual([entry?.ask.text, entry?.delivered], ["ask 1\nfirst\nsecond", 2]);
    await bot.say(id, "said-3", "stop");
    const ended = await bot.giveBack(id);
    assert.deepEqual([ended.kind, ended.position], ["ended", 0]);
    assert.equal((await bot.giveBack(id)).kind, "ended", "twice is once");
    assert.equal((await stand.ledger.run(id)).ended?.verdict.ending, "stopped");
    assert.deepEqual(await statesOf(stand), []);
  },

  "a body that does not fit is refused by its field and changes nothing": async ({ stand, bot }) => {
    const fieldOf = async (ask: object, doors: object = {}): Promise<unknown> => {
      const body = { ask: { ...askOf(1), ...ask }, doors: { ...bot.doors(true), ...doors } };
      return (await refusal(stand.ledger.ask(body))).field;
    };
    assert.equal(await fieldOf({ id: "x" }), "ask.id");
    assert.equal(await fieldOf({ key: "" }), "ask.key");
    assert.equal(await fieldOf({ resource: "app" }), "ask.resource");
    assert.equal(await fieldOf({ threadKey: "a b" }), "ask.threadKey");
    assert.equal(await fieldOf({ kind: "Shell" }), "ask.kind");
    assert.equal(await fieldOf({ text: "" }), "ask.text");
    assert.equal(await fieldOf({ leaseMs: 0 }), "ask.leaseMs");
    assert.equal(await fieldOf({ ref: "--upload-pack=x" }), "ask.ref");
    assert.equal(await fieldOf({}, { generation: 0 }), "doors.generation");
    assert.equal(await fieldOf({}, { leaseMs: 1.5 }), "doors.leaseMs");
    assert.deepEqual(await statesOf(stand), []);
  },
};
