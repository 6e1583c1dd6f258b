// The one place where a problem becomes an answer: its status, and when to ask again where that makes sense.

import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import type { Problem } from "#wire/errors.ts";

/** A problem as a real answer (RFC 9457). A 503 says in how many seconds to ask again. */
export function problemAnswer(problem: Problem, requestId: string): Response {
  const headers = new Headers({ "content-type": "application/problem+json", "x-request-id": requestId });
  if (problem.status === 503) headers.set("retry-after", String(CLOCK.wakePollMs / SECOND));
  return new Response(JSON.stringify({ ...problem, requestId }), { status: problem.status, headers });
}
