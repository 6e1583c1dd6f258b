// The supervisor's host API: what the fleet Worker (`/containers/*`, the host token) and the CLI and deploy runner
// (`/control/*`, the control token) may ask of the machine. Loopback only, on a port of its own, and never through the front.

import * as z from "zod";

/** The protocol of the state folder and of this API; a folder of a newer one is left alone. */
export const HOST_PROTOCOL = 1;

const instant = z.number().int();

/** A process, told apart from a later one with the same number by its start and by the machine's boot. */
export const processIdSchema = z.object({
  pid: z.int().positive(),
  startTicks: z.int().nonnegative(),
  machineBootId: z.string(),
});
export type ProcessId = z.infer<typeof processIdSchema>;

/** What a release is made of. */
export const buildSchema = z.object({
  commit: z.string().max(80),
  bundle: z.string().max(80),
  image: z.string().max(80),
});
export type HostBuild = z.infer<typeof buildSchema>;

/** How a stack's clock runs: `now = virtualEpochMs + (real - realEpochMs) * scale`. */
export const clockSettingSchema = z.object({
  realEpochMs: z.number(),
  virtualEpochMs: z.number(),
  scale: z.number().positive().max(1_000),
});
export type ClockSetting = z.infer<typeof clockSettingSchema>;

const leaseMs = z.number().int().positive();

/** The lease of each kind, as the fleet is released with them. */
export const leasesSchema = z.record(z.string(), leaseMs);

/** What of `tidegate.jsonc` the bot is released with: kinds name where a variable's value stands, and that is read live. */
const botConfigSchema = z.object({
  kinds: z.record(
    z.string(),
    z.object({
      leaseMs,
      command: z.array(z.string()).readonly().nullable(),
      resume: z.array(z.string()).readonly().nullable(),
      env: z.record(z.string(), z.union([z.object({ from: z.string() }), z.object({ file: z.string() })])),
    }),
  ),
  /** How it leaves its runs when it is asked to end: it waits for them, or hands them off at once. */
  roll: z.enum(["drain", "handoff"]),
});
export type BotConfig = z.infer<typeof botConfigSchema>;

/** The binding `SETTINGS` of the fleet Worker, as JSON text. */
export const settingsSchema = z.object({
  protocol: z.int(),
  clock: clockSettingSchema,
  build: buildSchema,
  generation: z.int().positive(),
  /** The drain under which this build was uploaded; null for the first one and for an undrained swap without an id. */
  drainId: z.string().nullable(),
  kinds: z.record(z.string(), z.object({ leaseMs })),
  hostUrl: z.string(),
});
export type Settings = z.infer<typeof settingsSchema>;

/** `TIDEGATE_BOT` in the bot's environment, as JSON text. */
export const botSettingsSchema = z.object({
  port: z.int().min(0).max(65_535),
  fleetUrl: z.string(),
  ledgerUrl: z.string(),
  home: z.string(),
  clock: clockSettingSchema,
  roll: botConfigSchema.shape.roll,
  /** Null: an older supervisor does not say, and the file's are taken. */
  kinds: botConfigSchema.shape.kinds.nullable().default(null),
  build: buildSchema,
  generation: z.int().positive(),
  drainId: z.string().nullable(),
  /** The ledger's number of the last bot, where its process and each that was begun behind it are known to have ended. */
  gone: z.int().positive().nullable().default(null),
});
export type BotSettings = z.infer<typeof botSettingsSchema>;

/** A process inside a container, as seen from outside. `tags` are the TIDEGATE_ variables it was started with. */
export const insideSchema = z.object({
  pid: z.int().positive(),
  startTicks: z.int().nonnegative(),
  role: z.enum(["init", "agent", "inside"]),
  command: z.string(),
  tags: z.record(z.string(), z.string()),
});
export type Inside = z.infer<typeof insideSchema>;

/** A resource as the host takes it; the fleet has parsed it before. */
const resourceSchema = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[a-z]+:[A-Za-z0-9._/-]+$/);

export const resourceAskSchema = z.object({ resource: resourceSchema });

/** `POST /containers/roll`. With a boot id only that boot is ended: a later one is left as it is. */
export const rollAskSchema = resourceAskSchema.extend({ bootId: z.string().max(80).optional() });

/** A container that runs: its agent answers on `url` to `token`. */
export const runningSchema = z.object({
  state: z.literal("running"),
  resource: z.string(),
  url: z.string(),
  token: z.string(),
  bootId: z.string(),
  imageId: z.string(),
  pid: z.int().positive(),
  since: instant,
});
export type Running = z.infer<typeof runningSchema>;

/** A container that does not run: never started, stopped, or found dead. */
const absentSchema = z.object({
  state: z.literal("absent"),
  resource: z.string(),
  goneSince: instant.nullable(),
});

export const containerSchema = z.discriminatedUnion("state", [runningSchema, absentSchema]);
export type ContainerState = z.infer<typeof containerSchema>;

