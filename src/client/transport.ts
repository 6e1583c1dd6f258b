// One request to the fleet, its bot or its ledger: the bearer of its route, a bound in real time, and every failure as one coded error.
// A request that was cut on a pooled connection is sent once more: every POST carries its ids, so twice is once.

import pRetry from "p-retry";
import type * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { SCOPE_ENV, type Scope } from "#core/scopes.ts";
import { ERRORS, parseProblem, problemOf, TidegateError, type Problem } from "#wire/errors.ts";
import { issueWords } from "#wire/issueWords.ts";
import { jsonOf } from "#wire/parse.ts";
import { ROUTES, type Route, type RouteName } from "#wire/routes.ts";
import type { Clock, Fetch } from "./ports.ts";

/** Who is asked, in the words of whoever gets no answer. */
const PARTIES = {
  fleet: { title: "The fleet cannot be reached", next: ERRORS.UNREACHABLE.next },
  bot: {
    title: "The bot cannot be reached",
    next: "Read .tidegate/log/bot.log where it runs; a stack that is up brings its bot back by itself.",
  },
  ledger: {
    title: "The ledger cannot be reached",
    next: "Read .tidegate/log/ledger.log where it runs; a stack that is up brings its ledger back by itself.",
  },
} as const;

/** How a fleet is reached. */
export interface Transport {
  /** Who answers there; a fleet where nothing is said. */
  readonly what?: keyof typeof PARTIES;
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

/** Whether an error says that nobody could be reached: nothing was decided, so asking again is safe. */
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
export function unreachable(
  transport: Pick<Transport, "baseUrl" | "what">,
  error: unknown,
  cut: boolean,
): TidegateError {
  const { baseUrl, what = "fleet" } = transport;
  const detail = `${baseUrl} does not answer (${causeOf(error)})`;
  return new TidegateError(problemOf("UNREACHABLE", detail, { ...PARTIES[what], cut }), { cause: error });
}

/** The scopes whose bearers pass, the first wish first: the one that is named, or the route's own, and admin's. */
function scopesOf(way: Way, as: Scope | undefined): readonly Scope[] {
  const { scopes } = routeOf(way);
  if (scopes === "public") return [];
  return [...(as === undefined ? scopes : [as]), "admin"];
}

/** The bearer that this fleet's tokens give for a route: of the scope that is named, else one of the route's own, else admin's. */
export function bearerOf(transport: Transport, way: Way, as?: Scope): string | null {
  const wanted = scopesOf(way, as);
  if (wanted.length === 0) return null;
  const bearer = wanted.map((scope) => transport.bearer(scope)).find((token) => token !== "");
  if (bearer !== undefined) return bearer;
  const { method, path } = routeOf(way);
  const first = wanted[0] ?? "admin";
  const detail = `${method} ${path} wants the ${first} bearer: neither ${SCOPE_ENV[first]} nor .tidegate/tokens.json has one`;
  const next = `export ${SCOPE_ENV[first]}=…, with the bearer that the fleet's own .tidegate/tokens.json has`;
  throw new TidegateError(problemOf("NO_BEARER", detail, { next }));
}

/** A refused bearer was one of a variable, or of the tokens that lie beside the configuration: which one is said. */
function withVariable(transport: Transport, way: Way, as: Scope | undefined, problem: Problem): Problem {
  const sent = scopesOf(way, as).find((scope) => transport.bearer(scope) !== "");
  if (problem.code !== "BAD_BEARER" || sent === undefined) return problem;
  const next = `correct ${SCOPE_ENV[sent]}, or unset it where .tidegate/tokens.json is the fleet's own`;
  return { ...problem, next };
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
function problemOfAnswer({ what = "fleet" }: Transport, way: Way, status: number, text: string): Problem {
  const known = parseProblem(jsonOf(text));
  // Who stands in front of a part does not say whom it could not reach.
  const isNobodys = known?.code === "UNREACHABLE" && known.title === ERRORS.UNREACHABLE.title;
  if (known !== undefined) return isNobodys ? { ...known, ...PARTIES[what] } : known;
  const { method, path } = routeOf(way);
  const detail = `${method} ${path} answered ${status}: ${text.slice(0, 200).trim() || "nothing"}`;
  return status >= 500 ? problemOf("UNREACHABLE", detail, PARTIES[what]) : problemOf("INTERNAL", detail);
}

async function sent(transport: Transport, way: Way, call: Call, signal: AbortSignal): Promise<Response> {
  const init = { ...initOf(transport, way, call), signal };
  try {
    const response = await transport.fetch(urlOf(transport, way, call), init);
    if (response.ok) return response;
    const text = await response.text();
    const problem = problemOfAnswer(transport, way, response.status, text);
    throw new TidegateError(withVariable(transport, way, call.as, problem));
  } catch (error) {
    call.signal?.throwIfAborted();
    if (error instanceof TidegateError) throw error;
    throw unreachable(transport, error, !signal.aborted);
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
    throw unreachable(transport, error, !signal.aborted);
  }
  const parsed = schema.safeParse(jsonOf(text), { error: issueWords });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not as expected"}`;
  throw new TidegateError(problemOf("INTERNAL", `${routeOf(way).path} answered what this build cannot read: ${where}`));
}
