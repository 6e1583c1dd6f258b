// A run's output reaches the ledger byte for byte, in parts that it takes, with how far the process was read in the same
// step; what is held back for its sake counts as not read.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LIMIT, REAL } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { VirtualClock } from "#client/clientForTests.ts";
import { LedgerInMemory } from "#client/ledgerForTests.ts";
import { problemOf, TidegateError } from "#wire/errors.ts";
import type { OutputBody } from "#wire/ledger.ts";
import { NotOurs, Steady } from "../steady.ts";
import { OutputBook } from "./output.ts";

const id = "ask-000001";
const plain = { key: "k", threadKey: "web:T", resource: "repo:local/app", kind: "shell", text: "go", by: "ada" };

interface Stand {
  readonly clock: VirtualClock;
  readonly ledger: LedgerInMemory;
  readonly sent: OutputBody[];
  readonly gaps: string[];
  readonly bookOf: (secrets?: readonly string[]) => Promise<OutputBook>;
  readonly written: (stream?: "out" | "err") => Promise<string>;
  /** Stands in for the answers of the next words. */
  readonly failures: Error[];
}

async function stand(): Promise<Stand> {
  const clock = new VirtualClock();
  const ledger = new LedgerInMemory(() => clock.now());
  const [sent, gaps, failures]: [OutputBody[], string[], Error[]] = [[], [], []];
  const { generation } = await ledger.begin("test");
  const ask = { ...plain, id, channel: "web", leaseMs: null, ref: null, parent: null } as const;
  await ledger.ask({ ask, doors: { generation, open: true, leaseMs: MINUTE } });
  const output = ledger.output.bind(ledger);
  ledger.output = async (body) => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    sent.push(body);
    return output(body);
  };
  const ports = { ledger, real: clock, over: new AbortController().signal, onFenced: () => undefined };
  const onGap = (stream: string, bytes: number): void => void gaps.push(`${stream} ${bytes}`);
  return {
    clock,
    ledger,
    sent,
    gaps,
    failures,
    async bookOf(secrets = []) {
      const { output: known } = await ledger.run(id);
      const more = { steady: new Steady(ports), id, number: generation, secrets, onGap, onAppend: () => undefined };
      return new OutputBook(more, { out: known.out.length, err: known.err.length });
    },
    async written(stream = "out") {
      const { data } = await ledger.outputFrom({ id, stream });
      return Buffer.from(data, "base64").toString();
    },
  };
}

