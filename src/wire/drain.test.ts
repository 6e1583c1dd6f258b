// `POST /drain` accepts exactly what the record can hold: whole minutes from 1 to the cap, a bounded who and why. It never
// clamps and never throws, and what it refuses is named by its field.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { LIMIT } from "#core/budgets.ts";
import { APP, BUDGETS, BUILD, drainOf, reopeningDrain, swappingDrain, WEB } from "../../test/unit/coreSamples.ts";
import {
  drainAnswerSchema,
  drainingSchema,
  drainSchema,
  drainsSchema,
  parseDrainRequest,
  reconcileAnswerSchema,
  reconcileBodySchema,
  reconcileSchema,
  releaseHoldAnswerSchema,
  releaseHoldBodySchema,
  sealBodySchema,
  undrainAnswerSchema,
  undrainBodySchema,
  type UndrainBody,
} from "./drain.ts";
import { parseWith } from "./parse.ts";

const CAP = BUDGETS.capMinutes;
const body = { id: "d1d1d1d1", minutes: 65, by: "ci", reason: "deploy 7b02d9e" };
const leftOut = { resource: APP, reason: "its disk is full" };
const without = (field: string): object => Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));

const refused: readonly (readonly [says: string, value: unknown, field: string])[] = [
  ["no minutes", without("minutes"), "minutes"],
  ["minutes 0", { ...body, minutes: 0 }, "minutes"],
  ["minutes below 0", { ...body, minutes: -5 }, "minutes"],
  ["minutes beyond the cap", { ...body, minutes: CAP + 1 }, "minutes"],
  ["half a minute more", { ...body, minutes: 1.5 }, "minutes"],
  ["minutes as a text", { ...body, minutes: "5" }, "minutes"],
  ["minutes null", { ...body, minutes: null }, "minutes"],
  ["minutes that are not a number", { ...body, minutes: Number.NaN }, "minutes"],
  ["minutes without an end", { ...body, minutes: Number.POSITIVE_INFINITY }, "minutes"],
  ["nobody who asks", without("by"), "by"],
  ["an empty who", { ...body, by: "" }, "by"],
  ["a who that is too long", { ...body, by: "x".repeat(LIMIT.byChars + 1) }, "by"],
  ["a who that is a list", { ...body, by: ["ci"] }, "by"],
  ["no reason", without("reason"), "reason"],
  ["an empty reason", { ...body, reason: "" }, "reason"],
  ["a reason that is too long", { ...body, reason: "x".repeat(LIMIT.reasonChars + 1) }, "reason"],
  ["no id", without("id"), "id"],
  ["an id that is too short to be minted", { ...body, id: "d1" }, "id"],
  ["an id with a slash", { ...body, id: "d1d1d1/d1" }, "id"],
  ["a deploy that is a word", { ...body, deploy: "yes" }, "deploy"],
  ["a build without its image", { ...body, build: { commit: "7b02d9e", bundle: "b2b2b2" } }, "build.image"],
  ["whom it leaves out as a text", { ...body, without: APP }, "without"],
  ["one left out without a reason", { ...body, without: [{ resource: APP }] }, "without.0.reason"],
  ["one left out for an empty reason", { ...body, without: [{ resource: APP, reason: "" }] }, "without.0.reason"],
  [
    "one left out for a reason that is too long",
    { ...body, without: [{ resource: APP, reason: "x".repeat(LIMIT.reasonChars + 1) }] },
    "without.0.reason",
  ],
  [
    "one left out by its short name",
    { ...body, without: [leftOut, { ...leftOut, resource: "app" }] },
    "without.1.resource",
  ],
  ["more left out than a fleet has", { ...body, without: Array.from({ length: 101 }, () => leftOut) }, "without"],
  ["a text", "drain", "body"],
  ["null", null, "body"],
  ["nothing", undefined, "body"],
  ["a list", [body], "body"],
];
for (const [says, value, field] of refused)
  test(`asked to drain: ${says} is refused by its name`, () => {
    const read = parseDrainRequest(value, CAP);
    assert.ok(!read.ok);
    assert.deepEqual([read.error.code, read.error.status, read.error.field], ["BAD_FIELD", 400, field]);
    assert.ok(read.error.detail.startsWith(`${field}: `));
  });

test("asked to drain: what is left out is a person's drain without a build, and unknown fields are ignored", () => {
  const read = parseDrainRequest({ ...body, colour: "red" }, CAP);
  assert.deepEqual(read, { ok: true, value: { ...body, deploy: false, build: null, without: [] } });
});

