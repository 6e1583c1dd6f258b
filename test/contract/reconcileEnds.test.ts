// What ends a hold other than its report, and what asks for one twice: each is told with its cause, opens this resident and
// no other, and leaves nothing that would close it again.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { ContractFleet, NEW, NEWER, OLD } from "./contractFleet.ts";
import { eventually } from "../embedded/hostStack.ts";

const SCALE = 20;
const ID = "deploy-1";

interface Held {
  readonly fleet: ContractFleet;
  readonly odd: string;
  readonly other: string;
  /** Lets the platform cycle the odd container from now on. */
  readonly loosen: () => void;
}

/** A fleet whose deploy was lifted; one resident is held, since its container never cycles. */
async function held(): Promise<Held> {
  const fleet = await ContractFleet.begin(SCALE);
  const [odd, other] = [await fleet.onboard("odd"), await fleet.onboard("other")];
  let stuck = true;
  fleet.platform.treat(odd, { roll: ({ untouched, restart }) => (stuck ? untouched() : restart()) });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [odd]);
  assert.deepEqual((await fleet.lift(ID, "landed")).held, [odd]);
  return { fleet, odd, other, loosen: () => (stuck = false) };
}

/** The last words of the audit log about this deploy, `sealed` and what came before left out. */
async function lastWords(fleet: ContractFleet, count: number): Promise<string[]> {
  return (await fleet.told(ID)).slice(-count);
}

async function released(): Promise<void> {
  const { fleet, odd, loosen } = await held();
  await fleet.assertClosed(odd, "reopening");
  const answer = await fleet.releaseHold(odd);
  assert.deepEqual([answer.resource, answer.drainId, answer.held], [odd, ID, []]);
  assert.equal((await fleet.refusal("drain", "/holds/release", { resource: odd, reason: "again" })).code, "NOT_HELD");
  const run = fleet.newRun(odd);
  assert.equal((await fleet.admitted(run)).image, OLD, "it opens with the container that it has");
  assert.deepEqual(await lastWords(fleet, 2), [`freed ${odd} released`, "reopen released"]);
  const row = (await fleet.auditRows()).findLast(({ what }) => what === "freed");
  assert.deepEqual([row?.principal, row?.reason], ["drain", "a test says so"]);
  loosen();
  const rolls = fleet.platform.rolls(odd);
  const { asks } = await fleet.wordOf(ID, odd);
  await eventually("it is asked on", async () => ((await fleet.wordOf(ID, odd)).asks > asks ? true : undefined));
  await fleet.untilSays(ID, odd, "deferred");
  assert.equal(fleet.platform.rolls(odd), rolls, "nothing restarts under the run");
  await fleet.detach(run);
  await fleet.untilSays(ID, odd, "restarted");
  assert.equal(await fleet.assertOpen(odd), NEW);
  assert.deepEqual(fleet.platform.underRun, []);
}

async function forced(): Promise<void> {
  const { fleet, odd } = await held();
  const lifted = await fleet.ask("admin", "/undrain", { id: ID, force: true });
  assert.equal(lifted.status, 200, lifted.text);
  assert.equal((await fleet.drains()).draining, null);
  assert.equal(await fleet.assertOpen(odd), OLD);
  assert.deepEqual(await lastWords(fleet, 2), ["lift", "reopen lifted"]);
}

async function offboarded(): Promise<void> {
  const { fleet, odd, other } = await held();
  const answer = await fleet.ask("admin", "/offboard", { resource: odd });
  assert.equal(answer.status, 200, answer.text);
  const { operation, held: left, drain } = await fleet.reconciled(ID);
  assert.deepEqual([left, drain, operation.entries.map(({ resource }) => resource)], [[], null, [other]]);
  assert.equal(fleet.platform.running(odd), undefined);
  assert.deepEqual(await lastWords(fleet, 2), [`freed ${odd} released`, "reopen released"]);
  assert.equal(await fleet.onboard("odd"), odd);
  assert.equal(await fleet.assertOpen(odd), NEW, "it may come back, onto the new image");
}

