// A handoff on the real stack: the Worker is swapped again and again over one run, which writes on in its container. Its
// follower gets every byte exactly once, nobody is killed, and who comes meanwhile is held for the seconds of the swap.

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test, type TestContext } from "node:test";
import { accessOf, type FleetAccess } from "#cli/access.ts";
import type { Attached } from "#client/attach.ts";
import { callRun, type RunAsk, type RunEnd } from "#client/run.ts";
import type { Build } from "#core/drain.ts";
import { prepareRelease } from "#embed/release.ts";
import { fleetSources } from "#embed/sources.ts";
import { clockOf, REAL_TIME } from "#node/clock.ts";
import type { DrainBody } from "#wire/drain.ts";
import type { Inside } from "#wire/host.ts";
import { FleetStack } from "./fleetStack.ts";
import { eventually } from "./hostStack.ts";

const SWAPS = 10;
const fleet = new FleetStack(1, { image: { files: ["VERSION"] } });
const newImage = (version: string): void => writeFileSync(join(fleet.home, "VERSION"), version);
let app = "";
let access: FleetAccess;

before(async () => {
  newImage("1\n");
  await fleet.up();
  app = await fleet.onboard("app");
  access = accessOf({ cwd: fleet.home, env: {}, packageRoot: fleet.home, real: clockOf(REAL_TIME) });
});

/** A run that was called, with everything its follower got and was told. */
interface Called {
  out: string;
  err: string;
  readonly said: string[];
  readonly waits: Promise<void>;
  readonly started: Promise<Attached>;
  readonly end: Promise<RunEnd>;
}

function call(name: string, shell: string, more: Partial<RunAsk> = {}): Called {
  const [waits, started] = [Promise.withResolvers<void>(), Promise.withResolvers<Attached>()];
  const [out, err] = [new TextDecoder(), new TextDecoder()];
  const said: string[] = [];
  const events = {
    out: (bytes: Uint8Array) => void (called.out += out.decode(bytes, { stream: true })),
    err: (bytes: Uint8Array) => void (called.err += err.decode(bytes, { stream: true })),
    onWait: () => waits.resolve(),
    onProgress: () => undefined,
    onStart: started.resolve,
    onCut: () => undefined,
    onReset: () => void said.push("reset"),
    onTransport: () => void said.push("transport"),
    onReplaced: () => void said.push("replaced"),
  };
  const { fleet: client, attach, clock, transport } = access;
  let minted = 0;
  const mintId = (prefix: string): string => `${prefix}-${name}-${(minted += 1)}`;
  const ports = { fleet: client, attach, clock, real: transport.real, mintId, signalNumber: () => 0 };
  const whose = { resource: app, runId: `run-${name}`, threadKey: `test:${name}`, generation: 0, runKind: "shell" };
  const plain = { parent: null, replace: { by: "nobody" }, ref: null, leaseMs: null } as const;
  const ask = { ...whose, ...plain, command: ["sh", "-c", shell], resume: null, env: {}, push: false, wait: true };
  const end = callRun(ports, { ...ask, ...more }, events, new AbortController().signal);
  // Whoever waits for what will not come any more is told how the run ended.
  void end.then(({ verdict }) => {
    for (const { promise, reject } of [waits, started]) {
      promise.catch(() => undefined);
      reject(new Error(`${name} has ended: ${JSON.stringify(verdict)}`));
    }
  });
  const called: Called = { out: "", err: "", said, waits: waits.promise, started: started.promise, end };
  return called;
}

const goFile = (name: string): string => join(fleet.home, `go-${name}`);
const letGo = (name: string): void => writeFileSync(goFile(name), "");

/** Writes numbered lines to both outputs until it is let go, and ends with how many there were. */
const counting = (name: string): string =>
  `i=0; while [ ! -e '${goFile(name)}' ]; do i=$((i+1)); echo "out $i"; echo "err $i" >&2; sleep 0.002; done; echo "all $i"; exit 5`;

