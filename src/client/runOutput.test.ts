// A run's output is handed on once, byte by byte, over streams that overlap, leave out, end early and refuse; only its own
// last word ends it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { problemOf, TidegateError } from "#wire/errors.ts";
import { botClient } from "./bot.ts";
import { refusal, VirtualClock } from "./clientForTests.ts";
import { followOutput, isAway, pauseMs, type OutputSink } from "./runOutput.ts";

type Answer = () => Response;

const output = (stream: "out" | "err", from: number, text: string): object => ({
  type: "output",
  stream,
  from,
  data: btoa(text),
});
const END = { type: "end", out: 0, err: 0 };

/** A stream of these events that then ends, as a bot's does that rolls. */
const stream =
  (...events: readonly object[]): Answer =>
  () =>
    new Response(events.map((event) => `id: 1:1\ndata: ${JSON.stringify(event)}\n\n`).join(""));

/** Follows a run over these answers, one a connection; answers what was handed on, said and asked. */
async function followed(
  answers: readonly Answer[],
  sinkOver: (real: VirtualClock) => Partial<OutputSink> = () => ({}),
) {
  const real = new VirtualClock();
  const asked: string[] = [];
  const told: string[] = [];
  const left = [...answers];
  const fetch = (url: string): Promise<Response> => {
    asked.push(new URL(url).search);
    return Promise.resolve(left.shift()?.() ?? stream(END)());
  };
  const bot = botClient({ baseUrl: "http://bot", fetch, bearer: () => "r", real });
  const tells: OutputSink = {
    bytes: (name, bytes, from) => void told.push(`${name}@${from} ${Buffer.from(bytes).toString()}`),
    leftOut: (name, bytes) => void told.push(`${name} -${bytes}`),
    card: () => undefined,
    away: ({ problem }, awayMs) => void told.push(`away ${problem.code} ${awayMs}`),
    back: () => void told.push("back"),
    ...sinkOver(real),
  };
  const stop = new AbortController();
  const ask = { id: "r-0000000000000000000a", from: { out: 0, err: 0 }, signal: stop.signal };
  let over = false;
  const following = followOutput(bot, real, ask, tells).finally(() => (over = true));
  following.catch(() => undefined);
  for (let round = 0; !over && round < 100; round += 1) await real.advance(pauseMs(0));
  stop.abort(new Error("it does not end"));
  const error: unknown = await following.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return { told, asked, error };
}

test("a stream that ends without the last word is taken up where it stood, and what overlaps is handed on once", async () => {
  const { told, asked, error } = await followed([
    stream(output("out", 0, "hello "), output("err", 0, "oh")),
    stream(output("out", 3, "lo world"), output("out", 6, "world")),
    stream(output("out", 11, "!"), END),
  ]);
  assert.equal(error, null);
  assert.deepEqual(
    told.filter((line) => line !== "back"),
    ["out@0 hello ", "err@0 oh", "out@6 world", "out@11 !"],
  );
  assert.deepEqual(asked, ["?out=0&err=0", "?out=6&err=2", "?out=11&err=2"]);
});

test("what is not kept is said to be left out", async () => {
  const { told } = await followed([stream(output("out", 0, "head"), output("out", 10, "tail"), END)]);
  assert.deepEqual(told, ["back", "out@0 head", "out -6", "out@10 tail"]);
});

test("a bot that is away is asked again, with how long it has been away; it begins when it was last heard", async () => {
  const away = () => refusal("ROLLING");
  const { told } = await followed([stream(output("out", 0, "a")), away, away, stream(output("out", 1, "b"), END)]);
  assert.deepEqual(told, [
    "back",
    "out@0 a",
    `away ROLLING ${pauseMs(0)}`,
    `away ROLLING ${pauseMs(0) + pauseMs(1)}`,
    "back",
    "out@1 b",
  ]);
});

test("how long a bot has been away does not count what was read before", async () => {
  const away: number[] = [];
  const slow = (real: VirtualClock) => ({
    bytes: () => real.sleep(10 * pauseMs(0)),
    away: (_: TidegateError, awayMs: number) => void away.push(awayMs),
  });
  await followed([stream(output("out", 0, "a")), () => refusal("UNREACHABLE")], slow);
  assert.deepEqual(away, [pauseMs(0)]);
});

test("a refusal ends it, and so does a sink that gives up", async () => {
  const refused = await followed([() => refusal("NO_SUCH_RUN")]);
  assert.ok(refused.error instanceof TidegateError && refused.error.problem.code === "NO_SUCH_RUN");
  assert.equal(refused.asked.length, 1);
  const enough = new Error("enough");
  const gaveUp = await followed([() => refusal("UNREACHABLE")], () => ({
    away: () => {
      throw enough;
    },
  }));
  assert.equal(gaveUp.error, enough);
});

test("away is a bot that makes room for the next, and no refusal", () => {
  const of = (code: Parameters<typeof problemOf>[0]): boolean => isAway(new TidegateError(problemOf(code, "d")));
  assert.deepEqual([of("ROLLING"), of("UNREACHABLE"), of("FENCED"), of("UNREADABLE")], [true, true, true, true]);
  assert.deepEqual(
    [of("BAD_BEARER"), of("NO_SUCH_RUN"), of("INTERNAL"), isAway(new Error("x"))],
    [false, false, false, false],
  );
});
