// A run that is not heard: a standing transport failure is the harness's verdict, resumed by attaching again, and never
// the run's own failure.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { MINUTE, SECOND } from "#core/time.ts";
import { agentProblemOf } from "#wire/agentErrors.ts";
import { endLine, frame, lines, refusal, scene, type Scene } from "./clientForTests.ts";
import { call, execs } from "./runForTests.ts";

const nobody = (): never => {
  throw new TypeError("fetch failed");
};

/** From now on nobody answers. */
function silence(at: Scene): void {
  for (const path of ["/exec", "/attach", "/detach", "/op"]) at.server.answers.set(path, nobody);
}

/** Answers again, and `/exec` by these. */
function back(at: Scene, ...answers: (() => Response)[]): void {
  for (const path of ["/attach", "/detach", "/op"]) at.server.answers.delete(path);
  execs(at, ...answers);
}

const GIVEN_UP = ["transport 1", "transport 2", "transport 3", "transport, given up"];

test("a stream that is cut at once over and over is a standing transport failure, and no failure of the run", async () => {
  const at = scene();
  execs(at, () => lines([], "cut"));
  const run = call(at);
  await at.clock.advance(CLOCK.standingMs - SECOND);
  assert.deepEqual(
    run.said.filter((word) => word.startsWith("transport")),
    [],
  );
  await at.clock.advance(4 * CLOCK.wakePollMs);
  assert.deepEqual(
    run.said.filter((word) => word.startsWith("transport")),
    ["transport 1"],
  );
  assert.equal(run.end(), undefined);
  await at.clock.advance((LIMIT.tries + 1) * (CLOCK.standingMs + CLOCK.wakePollMs));
  assert.deepEqual(run.end()?.verdict, { kind: "replaced", by: "transport" });
  assert.deepEqual(
    run.said.filter((word) => word.startsWith("transport")),
    GIVEN_UP,
  );
  assert.equal(run.said.filter((word) => word === "reset").length, 1, "one silence is told once");
  assert.equal(at.server.registered.size, 0);
  assert.ok(at.server.count("/exec") < 80, `${at.server.count("/exec")} requests`);
});

for (const [name, answer] of [
  ["the object that cannot be read", () => refusal("UNREADABLE")],
  ["an error of the Worker's own", () => refusal("INTERNAL")],
  ["a proxy in between", () => new Response("<h1>bad gateway</h1>", { status: 502 })],
  [
    "an agent that fails at once, behind a good head",
    () => lines([{ ...agentProblemOf("INTERNAL", "its disk is full"), type: "error" }]),
  ],
] as const) {
  test(`${name} is no failure of the run: it is asked again, with pauses`, async () => {
    const at = scene();
    execs(at, answer);
    const run = call(at);
    await at.clock.advance(CLOCK.standingMs / 2);
    assert.equal(run.end(), undefined);
    assert.ok(at.server.count("/exec") < 12, `${at.server.count("/exec")} requests`);
    execs(at, () => lines([frame("out", 0, "ran"), endLine("exited")]));
    await at.clock.advance(CLOCK.wakePollMs);
    assert.deepEqual([run.out, run.end()?.verdict.kind], ["ran", "finished"]);
  });
}

test("the fleet that is away for longer than a wake wait: the same process is picked up where it stood", async () => {
  const at = scene();
  execs(at, () => {
    silence(at);
    return lines([frame("out", 0, "half")], "cut");
  });
  const run = call(at);
  await at.clock.advance(CLOCK.wakeWaitMs + CLOCK.wakePollMs);
  back(at, () => lines([frame("out", 2, "lf, whole"), endLine("exited", { exit: 4 })]));
  await at.clock.advance(CLOCK.wakePollMs);
  assert.deepEqual(run.end()?.verdict, { kind: "finished", exit: 4, signal: null });
  assert.equal(run.out, "half, whole");
  assert.deepEqual(
    run.said.filter((word) => word !== "wait"),
    ["start", "cut", "transport 1", "reset"],
  );
});

for (const [name, resume, verdict] of [
  ["the resume command goes on", ["x"], { kind: "finished", exit: 0, signal: null }],
  ["without a resume command the run ends replaced, tagged transport", null, { kind: "replaced", by: "transport" }],
] as const) {
  test(`the fleet that is away while the container is replaced: ${name}`, async () => {
    const at = scene();
    execs(at, () => {
      silence(at);
      return lines([frame("out", 0, "half")], "cut");
    });
    const run = call(at, { resume });
    await at.clock.advance(CLOCK.wakeWaitMs + CLOCK.wakePollMs);
    at.server.bootId = "boot2";
    back(
      at,
      () => lines([endLine("lost", { exit: null })]),
      () => lines([endLine("exited")]),
    );
    await at.clock.advance(CLOCK.wakePollMs);
    assert.deepEqual(run.end()?.verdict, verdict);
    const last = resume === null ? "replaced" : "resumed by x";
    assert.deepEqual(
      run.said.filter((word) => word !== "wait"),
      ["start", "cut", "transport 1", last],
    );
  });
}

test("a fleet that never comes back: the run ends replaced by transport, and the registration is left to its lease", async () => {
  const at = scene();
  execs(at, () => {
    silence(at);
    return lines([], "cut");
  });
  const run = call(at);
  await at.clock.advance((LIMIT.tries + 1) * (CLOCK.wakeWaitMs + CLOCK.standingMs));
  const end = run.end();
  assert.deepEqual(end?.verdict, { kind: "replaced", by: "transport" });
  assert.match(end?.notReleased ?? "", /does not answer/);
  assert.deepEqual(
    run.said.filter((word) => word.startsWith("transport")),
    GIVEN_UP,
  );
});

test("inv. 9, 15: a lease that ends in the silence ends the run, whatever is still to be tried", async () => {
  const at = scene();
  execs(at, () => {
    silence(at);
    return lines([], "cut");
  });
  const run = call(at, { leaseMs: 4 * MINUTE });
  await at.clock.advance(4 * MINUTE + CLOCK.standingMs);
  assert.deepEqual(run.end()?.verdict, { kind: "leaseSpent" });
});

test("a refusal that is no silence ends the run at once: its thread is somebody else's", async () => {
  const at = scene();
  execs(at, () => {
    at.server.answers.set("/attach", () => refusal("THREAD_BUSY"));
    return lines([], "cut");
  });
  const run = call(at);
  await at.clock.settle();
  assert.equal(run.end()?.verdict.kind, "failed");
});
