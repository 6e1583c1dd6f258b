// What a reconcile owes, whatever the platform does about one container: the others open at the lift, this one on its own
// report or at the bound, by name; nothing is restarted under a registered run. One row a platform, one law for all.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import type { ReconcileState } from "#core/reconcile.ts";
import { ContractFleet, NEW, OLD } from "./contractFleet.ts";
import type { FakePlatform, Habits } from "./fakePlatform.ts";

/** Where a report is waited for, asks are seconds apart; where the bound is, it is seconds away. */
const SCALES = { reported: 10, bound: 60 } as const;

interface Row {
  readonly name: string;
  readonly habits?: Habits;
  /** What the platform does by itself between the swap and the reconcile. */
  readonly meanwhile?: (platform: FakePlatform, resource: string) => void;
  /** Whether the first ask brings its report. */
  readonly atOnce: boolean;
  readonly opens: "reported" | "bound";
  /** What the operation says of it in the end. */
  readonly says: ReconcileState;
  /** The image that the next run is admitted onto. */
  readonly then: string;
  readonly rolls: "none" | "one" | "many";
}

const ROWS: readonly Row[] = [
  { name: "cycles when it is asked", atOnce: true, opens: "reported", says: "restarted", then: NEW, rolls: "one" },
  {
    name: "cycles twice: the boot that its answer names is gone already",
    habits: {
      roll: ({ restart }) => {
        const rolled = restart();
        restart();
        return rolled;
      },
    },
    atOnce: true,
    opens: "reported",
    says: "restarted",
    then: NEW,
    rolls: "one",
  },
  {
    name: "has cycled before it is asked",
    meanwhile: (platform, resource) => void platform.restart(resource),
    atOnce: true,
    opens: "reported",
    says: "current",
    then: NEW,
    rolls: "none",
  },
  {
    name: "cycles twice before it is asked, onto the new image and back onto the old one",
    meanwhile(platform, resource) {
      platform.restart(resource);
      platform.restart(resource, OLD);
    },
    atOnce: true,
    opens: "reported",
    says: "restarted",
    then: NEW,
    rolls: "one",
  },
  {
    name: "cycles, and its answer is lost",
    habits: {
      roll: ({ restart }) => {
        restart();
        return "cut" as const;
      },
    },
    atOnce: false,
    opens: "reported",
    says: "current",
    then: NEW,
    rolls: "one",
  },
  {
    name: "refuses twice and cycles at the third time",
    habits: {
      roll: ({ nth, restart }) => (nth < 3 ? { refused: "CONTAINER_FAILED", why: "not now" } : restart()),
    },
    atOnce: false,
    opens: "reported",
    says: "restarted",
    then: NEW,
    rolls: "many",
  },
  {
    name: "never cycles: it says that it did",
    habits: { roll: ({ untouched }) => untouched() },
    atOnce: false,
    opens: "bound",
    says: "error",
    then: OLD,
    rolls: "many",
  },
  {
    name: "never cycles: it refuses",
    habits: { roll: () => ({ refused: "CONTAINER_STUCK", why: "its processes do not end" }) },
    atOnce: false,
    opens: "bound",
    says: "error",
    then: OLD,
    rolls: "many",
  },
  {
    name: "cycles onto the old image, each time with a new boot",
    habits: { roll: ({ restart }) => restart(OLD) },
    atOnce: false,
    opens: "bound",
    says: "error",
    then: OLD,
    rolls: "many",
  },
  {
    name: "cycles onto an image that nobody deployed",
    habits: { roll: ({ restart }) => restart("image-elsewhere") },
    atOnce: false,
    opens: "bound",
    says: "error",
    then: "image-elsewhere",
    rolls: "many",
  },
];

const ID = "deploy-1";

/** While the reconcile has not been lifted everything is closed; behind the lift only who is held. */
async function assertClosings(fleet: ContractFleet, held: readonly string[], [odd, other]: [string, string]) {
  for (const resource of [odd, other]) await fleet.assertClosed(resource, "reconciling");
  const lifted = await fleet.lift(ID, "landed");
  assert.deepEqual([lifted.kind, lifted.held], ["lifted", held]);
  assert.equal(await fleet.assertOpen(other), NEW, "the other one opens at the lift");
  return lifted.heldUntil;
}

