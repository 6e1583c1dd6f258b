// A report is a latch for one drain and one image, asked for until it comes: what is said too early counts, what is said of
// another image does not, and what is lost, with the workerd that should have heard it too, is asked for again.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { problemSchema } from "#wire/errors.ts";
import { Watch } from "../embedded/fleetWatch.ts";
import { eventually } from "../embedded/hostStack.ts";
import { ContractFleet, NEW, OLD } from "./contractFleet.ts";

const SCALE = 20;
const ID = "deploy-1";

async function begun(): Promise<{ fleet: ContractFleet; app: string; other: string }> {
  const fleet = await ContractFleet.begin(SCALE);
  const [app, other] = [await fleet.onboard("app"), await fleet.onboard("other")];
  return { fleet, app, other };
}

/** What `/reconcile` is refused with. */
async function refused(fleet: ContractFleet, method: "GET" | "POST"): Promise<[number, string]> {
  const { status, body } = await (method === "GET"
    ? fleet.ask("drain", `/reconcile?id=${ID}`)
    : fleet.ask("drain", "/reconcile", { id: ID }));
  return [status, problemSchema.parse(body).code];
}

async function reportedOf(fleet: ContractFleet): Promise<readonly string[] | undefined> {
  return (await fleet.drains()).drains.find(({ id }) => id === ID)?.reported;
}

async function early(): Promise<void> {
  const { fleet, app, other } = await begun();
  await fleet.swapped(ID, NEW);
  fleet.platform.restart(app);
  const row = (await fleet.residents(true)).residents.find(({ resource }) => resource === app);
  assert.deepEqual([row?.image, row?.imageReport], [NEW, "current"]);
  assert.deepEqual(await reportedOf(fleet), [app], "a latch, before anybody was held");
  await fleet.assertClosed(app, "swapping");
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, []);
  const freed = (await fleet.told(ID)).filter((word) => word.startsWith("freed"));
  assert.deepEqual(freed, [`freed ${other} reported`], "who had reported was never held");
  assert.deepEqual([(await fleet.wordOf(ID, app)).state, fleet.platform.rolls(app)], ["current", 0]);
  const lifted = await fleet.lift(ID, "landed");
  assert.deepEqual([lifted.kind, lifted.held], ["lifted", []]);
}

async function older(): Promise<void> {
  const { fleet, app, other } = await begun();
  fleet.platform.treat(app, { roll: ({ untouched }) => untouched() });
  await fleet.swapped(ID, NEW);
  for (const image of ["image-elsewhere", OLD]) {
    fleet.platform.restart(app, image);
    const row = (await fleet.residents(true)).residents.find(({ resource }) => resource === app);
    assert.deepEqual([row?.image, row?.imageReport], [image, "stale"]);
    assert.deepEqual(await reportedOf(fleet), [], `a report of ${image} is none`);
  }
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [app]);
  await fleet.lift(ID, "landed");
  const watch = new Watch(fleet.via ?? "", fleet.bearer("read"));
  await watch.until("a waiter sees who is held", ({ drains }) => drains.some(({ holds }) => holds.includes(app)));
  fleet.platform.restart(app, "image-elsewhere");
  await fleet.residents(true);
  await fleet.assertClosed(app, "reopening");
  assert.equal(await fleet.assertOpen(other), NEW);
  fleet.platform.restart(app);
  await watch.until("a waiter hears that nothing closes any more", ({ drains }) => drains.length === 0);
  watch.close();
  assert.equal(await fleet.assertOpen(app), NEW);
  assert.deepEqual((await fleet.told(ID)).slice(-2), [`freed ${app} reported`, "reopen reported"]);
}

/** Until workerd has fallen the platform does not answer; what it did stands. */
async function lostWithWorkerd(): Promise<void> {
  const { fleet, app, other } = await begun();
  const restarted = Promise.withResolvers<void>();
  fleet.platform.treat(app, {
    roll: async ({ restart, abandoned }) => {
      restart();
      restarted.resolve();
      await abandoned;
      return "cut" as const;
    },
  });
  await fleet.swapped(ID, NEW);
  const { operation } = await fleet.reconcile(ID);
  await restarted.promise;
  await fleet.untilHeld(ID, [app]);
  await fleet.fall();
  await fleet.comeBack();
  await fleet.assertClosed(other, "reconciling");
  await fleet.untilHeld(ID, []);
  const again = await fleet.reconcile(ID);
  assert.deepEqual([again.operation.since, again.operation.until], [operation.since, operation.until]);
  assert.equal(again.operation.entries.find(({ resource }) => resource === app)?.state, "current");
  assert.deepEqual([fleet.platform.rolls(app), fleet.platform.rolls(other)], [1, 1], "nothing is restarted again");
  assert.deepEqual((await fleet.lift(ID, "landed")).held, []);
  assert.equal(await fleet.assertOpen(app), NEW);
  assert.equal((await fleet.told(ID)).filter((word) => word === "reconcile").length, 1);
}

