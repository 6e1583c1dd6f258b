// Runs beside a reconcile: a container is restarted before a run begins in it or after the last one has left, and never
// between, whoever was left out of the seal, wherever a restart stands when workerd falls.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { eventually } from "../embedded/hostStack.ts";
import { ContractFleet, NEW, OLD } from "./contractFleet.ts";

const SCALE = 20;
const ID = "deploy-1";

/** A deploy to its end, over residents of which nobody is held in the end. */
async function deployed(fleet: ContractFleet, without: readonly string[] = []): Promise<void> {
  const left = without.map((resource) => ({ resource, reason: "a test leaves it out" }));
  await fleet.swapped(ID, NEW, { without: left });
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, []);
  assert.deepEqual((await fleet.lift(ID, "landed")).held, []);
}

/** A fleet with one resident whose container does not run, and whose next start is of the old image. */
async function asleep(): Promise<{ fleet: ContractFleet; idle: string }> {
  const fleet = await ContractFleet.begin(SCALE);
  const idle = await fleet.onboard("idle");
  fleet.platform.stop(idle);
  await deployed(fleet);
  assert.equal((await fleet.wordOf(ID, idle)).state, "inactive");
  assert.deepEqual([fleet.platform.running(idle), fleet.platform.rolls(idle)], [undefined, 0], "nobody woke it");
  return { fleet, idle };
}

async function inactive(): Promise<void> {
  const { fleet, idle } = await asleep();
  const seen: string[] = [];
  fleet.platform.treat(idle, {
    startsOn: () => OLD,
    roll: async ({ restart }) => {
      seen.push(...(await fleet.residents()).runs.map(({ runId, state }) => `${runId} ${state}`));
      return restart();
    },
  });
  const run = fleet.newRun(idle);
  const { image, bootId } = await fleet.admitted(run);
  assert.deepEqual([image, bootId], [NEW, fleet.platform.running(idle)?.bootId]);
  assert.deepEqual(seen, [`${run.runId} attaching`], "restarted before it runs, under its own row alone");
  const again = await fleet.admitted(run);
  assert.deepEqual([again.again, again.bootId, fleet.platform.rolls(idle)], [true, bootId, 1]);
  await fleet.detach(run);
}

/** Both arrive at a container that nobody has looked into since it was started. */
async function twoAtOnce(): Promise<void> {
  const { fleet, idle } = await asleep();
  fleet.platform.treat(idle, { startsOn: () => OLD });
  const runs = [fleet.newRun(idle), fleet.newRun(idle)];
  const bindings = await Promise.all(runs.map((run) => fleet.admitted(run)));
  const boot = fleet.platform.running(idle)?.bootId;
  assert.deepEqual(
    bindings.map(({ bootId }) => bootId),
    [boot, boot],
    "none was admitted onto a container that then went",
  );
  await Promise.all(runs.map((run) => fleet.detach(run)));
  await eventually("it is on the new image", () => (fleet.platform.running(idle)?.imageId === NEW ? true : undefined));
  assert.deepEqual([fleet.platform.rolls(idle), fleet.platform.underRun], [1, []]);
}

/** The attach goes with workerd; the restart does not. */
async function fallsUnderItsAttach(): Promise<void> {
  const { fleet, idle } = await asleep();
  const asked = Promise.withResolvers<void>();
  fleet.platform.treat(idle, {
    startsOn: () => OLD,
    roll: async ({ nth, restart, abandoned }) => {
      asked.resolve();
      if (nth === 1) await abandoned;
      return restart();
    },
  });
  const run = fleet.newRun(idle);
  const cut = fleet.attach(run).then(
    () => "answered",
    () => "cut",
  );
  await asked.promise;
  await fleet.fall();
  assert.equal(await cut, "cut");
  await fleet.comeBack();
  const { image, again, bootId } = await fleet.admitted(run);
  assert.deepEqual([image, again, bootId], [NEW, false, fleet.platform.running(idle)?.bootId]);
  assert.deepEqual([fleet.platform.rolls(idle), fleet.platform.underRun], [1, []]);
}

