// The deploy's requests over the typed client's transport, each with the deploy's own bound and signal.

import { REAL } from "#core/budgets.ts";
import { drainAnswerSchema, drainsSchema, reconcileAnswerSchema, undrainAnswerSchema } from "#wire/drain.ts";
import { auditSchema, healthSchema, residentsSchema } from "#wire/fleet.ts";
import type { Served } from "#core/rolloutState.ts";
import { call, type Transport } from "#client/transport.ts";
import type { FleetDoor } from "#deploy/fleetDoor.ts";

/** How many of the newest audit rows a receipt is made from. */
const AUDIT_ROWS = 1_000;

/** The door of a fleet that this transport reaches. */
export function clientDoor(transport: Transport): FleetDoor {
  return {
    residents: (fresh, signal) =>
      call(transport, "residents", residentsSchema, { signal, ...(fresh ? { query: { fresh: 1 } } : {}) }),
    drains: (signal) => call(transport, "drains", drainsSchema, { signal }),
    drain: (body, signal) => call(transport, "drain", drainAnswerSchema, { body, signal }),
    seal: (body, signal) => call(transport, "seal", drainAnswerSchema, { body, signal, boundMs: REAL.sealMs }),
    reconcile: (id, signal) => call(transport, "reconcile", reconcileAnswerSchema, { body: { id }, signal }),
    reconciled: (id, signal) => call(transport, "reconciled", reconcileAnswerSchema, { query: { id }, signal }),
    undrain: (body, signal) =>
      call(transport, "undrain", undrainAnswerSchema, { body: { ...body, force: false }, signal }),
    newestAudit: async (signal) => {
      const query = { after: -1, limit: AUDIT_ROWS };
      return (await call(transport, "audit", auditSchema, { query, signal })).rows;
    },
  };
}

/** What a fleet serves, as its `/healthz` says. */
export async function servedBy(transport: Transport, signal: AbortSignal): Promise<Served> {
  const { drainId, generation } = await call(transport, "healthz", healthSchema, { signal });
  return { drainId, generation };
}
