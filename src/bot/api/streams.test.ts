// Streams of the bot: each card and each byte once, in order, also by whoever is cut and goes on at another bot.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, REAL } from "#core/budgets.ts";
import { cardEventSchema, outputEventSchema, type OutputEvent } from "#wire/bot.ts";
import { jsonOf } from "#wire/parse.ts";
import { asked, born, request, World, type Living } from "../botForTests.ts";

interface Followed {
  readonly events: { readonly id: string; readonly event: string; readonly data: unknown }[];
  readonly stop: () => void;
  isOver: boolean;
  readonly response: Response;
}

/** One event as it stands on the wire. */
function eventOf(text: string): Followed["events"][number] {
  const fields = new Map(
    text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
  );
  return { id: fields.get("id") ?? "", event: fields.get("event") ?? "", data: jsonOf(fields.get("data") ?? "") };
}

async function follow(living: Living, path: string, lastId?: string): Promise<Followed> {
  const over = new AbortController();
  const headers = lastId === undefined ? {} : { "last-event-id": lastId };
  const response = await request(living, `GET ${path}`, { as: "read", headers, signal: over.signal });
  return reading(response, () => over.abort());
}

/** Reads a stream from now on. */
function reading(response: Response, stop: () => void = () => undefined): Followed {
  const followed: Followed = { events: [], stop, isOver: false, response };
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    let seen = "";
    for await (const bytes of response.body ?? assert.fail()) {
      const parts = `${seen}${decoder.decode(bytes, { stream: true })}`.split("\n\n");
      seen = parts.pop() ?? "";
      for (const part of parts) if (!part.startsWith(":")) followed.events.push(eventOf(part));
    }
  };
  void read()
    .catch(() => undefined)
    .finally(() => (followed.isOver = true));
  return followed;
}

const words = ({ events }: Followed): string[] =>
  events.map(({ data }) => cardEventSchema.parse(data)).map(({ card, says }) => `${card.state}: ${says}`);
const outputs = ({ events }: Followed): OutputEvent[] => events.map(({ data }) => outputEventSchema.parse(data));

/** The bytes of one stream as they came. */
function said(followed: Followed, stream: "out" | "err" = "out"): string {
  const parts = outputs(followed).flatMap((one) => (one.type === "output" && one.stream === stream ? [one.data] : []));
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64"))).toString();
}

test("every card comes once and in order, from where a reader stood, also at the next bot", async () => {
  const world = new World();
  let living = await born(world, { roll: "handoff" });
  const first = await follow(living, "/events");
  const one = await asked(living, "one");
  await world.clock.settle();
  assert.deepEqual(words(first), ["attaching: attaching the workspace", "running: running for 0s · lease ends 14:31"]);
  assert.equal(first.response.headers.get("content-type"), "text/event-stream");
  await living.bot.end();
  await world.clock.settle();
  assert.ok(first.isOver, "the stream ends with its bot");
  living = await born(world, { roll: "handoff" });
  world.container.finish(world.container.of(one.id));
  await world.clock.settle();
  const next = await follow(living, "/events", first.events.at(-1)?.id);
  await world.clock.settle();
  assert.deepEqual(words(next), ["ended: finished"]);
  const fresh = await follow(living, "/events");
  await world.clock.settle();
  assert.deepEqual(
    fresh.events.map(({ event }) => event),
    ["attaching", "running", "ended"],
    "a new reader gets the newest page",
  );
  fresh.stop();
  next.stop();
});

test("a run's output comes as it is said, then its end; a reader that was cut goes on at its byte", async () => {
  const world = new World();
  const living = await born(world);
  const one = await asked(living, "one");
  await world.clock.settle();
  const process = world.container.of(one.id);
  const early = await follow(living, `/runs/${one.id}/output`);
  await world.clock.settle();
  world.container.say(process, "hello ");
  world.container.say(process, "oh", "err");
  await world.clock.settle();
  assert.deepEqual([said(early), said(early, "err")], ["hello ", "oh"]);
  early.stop();
  await world.clock.settle();
  assert.ok(early.isOver);
  world.container.say(process, "there");
  await world.clock.settle();
  const later = await follow(
    living,
    `/runs/${one.id}/output`,
    early.events.findLast(({ event }) => event === "output")?.id,
  );
  await world.clock.settle();
  assert.equal(said(later), "there");
  world.container.finish(process);
  await world.clock.settle();
  assert.ok(later.isOver);
  assert.deepEqual(outputs(later).at(-1), { type: "end", out: 11, err: 2 });
  assert.deepEqual(
    outputs(later).flatMap((event) => (event.type === "card" ? [event.says] : [])),
    ["running for 0s · lease ends 14:31", "finished"],
  );
  const whole = await follow(living, `/runs/${one.id}/output?out=3&err=1`);
  await world.clock.settle();
  assert.deepEqual([said(whole), said(whole, "err"), whole.isOver], ["lo there", "h", true]);
});

