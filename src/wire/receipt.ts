// The receipt of a deploy: what happened, each fact from whoever saw it. What has no source says `unknown`, and nothing
// in it is filled in from what was expected. It is kept as JSON, and every other form is rendered from that.

import * as z from "zod";
import { UPLOAD_OUTCOMES } from "#core/drain.ts";
import { DEPLOY_EFFECTS, DEPLOY_MODES } from "#core/rollout.ts";
import { buildSchema } from "./drain.ts";

/** Moves when a field changes its meaning; fields are otherwise only added. */
export const RECEIPT_FORMAT = 1;

const unknown = z.literal("unknown");
const instant = z.number();

/** How a deploy ended; `underWay` is also what a deployer leaves that was killed. */
const DEPLOY_RESULTS = ["underWay", "deployed", "refused", "failed", "denied", "unknown", "stopped"] as const;

/** How a run that was in flight ended, in the registry's words; `inFlight` is one that had not ended when last seen. */
export const RUN_ENDS = ["released", "leaseEnded", "endedByAdmin", "killed", "inFlight", "unknown"] as const;
export type RunEnd = (typeof RUN_ENDS)[number];

/** One run that the deploy met in flight. */
export const receiptRunSchema = z.object({
  runId: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  leaseUntil: instant,
  seenAt: instant,
  endedAt: instant.or(unknown).nullable(),
  how: z.enum(RUN_ENDS),
});
export type ReceiptRun = z.infer<typeof receiptRunSchema>;

/** One resident: the image that it reported itself, before the swap and after it. */
export const receiptResidentSchema = z.object({
  resource: z.string(),
  imageBefore: z.string().or(unknown),
  imageAfter: z.string().or(unknown),
  bootBefore: z.string().or(unknown),
  bootAfter: z.string().or(unknown),
});
export type ReceiptResident = z.infer<typeof receiptResidentSchema>;

/** A process of a run that the swap ended. */
export const killedProcessSchema = z.object({
  pid: z.number(),
  startTicks: z.number(),
  resource: z.string(),
  threadKey: z.string().or(unknown),
  runId: z.string().or(unknown),
  command: z.string(),
});
export type KilledProcess = z.infer<typeof killedProcessSchema>;

/** One effect as it was performed, with the fact that came of it. */
const receiptEffectSchema = z.object({
  effect: z.enum(DEPLOY_EFFECTS),
  fact: z.string(),
  drainId: z.string(),
  since: instant,
  until: instant,
  why: z.string().nullable(),
});

/** The phases of a deploy that a reader compares; one that was not reached is not listed. */
const RECEIPT_PHASES = ["close", "wait", "seal", "swap", "live", "reopen"] as const;
export const receiptPhaseSchema = z.object({ phase: z.enum(RECEIPT_PHASES), since: instant, until: instant });
export type ReceiptPhase = z.infer<typeof receiptPhaseSchema>;

/** A drain that still closes the fleet after this deploy's lift. */
const remainingSchema = z.object({
  id: z.string(),
  by: z.string(),
  reason: z.string(),
  until: instant,
  deploy: z.boolean(),
});

/** `.tidegate/deploys/<drainId>.json`, and the one document of `deploy all --json`. */
export const receiptSchema = z.object({
  format: z.literal(RECEIPT_FORMAT),
  step: z.string(),
  drainId: z.string(),
  /** Every id this deploy used, the last one last: one whose drain ended early is followed by a new one. */
  drainIds: z.array(z.string()),
  mode: z.enum(DEPLOY_MODES),
  by: z.string(),
  reason: z.string(),
  startedAt: instant,
  endedAt: instant.nullable(),
  result: z.enum(DEPLOY_RESULTS),
  why: z.string().nullable(),
  outcome: z.enum(UPLOAD_OUTCOMES),
  exitCode: z.number().nullable(),
  build: z.object({ from: buildSchema.or(unknown), to: buildSchema, imageChanged: z.boolean().or(unknown) }),
  generation: z.object({ from: z.number().or(unknown), to: z.number().or(unknown).nullable() }),
  /** Who closed, by the registry's record; null when nobody did. */
  closed: z
    .object({ since: instant, by: z.string(), principal: z.string(), reason: z.string(), until: instant })
    .nullable(),
  phases: z.array(receiptPhaseSchema),
  inFlight: z.array(receiptRunSchema),
  /** Which runs met the closed door, by the registry, and how long they waited there: to the lift, or until they gave up. */
  waited: z
    .array(
      z.object({
        runId: z.string(),
        resource: z.string(),
        threadKey: z.string(),
        since: instant,
        waitedMs: z.number().or(unknown),
        gaveUp: z.boolean(),
      }),
    )
    .or(unknown),
  residents: z.array(receiptResidentSchema).or(unknown),
  /** Runs that the swap killed, counted from the processes that died. */
  killed: z.number().or(unknown),
  killedProcesses: z.array(killedProcessSchema),
  reopened: z
    .object({
      at: instant.or(unknown),
      cause: z.string().or(unknown),
      stillClosedBy: z.array(remainingSchema).or(unknown),
    })
    .nullable(),
  closedMs: z.number().or(unknown).nullable(),
  effects: z.array(receiptEffectSchema),
});
export type Receipt = z.infer<typeof receiptSchema>;
