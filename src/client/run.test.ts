// A run as its caller lives it: over cuts, replaced containers, stops and its lease's end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { REAL } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { attachBody, endLine, frame, lines, refusal, scene, type Scene } from "./clientForTests.ts";
import { call, execs } from "./runForTests.ts";

test("a run that finishes: its output, its exit, its work, and its registration given back", async () => {
  const at = scene();
  execs(at, () =>
    lines([
      frame("out", 0, "hel"),
      { type: "heartbeat" },
      frame("err", 0, "oh"),
      frame("out", 3, "lo"),
      endLine("exited", { exit: 7 }),
    ]),
  );
  const run = call(at);
  await at.clock.settle();
  assert.deepEqual(run.end()?.verdict, { kind: "finished", exit: 7, signal: null });
  assert.deepEqual([run.out, run.err], ["hello", "oh"]);
  assert.equal(run.end()?.work?.ahead, 1);
  assert.equal(at.server.registered.size, 0);
});

test("the end of a stream is not the end of the process: it is followed on from the offsets, under the same id", async () => {
  const at = scene();
  execs(
    at,
    () => lines([frame("out", 0, "one\n")]),
    () => lines([frame("out", 2, "e\ntwo\n")], "cut"),
    () => lines([frame("out", 8, "three\n"), endLine("exited")]),
  );
  const run = call(at);
  await at.clock.settle();
  assert.equal(run.out, "one\ntwo\nthree\n");
  assert.deepEqual(run.said, ["start", "cut", "reset", "cut", "reset"]);
  const asked = at.server.execs();
  assert.deepEqual(
    asked.map((one) => [one.procId, one.out, one.command]),
    [0, 4, 8].map((out) => ["p-minted1", out, ["date"]]),
  );
  assert.equal(at.server.count("/attach"), 3);
});

test("inv. 1: the re-attach after a cut passes a drain, waits for nothing and starts nothing a second time", async () => {
  const at = scene();
  execs(
    at,
    () => {
      at.server.drain("person-one", 60);
      return lines([], "cut");
    },
    () => lines([endLine("exited")]),
  );
  const run = call(at);
  await at.clock.settle();
  assert.equal(run.end()?.verdict.kind, "finished");
  assert.deepEqual(run.said, ["start", "cut", "reset"]);
});

function rolls(at: Scene): () => Response {
  return () => {
    at.server.bootId = "boot2";
    return lines([frame("out", 0, "half")], "cut");
  };
}

test("a container that was replaced: the old process is asked after, and without a resume command the run ends replaced", async () => {
  const at = scene();
  execs(at, rolls(at), () => lines([frame("out", 4, " more"), endLine("lost", { exit: null })]));
  const run = call(at);
  await at.clock.settle();
  assert.deepEqual(run.end()?.verdict, { kind: "replaced", by: "container" });
  assert.deepEqual(run.said, ["start", "cut", "replaced"]);
  assert.equal(run.out, "half more");
  assert.equal(at.server.execs()[1]?.command, null);
  assert.equal(at.server.registered.size, 0);
});

test("a container that was replaced: the resume command goes on under an id of its own", async () => {
  const at = scene();
  execs(
    at,
    rolls(at),
    () => lines([endLine("lost")]),
    () => lines([frame("out", 0, "again"), endLine("exited")]),
  );
  const run = call(at, { resume: ["sh", "-c", "go on"] });
  await at.clock.settle();
  assert.equal(run.end()?.verdict.kind, "finished");
  assert.equal(run.out, "halfagain");
  assert.deepEqual(run.said, ["start", "cut", "resumed by sh -c go on"]);
  const last = at.server.execs().at(-1);
  assert.deepEqual([last?.procId, last?.out, last?.command], ["p-minted2", 0, ["sh", "-c", "go on"]]);
});

test("a process that had ended before its container was replaced has its own exit", async () => {
  const at = scene();
  execs(at, rolls(at), () => lines([endLine("exited", { exit: 3 })]));
  const run = call(at, { resume: ["x"] });
  await at.clock.settle();
  assert.deepEqual(run.end()?.verdict, { kind: "finished", exit: 3, signal: null });
});

test("a process that was never heard of is started in the new container; one that was, is not", async () => {
  const at = scene();
  execs(
    at,
    () => {
      at.server.bootId = "boot2";
      return refusal("ROLLING");
    },
    () => refusal("NO_SUCH_PROCESS"),
    () => lines([frame("out", 0, "ran"), endLine("exited")]),
  );
  const never = call(at);
  await at.clock.settle();
  assert.equal(never.out, "ran");
  const other = scene();
  execs(other, rolls(other), () => refusal("NO_SUCH_PROCESS"));
  const heard = call(other);
  await other.clock.settle();
  assert.deepEqual(heard.end()?.verdict, { kind: "replaced", by: "container" });
});

test("an agent that is told to stop says so before it goes: the run attaches again before it resumes", async () => {
  const at = scene();
  execs(
    at,
    () => {
      at.server.bootId = "boot2";
      return lines([endLine("container")]);
    },
    () => lines([endLine("exited", { bootId: "boot2" })]),
  );
  const run = call(at, { resume: ["x"] });
  await at.clock.settle();
  assert.equal(run.end()?.verdict.kind, "finished");
  assert.equal(at.server.count("/attach"), 2);
  assert.deepEqual(run.said, ["start", "cut", "resumed by x"]);
});

for (const [name, answer] of [
  ["refused", () => refusal("NOT_STARTED")],
  ["recorded", () => lines([endLine("not-started", { exit: null, detail: "no such file" })])],
] as const) {
  test(`a command that cannot be started (${name}) is a verdict of its own, and the thread is free`, async () => {
    const at = scene();
    execs(at, answer);
    const run = call(at);
    await at.clock.settle();
    assert.equal(run.end()?.verdict.kind, "notStarted");
    assert.equal(at.server.registered.size, 0);
  });
}

