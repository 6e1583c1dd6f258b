// The agent's HTTP API, for both ends: what a resident asks the server inside its container, and what that answers.
// Bodies are JSON; long answers are application/x-ndjson. Fields are only added, unknown ones are ignored.

import * as z from "zod";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { agentProblem } from "./agentErrors.ts";

/** Moves when an older caller can no longer read the answers. */
export const AGENT_PROTOCOL = 1;
export const NDJSON = "application/x-ndjson";

/** A text that a path, an argument or a variable of a process can hold. */
export const noNul = (text: string): boolean => !text.includes("\0");
// oxlint-disable-next-line no-control-regex -- a thread key stands in branch reports, markers and log lines.
const noControl = (text: string): boolean => !/[\u0000-\u001f\u007f]/.test(text);

/** A thread's key as its channel wrote it: any printable characters, bounded. */
const threadKey = z.string().min(1).max(LIMIT.threadKeyChars).refine(noControl, "has control characters");
/** A thread's folder and branch name, as the agent made it from the key. */
export const threadSlug = z.string().regex(/^[a-z0-9][a-z0-9-]{0,79}$/);
/** A process id, minted by the caller before the start, so that starting is idempotent. */
export const procId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "is letters, digits, . _ - (at most 100)");
/** An absolute path or a git URL. */
export const repositoryUrl = z
  .string()
  .min(1)
  .max(2_000)
  .refine(noControl, "has control characters")
  .refine((text) => !text.startsWith("-"), "starts with a dash");
export const gitRef = z
  .string()
  .min(1)
  .max(250)
  .refine((text) => isPlainRef(text), "is no name of a branch, a tag or a commit");
const setup = z.string().max(20_000).refine(noNul, "has a NUL");
/** The number of what allowed a request, which its resident gave out in order; without one it is not judged. */
const ticket = z.number().int().min(0).optional();
/** On the stack's clock, as the agent is told it. */
const graceMs = z.number().int().min(0).max(CLOCK.graceMs);
/** An instant of the stack's clock. */
const instant = z.number();
const offset = z.coerce.number().int().min(0);

