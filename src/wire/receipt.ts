// The receipt of a deploy: what happened, each fact from whoever saw it. What has no source says `unknown`, and nothing
// in it is filled in from what was expected. It is kept as JSON, and every other form is rendered from that.

import * as z from "zod";
import { UPLOAD_OUTCOMES } from "#core/drain.ts";
import { RECONCILE_STATES } from "#core/reconcile.ts";
import { DEPLOY_EFFECTS, DEPLOY_MODES } from "#core/rolloutState.ts";
import { buildSchema } from "./drain.ts";
import { STEPS } from "./host.ts";

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

/**
 * How a resident's hold ended, in the registry's words: `lifted` is an admin's force, `held` one that had not ended when
 * last seen, `none` one that never was, `unknown` one that nobody told of.
 */
export const HOLD_ENDS = ["reported", "bound", "released", "lifted", "held", "none", "unknown"] as const;
export type HoldEnd = (typeof HOLD_ENDS)[number];

/** One resident: what it reported itself, before the swap and after it, and what the reconcile came to there. */
export const receiptResidentSchema = z.object({
  resource: z.string(),
  imageBefore: z.string().or(unknown),
  imageAfter: z.string().or(unknown),
  bootBefore: z.string().or(unknown),
  bootAfter: z.string().or(unknown),
  /** What its last answer to the reconcile was; unknown without one. */
  reconcile: z.enum(RECONCILE_STATES).or(unknown).default("unknown"),
  why: z.string().nullable().default(null),
  /** Processes of runs that ended with its old container. */
  killed: z.number().default(0),
  hold: z.enum(HOLD_ENDS).default("none"),
  holdEndedAt: instant.nullable().default(null),
});
export type ReceiptResident = z.infer<typeof receiptResidentSchema>;

/** What became of an ask in the bot's queue: `queued` until the door opened, or as it was last seen; `ended` is stopped there. */
const QUEUE_ENDS = ["queued", "started", "ended", "unknown"] as const;

/** An ask that waited in the bot's queue under this deploy's drain. */
const receiptAskSchema = z.object({
  id: z.string(),
  resource: z.string(),
  threadKey: z.string(),
  by: z.string(),
  /** What it waited for, as its card says it: the deploy, or its thread's run too. */
  cause: z.string(),
  askedAt: instant,
  /** From when on the closed door held it back. */
  since: instant,
  /** To the reopening, or until it left the queue before. */
  waitedMs: z.number().or(unknown),
  how: z.enum(QUEUE_ENDS),
});
export type ReceiptAsk = z.infer<typeof receiptAskSchema>;

/** A resident that a person left out, and why. */
const withoutSchema = z.object({ resource: z.string(), reason: z.string() });

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
const RECEIPT_PHASES = ["close", "wait", "roll", "seal", "swap", "live", "reconcile", "reopen", "hold"] as const;
export const receiptPhaseSchema = z.object({ phase: z.enum(RECEIPT_PHASES), since: instant, until: instant });
export type ReceiptPhase = z.infer<typeof receiptPhaseSchema>;

/** One step: from which build to which, and what came of its swap; `none` before it has begun. */
export const receiptStepSchema = z.object({
  step: z.enum(STEPS),
  from: buildSchema.or(unknown),
  to: buildSchema,
  outcome: z.enum(UPLOAD_OUTCOMES),
  why: z.string().nullable(),
  /** From the beginning of its swap to the last that was heard of it; null where it was not begun. */
  since: instant.nullable(),
  until: instant.nullable(),
  /** The generation that its live gate saw; null without one. */
  generation: z.number().nullable(),
});
export type ReceiptStep = z.infer<typeof receiptStepSchema>;

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
  /** What it was to swap, in words; `steps` has each. */
  step: z.string(),
  /** In their order; none in the receipt of a build that knew one step only. */
  steps: z.array(receiptStepSchema).default([]),
  /** The builds that were served, started anew. */
  restart: z.boolean().default(false),
  drainId: z.string(),
  /** Every id this deploy used, the last one last: one whose drain ended early is followed by a new one. */
  drainIds: z.array(z.string()),
  mode: z.enum(DEPLOY_MODES),
  /** Residents that were not waited for, sealed or held. */
  without: z.array(withoutSchema).default([]),
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
  /** Which asks waited in the bot's queue, by the bot, and how many more than are named; null where no bot's door was closed. */
  queued: z
    .object({ asks: z.array(receiptAskSchema), more: z.number() })
    .or(unknown)
    .nullable()
    .default(null),
  residents: z.array(receiptResidentSchema).or(unknown),
  /** Why no container was brought onto the image by this deploy; null when they were, or when none had to be. */
  unreconciled: z.string().nullable().default(null),
  /** Streams of output that a handoff cut: processes of runs at the last look before it. Null for every other deploy. */
  cut: z.number().or(unknown).nullable().default(null),
  /** Runs that the swap killed, and processes of runs that ended with a restarted container: counted from what died. */
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
