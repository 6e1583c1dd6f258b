// Streams as lines: however they are cut, nothing is made up.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { TidegateError } from "#wire/errors.ts";
import { lines, scene, type Scene } from "./clientForTests.ts";
import { linesOf, SILENCE_MS } from "./lines.ts";

const schema = z.object({ n: z.number() });

async function read(at: Scene, response: Response, signal?: AbortSignal): Promise<{ got: number[]; error: unknown }> {
  const got: number[] = [];
  try {
    for await (const { n } of linesOf(at.transport, response, schema, signal)) got.push(n);
    return { got, error: undefined };
  } catch (error) {
    return { got, error };
  }
}

const bytes = (...parts: (string | Uint8Array)[]): Response => {
  const encoder = new TextEncoder();
  const chunks = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  return new Response(new ReadableStream({ start: (c) => (chunks.forEach((chunk) => c.enqueue(chunk)), c.close()) }));
};

test("lines are put together from whatever chunks they come in", async () => {
  const at = scene();
  assert.deepEqual((await read(at, bytes('{"n":1}\n{"n"', ':2}\n\n{"n":3}\n'))).got, [1, 2, 3]);
  assert.deepEqual((await read(at, new Response(null))).got, []);
});

test("a line that was cut in its middle is no line", async () => {
  const at = scene();
  assert.deepEqual(await read(at, bytes('{"n":1}\n{"n":2')), { got: [1], error: undefined });
});

test("a stream that breaks is UNREACHABLE, one that cannot be read INTERNAL", async () => {
  const at = scene();
  const broken = await read(at, lines([{ n: 1 }], "cut"));
  assert.ok(broken.error instanceof TidegateError && broken.error.problem.code === "UNREACHABLE");
  assert.deepEqual(broken.got, [1]);
  const odd = await read(at, bytes("hello\n"));
  assert.ok(odd.error instanceof TidegateError && odd.error.problem.code === "INTERNAL");
});

test("three heartbeats of silence are a cut", async () => {
  const at = scene();
  const reading = read(at, lines([{ n: 1 }], "open"));
  await at.clock.advance(SILENCE_MS);
  const { got, error } = await reading;
  assert.deepEqual(got, [1]);
  assert.ok(error instanceof TidegateError && error.problem.code === "UNREACHABLE");
});

test("the signal ends a pending read at once, with its own reason", async () => {
  const at = scene();
  const stop = new AbortController();
  const reading = read(at, lines([{ n: 1 }], "open"), stop.signal);
  await at.clock.settle();
  stop.abort(new Error("stopped"));
  assert.match(String((await reading).error), /stopped/);
});
