// The bot's door from outside: the copy of a deploy's drain, what is counted as queued, and who waits under which drain.

import assert from "node:assert/strict";
import { test } from "node:test";
import { REAL } from "#core/budgets.ts";
import { botDrainAnswerSchema, botHealthSchema, botUndrainAnswerSchema } from "#wire/bot.ts";
import { problemSchema, type Problem } from "#wire/errors.ts";
import { asked, born, request, World, type Asking, type Living } from "../botForTests.ts";

const DEPLOY = { id: "deploy-1", minutes: 65, by: "ci", reason: "deploy c2", deploy: true };

async function refused(living: Living, way: string, asking: Asking): Promise<Problem> {
  return problemSchema.parse(await (await request(living, way, asking)).json());
}

test("the copy of a deploy's drain: taken, renewed, shown, lifted; what it is refused for", async () => {
  const world = new World();
  const living = await born(world);
  const body = DEPLOY;
  const post = (path: string, given: object, as: "drain" | "admin" = "drain"): Promise<Response> =>
    request(living, `POST ${path}`, { body: given, as });
  assert.equal(botDrainAnswerSchema.parse(await (await post("/drain", body)).json()).kind, "created");
  assert.equal(botDrainAnswerSchema.parse(await (await post("/drain", body)).json()).kind, "renewed");
  const health = async () => botHealthSchema.parse(await (await request(living, "GET /healthz", { as: null })).json());
  const { draining, held, inFlight, queued, rolling, generation, number } = await health();
  assert.deepEqual(
    [draining?.id, draining?.principal, held, inFlight, queued, rolling],
    ["deploy-1", "drain", [], 0, 0, false],
  );
  assert.deepEqual([generation, number], [7, 1]);
  assert.equal(
    (await refused(living, "POST /drain", { as: "drain", body: { ...body, id: "deploy-2" } })).code,
    "DEPLOY_IN_PROGRESS",
  );
  assert.equal(
    (await refused(living, "POST /drain", { as: "drain", body: { ...body, minutes: 91 } })).field,
    "minutes",
  );
  await asked(living, "one");
  await world.clock.settle();
  assert.equal((await health()).queued, 1);
  assert.equal(
    (await refused(living, "POST /undrain", { as: "drain", body: { id: "deploy-1", force: true } })).code,
    "BEYOND_SCOPE",
  );
  assert.equal(botUndrainAnswerSchema.parse(await (await post("/undrain", { id: "deploy-1" })).json()).kind, "lifted");
  assert.equal(botUndrainAnswerSchema.parse(await (await post("/undrain", { id: "deploy-1" })).json()).kind, "already");
  assert.equal((await refused(living, "POST /drain", { as: "drain", body })).code, "DRAIN_OVER");
  await post("/drain", { ...body, id: "deploy-3" });
  assert.equal(
    botUndrainAnswerSchema.parse(await (await post("/undrain", { force: true }, "admin")).json()).kind,
    "lifted",
  );
  assert.equal((await health()).draining, null);
  assert.equal(
    botUndrainAnswerSchema.parse(await (await post("/undrain", { force: true }, "admin")).json()).kind,
    "already",
  );
});

test("inv. 13: no bearer closes the bot by a drain that is no deploy's, since nothing but its own end would open it", async () => {
  const living = await born(new World());
  const { deploy: _, ...unsaid } = DEPLOY;
  for (const body of [{ ...DEPLOY, deploy: false }, unsaid])
    for (const as of ["drain", "admin"] as const) {
      const { code, field } = await refused(living, "POST /drain", { as, body });
      assert.deepEqual([code, field], ["BAD_FIELD", "deploy"]);
    }
  const health = botHealthSchema.parse(await (await request(living, "GET /healthz")).json());
  assert.equal(health.draining, null);
});