async function leftOut(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const [busy, other] = [await fleet.onboard("busy"), await fleet.onboard("other")];
  const run = await fleet.inFlight(busy);
  fleet.platform.running(busy)?.procs.set("work", run.threadKey);
  const boot = fleet.platform.running(busy)?.bootId;
  await deployed(fleet, [busy]);
  const { state, why } = await fleet.wordOf(ID, busy);
  assert.deepEqual([state, why], ["deferred", `in flight: ${run.runId}`]);
  const second = fleet.newRun(busy);
  assert.deepEqual([(await fleet.admitted(second)).image, (await fleet.admitted(run)).bootId], [OLD, boot]);
  await fleet.detach(run);
  const { asks } = await fleet.wordOf(ID, busy);
  await eventually("it is asked on", async () => ((await fleet.wordOf(ID, busy)).asks > asks ? true : undefined));
  assert.deepEqual([fleet.platform.rolls(busy), fleet.platform.running(busy)?.bootId], [0, boot]);
  await fleet.detach(second);
  await fleet.untilSays(ID, busy, "restarted");
  const entry = await fleet.wordOf(ID, busy);
  assert.deepEqual([entry.image, entry.killed, fleet.platform.rolls(busy)], [NEW, 0, 1]);
  assert.deepEqual([fleet.platform.underRun, await fleet.assertOpen(other)], [[], NEW]);
  const told = await fleet.told(ID);
  assert.ok(!told.some((word) => word.includes(busy)), told.join(", "));
}

/** A run that is on its way in is one too, although it works in a container that is to go. */
async function onItsWayIn(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const busy = await fleet.onboard("busy");
  const run = await fleet.inFlight(busy);
  await deployed(fleet, [busy]);
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fleet.platform.treat(busy, {
    inside: (path) => {
      if (path !== "/v1/mirror") return undefined;
      asked.resolve();
      return go.promise;
    },
  });
  const coming = [fleet.newRun(busy), fleet.newRun(busy)];
  const admitted = coming.map((one) => fleet.admitted(one));
  await asked.promise;
  await fleet.detach(run);
  const { asks } = await fleet.wordOf(ID, busy);
  await eventually("it is asked on", async () => ((await fleet.wordOf(ID, busy)).asks > asks + 1 ? true : undefined));
  assert.deepEqual([fleet.platform.rolls(busy), (await fleet.wordOf(ID, busy)).state], [0, "deferred"]);
  go.resolve();
  const boot = fleet.platform.running(busy)?.bootId;
  const boots = (await Promise.all(admitted)).map(({ bootId }) => bootId);
  assert.deepEqual(boots, [boot, boot], "both are on the container that they were made ready in");
  await Promise.all(coming.map((one) => fleet.detach(one)));
  await fleet.untilSays(ID, busy, "restarted");
}

/** A process of a run whose row is gone: nobody may be admitted beside it, and nobody ends it. */
async function leftProcess(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const live = fleet.platform.running(app)?.procs;
  live?.set("left", "test:gone");
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilSays(ID, app, "deferred");
  assert.deepEqual((await fleet.lift(ID, "landed")).held, [app]);
  const { asks } = await fleet.wordOf(ID, app);
  await eventually("it is asked on", async () => ((await fleet.wordOf(ID, app)).asks > asks ? true : undefined));
  await fleet.assertClosed(app, "reopening");
  assert.deepEqual([fleet.platform.rolls(app), live?.size], [0, 1]);
  live?.clear();
  await fleet.untilOpen();
  assert.deepEqual([await fleet.assertOpen(app), fleet.platform.rolls(app)], [NEW, 1]);
}

/** The restart outlasts the bound: the resident is open, and whoever comes then waits for the restart's end. */
async function late(): Promise<void> {
  const fleet = await ContractFleet.begin(6 * SCALE);
  const [app, other] = [await fleet.onboard("app"), await fleet.onboard("other")];
  const go = Promise.withResolvers<void>();
  fleet.platform.treat(app, {
    roll: async ({ restart }) => {
      await go.promise;
      return restart();
    },
  });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [app]);
  await fleet.lift(ID, "landed");
  await fleet.untilTold(ID, "reopen bound");
  assert.deepEqual(fleet.namedStale(), [app]);
  const run = fleet.newRun(app);
  const attaching = fleet.admitted(run);
  const { runs } = await fleet.untilResidents("it is let in", ({ attaching: count }) => count > 0);
  assert.ok(runs.every(({ state }) => state === "attaching"));
  await fleet.aFewAnswersLater();
  go.resolve();
  assert.equal((await attaching).image, NEW);
  assert.deepEqual([fleet.platform.rolls(app), fleet.platform.rolls(other), fleet.platform.underRun], [1, 1, []]);
  await fleet.detach(run);
  assert.deepEqual(
    (await fleet.told(ID)).slice(-2),
    [`stale ${app} bound`, "reopen bound"],
    "its report frees nobody now",
  );
}

