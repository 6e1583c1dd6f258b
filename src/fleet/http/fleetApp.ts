// The fleet's HTTP face: every route of the table, its bearer, its body and its one error door. It decides nothing.

import { Hono, type Context } from "hono";
import { LIMIT } from "#core/budgets.ts";
import { PROTOCOL } from "#core/preflight.ts";
import { SCOPE_ENV, type Scope } from "#core/scopes.ts";
import { judged, secretsIn } from "#http/bearer.ts";
import { jsonBody } from "#http/body.ts";
import { problemAnswer, requestIdOf } from "#http/problemAnswer.ts";
import {
  attachBodySchema,
  detachBodySchema,
  offboardBodySchema,
  onboardBodySchema,
  rebuildBodySchema,
  reconfigureBodySchema,
  releaseBodySchema,
} from "#wire/attach.ts";
import {
  parseDrainRequest,
  reconcileBodySchema,
  releaseHoldBodySchema,
  sealBodySchema,
  undrainBodySchema,
} from "#wire/drain.ts";
import { problemIn, problemOf, raise } from "#wire/errors.ts";
import { WATCH_CLOSE } from "#wire/fleet.ts";
import { parsed, valueOf } from "#wire/parse.ts";
import { ROUTES, ROUTE_NAMES, type RouteName } from "#wire/routes.ts";
import { messageOf, type Env, type Root } from "../root.ts";
import { events } from "./events.ts";
import { askRegistry, askResident } from "./objects.ts";
import { exec, FILE_BODY_BYTES, op, read, write } from "./runs.ts";

/** One request on its way: who asks, and the parsed JSON body of a POST. */
interface Asked {
  readonly env: Env;
  readonly root: Root;
  readonly request: Request;
  readonly scope: Scope;
  readonly body: unknown;
}

type Handler = (asked: Asked) => Promise<Response>;

/** Hands a parsed body to the resident's own door. */
function toResident({ env }: Asked, path: string, body: { resource: string }): Promise<Response> {
  const request = new Request(`http://resident${path}`, { method: "POST", body: JSON.stringify(body) });
  return askResident(env, body.resource, (resident) => resident.fetch(request));
}

/** A resident that was written down and could not even be asked to be made goes again. */
const onboard: Handler = async (asked) => {
  const { env, scope } = asked;
  const body = parsed(onboardBodySchema, asked.body);
  valueOf(await askRegistry(env, (registry) => registry.onboard(body, scope)));
  try {
    return await toResident(asked, "/onboard", body);
  } catch (error) {
    await askRegistry(env, (registry) => registry.offboard(body.resource, "registry", messageOf(error)));
    throw error;
  }
};

const undrain: Handler = async ({ env, scope, body }) => {
  const ask = parsed(undrainBodySchema, body);
  if (ask.force && scope !== "admin") raise("BEYOND_SCOPE", `force needs the admin bearer (${SCOPE_ENV.admin})`);
  return Response.json(await askRegistry(env, (registry) => registry.undrain(ask, scope)));
};

const audit: Handler = async ({ env, request }) => {
  const { searchParams } = new URL(request.url);
  const after = Number(searchParams.get("after") ?? "-1");
  const limit = Number(searchParams.get("limit") ?? "100");
  if (!Number.isSafeInteger(after)) raise("BAD_FIELD", "after: must be the id of a row", { field: "after" });
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
    raise("BAD_FIELD", "limit: must be 1 to 1000", { field: "limit" });
  return Response.json({ rows: await askRegistry(env, (registry) => registry.audit(after, limit)) });
};

