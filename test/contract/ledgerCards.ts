// The contract of cards: numbered in the order of their changes, each change once, so that whoever follows them resumes
// where it stood, also over a new process.

import assert from "node:assert/strict";
import type { CardEvent } from "#core/card.ts";
import { LIMIT } from "#core/budgets.ts";
import { askOf, codeOf, FINISHED, refusal, type Bot, type Contract, type Stand } from "./ledgerStand.ts";

const { id, resource, threadKey } = askOf(1);

const cardOf = (more: Partial<CardEvent> = {}): CardEvent => ({
  id,
  resource,
  threadKey,
  state: "queued",
  since: 1_000,
  bound: 9_000,
  cause: "deploy",
  position: 1,
  quietBy: null,
  askedAt: 1_000,
  waitedMs: null,
  by: "ci",
  reason: "deploy 7b02d9e",
  verdict: null,
  ...more,
});

const told = ({ stand, bot }: { readonly stand: Stand; readonly bot: Bot }, event: CardEvent) =>
  stand.ledger.card({ id: event.id, generation: bot.generation, event });

/** Cards are held to this. */
export const CARDS: Contract = {
  "a card is kept at each change, and told twice it is one": async (at) => {
    const { stand, bot } = at;
    await bot.ask(askOf(1), false);
    assert.equal((await stand.ledger.run(id)).card, null);
    const first = await told(at, cardOf());
    assert.equal((await told(at, cardOf())).n, first.n, "twice is once");
    const second = await told(at, cardOf({ state: "running", cause: null }));
    const third = await told(at, cardOf());
    assert.ok(first.n < second.n && second.n < third.n, "what it said before the last change is a change again");
    const { cards } = await stand.ledger.cards();
    assert.deepEqual(cards, [
      { n: first.n, event: cardOf() },
      { n: second.n, event: cardOf({ state: "running", cause: null }) },
      { n: third.n, event: cardOf() },
    ]);
    assert.deepEqual((await stand.ledger.run(id)).card, cardOf());
  },

  "who follows cards goes on behind the last one, also over a new process": async (at) => {
    const { stand, bot } = at;
    for (const n of [1, 2]) await bot.ask(askOf(n), false);
    const ns: number[] = [];
    for (let n = 1; n <= 5; n += 1) {
      const other = askOf(1 + (n % 2));
      const { n: one } = await told(at, cardOf({ id: other.id, threadKey: other.threadKey, position: n }));
      ns.push(one);
    }
    const after = async (query: object): Promise<unknown[]> =>
      (await stand.ledger.cards(query)).cards.map(({ n, event }) => [n, event.position]);
    const all = ns.map((n, place) => [n, place + 1]);
    assert.deepEqual(await after({ after: 0 }), all);
    assert.deepEqual(await after({ after: ns[1] ?? 0, limit: 2 }), all.slice(2, 4));
    assert.deepEqual(await after({ limit: 2 }), all.slice(3), "a new one begins with the newest");
    assert.deepEqual(await after({ after: ns[4] ?? 0 }), []);
    await stand.restart();
    assert.deepEqual(await after({ after: ns[2] ?? 0 }), all.slice(3));
    assert.ok((await told(at, cardOf({ position: 9 }))).n > (ns[4] ?? 0));
  },

  "the card of an ask that has ended is kept; of one that nobody asked it is refused": async (at) => {
    const { stand, bot } = at;
    await bot.admitted(askOf(1));
    await bot.end(id);
    const over = cardOf({ state: "ended", cause: null, verdict: FINISHED });
    await told(at, over);
    assert.deepEqual((await stand.ledger.run(id)).card, over);
    assert.equal(await codeOf(told(at, cardOf({ id: "nobody-known" }))), "NO_SUCH_RUN");
    const others = { id, generation: bot.generation, event: cardOf({ id: askOf(2).id }) };
    assert.equal((await refusal(stand.ledger.card(others))).field, "event.id");
    assert.equal((await refusal(stand.ledger.cards({ limit: LIMIT.rowsAPage + 1 }))).field, "limit");
    await stand.ledger.begin("another bot");
    assert.equal(await codeOf(told(at, cardOf())), "FENCED");
  },

  "a card that comes late, behind the end, changes nothing": async (at) => {
    const { stand, bot } = at;
    await bot.admitted(askOf(1));
    assert.equal((await told(at, cardOf())).n, 1);
    await bot.end(id);
    assert.equal((await told(at, cardOf({ state: "running", cause: null }))).n, 1);
    const over = cardOf({ state: "ended", cause: null, verdict: FINISHED });
    const { n } = await told(at, over);
    assert.equal((await told(at, cardOf({ position: 2 }))).n, n);
    assert.deepEqual((await stand.ledger.run(id)).card, over);
  },

  "of whose end no card tells is in the history's untold pages, whoever ended it": async (at) => {
    const { stand, bot } = at;
    for (const n of [1, 2, 3]) await bot.ask(askOf(n), n !== 3);
    await bot.end(id);
    await bot.end(askOf(2).id);
    await bot.say(askOf(3).id, "stop-3", "stop");
    const untold = async (more: object = {}): Promise<string[]> =>
      (await stand.ledger.history({ untold: "1", ...more })).runs.map((row) => row.id);
    assert.deepEqual(await untold(), [askOf(3).id, askOf(2).id, id]);
    const first = await stand.ledger.history({ untold: "1", limit: 2 });
    assert.deepEqual(await untold({ before: first.next }), [id]);
    const over = { state: "ended", cause: null, verdict: FINISHED } as const;
    await told(at, cardOf({ ...over, id: askOf(2).id, threadKey: askOf(2).threadKey }));
    await told(at, cardOf());
    assert.deepEqual(await untold(), [askOf(3).id, id]);
    await stand.restart();
    assert.deepEqual(await untold({ resource: askOf(3).resource }), [askOf(3).id, id]);
    await told(at, cardOf(over));
    await told(at, cardOf({ ...over, id: askOf(3).id, threadKey: askOf(3).threadKey }));
    assert.deepEqual(await untold(), []);
    assert.equal((await stand.ledger.history()).runs.length, 3);
  },

  "many words are heard in order, each judged as alone, and none of a bot that was replaced": async ({
    stand,
    bot,
  }) => {
    const { generation } = bot;
    await bot.ask(askOf(1), false);
    const noted = { word: "note", id, kind: "drain_wait", text: "waited", ms: 5 } as const;
    const words = [
      { word: "card", event: cardOf() },
      { word: "told", id: "nobody-known", drainId: "drain-1" },
      { word: "card", event: cardOf({ position: 2 }) },
      noted,
      noted,
      { word: "told", id, drainId: "drain-1" },
    ] as const;
    const { refused } = await stand.ledger.words({ generation, first: 1, words: [...words] });
    assert.deepEqual(
      refused.map(({ at, problem }) => [at, problem.code]),
      [[1, "NO_SUCH_RUN"]],
    );
    const run = await stand.ledger.run(id);
    assert.deepEqual([run.card?.position, run.notes.length, run.entry.toldOf], [2, 1, "drain-1"]);
    const tooMany = Array.from({ length: LIMIT.wordsAtOnce + 1 }, () => noted);
    assert.equal((await refusal(stand.ledger.words({ generation, first: 7, words: tooMany }))).field, "words");
    await stand.ledger.begin("another bot");
    assert.equal(await codeOf(stand.ledger.words({ generation, first: 7, words: [noted] })), "FENCED");
  },

  "what a bot says again is heard once, and the next one counts anew": async ({ stand, bot }) => {
    const { generation } = bot;
    await bot.ask(askOf(1), false);
    const first = [cardOf(), cardOf({ position: 2 })].map((event) => ({ word: "card", event }) as const);
    const again = { generation, first: 1, words: [...first] };
    await stand.ledger.words(again);
    await stand.ledger.words(again);
    await stand.restart();
    const more = { word: "card", event: cardOf({ position: 3 }) } as const;
    await stand.ledger.words({ ...again, words: [...first, more] });
    await stand.ledger.words(again);
    const positions = async (): Promise<unknown[]> =>
      (await stand.ledger.cards()).cards.map(({ event }) => event.position);
    assert.deepEqual(await positions(), [1, 2, 3]);
    const next = await stand.ledger.begin("another bot");
    await stand.ledger.words({ generation: next.generation, first: 1, words: [{ word: "card", event: cardOf() }] });
    assert.deepEqual(await positions(), [1, 2, 3, 1]);
  },
};
