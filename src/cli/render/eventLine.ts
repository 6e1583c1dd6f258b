// One row of the audit log as a line: when, where, what, and why.

import { clockOf } from "#core/time.ts";
import type { AuditRow } from "#wire/fleet.ts";
import { shortNameOf } from "#wire/names.ts";
import { shortened } from "./plain.ts";

const WORDS: Readonly<Record<string, string>> = {
  drain: "drained",
  renew: "drain extended",
  lift: "drain lifted",
  liftDeferred: "lift waits for the swap's bound",
  seal: "sealed, swapping",
  sealRefused: "not sealed: somebody is busy",
  reopen: "drain over",
  onboard: "onboarded",
  offboard: "removed",
  reconfigure: "reconfigured",
  releaseRun: "run released",
  leaseEnded: "run ended by its lease",
  swapped: "swapped",
};

/** Whether a row tells what no other row has: a reopening because of a lift follows the lift's own row. */
export function isNews(row: AuditRow): boolean {
  return !(row.what === "reopen" && row.cause === "lifted");
}

/** The event's line. */
export function eventLine(row: AuditRow): string {
  const where = row.resource === null ? "fleet" : shortNameOf(row.resource);
  const what = WORDS[row.what] ?? row.what;
  const details = [
    row.runId === null ? "" : `run ${row.runId}`,
    row.by === null ? "" : `by ${shortened(row.by, 80)}`,
    row.reason === null ? "" : shortened(row.reason, 120),
    row.cause === null ? "" : `cause: ${row.cause}`,
  ].filter((part) => part !== "");
  return `${clockOf(row.at).slice(0, 8)}  ${where.padEnd(8)}  ${what.padEnd(16)}  ${details.join(", ")}`.trimEnd();
}