/** The resident has looked into its container and is about to restart it. */
async function offboardedBeforeRestart(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const odd = await fleet.onboard("odd");
  const [looking, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await fleet.swapped(ID, NEW);
  fleet.platform.treat(odd, {
    inside: (path) => {
      if (path !== "/v1/procs") return undefined;
      looking.resolve();
      return go.promise;
    },
  });
  await fleet.reconcile(ID);
  await looking.promise;
  const leaving = fleet.ask("admin", "/offboard", { resource: odd });
  await eventually("it has left", async () => ((await fleet.residents()).residents.length === 0 ? true : undefined));
  await fleet.aFewAnswersLater(() => fleet.platform.asked.includes(`remove ${odd}`));
  go.resolve();
  assert.equal((await leaving).status, 200);
  await eventually("its restart was asked", () => (fleet.platform.rolls(odd) > 0 ? true : undefined));
  assert.equal(fleet.platform.asked.at(-1), `remove ${odd}`, "nothing is asked of a container that has gone");
  assert.equal(fleet.platform.running(odd), undefined);
}

/** The resident is in the middle of a restart that takes its time. */
async function offboardedUnderRestart(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const odd = await fleet.onboard("odd");
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  fleet.platform.treat(odd, {
    roll: async ({ restart }) => {
      asked.resolve();
      await go.promise;
      return restart();
    },
  });
  await fleet.swapped(ID, NEW);
  await fleet.reconcile(ID);
  await asked.promise;
  const leaving = fleet.ask("admin", "/offboard", { resource: odd });
  await eventually("it has left", async () => ((await fleet.residents()).residents.length === 0 ? true : undefined));
  go.resolve();
  assert.equal((await leaving).status, 200);
  assert.deepEqual((await fleet.reconciled(ID)).held, []);
  await fleet.lift(ID, "landed");
  assert.equal(fleet.platform.running(odd), undefined, "no container is left that nobody owns");
  assert.equal((await fleet.attach(fleet.newRun(odd))).problem?.code, "NO_SUCH_RESIDENT");
}

async function rebuilt(): Promise<void> {
  const { fleet, odd } = await held();
  await fleet.assertClosed(odd, "reopening");
  assert.equal((await fleet.rebuild(odd)).type, "resident");
  assert.deepEqual(await lastWords(fleet, 2), [`freed ${odd} reported`, "reopen reported"]);
  assert.equal((await fleet.wordOf(ID, odd)).state, "restarted");
  const rolls = fleet.platform.rolls(odd);
  assert.equal(await fleet.assertOpen(odd), NEW);
  assert.equal(fleet.platform.rolls(odd), rolls, "the new container needs no restart");
  assert.ok((await fleet.auditRows()).some(({ what, resource }) => what === "rebuild" && resource === odd));
}

/** Before the lift everything is closed but to a rebuild; a container that comes up on the old image frees nobody. */
async function rebuiltOntoTheOldImage(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const odd = await fleet.onboard("odd");
  fleet.platform.treat(odd, { roll: ({ untouched }) => untouched(), startsOn: () => OLD });
  await fleet.closeAndSeal(ID, NEW);
  assert.equal((await fleet.refusal("admin", "/rebuild", { resource: odd })).code, "MEMBERSHIP_FROZEN");
  await fleet.upload(ID, NEW);
  await fleet.reconcile(ID);
  await fleet.untilHeld(ID, [odd]);
  assert.equal((await fleet.rebuild(odd)).type, "resident");
  assert.deepEqual((await fleet.reconciled(ID)).held, [odd], "a new boot proves nothing");
  fleet.platform.treat(odd, { roll: ({ untouched }) => untouched() });
  assert.equal((await fleet.rebuild(odd)).type, "resident");
  await fleet.untilHeld(ID, []);
  await fleet.assertClosed(odd, "reconciling");
  assert.deepEqual((await fleet.lift(ID, "landed")).held, []);
  assert.equal(await fleet.assertOpen(odd), NEW);
}

async function drainIds(fleet: ContractFleet): Promise<string[]> {
  return (await fleet.drains()).drains.map(({ id }) => id).toSorted();
}

async function deployedAgain(): Promise<void> {
  const { fleet, odd, other, loosen } = await held();
  const next = "deploy-2";
  await fleet.drain(next, { build: { commit: "commit", bundle: "bundle", image: NEWER } });
  assert.deepEqual(await drainIds(fleet), [ID, next], "a record that reopens is no deploy in progress");
  await fleet.swapped(next, NEWER);
  const { held: still } = await fleet.reconciled(ID);
  assert.deepEqual(still, [odd], "until then it stands");
  await fleet.reconcile(next);
  await fleet.untilHeld(next, [odd]);
  assert.deepEqual(await drainIds(fleet), [next], "nobody brings the earlier image any more");
  assert.equal((await fleet.refusal("drain", "/reconcile", { id: ID })).code, "DRAIN_OVER");
  fleet.platform.restart(odd, NEW);
  await fleet.residents(true);
  assert.deepEqual((await fleet.reconciled(next)).held, [odd], "what the earlier one wanted is no report for this one");
  await fleet.assertClosed(other, "reconciling");
  await fleet.lift(next, "landed");
  await fleet.assertClosed(odd, "reopening");
  assert.equal(await fleet.assertOpen(other), NEWER);
  loosen();
  await fleet.untilOpen();
  assert.equal(await fleet.assertOpen(odd), NEWER);
  assert.deepEqual((await fleet.told(next)).slice(-2), [`freed ${odd} reported`, "reopen reported"]);
  assert.deepEqual(fleet.namedStale(), []);
}

/** A reconcile whose answer is lost is sent again, also while the first is under way and behind the lift. */
async function asked(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const go = Promise.withResolvers<void>();
  fleet.platform.treat(app, {
    roll: async ({ restart }) => {
      await go.promise;
      return restart();
    },
  });
  await fleet.swapped(ID, NEW);
  const both = [fleet.reconcile(ID), fleet.reconcile(ID)];
  await eventually("its restart has begun", () => (fleet.platform.rolls(app) > 0 ? true : undefined));
  both.push(fleet.reconcile(ID));
  go.resolve();
  const answers = await Promise.all(both);
  await fleet.untilHeld(ID, []);
  answers.push(await fleet.reconcile(ID));
  const spans = answers.map(({ operation }) => `${operation.since} ${operation.until}`);
  assert.equal(new Set(spans).size, 1, spans.join(", "));
  assert.deepEqual([fleet.platform.rolls(app), (await fleet.wordOf(ID, app)).state], [1, "restarted"]);
  const told = await fleet.told(ID);
  assert.deepEqual(
    told.filter((word) => /^(reconcile|freed)/.test(word)),
    ["reconcile", `freed ${app} reported`],
  );
  await fleet.lift(ID, "landed");
  const late = await fleet.refusal("drain", "/reconcile", { id: ID });
  assert.equal(late.code, "DRAIN_OVER");
  assert.equal(await fleet.assertOpen(app), NEW, "a late one holds nobody");
}

async function liftedTwice(): Promise<void> {
  const { fleet, odd, loosen } = await held();
  const before = await fleet.told(ID);
  const again = await fleet.lift(ID, "landed");
  assert.deepEqual([again.kind, again.held], ["lifted", [odd]]);
  assert.equal((await fleet.reconcile(ID)).drain?.phase, "reopening", "nor does a reconcile close the others again");
  assert.deepEqual(await fleet.told(ID), before, "what was told is not told again");
  loosen();
  await fleet.untilOpen();
}

suite("a hold", { concurrency: true }, () => {
  test("ends by a person's word; its container is restarted once nobody works in it", released);
  test("ends by an admin's force", forced);
  test("ends when its resident leaves the fleet, with its part of the operation", offboarded);
  test("of a resident that leaves in the middle of its restart leaves no container behind", offboardedUnderRestart);
  test("of a resident that leaves before its restart brings none about behind it", offboardedBeforeRestart);
  test("ends by a rebuild, whose container reports like any other", rebuilt);
  test("does not end by a rebuild that comes up on the old image", rebuiltOntoTheOldImage);
  test("ends when the next deploy reconciles: its own holds take its place", deployedAgain);
  test("is placed once, however often the reconcile is asked for", asked);
  test("stands over a lift that is sent again, and nothing is told twice", liftedTwice);
});
