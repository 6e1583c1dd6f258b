// An error on stderr: what is wrong, naming the field, and the next command to type.

import { CliError, OwnFailure } from "../exit.ts";
import { ResidentDrainingError } from "#client/drainingError.ts";
import { Failure } from "#node/failure.ts";
import { problemIn } from "#wire/errors.ts";
import { HOST_ERRORS } from "#wire/host.ts";

/** An error in the words of a person. */
export interface ProblemWords {
  readonly code: string;
  readonly what: string;
  readonly next: string;
}

/** A title and what happened here, saying neither twice. */
function titled(title: string, detail: string): string {
  return detail.toLowerCase().startsWith(title.toLowerCase()) ? detail : `${title}: ${detail}`;
}

/** The words of whatever was thrown. */
export function problemWords(error: unknown): ProblemWords {
  if (error instanceof OwnFailure) return problemWords(error.cause);
  if (error instanceof CliError) return { code: "USAGE", what: error.message, next: error.next };
  if (error instanceof ResidentDrainingError) {
    return {
      code: error.code,
      what: error.message,
      next: "npx tidegate drain status; then run it again, or with a longer --lease",
    };
  }
  if (error instanceof Failure) {
    return { code: error.code, what: titled(HOST_ERRORS[error.code].title, error.message), next: error.next };
  }
  const problem = problemIn(error);
  if (problem !== undefined)
    return { code: problem.code, what: titled(problem.title, problem.detail), next: problem.next };
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
