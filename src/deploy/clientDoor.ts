// The deploy's requests over the typed client's transport, each with the deploy's own bound and signal.

import { REAL } from "#core/budgets.ts";
import { drainAnswerSchema, drainsSchema, reconcileAnswerSchema, undrainAnswerSchema } from "#wire/drain.ts";
import { auditSchema, healthSchema, residentsSchema } from "#wire/fleet.ts";
import * as z from "zod";
import type { PartName, Served } from "#core/rolloutState.ts";
import { BOT_ROUTES } from "#wire/bot.ts";
import { doneSchema } from "#wire/ledger.ts";
import { LEDGER_ROUTES } from "#wire/ledgerRoutes.ts";
import type { Receipt } from "#wire/receipt.ts";
import { botClient } from "#client/bot.ts";
import { call, type Transport } from "#client/transport.ts";
import type { BotDoor, FleetDoor } from "#deploy/fleetDoor.ts";

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

// Only what is judged here: what answers may be of another generation than this runner.
const servedSchema = z.object({ drainId: z.string().nullable(), generation: z.number() });
const handsSchema = z.object({ inFlight: z.number() });

/** The door of the bot that this transport reaches. */
export function clientBotDoor(transport: Transport): BotDoor {
  const bot = botClient(transport);
  return {
    health: (signal) => call(transport, BOT_ROUTES.healthz, handsSchema, { signal }),
    drain: (body, signal) => bot.drain(body, signal),
    undrain: (body, signal) => bot.undrain({ ...body, force: false }, signal),
  };
}

/** What the ledger or the bot serves, as its own `/healthz` says. */
export function partServedBy(transport: Transport, part: PartName): (signal: AbortSignal) => Promise<Served> {
  const route = part === "ledger" ? LEDGER_ROUTES.healthz : BOT_ROUTES.healthz;
  return (signal) => call(transport, route, servedSchema, { signal });
}

/** Keeps receipts in the ledger that this transport reaches, each in one short try. */
export function receiptKeeper(transport: Transport): (receipt: Receipt) => Promise<unknown> {
  const boundMs = REAL.liftTryMs;
  return (receipt) => call(transport, LEDGER_ROUTES.keepReceipt, doneSchema, { body: { receipt }, boundMs });
}

/** What a fleet serves, as its `/healthz` says. */
export async function servedBy(transport: Transport, signal: AbortSignal): Promise<Served> {
  const { drainId, generation } = await call(transport, "healthz", healthSchema, { signal });
  return { drainId, generation };
}