test("an ask that is answered queued is counted from that moment, whatever a look is about", async () => {
  const world = new World();
  const living = await born(world);
  await request(living, "POST /drain", { body: DEPLOY, as: "drain" });
  await world.clock.settle();
  const queued = async () => botHealthSchema.parse(await (await request(living, "GET /healthz")).json()).queued;
  const real = world.ledger.entries.bind(world.ledger);
  let answer = (): void => undefined;
  world.ledger.entries = async () => {
    const entries = await real();
    await new Promise<void>((resolve) => (answer = resolve));
    return entries;
  };
  living.bot.queue.poke();
  await world.clock.settle();
  assert.equal((await asked(living, "one")).kind, "queued");
  assert.equal(await queued(), 1, "the look that is under way knows nothing of it");
  world.ledger.entries = real;
  answer();
  assert.equal((await asked(living, "two")).kind, "queued");
  assert.equal(await queued(), 2);
  await world.clock.settle();
  assert.equal(await queued(), 2);
});

test("the door's answers name who waits under the drain, and its lift who has waited, also over a roll", async () => {
  const world = new World();
  const first = await born(world);
  const drain = async (living: Living) =>
    botDrainAnswerSchema.parse(await (await request(living, "POST /drain", { body: DEPLOY, as: "drain" })).json());
  const { queued: none } = await drain(first);
  assert.deepEqual(none, { asks: [], total: 0 });
  world.server.drain("deploy-1", 65, true);
  const ids = [(await asked(first, "one", { by: "lee", threadKey: "web:T1" })).id, (await asked(first, "two")).id];
  const { queued } = await drain(first);
  assert.deepEqual(
    queued?.asks.map(({ id }) => id),
    ids,
  );
  const [one] = queued?.asks ?? [];
  const whose = { id: ids[0], resource: "repo:local/app", threadKey: "web:T1", by: "lee", cause: "deploy" };
  assert.deepEqual(one, { ...whose, askedAt: world.clock.now(), leftAt: null, ended: false });
  await world.clock.settle();
  first.life.kill();
  const second = await born(world);
  await world.clock.settle();
  ids.push((await asked(second, "three")).id);
  await request(second, `POST /runs/${ids[1] ?? ""}/stop`, { body: { key: "stop" } });
  await world.clock.settle();
  world.server.lift("deploy-1");
  await world.clock.settle();
  const undrained = await request(second, "POST /undrain", { body: { id: "deploy-1" }, as: "drain" });
  const lifted = botUndrainAnswerSchema.parse(await undrained.json()).queued;
  const now = world.clock.now();
  assert.deepEqual(
    lifted?.asks.map(({ id, leftAt, ended }) => [id, leftAt, ended]),
    [
      [ids[0], now, false],
      [ids[1], now, true],
      [ids[2], now, false],
    ],
    "those who left before the lift was told too",
  );
});

test("a bot that is opened before it has read its queue reads it first", async () => {
  const world = new World();
  const first = await born(world);
  world.server.drain("deploy-1", 65, true);
  await world.clock.settle();
  const { id } = await asked(first, "one");
  await world.clock.settle();
  first.life.kill();
  const real = world.ledger.entries.bind(world.ledger);
  let read = (): void => undefined;
  world.ledger.entries = async () => {
    await new Promise<void>((resolve) => (read = resolve));
    return real();
  };
  const second = await born(world);
  world.server.lift("deploy-1");
  await world.clock.settle();
  const answering = request(second, "POST /undrain", { body: { id: "deploy-1" }, as: "drain" });
  await world.clock.settle();
  read();
  const { queued } = botUndrainAnswerSchema.parse(await (await answering).json());
  assert.deepEqual(
    queued?.asks.map((one) => one.id),
    [id],
  );
});

test("a lift is answered by a bot whose ledger is silent", async () => {
  const world = new World();
  const never = new Promise<never>(() => undefined);
  world.ledger.entries = () => never;
  const living = await born(world);
  const answering = request(living, "POST /undrain", { body: { id: "deploy-1" }, as: "drain" });
  await world.clock.advance(REAL.connectMs);
  assert.deepEqual(botUndrainAnswerSchema.parse(await (await answering).json()).queued, { asks: [], total: 0 });
});