const numbered = (word: string, count: number): string =>
  Array.from({ length: count }, (_, n) => `${word} ${n + 1}\n`).join("");

/** The release of this folder: the product's own Worker, or one that differs in its bundle alone. */
async function releaseOf(worker: "A" | "B"): Promise<Build> {
  const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
  const other = worker === "A" ? {} : { worker: join(import.meta.dirname, "fixtures", "fleetWorkerB.ts") };
  return (await prepareRelease({ paths: fleet.paths, sources: { ...fleetSources(), ...other }, building })).build;
}

const drainBody = (id: string, build: Build): DrainBody => ({
  id,
  minutes: 65,
  by: "a test",
  reason: "a handoff",
  deploy: true,
  build,
  without: [],
});

/** What of the container must live on: its init, its agent and the run's own shell; not what that forks at the moment. */
async function alive(name: string) {
  const { container, processes } = await fleet.control().inside(app);
  const named = ({ pid, startTicks }: Inside): string => `${pid} ${startTicks}`;
  const shells = processes.filter(({ command }) => command.includes(goFile(name)));
  const [shell] = shells.toSorted((a, b) => a.startTicks - b.startTicks || a.pid - b.pid);
  assert.ok(container.state === "running" && shell !== undefined, "the run's shell is seen from outside");
  return {
    bootId: container.bootId,
    shell: named(shell),
    own: processes.filter(({ role }) => role !== "inside").map(named),
  };
}

/** One handoff, with somebody at the door from its drain on and somebody else from its swap on. */
async function handOff(n: number, build: Build): Promise<string> {
  const { fleet: client } = access;
  const id = `handoff-${n}`;
  const { generation } = await client.health();
  const began = performance.now();
  await client.drain(drainBody(id, build));
  const late = call(`late-${n}`, "echo late");
  await late.waits;
  assert.equal((await client.seal(id, true)).drain.phase, "swapping");
  const later = call(`later-${n}`, "echo later");
  const answer = await fleet.swap({ drainId: id, mode: "handoff", build });
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  assert.deepEqual([answer.generation, answer.killed], [generation + 1, []]);
  const live = await eventually("it is live", async () => {
    const served = await client.health();
    return served.drainId === id && served.generation > generation ? served : undefined;
  });
  assert.deepEqual(live.build, build);
  await client.reconcile(id);
  const { operation } = await eventually("nobody is held", async () => {
    const answer = await client.reconciled(id);
    return answer.held.length === 0 ? answer : undefined;
  });
  assert.deepEqual(
    operation.entries.map(({ state, killed }) => [state, killed]),
    [["current", 0]],
    "no restart",
  );
  const lifted = await client.undrain({ id, outcome: "landed", force: false });
  const closedMs = performance.now() - began;
  assert.deepEqual([lifted.kind, lifted.held, lifted.remaining], ["lifted", [], []]);
  assert.ok((await late.started).drainWaitMs > 0, "held from the drain on");
  for (const one of [late, later]) {
    const { binding } = await one.started;
    assert.equal(binding.fleetGeneration, generation + 1, "admitted on the new generation");
  }
  const startedMs = performance.now() - began - closedMs;
  for (const one of [late, later]) assert.equal((await one.end).verdict.kind, "finished");
  return `swap ${n}: closed ${Math.round(closedMs)} ms, of which the swap ${answer.ms} ms; who waited started ${Math.round(startedMs)} ms after the lift`;
}