/** The answer to `POST /containers/start`: `fresh` says that this call (or the one it joined) started it. */
export const startedSchema = z.object({ container: runningSchema, fresh: z.boolean() });
export type Started = z.infer<typeof startedSchema>;

/** What a stop ended: every process that was inside and is gone. */
export const endedSchema = z.object({
  resource: z.string(),
  bootId: z.string().nullable(),
  imageId: z.string().nullable(),
  processes: z.array(insideSchema),
});
export type Ended = z.infer<typeof endedSchema>;

export const rolledSchema = z.object({ ended: endedSchema, container: runningSchema });
export type Rolled = z.infer<typeof rolledSchema>;

export const containerListSchema = z.object({ containers: z.array(containerSchema) });
export const insideListSchema = z.object({ container: containerSchema, processes: z.array(insideSchema) });
export type InsideList = z.infer<typeof insideListSchema>;

/** The parts of a stack that are swapped each by itself, in the order of a deploy. */
export const STEPS = ["ledger", "bot", "resident"] as const;
export type StepName = (typeof STEPS)[number];

/** How a swap was prepared: sealed by the drain of this id, handed off under it, over live runs, or without a drain at all. */
export const swapAskSchema = z.object({
  /** What is swapped: the fleet's Worker, the ledger's, or the bot. `build.bundle` is that part's own. */
  step: z.enum(STEPS).default("resident"),
  drainId: z.string().min(1).max(200),
  mode: z.enum(["sealed", "handoff", "forced", "undrained"]),
  build: buildSchema,
  /** What the fleet, or the bot, is released with; where it is not said, as by an older deployer, what the file says now. */
  leases: leasesSchema.optional(),
  config: botConfigSchema.optional(),
  /** How the bot that is replaced leaves its runs, where it is to be other than it was started with. */
  leaves: z.literal("handoff").optional(),
});
export type SwapAsk = z.input<typeof swapAskSchema>;

const problemFields = { code: z.string(), detail: z.string() };

/**
 * How a swap ended. `refused` and `none`: the old workerd was never touched. `failed`: the new bundle did not start
 * and the old one serves again; containers may have been replaced, and `killed` counts what died of it.
 */
export const swapAnswerSchema = z.discriminatedUnion("outcome", [
  z.object({
    outcome: z.literal("landed"),
    drainId: z.string(),
    generation: z.int(),
    killed: z.array(endedSchema),
    ms: z.number(),
    from: buildSchema,
    to: buildSchema,
    /** The supervisor that began it was killed, and the next one finished it. */
    finishedLater: z.boolean(),
    /** Residents whose container could not be started again; the next attach starts it. */
    notStarted: z.array(z.string()),
  }),
  z.object({ outcome: z.literal("refused"), drainId: z.string(), ...problemFields }),
  z.object({ outcome: z.literal("none"), drainId: z.string(), ...problemFields }),
  z.object({ outcome: z.literal("failed"), drainId: z.string(), killed: z.array(endedSchema), ...problemFields }),
]);
export type SwapAnswer = z.infer<typeof swapAnswerSchema>;

/** A run that keeps the stack from ending, as the registry names it. */
export const inFlightSchema = z.object({
  resource: z.string(),
  runs: z.int().nonnegative(),
  names: z.array(z.string()),
});
export type InFlight = z.infer<typeof inFlightSchema>;

export const downAskSchema = z.object({ now: z.boolean().default(false) });
export const downAnswerSchema = z.object({ ending: z.literal(true), pid: z.int() });

/** What is served of one part beside the fleet. `last` is its last swap, for who asks again after a lost answer. */
export const partSchema = z.object({
  build: buildSchema,
  generation: z.int().positive(),
  drainId: z.string().nullable(),
  since: z.number(),
  /** The bot's alone; null of the ledger, and of a bot that an older supervisor wrote down. */
  config: botConfigSchema.nullable().default(null),
  /** The drain under which a swap of it was begun and has not been answered. */
  pending: z.string().nullable().default(null),
  last: swapAnswerSchema.nullable(),
});
export type Part = z.infer<typeof partSchema>;

/** `GET /control/status`: what this supervisor is and does now. */
export const statusSchema = z.object({
  pid: z.int(),
  since: instant,
  url: z.string(),
  workerdPid: z.int().nullable(),
  generation: z.int(),
  drainId: z.string().nullable(),
  build: buildSchema,
  /** What the fleet was released with; null where an older supervisor does not say. */
  leases: leasesSchema.nullable().default(null),
  swapping: z.string().nullable(),
  lastSwap: swapAnswerSchema.nullable(),
  /** Where the bot answers, and what of the ledger and the bot is served; null in a stack without them. */
  botUrl: z.string().nullable().default(null),
  parts: z.object({ ledger: partSchema.nullable(), bot: partSchema.nullable() }).default({ ledger: null, bot: null }),
  isolation: z.string(),
  notes: z.array(z.string()),
  containers: z.array(containerSchema),
});
export type HostStatus = z.infer<typeof statusSchema>;