test("asked to drain: whom it leaves out is taken with the reason", () => {
  const read = parseDrainRequest({ ...body, without: [{ ...leftOut, colour: "red" }] }, CAP);
  assert.ok(read.ok);
  assert.deepEqual(read.value.without, [leftOut]);
});

test("asked to drain: the bounds themselves are accepted", () => {
  const longest = { by: "x".repeat(LIMIT.byChars), reason: "x".repeat(LIMIT.reasonChars) };
  for (const minutes of [1, CAP]) assert.ok(parseDrainRequest({ ...body, ...longest, minutes, build: BUILD }, CAP).ok);
});

test("asked to drain: the refusal of minutes names the cap of this fleet", () => {
  const read = parseDrainRequest({ ...body, minutes: 91 }, CAP);
  assert.ok(!read.ok && read.error.detail.includes(String(CAP)));
  assert.ok(parseDrainRequest({ ...body, minutes: 91 }, 300).ok);
});

test("any JSON is read or refused by a field's name, and what is read is whole minutes in bounds", () => {
  const minutes = fc.oneof(fc.integer({ min: -5, max: 400 }), fc.double(), fc.jsonValue());
  const asks = fc.record(
    { id: fc.oneof(fc.constant(body.id), fc.string()), minutes, by: fc.string(), reason: fc.string() },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.oneof(asks, fc.jsonValue(), fc.anything()), fc.integer({ min: 90, max: 300 }), (value, cap) => {
      const read = parseDrainRequest(value, cap);
      if (!read.ok)
        return assert.match(read.error.field ?? "", /^(body|id|minutes|by|reason|deploy|build(\..+)?|without(\..+)?)$/);
      assert.ok(Number.isInteger(read.value.minutes) && read.value.minutes >= 1 && read.value.minutes <= cap);
      assert.ok(read.value.by.length <= LIMIT.byChars && read.value.reason.length <= LIMIT.reasonChars);
    }),
    { numRuns: 500 },
  );
});

test("every whole number of minutes from 1 to the cap is accepted, and no other", () => {
  for (let minutes = -1; minutes <= CAP + 2; minutes += 0.5) {
    const read = parseDrainRequest({ ...body, minutes }, CAP);
    assert.equal(read.ok, Number.isInteger(minutes) && minutes >= 1 && minutes <= CAP, String(minutes));
  }
});

const lifts: readonly (readonly [says: string, value: unknown, read: UndrainBody | string])[] = [
  ["an id alone says nothing of an upload", { id: body.id }, { id: body.id, outcome: "unknown", force: false }],
  ["an outcome is taken", { id: body.id, outcome: "landed" }, { id: body.id, outcome: "landed", force: false }],
  ["force needs no id", { force: true }, { outcome: "unknown", force: true }],
  ["neither id nor force is refused", {}, "id"],
  ["force that is false is none", { force: false }, "id"],
  ["an outcome of a later build is refused", { id: body.id, outcome: "melted" }, "outcome"],
  ["a force that is a word is refused", { id: body.id, force: "yes" }, "force"],
];
for (const [says, value, expected] of lifts)
  test(`asked to lift: ${says}`, () => {
    const read = parseWith(undrainBodySchema, value);
    assert.deepEqual(read.ok ? read.value : read.error.field, expected);
  });

const bodies = {
  seal: [sealBodySchema, { id: body.id }],
  reconcile: [reconcileBodySchema, { id: body.id }],
  "release a hold": [releaseHoldBodySchema, { resource: APP, reason: "it is rebuilt" }],
} as const;
const asks: readonly (readonly [what: keyof typeof bodies, says: string, more: object, field: string | undefined])[] = [
  ["seal", "its id alone is taken", {}, undefined],
  ["seal", "a handoff is taken", { handoff: true }, undefined],
  ["seal", "a handoff that is a word is refused", { handoff: "yes" }, "handoff"],
  ["seal", "no id is refused", { id: undefined }, "id"],
  ["reconcile", "its id alone is taken", {}, undefined],
  ["reconcile", "no id is refused", { id: undefined }, "id"],
  ["reconcile", "an id that is too short to be minted is refused", { id: "d1" }, "id"],
  ["reconcile", "an id that is a list is refused", { id: [body.id] }, "id"],
  ["release a hold", "a resident and a reason are taken", {}, undefined],
  ["release a hold", "a resident by its short name is refused", { resource: "app" }, "resource"],
  ["release a hold", "no resident is refused", { resource: undefined }, "resource"],
  ["release a hold", "no reason is refused", { reason: undefined }, "reason"],
  ["release a hold", "an empty reason is refused", { reason: "" }, "reason"],
  ["release a hold", "a long reason is refused", { reason: "x".repeat(LIMIT.reasonChars + 1) }, "reason"],
  ["release a hold", "the longest reason is taken", { reason: "x".repeat(LIMIT.reasonChars) }, undefined],
];
for (const [what, says, more, field] of asks)
  test(`asked to ${what}: ${says}`, () => {
    const [schema, least] = bodies[what];
    const read = parseWith<unknown>(schema, { ...least, ...more });
    assert.equal(read.ok ? undefined : read.error.field, field);
    if (!read.ok) assert.deepEqual([read.error.code, read.error.status], ["BAD_FIELD", 400]);
  });

