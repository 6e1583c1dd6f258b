// What a kill takes from the fleet: nothing that it had acknowledged. Its workerd and its supervisor are ended in the
// middle of things, also by a swap that nobody guarded, and drains, rows, seals and the audit log are as they were.

import assert from "node:assert/strict";
import { join } from "node:path";
import { before, test } from "node:test";
import { REAL } from "#core/budgets.ts";
import { fleetSources } from "#embed/sources.ts";
import { prepareRelease } from "#embed/release.ts";
import { isSameProcess, sendSignal } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { FleetStack, type Run } from "./fleetStack.ts";
import { eventually, type Up } from "./hostStack.ts";

const fleet = new FleetStack(1);
let [app, other] = ["", ""];
let up: Up;

before(async () => {
  up = await fleet.up();
  app = await fleet.onboard("app");
  other = await fleet.onboard("other");
});

/** What must be the same before and after. */
async function kept() {
  const { runs, drains, residents, attaching } = await fleet.residents();
  const rows = (await fleet.auditRows()).filter(({ what }) => what !== "swapped");
  return { runs, drains, attaching, rows, resources: residents.map(({ resource }) => resource) };
}

async function answersAgain(): Promise<void> {
  await eventually("the fleet answers", () => fleet.residents().catch(() => undefined));
}

async function signalWorkerd(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const workerd = readSupervisorFile(fleet.paths)?.workerd;
  assert.ok(workerd);
  sendSignal(workerd.pid, signal);
  const patience = performance.now() + REAL.connectMs;
  await eventually("workerd is gone", () => {
    // With a connection open workerd does not end by itself after a SIGTERM, and answers no new one.
    if (performance.now() > patience) sendSignal(workerd.pid, "SIGKILL");
    return isSameProcess(workerd) ? undefined : true;
  });
  await answersAgain();
}

async function endSupervisor(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const ended = new Promise((resolve) => up.child.once("exit", resolve));
  up.child.kill(signal);
  if (signal === "SIGTERM") {
    // While a run is in flight the first one only names it.
    await eventually("it names what is in flight", () => (up.said().includes("runs are in flight") ? true : undefined));
    up.child.kill(signal);
  }
  await ended;
}

test("drains, rows and audit survive SIGTERM and SIGKILL; the run goes on, until an end that was asked for twice releases it", async () => {
  const run = await fleet.inFlight(app);
  const { bootId } = await fleet.admitted(run);
  await fleet.drain("kept-person", { deploy: false, minutes: 60 });
  await fleet.drain("kept-deploy");
  await fleet.exec(run, { id: "kept-proc", shell: "echo up; exec sleep 1006" }, (out) => out.includes("up"));
  const before = await kept();
  assert.deepEqual([before.runs.length, before.drains.length], [1, 2]);
  await signalWorkerd("SIGTERM");
  assert.deepEqual(await kept(), before);
  await signalWorkerd("SIGKILL");
  assert.deepEqual(await kept(), before);
  await endSupervisor("SIGKILL");
  up = await fleet.up();
  assert.deepEqual(await kept(), before);
  const adopted = await fleet.admitted(run);
  assert.deepEqual([adopted.again, adopted.bootId], [true, bootId], "the container was adopted");
  assert.equal((await fleet.attach(fleet.newRun(app))).problem?.code, "DRAINING");
  await endSupervisor("SIGTERM");
  up = await fleet.up();
  const after = await kept();
  assert.deepEqual([after.drains, after.runs], [before.drains, []], "no row holds up what comes next");
  assert.deepEqual(after.rows.slice(0, before.rows.length), before.rows);
  assert.deepEqual(
    new Set(after.rows.slice(before.rows.length).map((row) => row.what)),
    new Set(["released", "releaseRun"]),
  );
  assert.equal((await fleet.attach(run)).problem?.code, "DRAINING", "it is a new run now");
  await fleet.reopen();
});

test("a seal survives SIGKILL of workerd: the swap it began goes on, nobody passes, and it is taken back once", async () => {
  await fleet.drain("kept-seal");
  const { drain } = await fleet.seal("kept-seal");
  await signalWorkerd("SIGKILL");
  assert.deepEqual((await fleet.drains()).drains, [drain]);
  assert.deepEqual((await fleet.seal("kept-seal")).drain, drain);
  assert.equal((await fleet.attach(fleet.newRun(other))).problem?.code, "DRAINING");
  assert.equal((await fleet.lift("kept-seal", "none")).kind, "lifted");
  await signalWorkerd("SIGKILL");
  const run = await fleet.inFlight(other);
  assert.equal((await fleet.detach(run)).kind, "released");
});

