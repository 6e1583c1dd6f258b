// A run that one caller takes from another: it goes on at the byte where that one stood, is never started a second time, is
// resumed so often and no more, and can be left as it is at any point.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MINUTE } from "#core/time.ts";
import { opBodySchema } from "#wire/attach.ts";
import { askOf, endLine, frame, lines, refusal, scene, type Scene } from "./clientForTests.ts";
import { execute } from "./execution.ts";
import type { Hold, WorkEvents } from "./work.ts";
import { execs } from "./runForTests.ts";

const GENERATION = 3;

interface Taken {
  readonly stop: AbortController;
  readonly leave: AbortController;
  readonly said: string[];
  readonly end: () => unknown;
}

/** Takes a run over, attached already. */
async function take(at: Scene, from: Hold["from"], resumes = 9, more: Partial<WorkEvents> = {}): Promise<Taken> {
  const [stop, leave] = [new AbortController(), new AbortController()];
  const said: string[] = [];
  let end: unknown;
  let minted = from === null ? 0 : 1;
  const mintId = (prefix: string): string => `${prefix}-run-one-${(minted += 1)}`;
  const whose = { ...askOf("run-one"), generation: GENERATION };
  const attached = await at.attach(whose, { leaseUntil: null, signal: stop.signal });
  const stands = ({ procId, bootId, out, err }: { procId: string; bootId: string; out: number; err: number }): string =>
    `${procId}@${bootId} ${out}:${err}`;
  const text = new TextDecoder();
  const events: WorkEvents = {
    out: (bytes, reading) => void said.push(`out ${text.decode(bytes)} ${stands(reading)}`),
    err: (bytes, reading) => void said.push(`err ${text.decode(bytes)} ${stands(reading)}`),
    onBegin: async (reading) => void said.push(`begin ${stands(reading)}`),
    onEnding: (how) => void said.push(how),
    onWait: () => undefined,
    onProgress: () => undefined,
    onCut: () => undefined,
    onReset: () => void said.push("reset"),
    onTransport: () => undefined,
    onReplaced: (command) => void said.push(`replaced ${command?.join(" ") ?? "for good"}`),
    ...more,
  };
  const ports = { fleet: at.fleet, attach: at.attach, clock: at.clock, real: at.clock, mintId, signalNumber: () => 15 };
  const ask = { ...whose, command: ["date"], resume: ["go", "on"], env: {} };
  const hold = { from, resumes, leave: leave.signal };
  void execute(ports, ask, events, { attached, stop: stop.signal, hold }).then(
    (verdict) => (end = verdict),
    (error: unknown) => (end = error),
  );
  await at.clock.settle();
  return { stop, leave, said, end: () => end };
}

const stood = { procId: "p-run-one-1", command: ["date"], bootId: "boot1", out: 4, err: 1 };

test("it goes on where the other one stood, and each byte comes with where the reading stands behind it", async () => {
  const at = scene();
  execs(at, () => lines([frame("out", 2, "lo the"), frame("err", 1, "re"), endLine("exited")]));
  const run = await take(at, stood);
  assert.deepEqual(run.end(), { kind: "finished", exit: 0, signal: null });
  assert.deepEqual(run.said, [
    "begin p-run-one-1@boot1 4:1",
    "out  the p-run-one-1@boot1 8:1",
    "err re p-run-one-1@boot1 8:3",
  ]);
  const [asked] = at.server.execs();
  assert.deepEqual([asked?.procId, asked?.out, asked?.err, asked?.command], ["p-run-one-1", 4, 1, ["date"]]);
  assert.deepEqual([asked?.generation, asked?.bootId], [GENERATION, "boot1"]);
});

test("in a later boot its process is asked after and never started again; it is resumed under the next id", async () => {
  const at = scene();
  at.server.bootId = "boot2";
  execs(
    at,
    () => refusal("NO_SUCH_PROCESS"),
    () => lines([endLine("exited", { bootId: "boot2" })]),
  );
  const run = await take(at, { ...stood, out: 0, err: 0 });
  assert.deepEqual(run.said, ["begin p-run-one-1@boot1 0:0", "replaced go on", "begin p-run-one-2@boot2 0:0"]);
  assert.deepEqual(
    at.server.execs().map(({ procId, command }) => [procId, command]),
    [
      ["p-run-one-1", null],
      ["p-run-one-2", ["go", "on"]],
    ],
  );
});

