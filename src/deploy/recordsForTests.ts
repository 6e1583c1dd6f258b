// What the deploy's tests are made of: fleets, drains, residents, reconciles and rows of the log, all of one evening.

import { budgetsOf, CLOCK, DEFAULT_LEASES } from "#core/budgets.ts";
import type { Build, Drain } from "#core/drain.ts";
import type { FleetView, InFlight } from "#core/preflight.ts";
import type { ReconcileEntry } from "#core/reconcile.ts";
import { MINUTE } from "#core/time.ts";
import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Performed } from "#deploy/port.ts";

export const BUDGETS = budgetsOf(DEFAULT_LEASES);

/** 04:44:00Z of some day. */
export const T0 = Date.UTC(2026, 8, 17, 4, 44);
export const FROM: Build = { commit: "3f9c1e2", bundle: "b1b1b1", image: "a41b" };
export const TO: Build = { commit: "7b02d9e", bundle: "b2b2b2", image: "c9e0" };
export const DRAIN_ID = "d1d1d1d1";

/** A run in flight whose lease ends `minutes` after 04:44. */
export function runOf(runId: string, minutes: number, more: Partial<InFlight> = {}): InFlight {
  const leaseUntil = T0 + minutes * MINUTE;
  return {
    resource: "repo:local/sample",
    runId,
    threadKey: `cli:${runId}`,
    state: "running",
    leaseUntil,
    suspect: false,
    ...more,
  };
}

/** A fleet with these runs in flight. */
export function fleetOf(runs: readonly InFlight[] = [], more: Partial<FleetView> = {}): FleetView {
  const quietBy = runs.length === 0 ? null : Math.max(...runs.map((run) => run.leaseUntil));
  return {
    protocol: 1,
    now: T0,
    drains: [],
    unreadableDrains: 0,
    runs,
    attaching: 0,
    quietBy,
    unreadable: [],
    botInFlight: 0,
    ...more,
  };
}

/** A live drain of a deploy. */
export function drainOf(id: string, at: number, more: Partial<Drain> = {}): Drain {
  return {
    id,
    since: at,
    until: at + BUDGETS.drainMs,
    by: "ci",
    reason: "deploy 7b02d9e",
    principal: "drain",
    deploy: true,
    phase: "draining",
    phaseSince: at,
    phaseUntil: at + CLOCK.pulseBoundMs,
    build: TO,
    sealing: { state: "none", attempt: 0, until: at },
    holds: [],
    reported: [],
    without: [],
    ...more,
  };
}

/** `GET /residents` as the view's source. */
export function residentsOf(view: FleetView, more: Partial<Residents> = {}): Residents {
  const row = {
    url: "/src",
    setup: null,
    test: null,
    state: "ready",
    readiness: "ready",
    runsInFlight: view.runs.length,
    attaching: 0,
    opsInFlight: 0,
    imageReport: "current",
    hold: null,
    image: "a41b",
    bootId: "boot1",
    readable: true,
    suspect: 0,
    detail: null,
  } as const;
  const runs = view.runs.map((run) => ({ ...run, kind: "run" as const, generation: 0, since: T0 }));
  return {
    now: view.now,
    protocol: view.protocol,
    build: FROM,
    generation: 1,
    drainId: null,
    draining: null,
    drains: [...view.drains],
    unreadableDrains: 0,
    residents: [{ resource: "repo:local/sample", ...row }],
    runs,
    waiting: [],
    attaching: view.attaching,
    quietBy: view.quietBy,
    longestLeaseMs: BUDGETS.longestLeaseMs,
    capMinutes: BUDGETS.capMinutes,
    ...more,
  };
}

/** One resident's part of a reconcile. */
export function entryOf(resource: string, more: Partial<ReconcileEntry> = {}): ReconcileEntry {
  const said = { state: "restarted", image: "c9e0", bootId: "boot2", why: null, killed: 0 } as const;
  return { resource, ...said, askedAt: T0, asks: 1, ...more };
}

/** The answer to a reconcile that began at `at`: what these residents have said, and which of them are held. */
export function reconciledOf(
  at: number,
  entries: readonly ReconcileEntry[],
  held: readonly string[] = [],
  more: Partial<ReconcileAnswer> = {},
): ReconcileAnswer {
  const until = at + CLOCK.cycleBoundMs;
  const drain = drainOf(DRAIN_ID, T0, { phase: "reconciling", phaseSince: at, phaseUntil: until, holds: held });
  const operation = { drainId: DRAIN_ID, image: TO.image, since: at, until, entries: [...entries] };
  return { now: at, operation, held: [...held], drain, ...more };
}

/** A reconcile's answer as the port gives it. */
export function reconciling(answer: ReconcileAnswer): Performed {
  const drain = answer.drain ?? drainOf(DRAIN_ID, T0);
  const leftMs = (drain.phaseUntil ?? answer.now) - answer.now;
  return { fact: { kind: "reconciling", drain, leftMs }, seen: [{ kind: "reconciled", answer }] };
}

/** A row of the audit log. */
export const auditOf = (what: string, at: number, more: Partial<AuditRow> = {}): AuditRow => ({
  id: 1,
  at,
  what,
  principal: "registry",
  drainId: null,
  resource: null,
  runId: null,
  by: null,
  reason: null,
  cause: null,
  ...more,
});
