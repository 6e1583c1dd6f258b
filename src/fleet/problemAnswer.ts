// The one place where a problem becomes an answer: its status, and what its head says.

import type { Problem } from "#wire/errors.ts";
import { problemHeaders } from "#wire/problemHeaders.ts";

/** A problem as a real answer (RFC 9457). */
export function problemAnswer(problem: Problem, requestId?: string): Response {
  return new Response(JSON.stringify({ ...problem, ...(requestId === undefined ? {} : { requestId }) }), {
    status: problem.status,
    headers: problemHeaders(problem, requestId),
  });
}
