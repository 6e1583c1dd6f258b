// The bot's door on real processes: closed by its copy of a deploy's drain it answers a new ask at once and queues it, lets
// what is said to a run pass, and opens by a lift or, its deployer dead, by itself; what waited starts in order of arrival.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, test } from "node:test";
import { CLOCK, REAL } from "#core/budgets.ts";
import { isSameProcess } from "#node/processes.ts";
import { messageAnswerSchema, type ToldCard } from "#wire/bot.ts";
import { problemSchema } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { BotStack } from "./botStack.ts";
import { eventually } from "./hostStack.ts";

const SCALE = 60;
const stack = new BotStack(SCALE);
let app = "";

before(async () => {
  await stack.up();
  app = await stack.onboard("app");
});

const cue = (name: string): string => join(stack.home, `${name}.cue`);

/** An ask that works until its cue, and says then what was said to it. */
const works = (name: string) =>
  stack.bot.ask({
    key: name,
    resource: app,
    text: `until [ -e '${cue(name)}' ]; do sleep 0.02; done; cat "$TIDEGATE_INBOX"`,
  });

const quick = (key: string) => stack.bot.ask({ key, resource: app, text: "true" });

const running = (id: string) =>
  eventually("it runs", async () => ((await stack.ledger.run(id)).entry.reading === null ? undefined : true));

const ended = (id: string) =>
  eventually("it has ended", async () => {
    const run = await stack.ledger.run(id);
    return run.ended === null ? undefined : run;
  });

/** Every card from behind this one until `enough`; cut once in between, and resumed by the id of the last. */
async function cardsUntil(after: string, enough: (cards: readonly ToldCard[]) => boolean): Promise<ToldCard[]> {
  const told: ToldCard[] = [];
  let [last, cut] = [after, false];
  while (!enough(told))
    for await (const { id, data } of stack.bot.events(last)) {
      told.push(data);
      last = id ?? last;
      if (enough(told) || (!cut && (cut = told.length > 3))) break;
    }
  return told;
}

/** The number of the newest card. */
async function newest(): Promise<string> {
  return String((await stack.ledger.cards({})).cards.at(-1)?.n ?? 0);
}

test("closed, it queues and answers at once; a steer passes; opened, the queue goes in the order of arrival", async () => {
  const { id: worker, kind } = await works("works");
  assert.equal(kind, "admitted");
  await running(worker);
  const from = await newest();
  const deploy = await stack.deploying("door-1");
  const keys = Array.from({ length: 6 }, (_, n) => `waits-${n + 1}`);
  const ids: string[] = [];
  for (const [n, key] of keys.entries()) {
    const answer = await quick(key);
    assert.deepEqual([answer.kind, answer.position, answer.waitingFor], ["queued", n + 1, ["deploy"]]);
    assert.match(answer.says, new RegExp(`^deploy pending, \\d+ minutes? · place ${n + 1}$`));
    assert.deepEqual([answer.card.by, answer.card.reason], ["a test", "a test rolls the bot"]);
    ids.push(answer.id);
  }
  const health = await stack.bot.health();
  assert.deepEqual([health.draining?.id, health.inFlight, health.queued], ["door-1", 1, keys.length]);
  assert.equal((await quick(keys[0] ?? "")).kind, "known", "asked twice is asked once");
  assert.equal((await stack.bot.steer(worker, { key: "go", text: "go on" })).kind, "taken");
  await eventually("it has reached the run", async () =>
    (await stack.bot.run(worker)).messages.some(({ reached }) => reached) ? true : undefined,
  );
  const [third = ""] = ids.splice(2, 1);
  assert.equal((await stack.bot.stop(third, "stop-3")).kind, "ended");
  assert.equal((await stack.bot.run(ids[2] ?? "")).card.position, 3, "its place is free");
  writeFileSync(cue("works"), "");
  assert.equal((await ended(worker)).ended?.verdict.ending, "finished");
  assert.match(Buffer.from((await stack.ledger.outputFrom({ id: worker })).data, "base64").toString(), /go on/);
  await eventually("quiet", async () => ((await stack.bot.health()).inFlight === 0 ? true : undefined));
  await deploy.lift();
  const isEnded = ({ card }: ToldCard): boolean => card.state === "ended";
  const cards = await cardsUntil(from, (told) => told.filter(isEnded).length === ids.length + 2);
  const attaching = cards.filter(({ card }) => card.state === "attaching").map(({ card }) => card.id);
  assert.deepEqual(attaching, ids, "in the order of arrival, each once");
  const ends = cards.filter(isEnded).map(({ card }) => [card.id, card.verdict?.ending]);
  assert.deepEqual(
    new Map(ends.map(([id, ending]) => [id, ending])),
    new Map([[worker, "finished"], [third, "stopped"], ...ids.map((id) => [id, "finished"] as const)]),
  );
  for (const { card, says } of cards)
    if (card.state === "running") assert.match(says, /after waiting \d+s for the resident/);
  for (const id of [...ids, third])
    assert.ok(
      (await stack.ledger.run(id)).notes.some(({ kind }) => kind === "drain_wait"),
      id,
    );
});

test("the copy of a deployer that died falls within the pulse bound, and so does the fleet's drain", async () => {
  const deploy = await stack.deploying("door-2");
  const { id, kind } = await quick("after a death");
  assert.equal(kind, "queued");
  deploy.die();
  const diedAt = stack.now();
  const { entry } = await ended(id);
  const waited = (entry.admittedAt ?? 0) - diedAt;
  assert.ok(waited > CLOCK.pulseBoundMs / 2 && waited < 2 * CLOCK.pulseBoundMs, `it waited for ${waited} ms`);
  assert.equal((await stack.bot.health()).draining, null);
});

/** A request on a connection of its own, as of somebody who was not here before. */
async function stranger(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
  const headers = { authorization: `Bearer ${stack.bearer("operator")}`, "content-type": "application/json" };
  const wishes = { method: "POST", agent: false, headers, timeout: REAL.connectMs } as const;
  const asked = request(`${stack.botUrl}${path}`, wishes, (answer) => {
    text(answer).then((said) => resolve({ status: answer.statusCode ?? 0, body: jsonOf(said) }), reject);
  });
  asked.once("error", reject).once("timeout", () => asked.destroy(new Error("nobody answers")));
  asked.end(JSON.stringify(body));
  return promise;
}

test("a bot that ends waits for its run, hears what is said to that meanwhile, and takes no ask", async () => {
  const { id } = await works("lasts");
  await running(id);
  const bot = await stack.theBot();
  const deploy = await stack.deploying("door-3");
  const rolling = stack.roll("bot", deploy.id);
  await eventually("it ends", async () => ((await stack.bot.health()).rolling ? true : undefined));
  const said = await stranger(`/runs/${id}/steer`, { key: "late", text: "while it ends" });
  assert.deepEqual([said.status, messageAnswerSchema.parse(said.body).kind], [200, "taken"]);
  const asked = await stranger("/asks", { key: "too late", resource: app, text: "true" });
  assert.deepEqual([asked.status, problemSchema.parse(asked.body).code], [503, "ROLLING"]);
  assert.ok(isSameProcess(bot));
  await eventually("it has reached the run", async () =>
    (await stack.ledger.run(id)).entry.delivered > 0 ? true : undefined,
  );
  writeFileSync(cue("lasts"), "");
  assert.equal((await rolling).outcome, "landed");
  assert.equal((await ended(id)).ended?.verdict.ending, "finished");
  assert.match(Buffer.from((await stack.ledger.outputFrom({ id })).data, "base64").toString(), /while it ends/);
  await deploy.lift();
});
