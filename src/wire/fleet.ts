// What crosses the wire about the fleet as a whole: health, residents, the watch, audit and events, and the Worker's settings.

import * as z from "zod";
import { IMAGE_REPORTS, RESIDENT_STATES } from "#core/readiness.ts";
import { REGISTRATION_KINDS } from "#core/registration.ts";
import { buildSchema, drainSchema } from "./drain.ts";

/** `GET /healthz`: which upload answers. It carries the drain's id that brought it, so that a deployer can prove its own. */
export const healthSchema = z.object({
  ok: z.literal(true),
  protocol: z.number(),
  build: buildSchema,
  generation: z.number(),
  drainId: z.string().nullable(),
  now: z.number(),
});
export type Health = z.infer<typeof healthSchema>;

/** One run in flight. */
export const runRowSchema = z.object({
  resource: z.string(),
  runId: z.string(),
  threadKey: z.string(),
  kind: z.enum(REGISTRATION_KINDS),
  state: z.enum(["attaching", "running"]),
  generation: z.number(),
  since: z.number(),
  leaseUntil: z.number(),
  suspect: z.boolean(),
});
export type RunRow = z.infer<typeof runRowSchema>;

/** One resident in `GET /residents`. */
export const residentRowSchema = z.object({
  resource: z.string(),
  url: z.string(),
  setup: z.string().nullable(),
  test: z.string().nullable(),
  state: z.enum(RESIDENT_STATES),
  /** What a screen says first: `drained — attach refused` comes before the state. */
  readiness: z.string(),
  runsInFlight: z.number(),
  attaching: z.number(),
  opsInFlight: z.number(),
  imageReport: z.enum(IMAGE_REPORTS),
  /** A reopening that waits for this resident's report: since when, until when at the latest, and what it last said. */
  hold: z
    .object({
      drainId: z.string(),
      since: z.number(),
      until: z.number(),
      askedAt: z.number().nullable(),
      said: z.string().nullable(),
    })
    .nullable()
    .default(null),
  image: z.string().nullable(),
  bootId: z.string().nullable(),
  readable: z.boolean(),
  suspect: z.number(),
  detail: z.string().nullable(),
});
export type ResidentRow = z.infer<typeof residentRowSchema>;

/** `GET /residents` (`?fresh=1` asks the residents that the sum calls busy). */
export const residentsSchema = z.object({
  now: z.number(),
  protocol: z.number(),
  build: buildSchema,
  generation: z.number(),
  drainId: z.string().nullable(),
  draining: drainSchema.nullable(),
  drains: z.array(drainSchema),
  unreadableDrains: z.number(),
  residents: z.array(residentRowSchema),
  runs: z.array(runRowSchema),
  /** Runs that met the closed door and have not come in, in order of arrival. */
  waiting: z
    .array(z.object({ runId: z.string(), resource: z.string(), threadKey: z.string(), since: z.number() }))
    .default([]),
  attaching: z.number(),
  quietBy: z.number().nullable(),
  /** The longest lease and the cap of a drain in minutes, as this fleet is configured. */
  longestLeaseMs: z.number(),
  capMinutes: z.number(),
});
export type Residents = z.infer<typeof residentsSchema>;

/** The one frame of `GET /watch` (WebSocket): the state first, then each change. */
export const watchFrameSchema = z.object({
  type: z.literal("state"),
  now: z.number(),
  generation: z.number(),
  drains: z.array(drainSchema),
  runs: z.array(runRowSchema),
  attaching: z.number(),
  quietBy: z.number().nullable(),
  /** Milliseconds to the next end of a drain, at which a waiter looks by itself; null when nothing ends. */
  msToNextEnd: z.number().nullable(),
});
export type WatchFrame = z.infer<typeof watchFrameSchema>;

/** Close codes of the watch, since a client cannot see the status of a refused upgrade. */
export const WATCH_CLOSE = { noBearer: 4401, beyondScope: 4403 } as const;

/** One row of the audit log: `GET /audit?after=ID&limit=N`, and the data of each `GET /events` (SSE, id = the row's). */
export const auditRowSchema = z.object({
  id: z.number(),
  at: z.number(),
  /** drain, renew, lift, seal, sealRefused, reopen, onboard, offboard, reconfigure, releaseRun, leaseEnded, swapped … */
  what: z.string(),
  /** The scope behind the bearer, or the registry itself. */
  principal: z.string(),
  drainId: z.string().nullable(),
  resource: z.string().nullable(),
  runId: z.string().nullable(),
  by: z.string().nullable(),
  reason: z.string().nullable(),
  cause: z.string().nullable(),
});
export type AuditRow = z.infer<typeof auditRowSchema>;
export const auditSchema = z.object({ rows: z.array(auditRowSchema) });