const COUNT = 60;
const counting = `i=0; while [ $i -lt ${COUNT} ]; do i=$((i+1)); echo "line $i of the run"; sleep 0.05; done; exit 5`;
const counted = Array.from({ length: COUNT }, (_, n) => `line ${n + 1} of the run\n`).join("");

/** The release of this folder with another Worker and the same image. */
function releaseB() {
  const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
  const worker = join(import.meta.dirname, "fixtures", "fleetWorkerB.ts");
  return prepareRelease({ paths: fleet.paths, sources: { ...fleetSources(), worker }, building });
}

async function swapUnderItsStream(run: Run): Promise<void> {
  const { build, changed } = await releaseB();
  assert.deepEqual([changed.bundle, changed.image], [true, false]);
  const before = await fleet.admitted(run);
  const begun = Promise.withResolvers<void>();
  const first = fleet.exec(run, { id: "counting", shell: counting }, (out) => {
    if (out.length > 100) begun.resolve();
    return false;
  });
  await begun.promise;
  const answer = await fleet.swap({ drainId: "unguarded", mode: "forced", build });
  assert.ok(answer.outcome === "landed", JSON.stringify(answer));
  assert.deepEqual([answer.generation, answer.killed], [2, []]);
  const { out, end, cut } = await first;
  assert.ok(end === undefined && cut !== undefined && out.length < counted.length, "the stream was cut in the middle");
  const again = await fleet.admitted(run);
  assert.deepEqual(
    [again.again, again.fleetGeneration, again.bootId, again.workspace],
    [true, 2, before.bootId, before.workspace],
  );
  const rest = await fleet.exec(run, { id: "counting", from: Buffer.byteLength(out) });
  assert.equal(out + rest.out, counted);
  assert.deepEqual([rest.end?.exit, rest.end?.cause], [5, "exited"]);
  assert.deepEqual(again.leaseUntil, before.leaseUntil);
}

test("an unguarded swap of the Worker under a run's open stream cuts the stream alone: the run re-attaches to its process, byte for byte", async () => {
  const run = await fleet.inFlight(app);
  await swapUnderItsStream(run);
  const swapped = (await fleet.auditRows()).findLast(({ what }) => what === "swapped");
  assert.deepEqual([swapped?.drainId, swapped?.reason], ["unguarded", "generation 2"]);
  await fleet.detach(run);
});

test("`landed` is believed of the drain that brought the Worker which serves, and opens the fleet at once", async () => {
  const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
  const { build } = await prepareRelease({ paths: fleet.paths, sources: fleetSources(), building });
  await fleet.drain("landed-1", { build });
  await fleet.seal("landed-1");
  const answer = await fleet.swap({ drainId: "landed-1", mode: "sealed", build });
  assert.equal(answer.outcome, "landed", JSON.stringify(answer));
  assert.equal((await fleet.drains()).draining?.phase, "swapping", "still closed on the new generation");
  assert.equal((await fleet.lift("landed-1", "landed")).kind, "lifted");
  const run = fleet.newRun(app);
  assert.equal((await fleet.admitted(run)).fleetGeneration, 3);
  await fleet.detach(run);
});

test("an empty secret grants nothing, neither by an empty bearer nor by the one in the file", async () => {
  await endSupervisor("SIGKILL");
  up = await fleet.up({ RESIDENT_DRAIN_TOKEN: "" });
  const status = async (authorization: string): Promise<number> =>
    (await fleet.open(null, "/undrain", { method: "POST", headers: { authorization } })).status;
  const given = ["Bearer ", "Bearer", "Bearer  ", `Bearer ${fleet.bearer("drain")}`, "Basic Og=="];
  assert.deepEqual(
    await Promise.all(given.map(status)),
    given.map(() => 401),
  );
  const admin = { authorization: `Bearer ${fleet.bearer("admin")}`, "content-type": "application/json" };
  const lifted = await fleet.open(null, "/undrain", {
    method: "POST",
    headers: admin,
    body: JSON.stringify({ id: "nobody" }),
  });
  assert.equal(lifted.status, 200, "who has another scope is not affected");
});