/** Past the bound nobody asks it any more; the first to come restarts it. */
async function afterTheBound(): Promise<void> {
  const fleet = await ContractFleet.begin(6 * SCALE);
  const app = await fleet.onboard("app");
  fleet.platform.treat(app, { roll: ({ untouched }) => untouched() });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [app]);
  await fleet.lift(ID, "landed");
  await fleet.untilOpen();
  fleet.platform.treat(app, {});
  const row = (await fleet.residents()).residents.find(({ resource }) => resource === app);
  assert.deepEqual([row?.imageReport, row?.readiness, row?.hold], ["stale", "ready", null]);
  const rolls = fleet.platform.rolls(app);
  assert.equal(await fleet.assertOpen(app), NEW);
  assert.deepEqual([fleet.platform.rolls(app), fleet.platform.underRun], [rolls + 1, []]);
}

/** A rebuild ends the container that runs, although it is on the image: who comes meanwhile gets the next one. */
async function underRebuild(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fleet.platform.treat(app, {
    renew: () => {
      asked.resolve();
      return go.promise;
    },
  });
  const rebuilding = fleet.rebuild(app);
  await asked.promise;
  const run = fleet.newRun(app);
  const admitted = fleet.admitted(run);
  await fleet.untilResidents("it is let in", ({ runs }) => runs.some(({ runId }) => runId === run.runId));
  await fleet.aFewAnswersLater();
  go.resolve();
  assert.equal((await rebuilding).type, "resident");
  assert.equal((await admitted).bootId, fleet.platform.running(app)?.bootId);
  assert.equal((await fleet.admitted(run)).bootId, fleet.platform.running(app)?.bootId);
  assert.match(JSON.stringify(await fleet.refusal("admin", "/rebuild", { resource: app })), new RegExp(run.runId));
  assert.equal((await fleet.rebuild(app, true)).type, "resident");
  assert.deepEqual((await fleet.residents()).runs, [], "by force, which ends the run first");
}

/** Nobody comes for an hour, which is seconds here. */
async function bySweep(): Promise<void> {
  const fleet = await ContractFleet.begin(1000);
  fleet.platform.treat("repo:test/app", {
    startsOn: () => "image-elsewhere",
    roll: ({ nth, restart, untouched }) => (nth === 1 ? untouched() : restart()),
  });
  const app = await fleet.onboard("app");
  await eventually("its first release looks", () => (fleet.platform.rolls(app) > 0 ? true : undefined));
  assert.equal(fleet.platform.running(app)?.imageId, "image-elsewhere");
  await eventually("it is on the image", () => (fleet.platform.running(app)?.imageId === OLD ? true : undefined));
  assert.equal(fleet.platform.rolls(app), 2);
}

suite("a container is restarted", { concurrency: true }, () => {
  test("before the run that wakes it onto the old image begins, under its own row", inactive);
  test("under none of two runs that wake it together", twoAtOnce);
  test("once, when workerd falls under the attach that restarts it", fallsUnderItsAttach);
  test("after the last of the runs that were left out of the seal has left", leftOut);
  test("not under runs that are on their way in", onItsWayIn);
  test("after the last process of a run that has no row any more has ended; until then it is held", leftProcess);
  test("by a rebuild under nobody: who comes meanwhile waits for its end, and who is there refuses it", underRebuild);
  test("late, behind the bound: who comes meanwhile waits for it", late);
  test("at the hourly sweep, when nobody comes", bySweep);
  test("by the first to come once the bound has opened its resident", afterTheBound);
});

test("a roll that is asked under a registered run is noted, so that none of these tests passes without looking", async () => {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const run = await fleet.inFlight(app);
  const roll = (): Promise<Response> =>
    fetch(`${fleet.platform.url}/containers/roll`, {
      method: "POST",
      headers: { authorization: `Bearer ${fleet.platform.token}` },
      body: JSON.stringify({ resource: app }),
    });
  assert.equal((await roll()).status, 200);
  assert.deepEqual(fleet.platform.underRun.splice(0), [`${app} under ${run.runId}`]);
  await fleet.detach(run);
  assert.equal((await roll()).status, 200);
  assert.deepEqual(fleet.platform.underRun, []);
});
