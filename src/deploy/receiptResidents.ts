// A receipt's residents: what each reported of its container before the swap and after it, what the reconcile came to
// there, and how its hold ended. Every word is the resident's own or the registry's log's.

import type { ReconcileAnswer } from "#wire/drain.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { HoldEnd, Receipt, ReceiptResident } from "#wire/receipt.ts";

const word = (value: string | null | undefined): string => value ?? "unknown";

const knownIn = ({ residents }: Receipt): readonly ReceiptResident[] => (residents === "unknown" ? [] : residents);

function fresh(resource: string): ReceiptResident {
  const unknown = { imageBefore: "unknown", imageAfter: "unknown", bootBefore: "unknown", bootAfter: "unknown" };
  const unasked = { reconcile: "unknown", why: null, killed: 0, hold: "none", holdEndedAt: null } as const;
  return { resource, ...unknown, ...unasked };
}

/** Processes of runs that ended with restarted containers. */
export function killedByRestarts(receipt: Receipt): number {
  return knownIn(receipt).reduce((sum, one) => sum + one.killed, 0);
}

/** The receipt with these residents; what died with their containers counts. */
function withResidents(receipt: Receipt, residents: ReceiptResident[]): Receipt {
  const before = killedByRestarts(receipt);
  const after = residents.reduce((sum, one) => sum + one.killed, 0);
  const killed = receipt.killed === "unknown" ? receipt.killed : receipt.killed - before + after;
  return { ...receipt, residents, killed };
}

/** What is reported before the swap. */
export function residentsBefore({ residents }: Residents): ReceiptResident[] {
  return residents.map(({ resource, image, bootId }) => ({
    ...fresh(resource),
    imageBefore: word(image),
    bootBefore: word(bootId),
  }));
}

/** A boot that is older than the swap of the image reports what was there before it, so what it says of now is unknown. */
export function residentsAfter(receipt: Receipt, { residents }: Residents): Receipt {
  const rows = residents.map(({ resource, image, bootId }) => {
    const known = knownIn(receipt).find((one) => one.resource === resource) ?? fresh(resource);
    const isOld = receipt.build.imageChanged !== false && word(bootId) === known.bootBefore;
    const now = isOld ? { image: null, bootId: null } : { image, bootId };
    return { ...known, imageAfter: word(now.image), bootAfter: word(now.bootId) };
  });
  return withResidents(receipt, rows);
}

function holdOf(known: ReceiptResident, isHeld: boolean): HoldEnd {
  if (isHeld) return "held";
  return known.hold === "held" ? "unknown" : known.hold;
}

/** What each resident has answered to the reconcile; one that has not answered yet leaves what is known. */
export function noteReconciled(receipt: Receipt, { operation, held }: ReconcileAnswer): Receipt {
  const known = knownIn(receipt);
  const asked = operation.entries.map((entry) => {
    const before = known.find((one) => one.resource === entry.resource) ?? fresh(entry.resource);
    const { state: reconcile, why, killed } = entry;
    const hold = holdOf(before, held.includes(entry.resource));
    const imageAfter = entry.image ?? before.imageAfter;
    return { ...before, imageAfter, bootAfter: entry.bootId ?? before.bootAfter, reconcile, why, killed, hold };
  });
  const gone = known.filter((one) => !operation.entries.some((entry) => entry.resource === one.resource));
  return withResidents(receipt, [...asked, ...gone]);
}

/** How this resident's hold ended, by one row of its drain; undefined when the row tells of something else. */
function endIn(row: AuditRow, resource: string, own: readonly AuditRow[]): HoldEnd | undefined {
  // An admin's force lifts what a first lift had left held.
  const isForced = row.what === "lift" && row.reason === "forced";
  if (isForced && own.some((one) => one.what === "held" && one.resource === resource && one.id < row.id))
    return "lifted";
  if (row.resource !== resource) return undefined;
  if (row.what === "stale") return "bound";
  if (row.what !== "freed") return undefined;
  return row.cause === "released" ? "released" : "reported";
}

/** How each hold ended, by the registry's log; one that is in no row stays as it was last seen. */
export function noteHoldEnds(receipt: Receipt, rows: readonly AuditRow[]): Receipt {
  const { residents, drainId } = receipt;
  if (residents === "unknown") return receipt;
  const own = rows.filter((row) => row.drainId === drainId);
  const told = residents.map((one): ReceiptResident => {
    const row = own.find((each) => endIn(each, one.resource, own) !== undefined);
    const hold = row === undefined ? undefined : endIn(row, one.resource, own);
    return row === undefined || hold === undefined ? one : { ...one, hold, holdEndedAt: row.at };
  });
  return { ...receipt, residents: told };
}