const HANDLERS: Readonly<Record<Exclude<RouteName, "watch">, Handler>> = {
  healthz: async ({ root }) => {
    const { build, generation, drainId } = root.settings;
    return Response.json({ ok: true, protocol: PROTOCOL, build, generation, drainId, now: root.clock.now() });
  },
  residents: async ({ env, request }) =>
    Response.json(
      await askRegistry(env, (registry) => registry.residents(new URL(request.url).searchParams.get("fresh") === "1")),
    ),
  drains: async ({ env }) => Response.json(await askRegistry(env, (registry) => registry.drains())),
  drain: async ({ env, root, scope, body }) => {
    const ask = valueOf(parseDrainRequest(body, root.budgets.capMinutes));
    return Response.json(valueOf(await askRegistry(env, (registry) => registry.drain(ask, scope))));
  },
  undrain,
  seal: async ({ env, scope, body }) => {
    const { id, handoff } = parsed(sealBodySchema, body);
    const sealed = askRegistry(env, (registry) => (handoff ? registry.handOff(id, scope) : registry.seal(id, scope)));
    return Response.json({ kind: "sealed", ...valueOf(await sealed) });
  },
  reconcile: async ({ env, scope, body }) => {
    const { id } = parsed(reconcileBodySchema, body);
    const begun = valueOf(await askRegistry(env, (registry) => registry.reconcile(id, scope)));
    return Response.json(begun, { status: 202 });
  },
  reconciled: async ({ env, request }) => {
    const { id } = parsed(reconcileBodySchema, Object.fromEntries(new URL(request.url).searchParams));
    return Response.json(valueOf(await askRegistry(env, (registry) => registry.reconciled(id))));
  },
  releaseHold: async ({ env, scope, body }) => {
    const { resource, reason } = parsed(releaseHoldBodySchema, body);
    return Response.json(valueOf(await askRegistry(env, (registry) => registry.releaseHold(resource, reason, scope))));
  },
  events: ({ env, request }) => events(env, request),
  audit,
  attach: (asked) => toResident(asked, "/attach", parsed(attachBodySchema, asked.body)),
  detach: (asked) => toResident(asked, "/detach", parsed(detachBodySchema, asked.body)),
  exec: ({ env, root, request, body }) => exec(env, root, body, request.signal),
  read: ({ env, root, body }) => read(env, root, body),
  write: ({ env, root, body }) => write(env, root, body),
  op: ({ env, root, body }) => op(env, root, body),
  onboard,
  offboard: async ({ env, scope, body }) => {
    const { resource } = parsed(offboardBodySchema, body);
    valueOf(await askRegistry(env, (registry) => registry.offboard(resource, scope, null)));
    return Response.json({ resource });
  },
  reconfigure: async ({ env, scope, body }) => {
    const change = parsed(reconfigureBodySchema, body);
    valueOf(await askRegistry(env, (registry) => registry.reconfigure(change, scope)));
    return Response.json({ resource: change.resource });
  },
  rebuild: async (asked) => {
    const body = parsed(rebuildBodySchema, asked.body);
    valueOf(await askRegistry(asked.env, (registry) => registry.mayRebuild(body.resource, asked.scope)));
    return toResident(asked, "/rebuild", body);
  },
  releaseRun: async ({ env, scope, body }) => {
    const { runId, reason } = parsed(releaseBodySchema, body);
    const { kind } = valueOf(await askRegistry(env, (registry) => registry.releaseRun(runId, reason, scope)));
    return Response.json({ kind, work: null });
  },
};

/** A client cannot see the status of a refused upgrade: a bad bearer is accepted and closed with a code. */
async function watch(env: Env, request: Request): Promise<Response> {
  if (request.headers.get("upgrade")?.toLowerCase() !== "websocket")
    raise("BAD_FIELD", "upgrade: must be websocket", { field: "upgrade" });
  try {
    await judged(secretsIn(env), request, ROUTES.watch);
  } catch (error) {
    const { 0: client, 1: server } = new WebSocketPair();
    server.accept();
    const beyond = problemIn(error)?.code === "BEYOND_SCOPE";
    server.close(beyond ? WATCH_CLOSE.beyondScope : WATCH_CLOSE.noBearer, problemIn(error)?.detail ?? "refused");
    return new Response(null, { status: 101, webSocket: client });
  }
  return askRegistry(env, (registry) => registry.fetch(request));
}

function answerProblem(root: Root, context: Context, requestId: string, error: unknown): Response {
  const problem = problemIn(error) ?? problemOf("INTERNAL", `request ${requestId}`);
  const level = problem.status >= 500 && problem.code !== "DRAINING" ? "error" : "info";
  root.log(level, "refused", { requestId, path: context.req.path, code: problem.code, error: messageOf(error) });
  return problemAnswer(problem, requestId);
}

async function answer(env: Env, root: Root, request: Request, name: RouteName): Promise<Response> {
  if (name === "watch") return watch(env, request);
  const scope = await judged(secretsIn(env), request, ROUTES[name]);
  const limit = name === "write" ? FILE_BODY_BYTES : LIMIT.bodyBytes;
  const body = ROUTES[name].method === "POST" ? await jsonBody(request, limit) : undefined;
  return HANDLERS[name]({ env, root, request, scope, body });
}

/** The app. Routes come from the table, so that it cannot promise what is not served; it is made once and holds nothing. */
export function fleetApp(rootOf: (env: Env) => Root): Hono<{ Bindings: Env }> {
  const app = new Hono<{ Bindings: Env }>();
  for (const name of ROUTE_NAMES) {
    app.on(ROUTES[name].method, ROUTES[name].path, async (context) => {
      const requestId = requestIdOf(context.req.raw);
      const root = rootOf(context.env);
      try {
        const response = await answer(context.env, root, context.req.raw, name);
        if (response.status === 101) return response;
        const answered = new Response(response.body, response);
        answered.headers.set("x-request-id", requestId);
        return answered;
      } catch (error) {
        return answerProblem(root, context, requestId, error);
      }
    });
  }
  app.notFound((context) => {
    const methods = ROUTE_NAMES.filter((name) => ROUTES[name].path === context.req.path).map(
      (name) => ROUTES[name].method,
    );
    const problem =
      methods.length > 0
        ? problemOf("WRONG_METHOD", `${context.req.path} takes ${methods.join(", ")}`, { methods })
        : problemOf("NO_ROUTE", context.req.path);
    return answerProblem(rootOf(context.env), context, requestIdOf(context.req.raw), { problem });
  });
  app.onError((error, context) => answerProblem(rootOf(context.env), context, requestIdOf(context.req.raw), error));
  return app;
}
