// What crosses the wire about runs in a resident: attach, exec, detach, operations, files.

import * as z from "zod";
import { LEASE_BETWEEN, LIMIT } from "#core/budgets.ts";
import { REGISTRATION_KINDS } from "#core/registration.ts";
import { gitRef, noNul, repositoryUrl } from "./agent.ts";
import { problemSchema } from "./errors.ts";
import { idSchema, resourceSchema, threadKeySchema } from "./names.ts";

/** What the agent would refuse is refused at the edge, by the field's name and before any container starts. */
const plain = (chars: number): z.ZodString => z.string().max(chars).refine(noNul, "has a NUL");
const path = z.string().min(1, "is empty").max(1_000).refine(noNul, "has a NUL");

const span = z
  .number("must be whole milliseconds")
  .int("must be whole milliseconds")
  .nonnegative("must not be negative");

const LONGEST_MS = LEASE_BETWEEN.lessThanMs;

/**
 * `POST /attach`. A caller without a lease leaves `remainingMs` out. How long a lease may be at most is bounded here by what one
 * may be configured as: a resident that is configured with less gives a newcomer less, and refuses nobody for it.
 */
export const attachBodySchema = z.object({
  resource: resourceSchema,
  runId: idSchema,
  threadKey: threadKeySchema,
  generation: z.number().int().nonnegative().default(0),
  runKind: z.string().max(40).default("shell"),
  remainingMs: z
    .number("must be whole milliseconds")
    .int("must be whole milliseconds")
    .positive("must be more than 0: the lease is spent")
    .max(LONGEST_MS, `is beyond what a lease may be, ${LONGEST_MS} ms`)
    .nullable()
    .default(null),
  parent: idSchema.nullable().default(null),
  replace: z
    .discriminatedUnion("by", [
      z.object({ by: z.literal("nobody") }),
      z.object({ by: z.literal("person") }),
      z.object({ by: z.literal("ledger"), runId: idSchema }),
    ])
    .default({ by: "nobody" }),
  /** A branch, tag or commit of the repository; the default branch without one. */
  ref: gitRef.nullable().default(null),
});
export type AttachBody = z.infer<typeof attachBodySchema>;

/** What an admitted run works with. */
export const bindingSchema = z.object({
  resource: z.string(),
  runId: z.string(),
  threadKey: z.string(),
  generation: z.number(),
  kind: z.enum(REGISTRATION_KINDS),
  /** Whether the run was registered before: a re-attach, which goes on. */
  again: z.boolean(),
  leaseUntil: z.number(),
  /** The fleet's generation that admitted it. */
  fleetGeneration: z.number(),
  workspace: z.string(),
  branch: z.string(),
  base: z.string(),
  head: z.string(),
  bootId: z.string(),
  image: z.string(),
  admittedAt: z.number(),
});
export type Binding = z.infer<typeof bindingSchema>;

/** One line of an attach's answer (application/x-ndjson); the last is `binding` or `error`. */
export const attachLineSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("progress"), line: z.string() }),
  z.object({ type: z.literal("beat") }),
  z.object({ type: z.literal("binding"), binding: bindingSchema }),
  z.object({ type: z.literal("error"), problem: problemSchema }),
]);

const ofRun = { resource: resourceSchema, threadKey: threadKeySchema, runId: idSchema };
/** What is done by whoever holds the run: `generation` is its caller's, and not judged where it is not said. */
const byHolder = { ...ofRun, generation: z.number().int().nonnegative().nullable().default(null) };

/** `POST /exec`: starts the process once by its id, or finds it, and streams its output from these offsets (wire/agent.ts, output frames). */
export const execBodySchema = z.object({
  ...byHolder,
  procId: idSchema,
  command: z
    .array(plain(LIMIT.commandChars))
    .min(1, "is empty: a command")
    .max(1_000)
    .refine((argv) => argv[0] !== "", "names an empty command")
    .nullable()
    .default(null),
  /** The container's boot in which the command may be started; not judged where it is not said. */
  bootId: z.string().max(100).nullable().default(null),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().refine(noNul, "has a NUL")).default({}),
  out: span.default(0),
  err: span.default(0),
});
export type ExecBody = z.infer<typeof execBodySchema>;