test(`inv. 1, 4: ${SWAPS} handoffs over one run cut its stream alone: its whole output arrives once, byte for byte`, async (t: TestContext) => {
  const run = call("counting", counting("counting"));
  await eventually("it writes", () => (run.out.length > 100 ? true : undefined));
  const builds = [await releaseOf("B"), await releaseOf("A")] as const;
  assert.notEqual(builds[0].bundle, builds[1].bundle);
  assert.equal(builds[0].image, builds[1].image);
  const first = await alive("counting");
  for (let n = 1; n <= SWAPS; n += 1) {
    t.diagnostic(await handOff(n, builds[n % 2 === 1 ? 0 : 1]));
    assert.deepEqual(await alive("counting"), first);
    // The old generation's streams have ended with it, so what comes from here on comes through the new one.
    const { length } = run.out;
    await eventually("it is heard on the new generation", () => (run.out.length > length ? true : undefined));
  }
  letGo("counting");
  const { verdict, attached } = await run.end;
  assert.deepEqual(verdict, { kind: "finished", exit: 5, signal: null });
  assert.equal(attached?.binding.bootId, first.bootId);
  const count = Number(/all (\d+)\n$/.exec(run.out)?.[1]);
  assert.equal(run.out, `${numbered("out", count)}all ${count}\n`);
  assert.equal(run.err, numbered("err", count));
  assert.deepEqual(run.said, Array<string>(SWAPS).fill("reset"), "each swap is a control reset and nothing else");
  t.diagnostic(`${SWAPS} swaps, killed 0, ${count} lines to each output`);
});

test("the control: the same swap by force, with another image, kills it; a handoff of that image is refused", async (t: TestContext) => {
  const { fleet: client } = access;
  const run = call("doomed", counting("doomed"));
  const resumed = call("resumed", counting("resumed"), { resume: ["sh", "-c", "echo went on"] });
  await eventually("both write", () => (run.out.length > 100 && resumed.out.length > 100 ? true : undefined));
  newImage("2\n");
  const build = await releaseOf("B");
  const id = "by-force";
  await client.drain(drainBody(id, build));
  await assert.rejects(client.seal(id, true), /image/);
  assert.equal((await fleet.swap({ drainId: id, mode: "handoff", build })).outcome, "none");
  const answer = await fleet.swap({ drainId: id, mode: "forced", build });
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  const killed = answer.killed.flatMap(({ processes }) => processes).filter(({ role }) => role === "inside");
  for (const name of ["doomed", "resumed"])
    assert.ok(
      killed.some(({ command }) => command.includes(goFile(name))),
      `${name} is among the killed`,
    );
  await client.undrain({ id, outcome: "landed", force: false });
  assert.deepEqual((await run.end).verdict, { kind: "replaced", by: "container" });
  assert.deepEqual((await resumed.end).verdict, { kind: "finished", exit: 0, signal: null });
  assert.match(resumed.out, /went on\n$/);
  assert.deepEqual([run.said, resumed.said], [["replaced"], ["replaced"]]);
  assert.doesNotMatch(run.out, /all/);
  t.diagnostic(`by force: killed ${killed.length}`);
});

test("a release that a newer generation overtakes ends what was there when it began, and nothing that this one has begun", async () => {
  const run = await fleet.inFlight(app);
  const termed = join(fleet.home, "termed");
  const old = `trap "touch '${termed}'" TERM; echo up; while [ ! -e '${goFile("old")}' ]; do sleep 0.01; done`;
  await fleet.exec(run, { id: "proc-old", shell: old }, (out) => out.includes("up"));
  const released = fleet.detach(run);
  await eventually("the old process is told to end", () => (existsSync(termed) ? true : undefined));
  assert.equal((await fleet.admitted(run, { generation: 1 })).again, true);
  await fleet.exec(run, { id: "proc-new", shell: "echo up; exec sleep 1010" }, (out) => out.includes("up"));
  await fleet.untilInside(app, "sleep 1010");
  letGo("old");
  assert.equal((await released).kind, "superseded");
  const left = await fleet.commands(app);
  assert.ok(left.includes("sleep 1010"), "the new one lives");
  assert.ok(!left.some((command) => command.includes(goFile("old"))), "the old one is gone");
  assert.equal((await fleet.detach(run, 1)).kind, "released");
  assert.ok(!(await fleet.commands(app)).includes("sleep 1010"));
});
