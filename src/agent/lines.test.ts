// Lines over time: heartbeats while nothing happens, a refusal's status while it can still be given, the end alone as
// the end. The clock is the test's, so no second passes.

import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import type { ProcEnd } from "#wire/agent.ts";
import type { Clock } from "./clock.ts";
import { AgentError } from "./errors.ts";
import { followOutput } from "./output.ts";
import { operationResponse } from "./stream.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "tidegate-lines-"));
  for (const name of ["out", "err"]) await writeFile(join(folder, name), "");
});
after(async () => {
  await rm(folder, { recursive: true });
});

/** A clock whose sleeps are over at once, and which has then moved on by them. */
function quickClock(): Clock {
  let at = 0;
  return {
    now: () => at,
    sleep: async (ms, signal) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (!signal?.aborted) at += ms;
    },
  };
}

const end: ProcEnd = { exit: 0, signal: null, endedAt: 1, cause: "exited", bootId: "b", out: 3, err: 0 };

describe("following", () => {
  test("beats while the process is silent, and ends by the terminal record alone, after all that it names", async () => {
    const machine = quickClock();
    const state: { end?: ProcEnd } = {};
    const over = Promise.withResolvers<ProcEnd>();
    const left = new AbortController();
    const lines = await followOutput({
      folder,
      from: { out: 0, err: 0 },
      follow: true,
      machine,
      signal: left.signal,
      end: { now: () => state.end, over: over.promise },
    });
    assert.deepEqual((await lines.next()).value, { type: "heartbeat" });
    assert.ok(machine.now() >= REAL.heartbeatMs && machine.now() < 2 * REAL.heartbeatMs, `${machine.now()}`);
    await appendFile(join(folder, "out"), "abc");
    state.end = end;
    over.resolve(end);
    assert.deepEqual((await lines.next()).value, { s: "out", o: 0, d: Buffer.from("abc").toString("base64") });
    assert.deepEqual((await lines.next()).value, { type: "end", ...end });
    assert.equal((await lines.next()).done, true);
  });

  test("without a wish to follow stops where the output stands, and says nothing of an end", async () => {
    const lines = await followOutput({
      folder,
      from: { out: 1, err: 0 },
      follow: false,
      machine: quickClock(),
      signal: new AbortController().signal,
      end: { now: () => undefined, over: new Promise(() => undefined) },
    });
    const all: unknown[] = [];
    for await (const line of lines) all.push(line);
    assert.deepEqual(all, [{ s: "out", o: 1, d: Buffer.from("bc").toString("base64") }]);
  });

  test("that is cut ends", async () => {
    const left = new AbortController();
    const lines = await followOutput({
      folder,
      from: { out: 3, err: 0 },
      follow: true,
      machine: quickClock(),
      signal: left.signal,
      end: { now: () => undefined, over: new Promise(() => undefined) },
    });
    const next = lines.next();
    left.abort();
    assert.equal((await next).done, true);
  });
});

describe("a long operation", () => {
  const linesOf = async (response: Response): Promise<Record<string, unknown>[]> =>
    (await response.text())
      .trim()
      .split("\n")
      .map((line) => z.record(z.string(), z.unknown()).parse(JSON.parse(line)));

  test("that is refused soon has its status; refused late, the refusal is its last line", async () => {
    const log: unknown[] = [];
    const machine = quickClock();
    const refusal = (): never => {
      throw new AgentError("NO_SUCH_REF", "nothing");
    };
    await assert.rejects(
      operationResponse({ machine, log: (error) => log.push(error) }, async () => refusal()),
      { code: "NO_SUCH_REF" },
    );
    const gate = Promise.withResolvers<void>();
    const response = await operationResponse({ machine, log: (error) => log.push(error) }, async (report) => {
      report("begun");
      await gate.promise;
      return refusal();
    });
    assert.equal(response.status, 200);
    gate.resolve();
    const lines = await linesOf(response);
    assert.deepEqual(lines[0], { type: "progress", text: "begun" });
    assert.deepEqual(
      [lines.at(-1)?.["type"], lines.at(-1)?.["code"], lines.at(-1)?.["status"]],
      ["error", "NO_SUCH_REF", 422],
    );
  });

  test("beats while it has nothing to say, then gives its result once", async () => {
    const machine = quickClock();
    const response = await operationResponse({ machine, log: () => undefined }, async () => {
      while (machine.now() < 3 * REAL.heartbeatMs) await new Promise((resolve) => setImmediate(resolve));
      return { made: true };
    });
    const lines = await linesOf(response);
    assert.ok(lines.filter(({ type }) => type === "heartbeat").length >= 2);
    assert.deepEqual(
      lines.filter(({ type }) => type !== "heartbeat"),
      [{ type: "result", made: true }],
    );
  });
});
