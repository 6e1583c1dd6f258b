// The one error of the host's own: a code of the wire's table, what happened in words, and what to type next.

import { HOST_ERRORS, type HostErrorCode, type HostProblem } from "#wire/host.ts";

/** A failure that is told apart by `code`. Everything else that is thrown is a defect and reads as INTERNAL. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: HostErrorCode;
  /** What the person does about it; the code's own advice unless this case knows better. */
  readonly next: string;

  constructor(code: HostErrorCode, detail: string, next?: string) {
    super(detail);
    this.code = code;
    this.next = next ?? HOST_ERRORS[code].next;
  }
}

/** The failure as it crosses the wire. What is no `Failure` says nothing of its insides. */
export function problemOf(error: unknown): HostProblem {
  const code = error instanceof Failure ? error.code : "INTERNAL";
  const { status, title } = HOST_ERRORS[code];
  const detail = error instanceof Failure ? error.message : title;
  const next = error instanceof Failure ? error.next : HOST_ERRORS[code].next;
  return { type: `urn:tidegate:${code}`, title, status, detail, code, next };
}

/** The words of whatever was thrown, for a log line or the detail of a failure. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
