// One request to the fleet Worker: the bearer of its route, a bound in real time, and every failure as one coded error.
// A request that was cut on a pooled connection is sent once more: every POST carries its ids, so twice is once.

import pRetry from "p-retry";
import type * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { SCOPE_ENV, type Scope } from "#core/scopes.ts";
import { parseProblem, problemOf, TidegateError, type Problem } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { ROUTES, type Route, type RouteName } from "#wire/routes.ts";
import type { Clock, Fetch } from "./ports.ts";

/** How a fleet is reached. */
export interface Transport {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly fetch: Fetch;
  /** The bearer of a scope, or the empty string where there is none. */
  readonly bearer: (scope: Scope) => string;
  /** Real time, for the bounds of requests and sockets. */
  readonly real: Clock;
}

/** Where a request goes: a route of the fleet by its name, or one of another table. */
export type Way = RouteName | Route;

const routeOf = (way: Way): Route => (typeof way === "string" ? ROUTES[way] : way);

/** One call's own wishes. */
export interface Call {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** The one scope whose bearer is sent, where what is asked wants more than the route does. */
  readonly as?: Scope | undefined;
  readonly signal?: AbortSignal | undefined;
  /** How long the answer's head may take, in real ms. */
  readonly boundMs?: number;
}

/** Whether an error says that the fleet could not be reached: nothing was decided, so asking again is safe. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof TidegateError && error.problem.code === "UNREACHABLE";
}

const isCut = (error: unknown): boolean => error instanceof TidegateError && error.problem["cut"] === true;

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  const code = typeof cause === "object" && cause !== null && "code" in cause ? `${String(cause.code)}: ` : "";
  return `${code}${cause instanceof Error ? cause.message : String(cause)}`;
}

/** The coded error of a request that got no answer. `cut`: it may be sent again at once. */
export function unreachable(baseUrl: string, error: unknown, cut: boolean): TidegateError {
  const detail = `${baseUrl} does not answer (${causeOf(error)})`;
  return new TidegateError(problemOf("UNREACHABLE", detail, { cut }), { cause: error });
}

/** The bearer that this fleet's tokens give for a route: of the scope that is named, else one of the route's own, else admin's. */
export function bearerOf(transport: Transport, way: Way, as?: Scope): string | null {
  const { scopes, method, path } = routeOf(way);
  if (scopes === "public") return null;
  const named: readonly Scope[] = as === undefined ? scopes : [as];
  const wanted: readonly Scope[] = [...named, "admin"];
  const bearer = wanted.map((scope) => transport.bearer(scope)).find((token) => token !== "");
  if (bearer !== undefined) return bearer;
  const first = wanted[0] ?? "admin";
  const detail = `${method} ${path} wants the ${first} bearer: neither ${SCOPE_ENV[first]} nor .tidegate/tokens.json has one`;
  throw new TidegateError(problemOf("NO_BEARER", detail));
}

/** Runs work under a bound of real time; the signal it gets fires at the bound or when the caller's own does. */
async function bounded<T>(
  real: Clock,
  bound: { readonly ms: number; readonly signal?: AbortSignal | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const done = new AbortController();
  const late = new Error(`no answer within ${bound.ms / 1_000} s`);
  real.sleep(bound.ms, done.signal).then(
    () => over.abort(late),
    () => undefined,
  );
  try {
    return await work(bound.signal === undefined ? over.signal : AbortSignal.any([bound.signal, over.signal]));
  } finally {
    done.abort();
  }
}

function urlOf(transport: Transport, way: Way, call: Call): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(call.query ?? {})) query.set(key, String(value));
  return `${transport.baseUrl}${routeOf(way).path}${query.size === 0 ? "" : `?${query.toString()}`}`;
}

function initOf(transport: Transport, way: Way, call: Call): RequestInit {
  const bearer = bearerOf(transport, way, call.as);
  return {
    method: routeOf(way).method,
    redirect: "manual",
    headers: {
      accept: "application/json, application/x-ndjson, application/problem+json",
      ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
      ...(call.body === undefined ? {} : { "content-type": "application/json" }),
      ...call.headers,
    },
    ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
  };
}

/**
 * The problem of an answer that is no success. A stranger's answer is named by its status; a stranger in between that
 * fails (a proxy, a Worker that crashed) says that the fleet was not reached.
 */
function problemOfAnswer(way: Way, status: number, text: string): Problem {
  const known = parseProblem(jsonOf(text));
  if (known !== undefined) return known;
  const { method, path } = routeOf(way);
  const detail = `${method} ${path} answered ${status}: ${text.slice(0, 200).trim() || "nothing"}`;
  return problemOf(status >= 500 ? "UNREACHABLE" : "INTERNAL", detail);
}

async function sent(transport: Transport, way: Way, call: Call, signal: AbortSignal): Promise<Response> {
  const init = { ...initOf(transport, way, call), signal };
  try {
    const response = await transport.fetch(urlOf(transport, way, call), init);
    if (response.ok) return response;
    const text = await response.text();
    throw new TidegateError(problemOfAnswer(way, response.status, text));
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof TidegateError) throw error;
    throw unreachable(transport.baseUrl, error, !signal.aborted);
  }
}

/** Sends a request and answers with its response's head, whose body the caller reads. */
export function open(transport: Transport, way: Way, call: Call): Promise<Response> {
  const bound = { ms: call.boundMs ?? REAL.requestMs, signal: call.signal };
  return pRetry(() => bounded(transport.real, bound, (signal) => sent(transport, way, call, signal)), ONCE_MORE);
}

const ONCE_MORE = {
  retries: 1,
  minTimeout: 0,
  maxTimeout: 0,
  shouldRetry: ({ error }: { readonly error: Error }) => isCut(error),
} as const;

/** A whole request: its answer parsed by the schema that the route names. Throws `TidegateError`. */
export function call<T>(transport: Transport, way: Way, schema: z.ZodType<T>, wishes: Call = {}): Promise<T> {
  const bound = { ms: wishes.boundMs ?? REAL.requestMs, signal: wishes.signal };
  const once = (signal: AbortSignal): Promise<T> => answered(transport, way, schema, { ...wishes, signal });
  return pRetry(() => bounded(transport.real, bound, once), ONCE_MORE).catch((error: unknown) => {
    wishes.signal?.throwIfAborted();
    throw error;
  });
}

async function answered<T>(transport: Transport, way: Way, schema: z.ZodType<T>, wishes: Call): Promise<T> {
  const signal = wishes.signal ?? new AbortController().signal;
  const { signal: _, ...rest } = wishes;
  const response = await sent(transport, way, rest, signal);
  let text: string;
  try {
    text = await response.text();
  } catch (error) {
    throw unreachable(transport.baseUrl, error, !signal.aborted);
  }
  const parsed = schema.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not as expected"}`;
  throw new TidegateError(problemOf("INTERNAL", `${routeOf(way).path} answered what this build cannot read: ${where}`));
}
