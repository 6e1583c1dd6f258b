// The effects behind the live gate over answers of a fleet: which fact each answer is, and that only the registry's own
// log says by what a hold ended.

import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetsOf, CLOCK, DEFAULT_LEASES } from "#core/budgets.ts";
import { deployOf, type DeployState } from "#core/rolloutState.ts";
import { problemOf, TidegateError, type ErrorCode } from "#wire/errors.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { auditOf, DRAIN_ID, drainOf, entryOf, reconciledOf, T0 } from "#deploy/recordsForTests.ts";
import { holds, lift, reconcile, type HoldParts } from "#deploy/holdEffects.ts";
import type { BotTold } from "#deploy/fleetDoor.ts";
import { quietWatch } from "#deploy/quietWatch.ts";

const SAMPLE = "repo:local/sample";
const OTHER = "repo:local/other";
const never = new AbortController().signal;
const refusing = (code: ErrorCode) => Promise.reject(new TidegateError(problemOf(code, "x")));

function partsOf(fleet: Partial<HoldParts["fleet"]>): HoldParts {
  const unused = (): Promise<never> => Promise.reject(new Error("not asked for in this test"));
  const asked = { reconcile: unused, reconciled: unused, undrain: unused, newestAudit: unused, ...fleet };
  return { fleet: asked, bot: null, watch: quietWatch(), hurried: () => false };
}

const at = (more: Partial<DeployState> = {}): DeployState => ({
  ...deployOf("drained", DRAIN_ID, budgetsOf(DEFAULT_LEASES), T0),
  outcome: "landed",
  asked: true,
  held: [SAMPLE, OTHER],
  ...more,
});

const stale = (resource: string, drainId = DRAIN_ID): AuditRow => auditOf("stale", T0, { drainId, resource });

test("a reconcile that has begun is a fact with the bound as a span; every other answer is told apart by its code", async () => {
  const answer = reconciledOf(T0, [entryOf(SAMPLE)], [SAMPLE]);
  const begun = await reconcile(partsOf({ reconcile: () => Promise.resolve(answer) }), at(), never);
  assert.deepEqual(begun, {
    fact: { kind: "reconciling", drain: answer.drain, leftMs: CLOCK.cycleBoundMs },
    seen: [{ kind: "reconciled", answer }],
  });
  const over = { ...answer, drain: null };
  const ended = await reconcile(partsOf({ reconcile: () => Promise.resolve(over) }), at(), never);
  assert.equal(ended.fact.kind, "over");
  const kindOf = async (code: ErrorCode) =>
    (await reconcile(partsOf({ reconcile: () => refusing(code) }), at(), never)).fact.kind;
  assert.deepEqual(
    [await kindOf("STALE_GENERATION"), await kindOf("NOT_SWAPPED"), await kindOf("UNREACHABLE")],
    ["lost", "lost", "lost"],
    "an old generation answers, or nobody: asked again",
  );
  assert.deepEqual([await kindOf("DRAIN_OVER"), await kindOf("BEYOND_SCOPE")], ["over", "denied"]);
});

test("the bot is opened behind the fleet, whatever the fleet answered; one that is not told opens by itself", async () => {
  const told: unknown[] = [];
  const opened = { now: T0, kind: "lifted", deferredUntil: null, remaining: [], held: [], heldUntil: null } as const;
  const undrain: HoldParts["fleet"]["undrain"] = (body) => {
    told.push({ registry: body });
    return Promise.resolve({ ...opened, remaining: [], held: [] });
  };
  const bot = (met: Promise<BotTold>): NonNullable<HoldParts["bot"]> => ({
    health: () => Promise.reject(new Error("not asked for in this test")),
    drain: () => Promise.reject(new Error("not asked for in this test")),
    undrain: (body) => {
      told.push({ bot: body });
      return met;
    },
  });
  const lifting = at({ effect: { do: "lift", outcome: "landed" } });
  const kindsOf: string[][] = [];
  const door = async (parts: HoldParts) => {
    const { fact, seen = [] } = await lift(parts, lifting);
    kindsOf.push(seen.map((one) => one.kind));
    return [fact.kind, seen.find((one) => one.kind === "botDoor")];
  };
  const none = { queued: { asks: [], total: 0 } };
  const good = { ...partsOf({ undrain }), bot: bot(Promise.resolve(none)) };
  assert.deepEqual(await door(good), ["lifted", { kind: "botDoor", closed: false, why: null }]);
  const body = { id: DRAIN_ID, outcome: "landed" };
  assert.deepEqual(told, [{ registry: body }, { bot: body }]);
  const silent = { ...partsOf({ undrain }), bot: bot(Promise.reject(new Error("ECONNREFUSED"))) };
  assert.deepEqual(await door(silent), ["lifted", { kind: "botDoor", closed: true, why: "ECONNREFUSED" }]);
  const lost = { ...partsOf({ undrain: () => refusing("UNREACHABLE") }), bot: bot(Promise.resolve(none)) };
  assert.deepEqual(await door(lost), ["lost", { kind: "botDoor", closed: false, why: null }]);
  assert.deepEqual(await door(partsOf({ undrain })), ["lifted", undefined], "where there is no bot none is told of");
  const whole = ["asksQueued", "lifted", "botDoor"];
  assert.deepEqual(kindsOf, [whole, whole, ["asksQueued", "botDoor"], ["lifted"]], "who waited, before what ended it");
});

