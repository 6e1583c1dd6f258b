// Samples of the core's records, and arbitrary ones: what a table of decisions names by its own fields, and what a
// property may meet in storage.

import * as fc from "fast-check";
import { budgetsOf, CLOCK, DEFAULT_LEASES } from "#core/budgets.ts";
import { DRAIN_PHASES, type Build, type Drain, type DrainAsk, type DrainBook } from "#core/drain.ts";
import type { AttachAsk, Registration } from "#core/registration.ts";
import { HOUR, MINUTE, SECOND, type Instant } from "#core/time.ts";

/** 04:44:00Z of some day. */
export const T0: Instant = Date.UTC(2026, 8, 17, 4, 44);
export const BUDGETS = budgetsOf(DEFAULT_LEASES);
export const BUILD: Build = { commit: "7b02d9e", bundle: "b2b2b2", image: "c9e0" };
export const APP = "repo:local/app";
export const WEB = "repo:local/web";

/** An instant `minutes` after 04:44. */
export const at = (minutes: number): Instant => T0 + minutes * MINUTE;

/** A deploy's drain, closed at 04:44 and pulsed then. */
export function drainOf(more: Partial<Drain> = {}): Drain {
  return {
    id: "drain-a",
    since: T0,
    until: T0 + BUDGETS.drainMs,
    by: "ci",
    reason: "deploy 7b02d9e",
    principal: "drain",
    deploy: true,
    phase: "draining",
    phaseSince: T0,
    phaseUntil: T0 + CLOCK.pulseBoundMs,
    build: BUILD,
    sealing: { state: "none", attempt: 0, until: T0 },
    holds: [],
    reported: [],
    without: [],
    ...more,
  };
}

/** A person's drain: no pulse, it stands to its end. */
export const personsDrain = (more: Partial<Drain> = {}): Drain =>
  drainOf({ id: "person-a", by: "ada", reason: "looking", deploy: false, phaseUntil: null, build: null, ...more });

/** A deploy's drain whose swap began at 04:44. */
export const swappingDrain = (more: Partial<Drain> = {}): Drain =>
  drainOf({
    phase: "swapping",
    phaseUntil: T0 + CLOCK.swapBoundMs,
    sealing: { state: "sealed", attempt: 1, until: T0 + CLOCK.swapBoundMs },
    ...more,
  });

/** A deploy's drain whose Worker went live at 04:44 and that holds both residents. */
export const reconcilingDrain = (more: Partial<Drain> = {}): Drain =>
  swappingDrain({ phase: "reconciling", phaseUntil: T0 + CLOCK.cycleBoundMs, holds: [APP, WEB], ...more });

/** A deploy's drain that was lifted at 04:44 and still holds one resident. */
export const reopeningDrain = (more: Partial<Drain> = {}): Drain =>
  reconcilingDrain({ phase: "reopening", holds: [APP], ...more });

/** A book that holds these records and nothing else. */
export const bookOf = (drains: readonly unknown[], more: Partial<DrainBook> = {}): DrainBook => ({
  drains,
  tombstones: [],
  attempts: 0,
  ...more,
});

/** A deploy asking for its drain. */
export const drainAskOf = (more: Partial<DrainAsk> = {}): DrainAsk => ({
  id: "drain-a",
  minutes: 65,
  by: "ci",
  reason: "deploy 7b02d9e",
  deploy: true,
  build: BUILD,
  without: [],
  principal: "drain",
  ...more,
});

/** A coding run that attaches with 30 minutes left. */
export const attachAskOf = (more: Partial<AttachAsk> = {}): AttachAsk => ({
  runId: "run-a",
  threadKey: "web:T1",
  generation: 1,
  kind: "run",
  runKind: "coding",
  remainingMs: 30 * MINUTE,
  parent: null,
  replace: { by: "nobody" },
  ...more,
});

/** That run in flight since 04:44. */
export const rowOf = (more: Partial<Registration> = {}): Registration => ({
  runId: "run-a",
  threadKey: "web:T1",
  kind: "run",
  generation: 1,
  state: "running",
  seq: 1,
  since: T0,
  leaseUntil: at(30),
  parent: null,
  ...more,
});

/** An instant from two hours before 04:44 to three after it. */
export const anyInstant = fc.integer({ min: T0 - 2 * HOUR, max: T0 + 3 * HOUR });
const anyEnd = fc.oneof(anyInstant, fc.double({ noNaN: true, noDefaultInfinity: true }));

/** A drain that this build can read, whatever it says. */
export const anyDrain: fc.Arbitrary<Drain> = fc.record({
  id: fc.constantFrom("drain-a", "drain-b", "person-a", ""),
  since: anyEnd,
  until: anyEnd,
  by: fc.string({ maxLength: 8 }),
  reason: fc.string({ maxLength: 8 }),
  principal: fc.constantFrom("admin", "drain"),
  deploy: fc.boolean(),
  phase: fc.constantFrom(...DRAIN_PHASES),
  phaseSince: anyEnd,
  phaseUntil: fc.option(anyEnd),
  build: fc.option(fc.constant(BUILD)),
  sealing: fc.record({
    state: fc.constantFrom("none" as const, "asking" as const, "void" as const, "sealed" as const),
    attempt: fc.nat(9),
    until: anyEnd,
  }),
  holds: fc.uniqueArray(fc.constantFrom(APP, WEB)),
  reported: fc.uniqueArray(fc.constantFrom(APP, WEB)),
  without: fc.array(fc.record({ resource: fc.constantFrom(APP, WEB), reason: fc.string({ maxLength: 8 }) }), {
    maxLength: 2,
  }),
});

const fields = Object.keys(drainOf());

/** What may lie where a drain is stored: one of ours, one of another build, one that was spoiled, or anything at all. */
export const anyStored: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: anyDrain, weight: 2 },
  { arbitrary: fc.tuple(anyDrain, fc.object()).map(([drain, more]) => ({ ...more, ...drain })), weight: 1 },
  {
    arbitrary: fc
      .tuple(anyDrain, fc.constantFrom(...fields), fc.anything())
      .map(([drain, field, value]) => ({ ...drain, [field]: value })),
    weight: 2,
  },
  {
    arbitrary: fc
      .tuple(anyDrain, fc.constantFrom(...fields))
      .map(([drain, field]) => Object.fromEntries(Object.entries(drain).filter(([name]) => name !== field))),
    weight: 1,
  },
  { arbitrary: fc.anything(), weight: 2 },
);

/** How far a clock may move at once: not at all, seconds, or past some end. */
export const anyStep = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 90 * SECOND }),
  fc.integer({ min: 1, max: 20 * MINUTE }),
);
