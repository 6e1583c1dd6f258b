// One row of the audit log as a line: when, where, what, and why.

import { LIMIT } from "#core/budgets.ts";
import { clockOf } from "#core/time.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import { shortened } from "./plain.ts";
import { table } from "./table.ts";

const WORDS: Readonly<Record<string, string>> = {
  drain: "drained",
  renew: "drain extended",
  lift: "drain lifted",
  liftDeferred: "lift waits for the swap's bound",
  seal: "sealed, swapping",
  sealRefused: "not sealed: somebody is busy",
  reopen: "reopened",
  onboard: "onboarded",
  offboard: "removed",
  reconfigure: "reconfigured",
  releaseRun: "run released",
  leaseEnded: "run ended by its lease",
  swapped: "swapped",
  handOff: "handed off",
  reconcile: "reconcile begun",
  held: "held to report",
  freed: "hold over",
  stale: "stale: no report",
  rebuild: "rebuild asked",
  released: "run given back",
  gaveUp: "run waits no more",
};

/** Whether a row tells what no other row has: a reopening because of a lift follows the lift's own row. */
export function isNews(row: AuditRow): boolean {
  return !(row.what === "reopen" && row.cause === "lifted");
}

const whereOf = ({ resource }: AuditRow): string => (resource === null ? "fleet" : shortNameOf(resource));
const whatOf = ({ what }: AuditRow): string => WORDS[what] ?? what;

function detailsOf(row: AuditRow, reasonChars: number): string {
  return [
    row.runId === null ? "" : `run ${row.runId}`,
    row.by === null ? "" : `by ${shortened(row.by, 80)}`,
    row.reason === null ? "" : shortened(row.reason, reasonChars),
    row.cause === null ? "" : `cause: ${row.cause}`,
  ]
    .filter((part) => part !== "")
    .join(", ");
}

/** The event's line. */
export function eventLine(row: AuditRow): string {
  const when = clockOf(row.at).slice(0, 8);
  return `${when}  ${whereOf(row).padEnd(8)}  ${whatOf(row).padEnd(16)}  ${detailsOf(row, 120)}`.trimEnd();
}

/** The audit log, a row a line: when with its date, by whose bearer, under which drain, and why in full. */
export function logTable(rows: readonly AuditRow[], headers: boolean): string[] {
  const cells = rows.map((row) => [
    `${new Date(row.at).toISOString().slice(0, 19)}Z`,
    whatOf(row),
    whereOf(row),
    row.principal,
    row.drainId ?? "—",
    detailsOf(row, LIMIT.reasonChars),
  ]);
  return table(["WHEN", "WHAT", "WHERE", "BEARER", "DRAIN", "DETAILS"], cells, headers);
}
