// Who waited, as a receipt says it: at the fleet's door by the registry, in the bot's queue by the bot, nobody twice, and each
// to the reopening or until it left.

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import type { Steps } from "#core/rolloutState.ts";
import { MINUTE } from "#core/time.ts";
import type { QueuedAsk, QueuedUnder } from "#wire/bot.ts";
import type { ReceiptAsk } from "#wire/receipt.ts";
import { ends, rehearse, viewed, type Rehearsed, type Script } from "#deploy/deployForTests.ts";
import { auditOf, drainOf, entryOf, reconciledOf, reconciling, T0 } from "#deploy/recordsForTests.ts";
import type { Performed, Seen } from "#deploy/port.ts";

const SAMPLE = "repo:local/sample";
const BOT: Steps = { parts: ["bot"], waits: true, resident: false };

const askOf = (id: string, askedAt: number, more: Partial<QueuedAsk> = {}): QueuedAsk => {
  const whose = { resource: SAMPLE, threadKey: `web:${id}`, by: "lee", cause: "deploy" } as const;
  return { id, ...whose, askedAt, leftAt: null, ended: false, ...more };
};
const told = (asks: readonly QueuedAsk[], total = asks.length): Seen => ({
  kind: "asksQueued",
  queued: { asks: [...asks], total },
});

/** What the bot says as it is closed, at each pulse and as it is opened; what it does not say is the last word again. */
interface Words {
  readonly drain?: Seen;
  readonly lift?: Seen;
  readonly held?: readonly string[];
}

function scriptOf({ drain, lift, held = [] }: Words): NonNullable<Script["facts"]> {
  const closing = ({ drainId }: { drainId: string }, now: number): Performed => ({
    fact: { kind: "drained", drain: drainOf(drainId, now) },
    seen: drain === undefined ? [] : [drain],
  });
  const opening = (_: unknown, now: number): Performed => ({
    fact: { kind: "lifted", held, leftMs: 0 },
    seen: [...(lift === undefined ? [] : [lift]), { kind: "lifted", at: now, remaining: [] }],
  });
  return { drain: [closing], lift: [opening] };
}

const deployed = (context: TestContext, words: Words, more: Script["facts"] = {}): Promise<Rehearsed> =>
  rehearse(context, { steps: BOT, hasBot: true, facts: { ...scriptOf(words), ...more } });

function asksIn({ receipt: { queued } }: Rehearsed): readonly ReceiptAsk[] {
  assert.ok(queued !== null && queued !== "unknown");
  return queued.asks;
}

const reopenedAt = ({ receipt }: Rehearsed): number => {
  const at = receipt.reopened?.at;
  assert.ok(typeof at === "number");
  return at;
};
const closedAt = ({ receipt }: Rehearsed): number => receipt.closed?.since ?? Number.NaN;

test("who waited in the bot's queue is named with its wait, from its ask or the closing on, to the reopening", async (context) => {
  const asked = T0 + 200;
  const done = await deployed(context, {
    drain: told([askOf("a1", T0 - MINUTE)]),
    lift: told([askOf("a1", T0 - MINUTE), askOf("a2", asked, { cause: "thread" })]),
  });
  const [one, two] = asksIn(done);
  assert.ok(reopenedAt(done) > asked);
  const whose = { resource: SAMPLE, by: "lee", how: "queued" } as const;
  assert.deepEqual(one, {
    ...whose,
    id: "a1",
    threadKey: "web:a1",
    cause: "deploy",
    askedAt: T0 - MINUTE,
    since: closedAt(done),
    waitedMs: reopenedAt(done) - closedAt(done),
  });
  assert.deepEqual([two?.id, two?.cause, two?.since, two?.waitedMs], ["a2", "thread", asked, reopenedAt(done) - asked]);
  assert.deepEqual(done.receipt.waited, []);
  ends(done, "deployed", 0);
});