test("a lift says who is held and for how long, and does not count its own record among what still closes", async () => {
  const person = drainOf("person-1", T0, { deploy: false });
  const answer = {
    now: T0,
    kind: "lifted" as const,
    deferredUntil: null,
    remaining: [drainOf(DRAIN_ID, T0, { phase: "reopening", holds: [SAMPLE] }), person],
    held: [SAMPLE],
    heldUntil: T0 + 7,
  };
  const lifted = await lift(partsOf({ undrain: () => Promise.resolve(answer) }), at());
  assert.deepEqual(lifted, {
    fact: { kind: "lifted", held: [SAMPLE], leftMs: 7 },
    seen: [{ kind: "lifted", at: T0, remaining: [person] }],
  });
  assert.equal((await lift(partsOf({ undrain: () => refusing("UNREACHABLE") }), at())).fact.kind, "lost");
});

test("while nobody has opened the log is not asked; then it alone says whose bound is over", async () => {
  const both = reconciledOf(T0, [], [SAMPLE, OTHER]);
  const still = await holds(partsOf({ reconciled: () => Promise.resolve(both) }), at(), never);
  assert.deepEqual(still.fact, { kind: "heldBy", held: [SAMPLE, OTHER], stale: [] });
  const rows = [stale(SAMPLE, "another-1"), stale(OTHER), stale(OTHER), auditOf("freed", T0, { drainId: DRAIN_ID })];
  const none = reconciledOf(T0, [entryOf(SAMPLE, { state: "error" })], [], { drain: null });
  const fleet = { reconciled: () => Promise.resolve(none), newestAudit: () => Promise.resolve(rows) };
  const opened = await holds(partsOf(fleet), at(), never);
  assert.deepEqual(opened.fact, { kind: "heldBy", held: [], stale: [OTHER] });
  assert.deepEqual(
    opened.seen?.map((one) => one.kind),
    ["reconciled", "audit"],
  );
});

test("an answer that is lost, of the holds or of the log, is asked again; a later deploy's reconcile holds nobody here", async () => {
  const lost = await holds(partsOf({ reconciled: () => refusing("UNREACHABLE") }), at(), never);
  assert.equal(lost.fact.kind, "lost");
  const none = reconciledOf(T0, [], []);
  const unlogged = await holds(partsOf({ reconciled: () => Promise.resolve(none) }), at(), never);
  assert.equal(unlogged.fact.kind, "lost", "without the log nobody knows by what it ended");
  const replaced = await holds(
    partsOf({ reconciled: () => refusing("NOT_SWAPPED"), newestAudit: () => Promise.resolve([]) }),
    at(),
    never,
  );
  assert.deepEqual(replaced.fact, { kind: "heldBy", held: [], stale: [] });
});

test("a look at the holds makes old what the watch has said so far", async () => {
  const parts = partsOf({ reconciled: () => Promise.resolve(reconciledOf(T0, [], [SAMPLE, OTHER])) });
  let marks = 0;
  await holds({ ...parts, watch: { ...parts.watch, mark: () => (marks += 1) } }, at(), never);
  assert.equal(marks, 1);
});