/** Whether git could ever hold this ref, and no part of it is an option or a revision's arithmetic. */
function isPlainRef(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- git refuses them in a ref.
  return !/^-|^\/|\/$|\/\/|\.\.|@\{|[\u0000-\u0020\u007f~^:?*[\\]|\.lock(\/|$)|(^|\/)\.|\.$|^@$/.test(text);
}

/** GET /v1/whoami: the image as read inside, and this start of the agent. */
export const whoAmI = z.object({
  imageId: z.string(),
  bootId: z.string(),
  protocol: z.number().int(),
  pid: z.number().int(),
  since: instant,
});
export type WhoAmI = z.infer<typeof whoAmI>;

/** What the agent writes to TIDEGATE_PORT_FILE once it listens. */
export const agentPortFile = z.object({ port: z.number().int(), bootId: z.string(), pid: z.number().int() });
export type AgentPortFile = z.infer<typeof agentPortFile>;

const progressLine = z.object({ type: z.literal("progress"), text: z.string() });
const heartbeatLine = z.object({ type: z.literal("heartbeat") });
const errorLine = agentProblem.extend({ type: z.literal("error") });

/** POST /v1/mirror: makes or refreshes the mirror, and prepares the ref's commit when there is a setup. */
export const mirrorRequest = z.object({ url: repositoryUrl, setup: setup.optional(), ref: gitRef.optional() });
export const mirrorResult = z.object({
  /** The url as it may be shown: no credentials. */
  url: z.string(),
  ref: z.string(),
  commit: z.string(),
  created: z.boolean(),
  /** The prepared tree that worktrees at this commit start from; null without a setup. */
  prepared: z.string().nullable(),
});
export type MirrorResult = z.infer<typeof mirrorResult>;

/** POST /v1/worktrees: one worktree a thread, idempotent; its branch goes on where an earlier run left it. */
export const worktreeRequest = z.object({ thread: threadKey, ref: gitRef.optional(), setup: setup.optional() });
export type WorktreeRequest = z.infer<typeof worktreeRequest>;
export const worktreeResult = z.object({
  slug: threadSlug,
  thread: z.string(),
  path: z.string(),
  branch: z.string(),
  base: z.string(),
  head: z.string(),
  created: z.boolean(),
});
export type WorktreeResult = z.infer<typeof worktreeResult>;

/** A line of a long operation: progress and heartbeats, then exactly one result or error. */
export const mirrorLine = z.discriminatedUnion("type", [
  progressLine,
  heartbeatLine,
  errorLine,
  mirrorResult.extend({ type: z.literal("result") }),
]);
export const worktreeLine = z.discriminatedUnion("type", [
  progressLine,
  heartbeatLine,
  errorLine,
  worktreeResult.extend({ type: z.literal("result") }),
]);

/** GET /v1/worktrees, of all threads or of ?thread= */
export const worktreeRow = z.object({
  slug: threadSlug,
  thread: z.string(),
  path: z.string(),
  branch: z.string(),
  base: z.string(),
  dirty: z.boolean(),
  lastUsed: instant,
  /** When a run's end asked to keep it; null while none has. */
  kept: instant.nullable(),
  liveProcs: z.number().int(),
});
export type WorktreeRow = z.infer<typeof worktreeRow>;
export const worktreeList = z.object({ worktrees: z.array(worktreeRow) });

/** POST /v1/worktrees/:slug/keep: what a run leaves behind. `ahead` counts commits since the base. */
export const keepResult = z.object({
  branch: z.string(),
  head: z.string(),
  ahead: z.number().int(),
  dirty: z.boolean(),
});
export type KeepResult = z.infer<typeof keepResult>;

/** DELETE /v1/worktrees/:slug: its processes are ended first. */
export const removeResult = z.object({ removed: z.boolean(), ended: z.array(z.number().int()) });

/**
 * POST /v1/sweep: clean ones idle since before the first instant, dirty ones since before the second (instants of the
 * stack's clock). `spare` are threads whose run is registered: theirs stay, whatever they look like.
 */
export const sweepRequest = z.object({
  idleBeforeMs: instant,
  keepBeforeMs: instant,
  spare: z.array(z.string()).default([]),
});
export type SweepRequest = z.infer<typeof sweepRequest>;
export const sweepResult = z.object({
  removed: z.array(threadSlug),
  stayed: z.array(z.object({ slug: threadSlug, why: z.enum(["live", "recent", "dirty", "spared"]) })),
  /** How many ended processes' logs, older than `keepBeforeMs`, went too. */
  procsForgotten: z.number().int(),
});
export type SweepResult = z.infer<typeof sweepResult>;

const environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().refine(noNul, "has a NUL"));

/** POST /v1/procs: `command` is an argv, `shell` a text for `sh -c`; exactly one of the two. */
export const procRequest = z
  .object({
    id: procId,
    thread: threadKey,
    command: z.array(z.string().refine(noNul, "has a NUL")).min(1).max(1_000).optional(),
    shell: z.string().min(1).refine(noNul, "has a NUL").optional(),
    env: environment.optional(),
    /** Relative to the worktree; its root when absent. */
    cwd: z.string().max(1_000).refine(noNul, "has a NUL").optional(),
    ticket,
  })
  .refine((ask) => (ask.command === undefined) !== (ask.shell === undefined), "names either command or shell")
  .refine((ask) => ask.command?.[0] !== "", "names an empty command");
export type ProcRequest = z.infer<typeof procRequest>;

/**
 * The terminal record: written once, after the exit and after every process of the group is gone.
 * `container` is an agent told to stop, `lost` one that died: in both the container was replaced under the run.
 */
export const procEnd = z.object({
  exit: z.number().int().nullable(),
  signal: z.string().nullable(),
  endedAt: instant,
  cause: z.enum(["exited", "signalled", "stopped", "container", "lost", "not-started"]),
  /** The boot that ran it: for `lost` the old one. */
  bootId: z.string(),
  /** Bytes written to each output, all of them readable. */
  out: z.number().int(),
  err: z.number().int(),
  /** Why a command was not started. */
  detail: z.string().optional(),
});
export type ProcEnd = z.infer<typeof procEnd>;

export const procView = z.object({
  id: procId,
  thread: z.string(),
  slug: threadSlug,
  argv: z.array(z.string()),
  bootId: z.string(),
  pid: z.number().int().nullable(),
  startedAt: instant,
  out: z.number().int(),
  err: z.number().int(),
  /** Null while it runs. */
  end: procEnd.nullable(),
});
export type ProcView = z.infer<typeof procView>;
export const procList = z.object({ procs: z.array(procView) });

/** GET /v1/procs/:id/output?out=N&err=N&follow=1 */
export const outputQuery = z.object({
  out: offset.default(0),
  err: offset.default(0),
  follow: z.enum(["0", "1"]).default("0"),
});
const outputFrame = z.object({
  type: z.undefined().optional(),
  s: z.enum(["out", "err"]),
  /** The offset of the first byte of `d` in its output. */
  o: z.number().int(),
  /** Bytes, base64. */
  d: z.string(),
});
/** A line of the output's stream. Only `end` is the process's end; a stream that stops without it was cut. */
export const outputLine = z.union([outputFrame, procEnd.extend({ type: z.literal("end") }), heartbeatLine, errorLine]);
export type OutputLine = z.infer<typeof outputLine>;

/** POST /v1/procs/:id/stop and /v1/threads/:slug/stop; only the second one judges a ticket. */
export const stopRequest = z.object({ graceMs, ticket });
/** Which pids were ended, and which outlived the bound (a process stuck in the kernel). */
export const stopResult = z.object({ ended: z.array(z.number().int()), left: z.array(z.number().int()) });
export type StopResult = z.infer<typeof stopResult>;

/** GET and PUT /v1/files?thread=&path= */
export const fileQuery = z.object({ thread: threadKey, path: z.string().min(1).max(1_000).refine(noNul, "has a NUL") });
export const fileContent = z.object({ path: z.string(), size: z.number().int(), data: z.base64() });
export type FileContent = z.infer<typeof fileContent>;
export const filePut = z.object({ data: z.base64(), executable: z.boolean().optional(), ticket });
export const filePutResult = z.object({
  path: z.string(),
  size: z.number().int(),
  created: z.boolean(),
  /** How many processes of the thread were alive once the file stood, those that are about to begin among them. */
  live: z.number().int().optional(),
});
export type FilePutResult = z.infer<typeof filePutResult>;

/** POST /v1/push: the thread's branch, to where the mirror came from or to `remote` (a path or URL). */
export const pushRequest = z.object({ thread: threadKey, remote: repositoryUrl.optional(), ticket });
export const pushResult = z.object({ branch: z.string(), head: z.string(), remote: z.string() });
export type PushResult = z.infer<typeof pushResult>;

/**
 * POST /v1/fence: everything of the thread that was allowed by a ticket of this number or an older one is taken back, and
 * refused with TAKEN_BACK from now on. Answers the number that stands.
 */
export const fenceRequest = z.object({ thread: threadKey, ticket: z.number().int().min(0) });
export const fenceResult = z.object({ ticket: z.number().int() });
