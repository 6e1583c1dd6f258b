// Every error that crosses the network has a code, and the code alone tells it apart: status, title and what to do next.

import * as z from "zod";

interface ErrorKind {
  readonly status: number;
  readonly title: string;
  /** What the caller does next, as a sentence. */
  readonly next: string;
}

/** The table (docs/errors.md is written from it). */
export const ERRORS = {
  BAD_FIELD: {
    status: 400,
    title: "A field is not acceptable",
    next: "Correct the named field and send the request again.",
  },
  BAD_JSON: { status: 400, title: "The body is not JSON", next: "Send a JSON object." },
  NO_BEARER: {
    status: 401,
    title: "No bearer",
    next: "Send `Authorization: Bearer …`; on this machine the tokens lie in .tidegate/tokens.json.",
  },
  BAD_BEARER: {
    status: 401,
    title: "An unknown bearer",
    next: "Use a bearer of this fleet; after a rotation read .tidegate/tokens.json again.",
  },
  BEYOND_SCOPE: {
    status: 403,
    title: "The bearer's scope does not reach this route",
    next: "Use a bearer of a scope that the detail names.",
  },
  NO_ROUTE: { status: 404, title: "No such route", next: "See docs/wire.md for the routes." },
  NO_SUCH_RESIDENT: {
    status: 404,
    title: "No such resident",
    next: "See `tidegate repo list`, or onboard it with `tidegate repo add`.",
  },
  NO_SUCH_RUN: { status: 404, title: "No such run in flight", next: "See `tidegate status` for the runs in flight." },
  NO_SUCH_PROCESS: { status: 404, title: "No such process", next: "Start it with /exec first." },
  NO_SUCH_FILE: {
    status: 404,
    title: "No such file in the worktree",
    next: "Name a path inside the thread's worktree.",
  },
  WRONG_METHOD: { status: 405, title: "The route has another method", next: "Use the method that the detail names." },
  THREAD_BUSY: {
    status: 409,
    title: "Another run holds this thread",
    next: "Wait for it, stop it, use another --thread, or take its place with --replace.",
  },
  OLD_GENERATION: { status: 409, title: "A newer generation holds this run", next: "Stop: the run goes on elsewhere." },
  FENCED: {
    status: 409,
    title: "This bot writes no more: a newer one has begun",
    next: "Stop: what it held goes on under the newer bot.",
  },
  RUN_NOT_HELD: {
    status: 409,
    title: "This bot does not hold the run",
    next: "Leave it to the bot that does, or ask /reclaim for what is free.",
  },
  RECORD_UNREADABLE: {
    status: 409,
    title: "The ledger holds a record of this run that it cannot read",
    next: "It stands until a build that can read it is back, or an admin ends it: docs/operate/unreadable-record.md.",
  },
  OUTPUT_GAP: {
    status: 409,
    title: "The output begins behind what the ledger has",
    next: "Send it again from `length` on.",
  },
  LEASE_SPENT: { status: 409, title: "The run's lease is over", next: "Ask again with a longer --lease." },
  NEEDS_ATTACH: { status: 409, title: "No run of this thread is registered", next: "Attach first." },
  CONTAINER_REPLACED: {
    status: 409,
    title: "The container is another one than the command was meant for",
    next: "Attach again, and ask what became of the process before anything is started.",
  },
  PROCESS_DIFFERS: {
    status: 409,
    title: "The process was begun by another command or environment",
    next: "Ask after it without a command, or name another process.",
  },
  DEPLOY_IN_PROGRESS: {
    status: 409,
    title: "Another deploy is under way",
    next: "Wait for it; a dead one ends by itself within two minutes. An admin may lift it: `tidegate drain lift`.",
  },
  SEAL_BUSY: {
    status: 409,
    title: "Not every resident could promise to be quiet",
    next: "Wait for the residents that the detail names, then ask again.",
  },
  MEMBERSHIP_FROZEN: {
    status: 409,
    title: "A swap is under way",
    next: "Try again once the fleet has reopened: `tidegate drain status`.",
  },
  RESIDENT_EXISTS: {
    status: 409,
    title: "The resident exists already",
    next: "Choose another --name, or remove it first: `tidegate repo remove`.",
  },
  RESIDENT_BUSY: {
    status: 409,
    title: "Runs are in flight on this resident",
    next: "Wait for them; `tidegate status` names them.",
  },
  DRAIN_OVER: { status: 410, title: "This drain is over", next: "Start anew with a new id." },
  STALE_GENERATION: {
    status: 409,
    title: "The Worker that answers is not this deploy's upload",
    next: "Wait until /healthz carries the drain's id, then ask again.",
  },
  NOT_SWAPPED: { status: 409, title: "Nothing was swapped under this drain yet", next: "Seal and swap first." },
  IMAGE_CHANGES: {
    status: 409,
    title: "The release changes the image, so its runs cannot be handed over",
    next: 'Deploy with the drain: take "resident.swap" out of tidegate.jsonc.',
  },
  NOT_HELD: { status: 409, title: "No reopening waits for this resident", next: "See `tidegate drain status`." },
  TOO_LARGE: { status: 413, title: "The body is too large", next: "Send less; the detail names the limit." },
  WRONG_CONTENT_TYPE: {
    status: 415,
    title: "The body has another content type",
    next: "Send `Content-Type: application/json`.",
  },
  NOT_A_REPOSITORY: {
    status: 422,
    title: "Not a git repository",
    next: "Name a folder with a git repository, or a URL that `git clone` takes.",
  },
  NO_SUCH_REF: {
    status: 422,
    title: "The ref does not exist",
    next: "See the repository's branches: `git ls-remote --heads <url>`.",
  },
  SETUP_FAILED: {
    status: 422,
    title: "The repository's setup command failed",
    next: "Run it by hand in a clone, then correct it: `tidegate repo add --setup`.",
  },
  NOT_STARTED: {
    status: 422,
    title: "The command could not be started",
    next: "Check its name and that it is on the container's PATH.",
  },
  PUSH_FAILED: {
    status: 422,
    title: "The push was refused",
    next: "The work is kept on its branch in the mirror; push it by hand.",
  },
  FILE_OUTSIDE: {
    status: 422,
    title: "The path leaves the worktree",
    next: "Name a path inside the thread's worktree.",
  },
  LEDGER_FULL: {
    status: 503,
    title: "The ledger has no room for more",
    next: "Ask again once some of what waits has ended.",
  },
  AGENT_FAILED: {
    status: 502,
    title: "The agent in the container failed",
    next: "See the container's log in .tidegate/containers.",
  },
  INTERNAL: { status: 500, title: "An error inside the fleet", next: "See .tidegate/log by the request id." },
  DRAINING: {
    status: 503,
    title: "The fleet is drained: attach refused",
    next: "Wait; the record says why and until when.",
  },
  ROLLING: { status: 503, title: "The container is not there right now", next: "Try again in a few seconds." },
  UNREACHABLE: {
    status: 503,
    title: "What was asked cannot be reached",
    next: "See whether it is up: `npx tidegate status`; start it with `npm start`.",
  },
  UNREADABLE: {
    status: 503,
    title: "A part of the fleet cannot be read",
    next: "See `tidegate status`, then .tidegate/log.",
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS).filter((code): code is ErrorCode => code in ERRORS);

/** A problem as it crosses the wire (RFC 9457, application/problem+json). Unknown members are kept. */
export const problemSchema = z.looseObject({
  code: z.enum(ERROR_CODES),
  status: z.number(),
  title: z.string(),
  detail: z.string(),
  next: z.string(),
  field: z.string().optional(),
});
export type Problem = z.infer<typeof problemSchema>;

/** Makes a problem of a code: `detail` says what is wrong here, `more` adds members such as `field` or `draining`. */
export function problemOf(code: ErrorCode, detail: string, more: Readonly<Record<string, unknown>> = {}): Problem {
  const { status, title, next } = ERRORS[code];
  return { type: `tidegate:${code}`, code, status, title, detail, next, ...more };
}

/** Reads a problem from an answer, or undefined when it is none of ours. */
export function parseProblem(value: unknown): Problem | undefined {
  const parsed = problemSchema.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** How many first words a title and a detail may share before the detail says both. */
const SAID_TWICE = 3;

/** A title and what happened here, saying neither twice. */
export function titled({ title, detail }: { readonly title: string; readonly detail: string }): string {
  const [first, second] = [title, detail].map((text) => text.toLowerCase().split(/[\s:]+/));
  const most = Math.min(SAID_TWICE, first?.length ?? 0);
  const isTwice = first?.slice(0, most).join(" ") === second?.slice(0, most).join(" ");
  return isTwice ? detail : `${title}: ${detail}`;
}

/** A problem on its way up to the one place that answers with it. Recognised by `problem`, since classes do not survive RPC. */
export class TidegateError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem, options?: ErrorOptions) {
    super(titled(problem), options);
    this.name = "TidegateError";
    this.problem = problem;
  }
}

/** The problem that a thrown value carries, also after a trip over RPC, or undefined. */
export function problemIn(thrown: unknown): Problem | undefined {
  return typeof thrown === "object" && thrown !== null && "problem" in thrown
    ? parseProblem(thrown.problem)
    : undefined;
}

/** Throws a problem; for the edge, where the one `onError` answers with it. */
export function raise(code: ErrorCode, detail: string, more: Readonly<Record<string, unknown>> = {}): never {
  throw new TidegateError(problemOf(code, detail, more));
}