test("a run with nobody to leave it to fails where a newer generation holds it, and says so", async () => {
  const at = scene();
  execs(at, () => refusal("OLD_GENERATION"));
  const run = call(at, { generation: 2 });
  await at.clock.settle();
  const verdict = run.end()?.verdict;
  assert.match(verdict?.kind === "failed" ? verdict.why : "", /A newer generation holds this run/);
});

test("a command that a signal ended exits 128 + its number", async () => {
  const at = scene();
  execs(at, () => lines([endLine("signalled", { exit: null, signal: "SIGTERM" })]));
  const run = call(at);
  await at.clock.settle();
  assert.deepEqual(run.end()?.verdict, { kind: "finished", exit: 143, signal: "SIGTERM" });
});

/** A process that lives until `/op` stops it. */
function stoppable(at: Scene): void {
  let end = (): void => undefined;
  at.server.answers.set("/exec", () => {
    const encoder = new TextEncoder();
    return new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          const send = (line: object): void => controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
          const over = new AbortController();
          const beat = (): Promise<void> =>
            at.clock
              .sleep(REAL.heartbeatMs, over.signal)
              .then(() => send({ type: "heartbeat" }))
              .then(beat);
          send(frame("out", 0, "working\n"));
          void beat().catch(() => undefined);
          end = () => {
            over.abort();
            send(frame("out", 8, "cleaned up\n"));
            send(endLine("stopped", { exit: null, signal: "SIGTERM" }));
            controller.close();
          };
        },
      }),
    );
  });
  at.server.answers.set("/op", () => {
    end();
    return new Response(JSON.stringify({ op: "stop", processes: [], work: null, said: "" }));
  });
}

test("the stop ends the processes, reads what they still say, and gives the registration back", async () => {
  const at = scene();
  stoppable(at);
  const run = call(at);
  await at.clock.settle();
  run.stop.abort(new Error("SIGINT"));
  await at.clock.settle();
  assert.deepEqual(run.end()?.verdict, { kind: "stopped" });
  assert.equal(run.out, "working\ncleaned up\n");
  assert.equal(at.server.registered.size, 0);
});

test("the stop during the wait starts nothing, and looks twice for an attach that was still on its way", async () => {
  const at = scene();
  at.server.drain("person-one", 60);
  const run = call(at);
  await at.clock.advance(MINUTE);
  run.stop.abort(new Error("SIGINT"));
  await at.clock.advance(SECOND);
  assert.deepEqual(run.end()?.verdict, { kind: "stopped" });
  assert.equal(at.server.count("/detach"), 2);
  assert.equal(at.server.count("/exec"), 0);
});

test("a stop whose fleet is away is not waited for beyond its bound, and says that the registration stands", async () => {
  const at = scene();
  at.server.answers.set("/exec", () => lines([frame("out", 0, "working")], "open"));
  const run = call(at);
  await at.clock.settle();
  const away = (): never => {
    throw new TypeError("fetch failed");
  };
  at.server.answers.set("/op", away);
  at.server.answers.set("/detach", away);
  run.stop.abort(new Error("SIGINT"));
  await at.clock.advance(MINUTE);
  assert.deepEqual(run.end()?.verdict, { kind: "stopped" });
  assert.match(run.end()?.notReleased ?? "", /does not answer/);
});

test("inv. 15: at its lease's end the run ends its processes and says so", async () => {
  const at = scene();
  stoppable(at);
  const run = call(at, { leaseMs: 20 * MINUTE });
  await at.clock.advance(20 * MINUTE - SECOND);
  assert.equal(run.end(), undefined);
  assert.equal(at.server.count("/exec"), 1, "its heartbeats keep a silent command's stream from counting as cut");
  await at.clock.advance(SECOND);
  assert.deepEqual(run.end()?.verdict, { kind: "leaseSpent" });
  assert.equal(at.server.registered.size, 0);
});

test("without a lease its kind's begins at the admission: a wait spends nothing of it", async () => {
  const at = scene();
  at.server.drain("person-one", 30);
  const run = call(at);
  await at.clock.advance(30 * MINUTE);
  assert.equal(run.end()?.verdict.kind, "finished");
  const bodies = at.server.asked.filter((one) => one.path === "/attach").map((one) => attachBody.parse(one.body));
  assert.ok(bodies.every((body) => body.remainingMs === null));
});

test("a refusal is a verdict with its problem, and nothing is released that was never taken", async () => {
  const at = scene();
  at.server.answers.set("/attach", () => refusal("THREAD_BUSY"));
  const run = call(at);
  await at.clock.settle();
  assert.equal(run.end()?.verdict.kind, "refused");
  assert.equal(at.server.count("/detach"), 0);
});

test("a run that somebody else ended fails, saying so", async () => {
  const at = scene();
  execs(at, () => lines([endLine("stopped", { exit: null, signal: "SIGTERM" })]));
  const run = call(at);
  await at.clock.settle();
  const verdict = run.end()?.verdict;
  assert.match(verdict?.kind === "failed" ? verdict.why : "", /ended from outside/);
});

test("a push that the remote refuses is told, and only a command that succeeded is pushed", async () => {
  const at = scene();
  at.server.answers.set("/op", () => refusal("PUSH_FAILED"));
  const run = call(at, { push: true });
  await at.clock.settle();
  assert.equal(run.end()?.pushed?.ok, false);
  const failing = scene();
  execs(failing, () => lines([endLine("exited", { exit: 1 })]));
  const other = call(failing, { push: true });
  await failing.clock.settle();
  assert.equal(other.end()?.pushed, null);
});