test("a seal that says nothing of a handoff asks the residents", () => {
  const read = parseWith(sealBodySchema, { id: body.id });
  assert.deepEqual(read, { ok: true, value: { id: body.id, handoff: false } });
});

test("any JSON asked of a seal, a reconcile or a hold is read or refused by a field's name", () => {
  const changed = fc.dictionary(fc.constantFrom("id", "resource", "reason", "handoff"), fc.jsonValue());
  const names = fc.constantFrom("seal", "reconcile", "release a hold" as const);
  fc.assert(
    fc.property(names, changed, fc.anything(), (what, more, other) => {
      const [schema, least] = bodies[what];
      for (const value of [{ ...least, ...more }, other]) {
        const read = parseWith<unknown>(schema, value);
        if (!read.ok) assert.match(read.error.field ?? "", /^(body|id|resource|reason|handoff)$/);
      }
    }),
  );
});

const entry = {
  resource: APP,
  state: "deferred",
  image: "a41b",
  bootId: "boot-1",
  why: "in flight: run-a",
  killed: 0,
  askedAt: 5,
  asks: 2,
};
const operation = {
  drainId: body.id,
  image: "c9e0",
  since: 5,
  until: 9,
  entries: [entry, { ...entry, resource: WEB }],
};

test("the operation behind a reconcile is read as it was written, with and without the drain that it outlives", () => {
  for (const drain of [reopeningDrain(), null]) {
    const answer = { now: 6, operation, held: [APP], drain };
    assert.deepEqual(reconcileAnswerSchema.parse(answer), answer);
  }
  const nobody = { ...entry, state: "asked", image: null, bootId: null, why: null, asks: 0 };
  assert.deepEqual(reconcileSchema.parse({ ...operation, entries: [nobody] }).entries, [nobody]);
  const released = { now: 6, resource: APP, drainId: body.id, held: [WEB] };
  assert.deepEqual(releaseHoldAnswerSchema.parse(released), released);
});

const notRead: readonly (readonly [says: string, stored: unknown])[] = [
  ["a state of a later build", { ...operation, entries: [{ ...entry, state: "melted" }] }],
  ["no image", { ...operation, image: null }],
  ["a bound that is a text", { ...operation, until: "soon" }],
  ["entries that are no list", { ...operation, entries: {} }],
  ["nothing", undefined],
];
for (const [says, stored] of notRead)
  test(`no reconcile is read from ${says}`, () => assert.ok(!reconcileSchema.safeParse(stored).success));

test("a drain in an answer is one that the core can read, with whatever a later build adds", () => {
  const later = { ...drainOf(), colour: "red" };
  assert.deepEqual(drainSchema.parse(later), later);
  assert.ok(!drainSchema.safeParse({ ...drainOf(), phase: "paused" }).success);
  const drains = { now: 5, draining: later, drains: [later], unreadable: 0 };
  assert.deepEqual(drainsSchema.parse(drains), drains);
  assert.ok(drainAnswerSchema.safeParse({ now: 5, kind: "sealed", drain: swappingDrain() }).success);
  const remaining = { now: 5, kind: "deferred", deferredUntil: 9, remaining: [later] };
  assert.deepEqual(undrainAnswerSchema.parse(remaining), { ...remaining, held: [], heldUntil: null });
  const holding = { ...remaining, kind: "lifted", deferredUntil: null, held: [APP], heldUntil: 9 };
  assert.deepEqual(undrainAnswerSchema.parse(holding), holding);
});

test("a refusal is known by its record, also where a standing seal alone could say it", () => {
  assert.ok(drainingSchema.safeParse(drainOf()).success);
  const { since: _, ...bySeal } = { ...drainOf() };
  assert.ok(drainingSchema.safeParse(bySeal).success);
  assert.ok(!drainingSchema.safeParse({ ...drainOf(), until: null }).success);
});
