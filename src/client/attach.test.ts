// The two waits of `attach`, on a clock that moves only when told (invariants 1, 2, 9 and 14).

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE, SECOND } from "#core/time.ts";
import { TidegateError } from "#wire/errors.ts";
import type { Attached, AttachWishes, WaitNote } from "./attach.ts";
import { askOf, lines, refusal, scene, type Scene } from "./clientForTests.ts";
import { ResidentDrainingError } from "./drainingError.ts";

type Result = { readonly attached?: Attached; readonly error?: unknown } | undefined;

interface Waiting {
  readonly notes: WaitNote[];
  readonly stop: AbortController;
  /** What it came to, or undefined while it waits. */
  readonly result: () => Result;
}

function begin(at: Scene, runId: string, wishes: Partial<AttachWishes> & { parent?: string } = {}): Waiting {
  const { parent = null, ...more } = wishes;
  const stop = new AbortController();
  const notes: WaitNote[] = [];
  let done: Result;
  const waiting: Waiting = { notes, stop, result: () => done };
  const base = { leaseUntil: null, signal: stop.signal, onWait: (note: WaitNote) => notes.push(note) };
  void at.attach({ ...askOf(runId), parent }, { ...base, ...more }).then(
    (attached) => (done = { attached }),
    (error: unknown) => (done = { error }),
  );
  return waiting;
}

const codeOf = (waiting: Waiting): string | undefined => {
  const error = waiting.result()?.error;
  return error instanceof TidegateError ? error.problem.code : undefined;
};

test("an open fleet costs one request, opens no watch and says nothing", async () => {
  const at = scene();
  const run = begin(at, "run-one");
  await at.clock.settle();
  assert.equal(run.result()?.attached?.binding.runId, "run-one");
  assert.equal(at.server.count("/attach"), 1);
  assert.equal(at.server.sockets.length, 0);
  assert.deepEqual(run.notes, []);
});

test("inv. 9, M11: a drained run waits without one request while the watch is up, and starts as it is lifted", async () => {
  const at = scene();
  at.server.quietBy = at.clock.now() + 12 * MINUTE;
  at.server.drain("drain-one", 65, true);
  const run = begin(at, "run-one");
  for (let minute = 0; minute < 23; minute += 1) {
    await at.clock.advance(MINUTE);
    at.server.drain("drain-one", 1, true);
  }
  assert.equal(at.server.count("/attach"), 1);
  assert.equal(run.result(), undefined);
  await at.clock.advance(30 * SECOND);
  at.server.lift("drain-one");
  await at.clock.settle();
  assert.equal(at.server.count("/attach"), 2);
  assert.equal(run.result()?.attached?.wokeAfterMs, 1_410 * SECOND);
  assert.equal(run.result()?.attached?.drainWaitMs, 1_410 * SECOND);
});

test("inv. 14: the wait is said at its start, at each change and each minute, with its bound and its end", async () => {
  const at = scene();
  const since = at.clock.now();
  at.server.quietBy = since + 11.5 * MINUTE;
  at.server.drain("drain-one", 65, true);
  at.server.drain("person-one", 70);
  at.server.lift("person-one");
  const run = begin(at, "run-one", { leaseUntil: since + 45 * MINUTE });
  await at.clock.settle();
  const [first] = run.notes;
  assert.equal(first?.line, "waiting for the deploy to finish · 12 min");
  assert.deepEqual(
    { since: first?.since, bound: first?.bound, until: first?.until, quietBy: first?.quietBy, by: first?.by },
    { since, bound: since + 35 * MINUTE, until: since + 65 * MINUTE, quietBy: since + 11.5 * MINUTE, by: "the test" },
  );
  await at.clock.advance(30 * SECOND);
  assert.equal(run.notes.length, 1);
  at.server.quietBy = since + 5 * MINUTE;
  at.server.tell();
  await at.clock.settle();
  assert.equal(run.notes.at(-1)?.line, "waiting for the deploy to finish · 5 min");
  const before = run.notes.length;
  at.server.drain("drain-one", 1, true);
  await at.clock.advance(MINUTE);
  assert.equal(run.notes.length, before + 1);
  at.server.drain("person-two", 80);
  await at.clock.settle();
  assert.match(run.notes.at(-1)?.line ?? "", /^waiting for the fleet to reopen · 80 min$/);
  run.stop.abort(new Error("stopped"));
  await at.clock.settle();
});

test("inv. 9: a lease that cannot hold the wait ends refused, naming the wait and the drain's end", async () => {
  const at = scene();
  const since = at.clock.now();
  at.server.drain("person-one", 60);
  const run = begin(at, "run-one", { leaseUntil: since + 25 * MINUTE });
  await at.clock.advance(15 * MINUTE - 1);
  assert.equal(run.result(), undefined);
  await at.clock.advance(1);
  const error = run.result()?.error;
  assert.ok(error instanceof ResidentDrainingError);
  assert.deepEqual(
    [error.resource, error.waitedMs, error.until],
    ["repo:local/app", 900 * SECOND, since + 60 * MINUTE],
  );
  assert.equal(at.server.count("/attach"), 1);
});

