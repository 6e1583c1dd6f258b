// Rows that the screens' tests are made from.

import { budgetsOf, DEFAULT_LEASES } from "#core/budgets.ts";
import { decideDrain, EMPTY_BOOK, type Drain } from "#core/drain.ts";
import type { AuditRow, ResidentRow, Residents, RunRow } from "#wire/fleet.ts";

const { longestLeaseMs, capMinutes } = budgetsOf(DEFAULT_LEASES);

/** 05:08:00Z of some day. */
export const NOW = Date.UTC(2026, 8, 18, 5, 8);

/** A drain that lives at NOW. */
export function drainOf(
  more: { id?: string; length?: number; deploy?: boolean; by?: string; reason?: string; since?: number } = {},
): Drain {
  const {
    id = "d-0123456789",
    length = 41,
    deploy = false,
    by = "lee@host",
    reason = "release 3f9c",
    since = NOW,
  } = more;
  const answer = decideDrain(
    EMPTY_BOOK,
    { id, minutes: length, by, reason, deploy, build: null, without: [], principal: "drain" },
    since,
  );
  if (answer.kind !== "created") throw new Error("a new drain is created");
  return answer.drain;
}

/** A run in flight at NOW. */
export function runRow(more: Partial<RunRow> = {}): RunRow {
  const row = {
    resource: "repo:local/app",
    runId: "r-one",
    threadKey: "cli:8f2",
    kind: "run",
    state: "running",
    generation: 0,
  } as const;
  return {
    ...row,
    since: Date.UTC(2026, 8, 18, 4, 48),
    leaseUntil: Date.UTC(2026, 8, 18, 5, 33),
    suspect: false,
    ...more,
  };
}

/** A resident. */
export function residentRow(more: Partial<ResidentRow> = {}): ResidentRow {
  const commands = { setup: null, test: null, detail: null } as const;
  const counts = { runsInFlight: 0, attaching: 0, opsInFlight: 0, suspect: 0 };
  const image = { imageReport: "current", image: "a41bffff", bootId: "boot" } as const;
  return {
    resource: "repo:local/app",
    url: "/src/app",
    state: "ready",
    readiness: "ready",
    hold: null,
    readable: true,
    ...commands,
    ...counts,
    ...image,
    ...more,
  };
}

/** `GET /residents` at NOW. */
export function residentsOf(more: Partial<Residents> = {}): Residents {
  const build = { commit: "3f9c1e2abcdef", bundle: "7b02d9effff", image: "a41bffffff" };
  const drains = more.drains ?? [];
  return {
    now: NOW,
    protocol: 1,
    build,
    generation: 1,
    drainId: null,
    draining: drains[0] ?? null,
    drains,
    unreadableDrains: 0,
    residents: [],
    runs: [],
    waiting: [],
    attaching: 0,
    quietBy: null,
    longestLeaseMs,
    capMinutes,
    ...more,
  };
}

/** A row of the audit log. */
export function auditRow(more: Partial<AuditRow> = {}): AuditRow {
  const nothing = { drainId: null, resource: null, runId: null, by: null, reason: null, cause: null };
  return { id: 1, at: NOW, what: "drain", principal: "drain", ...nothing, ...more };
}
