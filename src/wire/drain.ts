// What crosses the wire about drains: asking, lifting, sealing, reading.

import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { DRAIN_PHASES, readDrain, UPLOAD_OUTCOMES, type Drain } from "#core/drain.ts";
import { RECONCILE_STATES, type Reconcile } from "#core/reconcile.ts";
import type { Result } from "#core/result.ts";
import type { Problem } from "./errors.ts";
import { idSchema, resourceSchema } from "./names.ts";
import { parseWith } from "./parse.ts";

export const buildSchema = z.object({
  commit: z.string().max(80),
  bundle: z.string().max(80),
  image: z.string().max(80),
});

const textSchema = (chars: number): z.ZodString =>
  z.string("is missing: a text").min(1, "is empty").max(chars, `is longer than ${chars} characters`);

/** `POST /drain` for a fleet whose cap is `capMinutes`. */
export const drainBodySchema = (capMinutes: number) =>
  z.object({
    id: idSchema,
    minutes: z
      .number(`must be a whole number of minutes from 1 to ${capMinutes}`)
      .int(`must be a whole number of minutes from 1 to ${capMinutes}`)
      .min(1, `must be at least 1 and at most ${capMinutes}`)
      .max(capMinutes, `must be at least 1 and at most ${capMinutes}`),
    by: textSchema(LIMIT.byChars),
    reason: textSchema(LIMIT.reasonChars),
    deploy: z.boolean().default(false),
    build: buildSchema.nullable().default(null),
    /** Residents left out of quiet and seal, each for a reason. */
    without: z
      .array(z.object({ resource: resourceSchema, reason: textSchema(LIMIT.reasonChars) }))
      .max(100)
      .default([]),
  });
export type DrainBody = z.infer<ReturnType<typeof drainBodySchema>>;

/** Reads `POST /drain` (protocol.md, "The drain record"): never clamped, a 400 that names the field, a value and never an exception. */
export function parseDrainRequest(body: unknown, capMinutes: number): Result<DrainBody, Problem> {
  return parseWith(drainBodySchema(capMinutes), body);
}

/** `POST /undrain`. `force` (admin) lifts every live drain when no id is given. */
export const undrainBodySchema = z
  .object({
    id: idSchema.optional(),
    outcome: z.enum(UPLOAD_OUTCOMES, `must be one of ${UPLOAD_OUTCOMES.join(", ")}`).default("unknown"),
    force: z.boolean().default(false),
  })
  .refine((body) => body.id !== undefined || body.force, {
    path: ["id"],
    message: "is missing: the drain's id, or force as admin",
  });
export type UndrainBody = z.infer<typeof undrainBodySchema>;

/** `POST /seal`. `handoff`: begin the swap over the runs in flight, for a release that keeps the image. */
export const sealBodySchema = z.object({ id: idSchema, handoff: z.boolean().default(false) });

/** `POST /reconcile`, and the query of `GET /reconcile`. */
export const reconcileBodySchema = z.object({ id: idSchema });

/** `POST /holds/release`: one resident is waited for no more. */
export const releaseHoldBodySchema = z.object({ resource: resourceSchema, reason: textSchema(LIMIT.reasonChars) });

/** A drain as every answer carries it. */
export const drainSchema = z.custom<Drain>((value) => readDrain(value) !== undefined, "is not a drain record");

/** `GET /drain`. */
export const drainsSchema = z.object({
  now: z.number(),
  draining: drainSchema.nullable(),
  drains: z.array(drainSchema),
  unreadable: z.number(),
});
export type Drains = z.infer<typeof drainsSchema>;

/** The answer to `POST /drain` and to a `POST /seal` that succeeded. */
export const drainAnswerSchema = z.object({
  now: z.number(),
  kind: z.enum(["created", "renewed", "sealed"]),
  drain: drainSchema,
});

/** The answer to `POST /undrain`. `deferredUntil`: an upload may still land, so the fleet reopens by itself then. */
export const undrainAnswerSchema = z.object({
  now: z.number(),
  kind: z.enum(["lifted", "already", "deferred"]),
  deferredUntil: z.number().nullable(),
  /** What still closes the fleet, for the deploy's last line. */
  remaining: z.array(drainSchema),
  /** Residents that stay closed until their own report, and until when at the latest. */
  held: z.array(z.string()).default([]),
  heldUntil: z.number().nullable().default(null),
});

/** The operation behind `POST /reconcile`, resident by resident. */
export const reconcileSchema = z.object({
  drainId: z.string(),
  image: z.string(),
  since: z.number(),
  until: z.number(),
  entries: z.array(
    z.object({
      resource: z.string(),
      state: z.enum(RECONCILE_STATES),
      image: z.string().nullable(),
      bootId: z.string().nullable(),
      why: z.string().nullable(),
      killed: z.number(),
      askedAt: z.number(),
      asks: z.number(),
    }),
  ),
}) satisfies z.ZodType<Reconcile>;

/** The answer to `POST /reconcile` (202) and `GET /reconcile?id=`: the operation, who is held now, and the drain while it lives. */
export const reconcileAnswerSchema = z.object({
  now: z.number(),
  operation: reconcileSchema,
  held: z.array(z.string()),
  drain: drainSchema.nullable(),
});
export type ReconcileAnswer = z.infer<typeof reconcileAnswerSchema>;

/** The answer to `POST /holds/release`: whose hold it was, and who is held still. */
export const releaseHoldAnswerSchema = z.object({
  now: z.number(),
  resource: z.string(),
  drainId: z.string(),
  held: z.array(z.string()),
});

/** What a 503 DRAINING carries: the record, or what a standing seal alone can say while the registry cannot be read. */
export const drainingSchema = z.looseObject({
  id: z.string(),
  since: z.number().optional(),
  until: z.number(),
  /** The phase's own bound, where it has one. */
  phaseUntil: z.number().nullable().optional(),
  by: z.string(),
  reason: z.string(),
  deploy: z.boolean(),
  phase: z.enum(DRAIN_PHASES),
});