test("whoever left the queue before waited until then; one that is not known any more left, nobody says how", async (context) => {
  const at = T0 + 250;
  const done = await deployed(context, {
    drain: told([askOf("stopped", T0), askOf("begun", T0 + 150), askOf("lost", T0 + 160)]),
    lift: told([
      askOf("stopped", T0, { leftAt: at, ended: true }),
      askOf("begun", T0 + 150, { leftAt: at }),
      askOf("late", at),
    ]),
  });
  assert.deepEqual(
    asksIn(done).map(({ id, how, waitedMs }) => [id, how, waitedMs]),
    [
      ["stopped", "ended", at - closedAt(done)],
      ["begun", "started", at - T0 - 150],
      ["lost", "unknown", "unknown"],
      ["late", "queued", reopenedAt(done) - at],
    ],
  );
});

test("a bot that could not be opened has told who waited before; one that never did leaves it unknown", async (context) => {
  const nothing: Seen = { kind: "asksQueued", queued: null };
  const before = await deployed(context, { drain: told([askOf("a1", T0)]), lift: nothing });
  assert.deepEqual(
    asksIn(before).map(({ id, waitedMs }) => [id, waitedMs]),
    [["a1", reopenedAt(before) - closedAt(before)]],
  );
  const older = await deployed(context, { drain: nothing, lift: nothing });
  assert.equal(older.receipt.queued, "unknown");
  assert.equal((await rehearse(context)).receipt.queued, null, "where no bot's door was closed");
});

test("whoever is sent back from the fleet's door to the queue is named once", async (context) => {
  const look = viewed([]);
  const waiting = ["a1", "r1"].map((runId) => ({ runId, resource: SAMPLE, threadKey: `web:${runId}`, since: T0 }));
  const seen = (look.seen ?? []).map((one) =>
    one.kind === "residents" ? { ...one, residents: { ...one.residents, waiting } } : one,
  );
  const queue = told([askOf("a1", T0)]);
  for (const words of [{ drain: queue, lift: queue }, { drain: queue }, { lift: queue }]) {
    const done = await deployed(context, words, { look: [{ ...look, seen }] });
    const { waited } = done.receipt;
    assert.ok(waited !== "unknown");
    assert.deepEqual([waited.map((one) => one.runId), asksIn(done).map(({ id }) => id)], [["r1"], ["a1"]]);
  }
});

test("so many are named, the first that came, and how many more is said", async (context) => {
  const all = Array.from({ length: LIMIT.queuedNamed + 4 }, (_, n) => askOf(`a${n}`, T0 + n));
  const capped = (asks: readonly QueuedAsk[]): Seen => told(asks.slice(0, LIMIT.queuedNamed), asks.length);
  const more = async (words: Words): Promise<unknown> => {
    const { queued } = (await deployed(context, words)).receipt;
    assert.ok(queued !== null && queued !== "unknown");
    return [queued.asks.length, queued.asks[0]?.id, queued.more, queued.asks.some(({ how }) => how !== "queued")];
  };
  assert.deepEqual(await more({ drain: capped(all), lift: capped(all.slice(2)) }), [LIMIT.queuedNamed, "a0", 4, false]);
  assert.deepEqual(await more({ drain: told([]), lift: capped(all) }), [LIMIT.queuedNamed, "a0", 4, false]);
});

test("an ask of a resident that is held waits to the end of its hold", async (context) => {
  const at = T0 + 5 * MINUTE;
  const queue: QueuedUnder = { asks: [askOf("a1", T0)], total: 1 };
  const freed = auditOf("freed", at, { drainId: "d1d1d1d1", resource: SAMPLE, cause: "reported" });
  const done = await rehearse(context, {
    facts: {
      ...scriptOf({ lift: { kind: "asksQueued", queued: queue }, held: [SAMPLE] }),
      reconcile: [(_, now) => reconciling(reconciledOf(now, [entryOf(SAMPLE, { state: "asked" })], [SAMPLE]))],
    },
    audit: [freed],
  });
  assert.deepEqual(
    asksIn(done).map(({ id, waitedMs }) => [id, waitedMs]),
    [["a1", at - closedAt(done)]],
  );
});