/** The file `supervisor.json` (0600): who holds the state folder, and how to talk to it. */
export const supervisorFileSchema = z.object({
  protocol: z.int(),
  supervisor: processIdSchema,
  /** The process that started the supervisor, such as npm; gone means that nobody watches its terminal any more. */
  parent: processIdSchema.nullable(),
  since: instant,
  url: z.string(),
  hostUrl: z.string(),
  controlToken: z.string(),
  workerd: processIdSchema.nullable(),
  /** Where the ledger and the bot answer; null in a stack without them. */
  ledgerUrl: z.string().nullable().default(null),
  botUrl: z.string().nullable().default(null),
  ready: z.boolean(),
});
export type SupervisorFile = z.infer<typeof supervisorFileSchema>;

/** Every error of the host and of starting it: status on the wire, title, and what to type or do next. */
export const HOST_ERRORS = {
  CONFIG_INVALID: {
    status: 422,
    title: "tidegate.jsonc cannot be used",
    next: "correct the file, then type the command again",
  },
  STATE_NEWER: {
    status: 409,
    title: "the state folder was written by a newer tidegate",
    next: "use that version, or move .tidegate away to begin anew",
  },
  STATE_HALF_WRITTEN: {
    status: 409,
    title: "the state folder cannot be read",
    next: "put the file back, or move .tidegate away to begin anew",
  },
  ALREADY_UP: { status: 409, title: "this fleet is already up", next: "npx tidegate down" },
  NOT_UP: { status: 503, title: "no fleet is up in this folder", next: "npm start" },
  PORT_IN_USE: {
    status: 409,
    title: "the port is in use",
    next: 'set "port" in tidegate.jsonc, or npm start -- --port <port>',
  },
  BUNDLE_FAILED: {
    status: 422,
    title: "the source does not build",
    next: "correct the source, then type the command again",
  },
  BUILD_MISSING: { status: 404, title: "this build is not in the state folder", next: "npx tidegate deploy all" },
  IMAGE_FILE_MISSING: {
    status: 422,
    title: "a file of the image cannot be read",
    next: 'correct "image.files" in tidegate.jsonc',
  },
  IMAGE_SETUP_FAILED: {
    status: 422,
    title: "the image's setup failed",
    next: 'correct "image.setup" in tidegate.jsonc',
  },
  IMAGE_TOOL_MISMATCH: {
    status: 422,
    title: "a tool of the image has another version",
    next: 'install that version, or correct "image.tools" in tidegate.jsonc',
  },
  BOT_FAILED: { status: 500, title: "the bot does not start", next: "read .tidegate/log/bot.log" },
  WORKERD_FAILED: { status: 500, title: "workerd does not start", next: "read .tidegate/log/workerd.log" },
  CONTAINER_FAILED: { status: 503, title: "the container does not start", next: "read .tidegate/log/agent-*.log" },
  CONTAINER_STUCK: { status: 503, title: "processes of the container do not end", next: "look at the named processes" },
  IMAGE_CHANGES: {
    status: 409,
    title: "a handoff keeps the image, and this release changes it",
    next: "npx tidegate deploy all",
  },
  SWAP_BUSY: { status: 409, title: "another swap is under way", next: "npx tidegate status" },
  SWAP_NOT_SEALED: {
    status: 409,
    title: "this drain is over, or its fleet is not sealed",
    next: "npx tidegate deploy all",
  },
  DEPLOY_IN_PROGRESS: { status: 409, title: "another deploy's drain stands", next: "npx tidegate drain status" },
  REGISTRY_UNREADABLE: { status: 503, title: "the registry does not answer", next: "npx tidegate status" },
  IN_FLIGHT: { status: 409, title: "runs are in flight", next: "to end them, too: npx tidegate down --now" },
  INTERRUPTED: { status: 500, title: "stopped on request", next: "type the command again" },
  BAD_REQUEST: { status: 400, title: "the request cannot be read", next: "correct the named field" },
  UNAUTHENTICATED: { status: 401, title: "no bearer, or a wrong one", next: "use the token of supervisor.json" },
  NOT_FOUND: { status: 404, title: "there is no such route", next: "see docs/wire.md" },
  TOO_LARGE: { status: 413, title: "the body is too large", next: "send less" },
  NOT_JSON: { status: 415, title: "the body is not JSON", next: "send content-type: application/json" },
  ENDING: { status: 503, title: "the supervisor is ending", next: "npm start" },
  INTERNAL: { status: 500, title: "an error of tidegate's own", next: "read .tidegate/log/supervisor.log" },
} as const satisfies Record<string, { status: number; title: string; next: string }>;

export type HostErrorCode = keyof typeof HOST_ERRORS;

/** An error on this wire (RFC 9457), told apart by its code. */
export const hostProblemSchema = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  next: z.string(),
});
export type HostProblem = z.infer<typeof hostProblemSchema>;