test("without a watch only the first in line asks again, each 30 s, and its admission lets the others in", async () => {
  const at = scene();
  at.server.watchable = false;
  at.server.drain("person-one", 60);
  const runs = ["run-a1", "run-b2", "run-c3"].map((id) => begin(at, id));
  await at.clock.settle();
  const first = at.server.count("/attach");
  await at.clock.advance(5 * MINUTE);
  assert.equal(at.server.count("/attach") - first, 10);
  at.server.lift("person-one");
  await at.clock.advance(30 * SECOND);
  assert.deepEqual(at.server.admitted, ["run-a1", "run-b2", "run-c3"]);
  assert.ok(runs.every((run) => run.result()?.attached !== undefined));
});

test("the stop wins at once over a pause", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const run = begin(at, "run-one");
  await at.clock.advance(MINUTE);
  run.stop.abort(new Error("stopped"));
  await at.clock.settle();
  assert.match(String(run.result()?.error), /stopped/);
  assert.equal(at.server.sockets[0]?.closed, true);
});

test("the stop wins at once over a request under way", async () => {
  const at = scene();
  at.server.answers.set("/attach", () => new Promise(() => undefined));
  const run = begin(at, "run-one");
  await at.clock.settle();
  run.stop.abort(new Error("stopped"));
  await at.clock.settle();
  assert.match(String(run.result()?.error), /stopped/);
});

test("a container that rolls is waited for each 5 s, and given up after 3 minutes", async () => {
  const at = scene();
  at.server.answers.set("/attach", () => refusal("ROLLING"));
  const run = begin(at, "run-one");
  await at.clock.advance(15 * SECOND);
  assert.equal(at.server.count("/attach"), 4);
  assert.equal(run.notes[0]?.cause, "transient");
  await at.clock.advance(3 * MINUTE);
  assert.equal(codeOf(run), "ROLLING");
});

test("a drain met inside a wake wait keeps the wait going, under the one deadline", async () => {
  const at = scene();
  const since = at.clock.now();
  at.server.answers.set("/attach", () => refusal("ROLLING"));
  const run = begin(at, "run-one", { leaseUntil: since + 25 * MINUTE });
  await at.clock.advance(2 * MINUTE);
  at.server.answers.delete("/attach");
  at.server.drain("person-one", 60);
  await at.clock.advance(10 * MINUTE);
  assert.equal(run.result(), undefined);
  await at.clock.advance(3 * MINUTE);
  const error = run.result()?.error;
  assert.ok(error instanceof ResidentDrainingError);
  assert.equal(error.waitedMs, 15 * MINUTE);
});

test("a cut or refused connection is transient; anything else is that refusal, at once", async () => {
  const at = scene();
  at.server.answers.set("/attach", () => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error("refused"), { code: "ECONNREFUSED" }) });
  });
  const cut = begin(at, "run-one");
  await at.clock.advance(6 * SECOND);
  assert.equal(cut.result(), undefined);
  at.server.answers.set("/attach", () => refusal("THREAD_BUSY"));
  const busy = begin(at, "run-two");
  await at.clock.settle();
  assert.equal(codeOf(busy), "THREAD_BUSY");
  await at.clock.advance(5 * SECOND);
  assert.equal(codeOf(cut), "THREAD_BUSY");
});

test("a refusal whose words say draining but which carries no record is no drain", async () => {
  const at = scene();
  at.server.answers.set("/attach", () => refusal("DRAINING"));
  const run = begin(at, "run-one");
  await at.clock.settle();
  assert.equal(codeOf(run), "DRAINING");
});

test("an error after the stream has begun is its last line", async () => {
  const at = scene();
  at.server.answers.set("/attach", () =>
    lines([
      { type: "beat" },
      { type: "error", problem: { code: "NO_SUCH_REF", status: 422, title: "t", detail: "d", next: "n" } },
    ]),
  );
  const run = begin(at, "run-one");
  await at.clock.settle();
  assert.equal(codeOf(run), "NO_SUCH_REF");
});

test("a typed question does not wait: the drain's record is its answer", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const run = begin(at, "run-one", { wait: false });
  await at.clock.settle();
  assert.equal(codeOf(run), "DRAINING");
  assert.deepEqual(run.notes, []);
  assert.equal(at.server.sockets.length, 0);
});

test("inv. 1, 2: a run in flight and its child pass while others wait, and wake nobody", async () => {
  const at = scene();
  begin(at, "run-parent");
  await at.clock.settle();
  at.server.drain("person-one", 60);
  const waiting = begin(at, "run-late");
  await at.clock.settle();
  const again = begin(at, "run-parent", { again: true });
  const child = begin(at, "run-child", { parent: "run-parent" });
  await at.clock.advance(10 * MINUTE);
  assert.equal(again.result()?.attached?.binding.again, true);
  assert.ok(child.result()?.attached !== undefined);
  assert.equal(waiting.result(), undefined);
  assert.equal(at.server.count("/attach"), 4);
});

test("at the record's end the waiters look by themselves, though nobody tells them", async () => {
  const at = scene();
  at.server.drain("person-one", 5);
  const run = begin(at, "run-one");
  await at.clock.advance(5 * MINUTE);
  assert.equal(run.result()?.attached?.drainWaitMs, 5 * MINUTE);
});

test("a door that refutes an open watch is asked again after 30 s, not over and over", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const run = begin(at, "run-one");
  await at.clock.settle();
  const { book } = at.server;
  at.server.lift("person-one");
  at.server.book = book;
  await at.clock.advance(29 * SECOND);
  assert.equal(at.server.count("/attach"), 2);
  at.server.lift("person-one");
  await at.clock.settle();
  assert.ok(run.result()?.attached !== undefined);
});