test("a process that was never heard of begins anew where the container is a later one, and that is told", async () => {
  const at = scene();
  execs(
    at,
    () => {
      at.server.bootId = "boot2";
      return refusal("ROLLING");
    },
    () => refusal("NO_SUCH_PROCESS"),
    () => lines([endLine("exited", { bootId: "boot2" })]),
  );
  const run = await take(at, null);
  assert.deepEqual(run.said, ["begin p-run-one-1@boot1 0:0", "begin p-run-one-1@boot2 0:0"]);
});

/** What each exec asked for: the process, its command, and the boot in which that may be started. */
const asks = (at: Scene): unknown[] =>
  at.server.execs().map(({ procId, command, bootId }) => [procId, command, bootId]);

const replacedBeforeIt: readonly (readonly [says: string, from: Hold["from"], rest: unknown[], said: string[]])[] = [
  [
    "one that was never heard of begins there",
    null,
    [["p-run-one-1", ["date"], "boot2"]],
    ["begin p-run-one-1@boot1 0:0", "begin p-run-one-1@boot2 0:0"],
  ],
  [
    "one that may have run is resumed",
    { ...stood, out: 0, err: 0 },
    [["p-run-one-2", ["go", "on"], "boot2"]],
    ["begin p-run-one-1@boot1 0:0", "replaced go on", "begin p-run-one-2@boot2 0:0"],
  ],
];
for (const [says, from, rest, said] of replacedBeforeIt)
  test(`a container that is replaced between attach and exec starts nothing by it: ${says}`, async () => {
    const at = scene();
    execs(
      at,
      () => {
        at.server.bootId = "boot2";
        return refusal("CONTAINER_REPLACED");
      },
      () => refusal("NO_SUCH_PROCESS"),
      () => lines([endLine("exited", { bootId: "boot2" })]),
    );
    const run = await take(at, from);
    assert.deepEqual(run.end(), { kind: "finished", exit: 0, signal: null });
    assert.deepEqual(asks(at), [["p-run-one-1", ["date"], "boot1"], ["p-run-one-1", null, null], ...rest]);
    assert.deepEqual(run.said, said);
    assert.equal(at.server.count("/attach"), 2);
  });

test("a process that was begun by another command is followed as it is, and not started a second time", async () => {
  const at = scene();
  execs(
    at,
    () => refusal("PROCESS_DIFFERS"),
    () => lines([], "cut"),
    () => lines([endLine("exited")]),
  );
  const run = await take(at, stood);
  assert.deepEqual(run.end(), { kind: "finished", exit: 0, signal: null });
  assert.deepEqual(asks(at), [
    ["p-run-one-1", ["date"], "boot1"],
    ["p-run-one-1", null, null],
    ["p-run-one-1", null, null],
  ]);
});

test("a process is heard of once its exec is answered: whatever the stream says, it is not started a second time", async () => {
  const at = scene();
  const found: string[] = [];
  execs(
    at,
    () => {
      at.server.bootId = "boot2";
      return lines([], "cut");
    },
    () => refusal("NO_SUCH_PROCESS"),
    () => lines([endLine("exited", { bootId: "boot2" })]),
  );
  const run = await take(at, null, 9, { onFound: () => void found.push(`after ${at.server.count("/exec")}`) });
  assert.deepEqual(run.said, ["begin p-run-one-1@boot1 0:0", "replaced go on", "begin p-run-one-2@boot2 0:0"]);
  assert.deepEqual(found, ["after 1", "after 3"]);
});

test("a run that a newer generation holds is left to it, refused at its exec or at its next attach", async () => {
  const execAsked = scene();
  execs(execAsked, () => refusal("OLD_GENERATION"));
  assert.deepEqual((await take(execAsked, stood)).end(), { kind: "left" });
  const attachAsked = scene();
  execs(attachAsked, () => {
    attachAsked.server.answers.set("/attach", () => refusal("OLD_GENERATION"));
    return lines([], "cut");
  });
  assert.deepEqual((await take(attachAsked, stood)).end(), { kind: "left" });
  for (const at of [execAsked, attachAsked]) assert.equal(at.server.count("/op") + at.server.count("/detach"), 0);
});