/** `POST /detach`. */
export const detachBodySchema = z.object({ ...ofRun, generation: z.number().int().nonnegative().default(0) });
export type DetachBody = z.infer<typeof detachBodySchema>;

/** The work that a run leaves: its branch in the resident's mirror, and what is not committed. */
export const workSchema = z.object({
  branch: z.string(),
  head: z.string(),
  /** Commits that the branch has beyond its base. */
  ahead: z.number(),
  /** Whether uncommitted changes are left; they are kept for a week. */
  dirty: z.boolean(),
});
export type Work = z.infer<typeof workSchema>;

/** The answer to `POST /detach`; `work` is null when the container could not say. */
export const detachAnswerSchema = z.object({
  kind: z.enum(["released", "absent", "superseded"]),
  work: workSchema.nullable(),
});
export type DetachAnswer = z.infer<typeof detachAnswerSchema>;

/** `POST /op`: what is done to a run in flight beside its processes' output. */
export const opBodySchema = z.object({
  ...byHolder,
  op: z.enum(["stop", "push", "status"], "must be stop, push or status"),
});
export type OpBody = z.infer<typeof opBodySchema>;
export const opAnswerSchema = z.object({
  op: z.enum(["stop", "push", "status"]),
  /** Processes of the thread that live (status) or were ended (stop). */
  processes: z.array(z.object({ id: z.string(), pid: z.number(), command: z.string() })),
  work: workSchema.nullable(),
  said: z.string(),
});

/** `POST /read` and `POST /write`: one file inside the thread's worktree. */
export const readBodySchema = z.object({ ...ofRun, runId: idSchema.nullable().default(null), path });
export const writeBodySchema = z.object({ ...byHolder, path, data: z.base64() });
export type WriteBody = z.infer<typeof writeBodySchema>;
export const readAnswerSchema = z.object({ data: z.base64() });
/** `live`: how many processes of the thread were alive once the file stood; an older agent does not say. */
export const writeAnswerSchema = z.object({ data: z.base64(), live: z.number().optional() });
export type WriteAnswer = z.infer<typeof writeAnswerSchema>;

/** `POST /onboard`: a repository becomes a resident. */
export const onboardBodySchema = z.object({
  resource: resourceSchema,
  url: repositoryUrl,
  setup: plain(4_000).nullable().default(null),
  test: plain(4_000).nullable().default(null),
});
export type OnboardBody = z.infer<typeof onboardBodySchema>;

/** One line of the answer to `POST /onboard`; the last is `resident` or `error`, and an error has changed nothing. */
export const onboardLineSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("progress"), line: z.string() }),
  z.object({ type: z.literal("beat") }),
  z.object({ type: z.literal("resident"), resource: z.string(), ref: z.string(), commit: z.string() }),
  z.object({ type: z.literal("error"), problem: problemSchema }),
]);
export type OnboardLine = z.infer<typeof onboardLineSchema>;

/** `POST /reconfigure`: the commands of a resident; what is left out stays. */
export const reconfigureBodySchema = z.object({
  resource: resourceSchema,
  setup: plain(4_000).nullable().optional(),
  test: plain(4_000).nullable().optional(),
});

/** `POST /rebuild` (admin). `force` ends the runs that are in flight there. */
export const rebuildBodySchema = z.object({ resource: resourceSchema, force: z.boolean().default(false) });
export type RebuildBody = z.infer<typeof rebuildBodySchema>;

/** `POST /offboard`. */
export const offboardBodySchema = z.object({ resource: resourceSchema });

/** `POST /runs/release` (admin): ends one run in flight, wherever it is. */
export const releaseBodySchema = z.object({
  runId: idSchema,
  reason: z.string("is missing: why").min(1, "is empty").max(200, "is longer than 200 characters"),
});