const reading = (out: number, err = 0, procId = "p-000001") => {
  return { procId, bootId: "boot1", command: [], heard: true, out, err };
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("what is said is appended where it stands, and how far it was read is noted with it", async () => {
  const { bookOf, written, ledger } = await stand();
  const book = await bookOf();
  await book.begin(reading(0));
  await book.push("out", bytes("hello "), reading(6));
  await book.push("err", bytes("oh"), reading(6, 2));
  await book.push("out", bytes("there"), reading(11, 2));
  await book.end();
  assert.deepEqual([await written(), await written("err")], ["hello there", "oh"]);
  const { entry } = await ledger.run(id);
  assert.deepEqual(entry.reading, { procId: "p-000001", bootId: "boot1", out: 11, err: 2 });
});

test("what is held back for a value's sake counts as not read, and comes with the process's end", async () => {
  const { bookOf, written, ledger } = await stand();
  const book = await bookOf(["secret"]);
  await book.begin(reading(0));
  await book.push("out", bytes("a sec"), reading(5));
  await book.flushed();
  assert.equal(await written(), "a ");
  assert.equal((await ledger.run(id)).entry.reading?.out, 2);
  const next = await bookOf(["secret"]);
  await next.begin(reading(2));
  await next.push("out", bytes("secr"), reading(6));
  await next.push("out", bytes("et sec"), reading(12));
  await next.end();
  assert.equal(await written(), "a ****** sec");
  assert.equal((await ledger.run(id)).entry.reading?.out, 12);
});

test("the output of a process that resumes stands behind that of the one before it", async () => {
  const { bookOf, written, ledger } = await stand();
  const book = await bookOf(["secret"]);
  await book.begin(reading(0));
  await book.push("out", bytes("one sec"), reading(7));
  await book.begin(reading(0, 0, "p-000002"));
  await book.push("out", bytes("ret two"), reading(7, 0, "p-000002"));
  await book.begin(reading(7, 0, "p-000002"));
  await book.end();
  assert.equal(await written(), "one secret two", "it was no value: two processes said it");
  assert.deepEqual((await ledger.run(id)).entry.reading?.procId, "p-000002");
});

test("a large piece goes in parts that the ledger takes, and its sender waits meanwhile", async () => {
  const { bookOf, sent, ledger } = await stand();
  const book = await bookOf();
  await book.begin(reading(0));
  const large = new Uint8Array(3 * LIMIT.outputPartBytes + 5).fill(120);
  await book.push("out", large, reading(large.length));
  assert.ok(sent.length >= 2, "it waited until there was room");
  await book.flushed();
  assert.deepEqual(
    sent.map(({ offset, reading: stood }) => [offset, stood?.out]),
    [1, 2, 3]
      .map((n) => [(n - 1) * LIMIT.outputPartBytes, n * LIMIT.outputPartBytes])
      .concat([[3 * LIMIT.outputPartBytes, large.length]]),
  );
  assert.equal((await ledger.run(id)).output.out.length, large.length);
});

test("a ledger that is away is waited for; nothing of it is lost or said twice", async () => {
  const { bookOf, written, failures, clock } = await stand();
  const book = await bookOf();
  await book.begin(reading(0));
  failures.push(...[1, 2, 3].map(() => new TidegateError(problemOf("UNREACHABLE", "away"))));
  await book.push("out", bytes("once"), reading(4));
  await clock.advance(8 * REAL.recheckMs);
  await book.flushed();
  assert.equal(await written(), "once");
});

test("a run that is not this bot's any more is written to no more, and its pusher is told so", async () => {
  const { bookOf, failures, ledger } = await stand();
  const book = await bookOf();
  await book.begin(reading(0));
  await ledger.begin("a newer one");
  await book.push("out", bytes("late"), reading(4));
  await assert.rejects(book.flushed(), NotOurs);
  await assert.rejects(book.push("out", bytes("later"), reading(9)), NotOurs);
  assert.equal((await ledger.run(id)).output.out.length, 0);
  assert.deepEqual(failures, []);
});

test("a ledger that has less than it was sent goes on where it stands, and the gap is said", async () => {
  const { bookOf, written, failures, gaps } = await stand();
  const book = await bookOf();
  await book.begin(reading(0));
  await book.push("out", bytes("abc"), reading(3));
  await book.flushed();
  failures.push(new TidegateError(problemOf("OUTPUT_GAP", "less", { length: 3 })));
  await book.push("out", bytes("def"), reading(6));
  await book.flushed();
  assert.deepEqual([await written(), gaps], ["abcdef", ["out 0"]]);
  failures.push(new TidegateError(problemOf("BAD_FIELD", "data")));
  await book.push("out", bytes("ghi"), reading(9));
  await assert.rejects(book.flushed(), TidegateError);
});

test("whatever is said in whatever pieces, and left wherever: the next one makes it whole", async () => {
  const piece = fc.record({
    text: fc.string({ maxLength: 6, unit: "grapheme" }),
    err: fc.boolean(),
    left: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 20 }), async (pieces) => {
      const { bookOf, written, ledger } = await stand();
      const whole = { out: new Uint8Array(), err: new Uint8Array() };
      const told = { out: 0, err: 0 };
      let book = await bookOf(["ab", "bcd"]);
      await book.begin(reading(0));
      for (const { text, err, left } of pieces) {
        const name = err ? "err" : "out";
        whole[name] = Uint8Array.from([...whole[name], ...bytes(text)]);
        for (const one of ["out", "err"] as const) {
          const more = whole[one].subarray(told[one]);
          told[one] += more.length;
          if (more.length > 0) await book.push(one, more, reading(told.out, told.err));
        }
        if (!left) continue;
        await book.flushed();
        const { entry } = await ledger.run(id);
        Object.assign(told, { out: entry.reading?.out ?? 0, err: entry.reading?.err ?? 0 });
        book = await bookOf(["ab", "bcd"]);
        await book.begin(reading(told.out, told.err));
      }
      for (const one of ["out", "err"] as const) {
        const more = whole[one].subarray(told[one]);
        told[one] += more.length;
        if (more.length > 0) await book.push(one, more, reading(told.out, told.err));
      }
      await book.end();
      for (const one of ["out", "err"] as const) {
        const text = await written(one);
        assert.equal(bytes(text).length, whole[one].length);
        assert.ok(!text.includes("ab"), text);
      }
    }),
    { numRuns: 60 },
  );
});

test("what comes at any instant around the end of a write is written too, whoever comes after it", async () => {
  for (let offset = 0; offset < 60; offset += 1) {
    const { bookOf, written, ledger, clock } = await stand();
    const book = await bookOf();
    await book.begin(reading(0));
    const { promise, resolve } = Promise.withResolvers<void>();
    const output = ledger.output.bind(ledger);
    ledger.output = async (body) => {
      ledger.output = output;
      const answer = await output(body);
      await promise;
      return answer;
    };
    await book.push("out", bytes("first "), reading(6));
    await clock.settle();
    const late = promise.then(async () => {
      for (let n = 0; n < offset; n += 1) await Promise.resolve();
      await book.push("out", bytes("second"), reading(12));
    });
    resolve();
    await late;
    await clock.settle();
    assert.equal(await written(), "first second", `after ${offset} steps`);
  }
});