test("a silent stream beats, so that a reader knows that it lives", async () => {
  const world = new World();
  const living = await born(world);
  const over = new AbortController();
  const response = await request(living, "GET /events", { signal: over.signal });
  const reader = (response.body ?? assert.fail()).getReader();
  const first = reader.read();
  await world.clock.advance(REAL.heartbeatMs);
  assert.equal(new TextDecoder().decode((await first).value), ": beat\n\n");
  await reader.cancel();
  await world.clock.advance(3 * REAL.heartbeatMs);
  over.abort();
});

test("the output of no run, or from no offset, is refused before anything is streamed", async () => {
  const living = await born(new World());
  assert.equal((await request(living, "GET /runs/nobody-known/output")).status, 404);
  assert.equal((await request(living, "GET /runs/nobody-known/output?out=-1")).status, 400);
});

for (const [says, deploy] of [
  ["under a person's drain", false],
  ["under a deploy that waits for nobody, and pulses", true],
] as const)
  test(`a card that says the same is told once, however often a stream looks: ${says}`, async () => {
    const world = new World();
    const living = await born(world);
    world.server.drain("drain-1", 65, deploy);
    await world.clock.settle();
    const one = await asked(living, "one");
    const stream = await follow(living, `/runs/${one.id}/output`);
    for (let pulses = 0; pulses < 4; pulses += 1) {
      await world.clock.advance(CLOCK.pulseMs);
      world.server.drain("drain-1", 60, deploy);
      await world.clock.settle();
    }
    assert.equal(stream.events.length, 1);
    await request(living, `POST /runs/${one.id}/stop`, { body: { key: "stop-1" } });
    await world.clock.settle();
    assert.deepEqual(
      stream.events.map(({ event }) => event),
      ["card", "card", "end"],
    );
  });

test("a reader that does not read holds nothing in the bot but one part, and misses nothing once it reads", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "one");
  await world.clock.advance(CLOCK.pollMs);
  const process = world.container.of(id);
  const from = world.ledger.outputFrom.bind(world.ledger);
  let read = 0;
  world.ledger.outputFrom = async (query) => {
    const part = await from(query);
    read += Buffer.from(part.data, "base64").length;
    return part;
  };
  const response = await request(living, `GET /runs/${id}/output`, { as: "read" });
  const piece = "x".repeat(1_000);
  for (let n = 0; n < 40; n += 1) {
    world.container.say(process, piece);
    await world.clock.settle();
  }
  assert.ok(read <= piece.length, `${read} bytes are read for nobody`);
  await world.clock.advance(5 * REAL.heartbeatMs);
  assert.ok(read <= piece.length, "and no more while time passes");
  const followed = reading(response);
  await world.clock.settle();
  world.container.finish(process);
  await world.clock.settle();
  assert.equal(said(followed), piece.repeat(40));
  assert.ok(followed.isOver);
});

test("a reader of cards that does not read holds one page in the bot, and has each card once it reads", async () => {
  const world = new World();
  const living = await born(world);
  const cards = world.ledger.cards.bind(world.ledger);
  let pages = 0;
  world.ledger.cards = async (query) => {
    pages += 1;
    return await cards(query);
  };
  const response = await request(living, "GET /events", { as: "read" });
  await world.clock.settle();
  world.container.onStart = (process) => world.container.finish(process);
  for (let n = 0; n < 20; n += 1) {
    await asked(living, `ask ${n}`);
    await world.clock.settle();
  }
  assert.ok(pages <= 2, `${pages} pages are read for nobody`);
  const followed = reading(response);
  await world.clock.settle();
  assert.equal(followed.events.length, (await cards({ after: 0, limit: 200 })).cards.length);
  assert.equal(words(followed).filter((word) => word.startsWith("ended")).length, 20);
});

test("a stream that nobody reads ends with its bot", async () => {
  const world = new World();
  const living = await born(world);
  const { id } = await asked(living, "one");
  await world.clock.settle();
  const response = await request(living, `GET /runs/${id}/output`, { as: "read" });
  await world.clock.settle();
  world.container.finish(world.container.of(id));
  await world.clock.settle();
  await living.bot.end();
  const followed = reading(response);
  await world.clock.settle();
  assert.ok(followed.isOver);
});