test("it is resumed as often as its holder says, and no more", async () => {
  const at = scene();
  execs(at, () => {
    at.server.bootId = `${at.server.bootId}x`;
    return lines([frame("out", 0, "a"), endLine("container", { bootId: "gone" })]);
  });
  const run = await take(at, stood, 2);
  assert.deepEqual(run.end(), { kind: "replaced", by: "container" });
  assert.deepEqual(
    run.said.filter((word) => word.startsWith("replaced")),
    ["replaced go on", "replaced go on", "replaced for good"],
  );
});

const open = (): Response => lines([frame("out", 0, "working")], "open");

test("a run that is left goes on: nothing is ended, nothing is given back, nothing more is asked", async () => {
  const at = scene();
  execs(at, open);
  const run = await take(at, null);
  run.leave.abort();
  await at.clock.settle();
  assert.deepEqual(run.end(), { kind: "left" });
  const asked = at.server.asked.length;
  await at.clock.advance(60 * MINUTE);
  assert.equal(at.server.asked.length, asked);
  assert.equal(at.server.registered.size, 1);
  assert.equal(at.server.count("/op") + at.server.count("/detach"), 0);
});

test("a run that is being stopped is left too: whoever holds it next stops it", async () => {
  const at = scene();
  execs(at, open);
  at.server.answers.set("/op", () => new Response(JSON.stringify({ op: "stop", processes: [], work: null, said: "" })));
  const run = await take(at, null);
  run.stop.abort(new Error("stop"));
  await at.clock.settle();
  assert.equal(run.end(), undefined, "what it still says is read");
  const stops = at.server.asked.filter(({ path }) => path === "/op").map(({ body }) => opBodySchema.parse(body));
  assert.deepEqual(
    stops.map(({ op, generation }) => [op, generation]),
    [["stop", GENERATION]],
  );
  run.leave.abort();
  await at.clock.settle();
  assert.deepEqual(run.end(), { kind: "left" });
  assert.ok(run.said.includes("stopped"));
});

test("it is left while it attaches again, and before it has begun", async () => {
  const at = scene();
  execs(at, () => {
    at.server.answers.set("/attach", () => refusal("ROLLING"));
    return lines([], "cut");
  });
  const run = await take(at, null);
  assert.equal(run.end(), undefined);
  run.leave.abort();
  await at.clock.settle();
  assert.deepEqual(run.end(), { kind: "left" });
  const early = scene();
  const never = await take(early, null, 9, { onBegin: () => new Promise(() => undefined) });
  never.leave.abort();
  await early.clock.settle();
  assert.equal(early.server.count("/exec"), 0);
});

test("what the holder's own events reject with ends the execution with it, and nothing is started", async () => {
  const at = scene();
  const fenced = new Error("not ours");
  const run = await take(at, null, 9, { onBegin: () => Promise.reject(fenced) });
  assert.equal(run.end(), fenced);
  assert.equal(at.server.count("/exec"), 0);
});

test("one that is told to stop, or to leave, before it begins starts nothing", async () => {
  for (const how of ["stop", "leave"] as const) {
    const at = scene();
    const [stop, leave] = [new AbortController(), new AbortController()];
    const attached = await at.attach(askOf("run-one"), { leaseUntil: null, signal: new AbortController().signal });
    (how === "stop" ? stop : leave).abort(new Error(how));
    const nothing = (): undefined => undefined;
    const events = { out: nothing, err: nothing, onWait: nothing, onProgress: nothing, onCut: nothing };
    const all = { ...events, onReset: nothing, onTransport: nothing, onReplaced: nothing };
    const ports = { fleet: at.fleet, attach: at.attach, clock: at.clock, real: at.clock };
    const ask = { ...askOf("run-one"), command: ["date"], resume: null, env: {} };
    const start = { attached, stop: stop.signal, hold: { from: null, resumes: 0, leave: leave.signal } };
    const verdict = await execute({ ...ports, mintId: () => "p-000001", signalNumber: () => 15 }, ask, all, start);
    assert.deepEqual(verdict, { kind: how === "stop" ? "stopped" : "left" });
    assert.equal(at.server.count("/exec"), 0);
  }
});
