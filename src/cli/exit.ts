// The exit codes of every command, in one place (docs: `tidegate --help`), and what an error means for them.

import type { Verdict } from "#core/ask.ts";
import { problemIn, type ErrorCode } from "#wire/errors.ts";
import { Failure } from "#node/failure.ts";
import type { HostErrorCode } from "#wire/host.ts";

/** What a process of tidegate ends with. `run` ends with its command's own code and with 124, 125 and 127 of its own. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  denied: 4,
  leaseSpent: 124,
  own: 125,
  notStarted: 127,
  interrupted: 130,
  brokenPipe: 141,
  terminated: 143,
} as const;

/** A failure of the command line's own: what is wrong, what to type next, and the code to end with. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exit: number;
  readonly next: string;

  constructor(what: string, next: string, exit: number = EXIT.usage) {
    super(what);
    this.next = next;
    this.exit = exit;
  }
}

/** A failure on the way to a run's command: as `docker run` does, it must not look like the command's own. */
export class OwnFailure extends Error {
  override readonly name = "OwnFailure";

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const DENIED: readonly ErrorCode[] = ["NO_BEARER", "BAD_BEARER", "BEYOND_SCOPE"];
const REFUSED: readonly ErrorCode[] = [
  "DRAINING",
  "THREAD_BUSY",
  "RESIDENT_BUSY",
  "DEPLOY_IN_PROGRESS",
  "MEMBERSHIP_FROZEN",
  "SEAL_BUSY",
  "DRAIN_OVER",
  "OLD_GENERATION",
  "LEASE_SPENT",
  "STALE_GENERATION",
  "NOT_SWAPPED",
  "IMAGE_CHANGES",
  "NOT_HELD",
];
const USAGE: readonly ErrorCode[] = [
  "BAD_FIELD",
  "NO_SUCH_RESIDENT",
  "NO_SUCH_RUN",
  "NO_SUCH_REF",
  "NOT_A_REPOSITORY",
  "RESIDENT_EXISTS",
  "TOO_LARGE",
];
const HOST_USAGE: readonly HostErrorCode[] = [
  "CONFIG_INVALID",
  "STATE_NEWER",
  "STATE_HALF_WRITTEN",
  "ALREADY_UP",
  "PORT_IN_USE",
  "BAD_REQUEST",
  "IMAGE_FILE_MISSING",
  "IMAGE_TOOL_MISMATCH",
];
const HOST_REFUSED: readonly HostErrorCode[] = [
  "IN_FLIGHT",
  "SWAP_BUSY",
  "SWAP_NOT_SEALED",
  "DEPLOY_IN_PROGRESS",
  "IMAGE_CHANGES",
];

/** The exit code that an error of the fleet means. */
export function exitOfCode(code: ErrorCode): number {
  if (DENIED.includes(code)) return EXIT.denied;
  if (REFUSED.includes(code)) return EXIT.refused;
  return USAGE.includes(code) ? EXIT.usage : EXIT.failed;
}

/** The exit code that a thrown value means. */
export function exitOf(error: unknown): number {
  if (error instanceof CliError) return error.exit;
  if (error instanceof OwnFailure) return EXIT.own;
  const problem = problemIn(error);
  if (problem !== undefined) return exitOfCode(problem.code);
  if (!(error instanceof Failure)) return EXIT.failed;
  if (HOST_USAGE.includes(error.code)) return EXIT.usage;
  if (HOST_REFUSED.includes(error.code)) return EXIT.refused;
  return error.code === "UNAUTHENTICATED" ? EXIT.denied : EXIT.failed;
}

/** What a failure before a run's command began ends with: bad input and a bad bearer as everywhere, the rest as its own. */
export function asRunFailure(error: unknown): unknown {
  const exit = exitOf(error);
  return exit === EXIT.usage || exit === EXIT.denied ? error : new OwnFailure(error);
}

/** What a process that followed a run ends with: the run's own code, and tidegate's own where it is tidegate's own. */
export function exitOfVerdict({ ending, exit }: Verdict): number {
  switch (ending) {
    case "finished":
      return exit ?? EXIT.done;
    case "failed":
      return exit ?? EXIT.own;
    case "stopped":
      return EXIT.interrupted;
    case "leaseSpent":
      return EXIT.leaseSpent;
    case "notStarted":
      return EXIT.notStarted;
    case "refused":
    case "replaced":
      return EXIT.own;
  }
}
