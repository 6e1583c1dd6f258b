// An error on stderr: what is wrong, naming the field, and the next command to type.

import { SCOPE_ENV } from "#core/scopes.ts";
import { CliError, OwnFailure } from "../exit.ts";
import { ResidentDrainingError } from "#client/drainingError.ts";
import { Failure } from "#node/failure.ts";
import { ERRORS, problemIn, titled, type Problem } from "#wire/errors.ts";
import { HOST_ERRORS } from "#wire/host.ts";

/** An error in the words of a person. */
export interface ProblemWords {
  readonly code: string;
  readonly what: string;
  readonly next: string;
}

const VARIABLES = Object.values(SCOPE_ENV).join(", ");

/** What to do, where the wire's own advice is a program's and not a person's. */
function nextOf({ code, field, next }: Problem): string {
  const isUnknown = (code === "BAD_BEARER" || code === "NO_BEARER") && next === ERRORS[code].next;
  if (isUnknown)
    return `${VARIABLES}: export, or unset, so that they are those of the fleet's own .tidegate/tokens.json`;
  if (code !== "BAD_FIELD" || next !== ERRORS.BAD_FIELD.next) return next;
  return `type the command again with ${field === undefined ? "what is named" : `"${field}"`} corrected; its --help says what fits`;
}

/** The words of whatever was thrown. */
export function problemWords(error: unknown): ProblemWords {
  if (error instanceof OwnFailure) return problemWords(error.cause);
  if (error instanceof CliError) return { code: "USAGE", what: error.message, next: error.next };
  if (error instanceof ResidentDrainingError) {
    return {
      code: error.code,
      what: error.message,
      next: "run it again, or with a longer --lease; who closed it: npx tidegate drain status",
    };
  }
  if (error instanceof Failure) {
    return {
      code: error.code,
      what: titled({ title: HOST_ERRORS[error.code].title, detail: error.message }),
      next: error.next,
    };
  }
  const problem = problemIn(error);
  if (problem !== undefined) return { code: problem.code, what: titled(problem), next: nextOf(problem) };
  const words = error instanceof Error ? error.message : String(error);
  return {
    code: "INTERNAL",
    what: `an error of tidegate's own: ${words}`,
    next: "the same command with --verbose shows where",
  };
}

/** The lines of an error. */
export function problemLines({ what, next }: ProblemWords): string {
  const [first, ...more] = what.trim().split("\n");
  return [`tidegate: ${first ?? ""}`, ...more.map((line) => `  ${line}`), `  next: ${next}`].join("\n");
}

/** An error as the one JSON document of `--json`. */
export function problemJson({ code, what, next }: ProblemWords): string {
  return JSON.stringify({ error: { code, detail: what, next } });
}
