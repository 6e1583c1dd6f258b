// The gate on a real workerd with real worktrees: who is admitted, who is refused and how, whatever the fleet's state is.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { basename, dirname } from "node:path";
import { afterEach, before, test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import type { RunRow } from "#wire/fleet.ts";
import { FleetStack, type Run } from "./fleetStack.ts";
import { eventually } from "./hostStack.ts";

const fleet = new FleetStack(60);
let app = "";

before(async () => {
  await fleet.up();
  app = await fleet.onboard("app");
});

afterEach(async () => {
  await fleet.reopen();
  await fleet.clear();
});

const close = (id: string) => fleet.drain(id, { deploy: false, by: "a person", reason: "a test of the gate" });

test("twenty requests of one run at once are one attach: one worktree, one row, the same answer", async () => {
  const run = fleet.newRun(app);
  const answers = await Promise.all(Array.from({ length: 20 }, () => fleet.attach(run, { generation: 3 })));
  const bindings = answers.map(({ status, binding }) => ({ status, ...binding, admittedAt: 0 }));
  for (const binding of bindings) assert.deepEqual(binding, bindings[0]);
  const [first] = answers;
  assert.deepEqual([first?.status, first?.binding?.again, first?.binding?.generation], [200, false, 3]);
  const workspace = first?.binding?.workspace ?? "";
  const residents = await fleet.residents();
  assert.deepEqual([residents.runs.map((row) => row.runId), residents.attaching], [[run.runId], 0]);
  const threads = readdirSync(dirname(workspace)).filter((name) => name.includes(run.threadKey.replace(":", "-")));
  assert.deepEqual(threads, [basename(workspace)]);
});

test("a registered run is admitted again while drained, its lease no later; an older generation is 409", async () => {
  const run = fleet.newRun(app);
  const first = await fleet.admitted(run, { remainingMs: 10 * MINUTE, generation: 1 });
  await close("again-person");
  const again = await fleet.admitted(run, { remainingMs: 40 * MINUTE, generation: 2 });
  assert.deepEqual([again.again, again.generation, again.leaseUntil], [true, 2, first.leaseUntil]);
  assert.deepEqual([again.workspace, again.branch, again.base], [first.workspace, first.branch, first.base]);
  const older = await fleet.attach(run, { generation: 1 });
  assert.deepEqual([older.status, older.problem?.code], [409, "OLD_GENERATION"]);
  assert.equal((await fleet.detach(run, 1)).kind, "superseded");
  assert.deepEqual(
    (await fleet.residents()).runs.map(({ runId, generation }) => [runId, generation]),
    [[run.runId, 2]],
  );
  const shorter = await fleet.admitted(run, { remainingMs: 5 * MINUTE, generation: 2 });
  assert.ok(shorter.leaseUntil < first.leaseUntil, "a lease may move earlier");
});

test("another run of the thread is told who holds it, open or drained; only a word that it is over takes its place", async () => {
  const run = await fleet.inFlight(app);
  const other: Run = { ...fleet.newRun(app), threadKey: run.threadKey };
  const holder = async (more: object = {}): Promise<unknown[]> => {
    const { status, problem } = await fleet.attach(other, more);
    return [status, problem?.code, problem?.["runId"]];
  };
  assert.deepEqual(await holder(), [409, "THREAD_BUSY", run.runId]);
  assert.deepEqual(await holder({ replace: { by: "ledger", runId: "run-of-another-thread" } }), [
    409,
    "THREAD_BUSY",
    run.runId,
  ]);
  await fleet.drain("busy-deploy");
  assert.deepEqual(await holder(), [409, "THREAD_BUSY", run.runId]);
  await close("busy-person");
  assert.deepEqual(await holder({ parent: run.runId }), [409, "THREAD_BUSY", run.runId]);
  await fleet.reopen();
  await fleet.exec(run, { id: "sleeper-1", shell: "echo up; exec sleep 1002" }, (out) => out.includes("up"));
  await fleet.untilInside(app, "sleep 1002");
  const taken = await fleet.admitted(other, { replace: { by: "person" } });
  assert.equal(taken.again, false);
  assert.deepEqual(
    (await fleet.residents()).runs.map((row) => row.runId),
    [other.runId],
  );
  assert.ok(!(await fleet.commands(app)).includes("sleep 1002"), "the old run's process ended first");
  const third: Run = { ...fleet.newRun(app), threadKey: run.threadKey };
  await close("replace-person");
  const refused = await fleet.attach(third, { replace: { by: "ledger", runId: other.runId } });
  assert.deepEqual(
    [refused.status, refused.problem?.code],
    [503, "DRAINING"],
    "once the old run is over, it is judged like any other",
  );
  await fleet.untilResidents("the old run is gone", ({ runs }) => runs.length === 0);
});

test("a new attach while drained is a real 503 with Retry-After, the record and when it will be quiet; nothing is written", async () => {
  const run = fleet.newRun(app);
  const { leaseUntil } = await fleet.admitted(run, { remainingMs: 20 * MINUTE });
  const { drain } = await close("refusing");
  const inFlight = async (): Promise<unknown> => {
    const { runs, attaching, drains, residents, quietBy: quiet } = await fleet.residents();
    return { runs, attaching, drains, residents, quiet };
  };
  const before = await inFlight();
  const late = fleet.newRun(app);
  const refused = await fleet.attach(late);
  assert.deepEqual([refused.status, refused.headers.get("content-type")], [503, "application/problem+json"]);
  assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
  const { problem } = refused;
  assert.deepEqual([problem?.code, problem?.status, problem?.["quietBy"]], ["DRAINING", 503, leaseUntil]);
  assert.match(String(problem?.["error"]), /^draining: a person — a test of the gate, until /);
  assert.deepEqual(fleet.refusedBy(problem), drain);
  assert.deepEqual(await inFlight(), before);
  await fleet.lift("refusing");
  await fleet.admitted(late);
});

test("an onboarding while drained is refused with the record and leaves nothing", async () => {
  const before = [(await fleet.residents()).residents, readdirSync(fleet.paths.containers), await fleet.auditRows()];
  const { drain } = await close("onboarding");
  const problem = await fleet.refusal("admin", "/onboard", { resource: "repo:test/late", url: "/nowhere" });
  assert.deepEqual([problem.code, fleet.refusedBy(problem).id], ["DRAINING", drain.id]);
  await fleet.lift("onboarding");
  const rows = (await fleet.auditRows()).filter(({ drainId }) => drainId !== "onboarding");
  assert.deepEqual([(await fleet.residents()).residents, readdirSync(fleet.paths.containers), rows], before);
});

test("a child of a registered run is admitted while drained, within its parent's lease; no other child is", async () => {
  const parent = fleet.newRun(app);
  const bound = await fleet.admitted(parent, { remainingMs: 15 * MINUTE });
  const stop = await fleet.pulsing("children");
  const orphan = await fleet.attach(fleet.newRun(app), { parent: "run-nobody-knows" });
  assert.deepEqual([orphan.status, orphan.problem?.code], [503, "DRAINING"]);
  const child = fleet.newRun(app);
  const binding = await fleet.admitted(child, { parent: parent.runId, remainingMs: 40 * MINUTE });
  assert.deepEqual([binding.kind, binding.leaseUntil], ["child", bound.leaseUntil]);
  const grandchild = await fleet.admitted(fleet.newRun(app), { parent: child.runId });
  assert.ok(grandchild.leaseUntil <= bound.leaseUntil);
  const busy = await fleet.refusal("drain", "/seal", { id: "children" });
  stop();
  assert.equal(busy.code, "SEAL_BUSY");
});

test("once the swap has begun nobody passes, a child neither", async () => {
  const parent = await fleet.inFlight(app);
  await fleet.detach(parent);
  await fleet.drain("swapping");
  await fleet.seal("swapping");
  const { problem } = await fleet.attach(fleet.newRun(app), { parent: parent.runId });
  assert.deepEqual([problem?.code, fleet.refusedBy(problem).phase], ["DRAINING", "swapping"]);
  await fleet.lift("swapping", "none");
  await fleet.inFlight(app);
});

test("a thread without a registered run has to attach first; of a registered run everything goes on while drained", async () => {
  const run = await fleet.inFlight(app);
  await close("going-on");
  const data = Buffer.from("written while drained\n").toString("base64");
  const asks = { exec: { procId: "proc-1", command: ["true"] }, write: { path: "a.txt", data }, op: { op: "status" } };
  const stranger = { ...fleet.newRun(app) };
  for (const [route, body] of Object.entries(asks)) {
    assert.equal((await fleet.refusal("operator", `/${route}`, { ...stranger, ...body })).code, "NEEDS_ATTACH", route);
    const wrongRun = { ...run, runId: stranger.runId, ...body };
    assert.equal(
      (await fleet.refusal("operator", `/${route}`, wrongRun)).code,
      "NEEDS_ATTACH",
      `${route} of another run`,
    );
  }
  assert.equal((await fleet.ask("operator", "/write", { ...run, ...asks.write })).status, 200);
  assert.deepEqual((await fleet.ask("operator", "/read", { ...run, path: "a.txt" })).body, { data });
  const output = await fleet.exec(run, { id: "proc-2", shell: "cat a.txt; exit 7" });
  assert.deepEqual([output.out, output.end?.exit], ["written while drained\n", 7]);
  const again = await fleet.exec(run, { id: "proc-2", from: 8 });
  assert.deepEqual([again.out, again.end?.exit], ["while drained\n", 7], "the same process, from an offset");
  assert.equal((await fleet.ask("operator", "/op", { ...run, op: "status" })).status, 200);
  const { kind, work } = await fleet.detach(run);
  assert.deepEqual([kind, work?.ahead, work?.dirty], ["released", 0, true]);
  assert.equal((await fleet.refusal("operator", "/exec", { ...run, ...asks.exec })).code, "NEEDS_ATTACH");
  const { resource, threadKey } = run;
  assert.deepEqual((await fleet.ask("operator", "/read", { resource, threadKey, path: "a.txt" })).body, { data });
});

test("a run that is registered on one thread is not taken onto a second one", async () => {
  const run = await fleet.inFlight(app);
  const { status, problem } = await fleet.attach({ ...run, threadKey: `${run.threadKey}-second` });
  assert.deepEqual([status, problem?.code, problem?.field], [400, "BAD_FIELD", "threadKey"]);
  const { runs, attaching } = await fleet.residents();
  assert.deepEqual([runs.map(({ threadKey }) => threadKey), attaching], [[run.threadKey], 0]);
});

test("a lease's end is carried out by the resident alone: processes, a setsid escapee, the row", async () => {
  const run = fleet.newRun(app);
  const { leaseUntil } = await fleet.admitted(run, { remainingMs: 3 * MINUTE });
  const shell = "setsid sleep 1003 & echo up; exec sleep 1004";
  await fleet.exec(run, { id: "left-alone", shell }, (out) => out.includes("up"));
  await fleet.untilInside(app, "sleep 1003", "sleep 1004");
  await close("lease-end");
  await fleet.untilResidents("the row is gone", ({ runs }) => runs.length === 0);
  assert.deepEqual(
    (await fleet.commands(app)).filter((one) => /sleep 100[34]/.test(one)),
    [],
  );
  const told = (await fleet.auditRows()).find(({ what, runId }) => what === "leaseEnded" && runId === run.runId);
  assert.ok(told !== undefined && told.at >= leaseUntil + CLOCK.graceMs, "not before the grace is over");
  assert.ok(told.at <= leaseUntil + 2 * CLOCK.graceMs, "and soon after it");
  assert.equal((await fleet.attach(run)).problem?.code, "DRAINING", "it is a new run again");
});

test("a row with nothing alive is suspect, one with a process is not; an admin releases a run with a reason", async () => {
  const idle = await fleet.inFlight(app);
  const busy = await fleet.inFlight(app);
  await fleet.exec(busy, { id: "busy-proc", shell: "echo up; exec sleep 1005" }, (out) => out.includes("up"));
  await fleet.untilInside(app, "sleep 1005");
  const old = await eventually("both are old enough to be suspect", async () => {
    const { runs, now } = await fleet.residents(true);
    const isOld = (row: RunRow): boolean => now - row.since >= CLOCK.suspectAfterMs;
    for (const row of runs) assert.ok(!row.suspect || isOld(row), "not at once");
    return runs.every(isOld) ? runs : undefined;
  });
  const suspects = old.filter((row) => row.suspect).map((row) => row.runId);
  assert.deepEqual(suspects, [idle.runId]);
  assert.equal((await fleet.residents()).residents[0]?.suspect, 1);
  assert.equal(
    (await fleet.refusal("admin", "/runs/release", { runId: "run-unknown", reason: "a test" })).code,
    "NO_SUCH_RUN",
  );
  const released = await fleet.ask("admin", "/runs/release", { runId: busy.runId, reason: "it hangs" });
  assert.equal(released.status, 200, released.text);
  await fleet.untilResidents("it is gone", ({ runs }) => runs.length === 1);
  assert.ok(!(await fleet.commands(app)).includes("sleep 1005"));
  const row = (await fleet.auditRows()).find(({ what, runId }) => what === "releaseRun" && runId === busy.runId);
  assert.deepEqual([row?.principal, row?.reason, row?.resource], ["admin", "it hangs", app]);
});
