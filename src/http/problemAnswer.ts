// What the head of a refusal says beside its body, so that a client that knows nothing of ours knows what HTTP knows: how to
// authenticate, which methods there are, and when to ask again.

import { CLOCK } from "#core/budgets.ts";
import { SECOND } from "#core/time.ts";
import type { Problem } from "#wire/errors.ts";

/** The header of a 401 (RFC 6750): that a bearer is wanted, and that the one which was sent is none. */
function challengeOf({ status, code }: Problem): Readonly<Record<string, string>> {
  if (status !== 401) return {};
  return { "www-authenticate": `Bearer realm="tidegate"${code === "BAD_BEARER" ? ', error="invalid_token"' : ""}` };
}

/** The methods of the route, as whoever refused another one names them. */
function methodsOf({ status, methods }: Problem): Readonly<Record<string, string>> {
  return status === 405 && Array.isArray(methods) ? { allow: methods.join(", ") } : {};
}

/** The headers of a problem's answer (RFC 9457); a 503 says in how many seconds to ask again. */
export function problemHeaders(problem: Problem, requestId?: string): Readonly<Record<string, string>> {
  const againMs = problem.code === "DRAINING" ? CLOCK.pollMs : CLOCK.wakePollMs;
  return {
    "content-type": "application/problem+json",
    ...(problem.status === 503 ? { "retry-after": String(againMs / SECOND) } : {}),
    ...challengeOf(problem),
    ...methodsOf(problem),
    ...(requestId === undefined ? {} : { "x-request-id": requestId }),
  };
}

/** A problem as a real answer. */
export function problemAnswer(problem: Problem, requestId?: string): Response {
  const body = requestId === undefined ? problem : { ...problem, requestId };
  return new Response(JSON.stringify(body), { status: problem.status, headers: problemHeaders(problem, requestId) });
}

/** The id of a request: its sender's where that is one, else a new one. */
export function requestIdOf(request: Request): string {
  const given = request.headers.get("x-request-id") ?? "";
  return /^[A-Za-z0-9_-]{1,64}$/.test(given) ? given : crypto.randomUUID();
}