/** What is said of a resident that a reopening waits for. */
async function assertHeld(fleet: ContractFleet, odd: string, heldUntil: number | null): Promise<void> {
  const { drain, held, operation } = await fleet.reconciled(ID);
  assert.deepEqual([drain?.phase, drain?.holds, held], ["reopening", [odd], [odd]]);
  assert.deepEqual([drain?.phaseUntil, heldUntil], [operation.since + CLOCK.cycleBoundMs, drain?.phaseUntil]);
  await fleet.assertClosed(odd, "reopening");
  const row = (await fleet.residents()).residents.find(({ resource }) => resource === odd);
  assert.deepEqual(
    [row?.readiness, row?.imageReport, row?.hold?.drainId, row?.hold?.until],
    ["drained — attach refused", "pending", ID, heldUntil],
  );
}

/** Who opened what, by which cause, in the audit log and in the Worker's own. */
async function assertTold(fleet: ContractFleet, row: Row, [odd, other, idle]: [string, string, string]): Promise<void> {
  const freed = (resource: string): string => `freed ${resource} reported`;
  const always = [freed(other), freed(idle), "lift", "reopen lifted"];
  const ends = {
    atOnce: [...always, freed(odd)],
    reported: [...always, `held ${odd}`, freed(odd), "reopen reported"],
    bound: [...always, `held ${odd}`, `stale ${odd} bound`, "reopen bound"],
  };
  const told = (await fleet.told(ID)).filter((word) => !/^(drain|seal|swapped|reconcile)/.test(word));
  assert.deepEqual(told.toSorted(), ends[row.atOnce ? "atOnce" : row.opens].toSorted());
  assert.deepEqual(fleet.namedStale(), row.opens === "bound" ? [odd] : []);
}

async function assertRow(row: Row): Promise<void> {
  const fleet = await ContractFleet.begin(SCALES[row.opens]);
  const { platform } = fleet;
  const [odd, other, idle] = [await fleet.onboard("odd"), await fleet.onboard("other"), await fleet.onboard("idle")];
  platform.stop(idle);
  await fleet.assertOpen(odd);
  if (row.habits !== undefined) platform.treat(odd, row.habits);
  await fleet.swapped(ID, NEW);
  row.meanwhile?.(platform, odd);
  const { operation } = await fleet.reconcile(ID);
  assert.deepEqual([operation.drainId, operation.image], [ID, NEW]);
  const wanted = row.atOnce ? [] : [odd];
  await fleet.untilHeld(ID, wanted);
  const heldUntil = await assertClosings(fleet, wanted, [odd, other]);
  if (!row.atOnce) await assertHeld(fleet, odd, heldUntil);
  await fleet.untilOpen();
  await fleet.untilTold(ID, row.atOnce ? "reopen lifted" : `reopen ${row.opens}`);
  const words = await Promise.all([odd, other, idle].map((resource) => fleet.wordOf(ID, resource)));
  assert.deepEqual(
    words.map(({ state }) => state),
    [row.says, "restarted", "inactive"],
  );
  const rolls = platform.rolls(odd);
  assert.equal(await fleet.assertOpen(odd), row.then);
  assert.equal(rolls === 0 ? "none" : rolls === 1 ? "one" : "many", row.rolls, `${rolls} rolls`);
  assert.deepEqual([platform.rolls(other), platform.rolls(idle), platform.underRun], [1, 0, []]);
  await assertTold(fleet, row, [odd, other, idle]);
  const reopened = (await fleet.auditRows()).findLast(({ drainId, what }) => drainId === ID && what === "reopen");
  if (row.opens === "bound") assert.ok((reopened?.at ?? 0) >= (heldUntil ?? 0), "no earlier than its bound");
}

suite("a platform that", { concurrency: true }, () => {
  for (const row of ROWS) test(row.name, () => assertRow(row));
});