async function hangs(): Promise<void> {
  const { fleet, app } = await begun();
  fleet.platform.treat(app, {
    roll: async ({ nth, abandoned, restart }) => {
      if (nth > 1) return restart();
      await abandoned;
      return "cut" as const;
    },
  });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [app]);
  await fleet.lift(ID, "landed");
  await eventually("it is asked again while the platform hangs", async () =>
    (await fleet.wordOf(ID, app)).asks > 1 ? true : undefined,
  );
  assert.equal(fleet.platform.rolls(app), 1, "one restart at a time");
  await fleet.assertClosed(app, "reopening");
  await fleet.untilOpen();
  assert.deepEqual([(await fleet.wordOf(ID, app)).state, fleet.platform.rolls(app)], ["restarted", 2]);
  assert.deepEqual((await fleet.told(ID)).slice(-2), [`freed ${app} reported`, "reopen reported"]);
  assert.equal(await fleet.assertOpen(app), NEW);
}

async function oldGeneration(): Promise<void> {
  const { fleet, app, other } = await begun();
  const nothing = async (): Promise<void> => {
    const drain = (await fleet.drains()).drains.find(({ id }) => id === ID);
    assert.deepEqual([drain?.holds, fleet.platform.rolls(app), fleet.platform.rolls(other)], [[], 0, 0]);
    assert.deepEqual(await refused(fleet, "GET"), [409, "NOT_SWAPPED"]);
  };
  await fleet.drain(ID);
  assert.deepEqual(await refused(fleet, "POST"), [409, "NOT_SWAPPED"], "nothing was sealed");
  await fleet.closeAndSeal(ID, NEW);
  assert.deepEqual(await refused(fleet, "POST"), [409, "STALE_GENERATION"], "the old build still answers");
  await nothing();
  await fleet.upload("deploy-of-another", NEW);
  assert.deepEqual(await refused(fleet, "POST"), [409, "STALE_GENERATION"], "another upload answers");
  await nothing();
  await fleet.upload(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, []);
  assert.deepEqual([fleet.platform.rolls(app), fleet.platform.rolls(other)], [1, 1]);
  await fleet.lift(ID, "landed");
  assert.deepEqual(await refused(fleet, "POST"), [410, "DRAIN_OVER"]);
}

async function restarts(): Promise<void> {
  const { fleet, app, other } = await begun();
  let stuck = true;
  fleet.platform.treat(app, { roll: ({ untouched, restart }) => (stuck ? untouched() : restart()) });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  const before = await fleet.untilHeld(ID, [app]);
  for (const phase of ["reconciling", "reopening"]) {
    await fleet.fall();
    await fleet.comeBack();
    const { operation, held, drain } = await fleet.reconciled(ID);
    assert.deepEqual([operation.since, operation.until, held], [before.operation.since, before.operation.until, [app]]);
    assert.deepEqual([drain?.phase, drain?.phaseUntil], [phase, before.drain?.phaseUntil]);
    const { asks } = await fleet.wordOf(ID, app);
    await eventually("it asks on by itself", async () =>
      (await fleet.wordOf(ID, app)).asks > asks ? true : undefined,
    );
    assert.equal((await fleet.wordOf(ID, other)).asks, 1, "who has answered is not asked again");
    await fleet.assertClosed(app, phase);
    if (phase === "reconciling") await fleet.lift(ID, "landed");
    assert.equal(await fleet.assertOpen(other), NEW);
  }
  stuck = false;
  await fleet.untilOpen();
  assert.equal((await fleet.wordOf(ID, app)).state, "restarted");
  assert.equal(await fleet.assertOpen(app), NEW);
  assert.deepEqual(fleet.platform.underRun, []);
}

suite("a report", { concurrency: true }, () => {
  test("that comes before its hold is latched, and nobody is held for it", early);
  test("of another image is no report, before the hold and under it", older);
  test(
    "that is lost with workerd in the middle of a restart is asked for again, and nothing restarts twice",
    lostWithWorkerd,
  );
  test("that a hanging platform keeps back is asked for again; the resident gives the hanging restart up", hangs);
  test("is not asked for by a generation that the drain did not bring: 409, and nobody is held", oldGeneration);
  test("is waited for across restarts of the registry, which goes on where it stood", restarts);
});
