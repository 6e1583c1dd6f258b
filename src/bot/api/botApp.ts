// The bot's HTTP face: every route of the table, its bearer, its body and its one error door. It decides nothing.

import { Hono } from "hono";
import type { Bearers } from "#node/tokens.ts";
import { BOT_ROUTES, BOT_ROUTE_NAMES, type BotRouteName } from "#wire/bot.ts";
import { problemIn, problemOf, type Problem } from "#wire/errors.ts";
import { jsonBody } from "#http/body.ts";
import { problemAnswer, requestIdOf } from "#http/problemAnswer.ts";
import type { Log, LogLevel } from "../log.ts";
import type { Front, Handler } from "./asked.ts";
import { asks, steer, stop } from "./asks.ts";
import { judged } from "./bearer.ts";
import { drain, healthz, undrain } from "./door.ts";
import { run, runs } from "./lists.ts";
import { events, output } from "./streams.ts";

const HANDLERS: Readonly<Record<BotRouteName, Handler>> = {
  healthz,
  drain,
  undrain,
  ask: asks,
  runs,
  run,
  output,
  stop,
  steer,
  events,
};

/** A refusal is an answer and no defect: only what nobody meant to say is logged with where it came from. */
function logged({ code, status, detail }: Problem, error: unknown): readonly [LogLevel, unknown] {
  if (code === "INTERNAL") return ["error", error];
  return [status >= 500 ? "warn" : "info", detail];
}

function refused(log: Log, request: Request, thrown: unknown): Response {
  const requestId = requestIdOf(request);
  const problem = problemIn(thrown) ?? problemOf("INTERNAL", `request ${requestId}`);
  const path = new URL(request.url).pathname;
  const [level, error] = logged(problem, thrown);
  log(level, "refused", { requestId, path, code: problem.code, error });
  return problemAnswer(problem, requestId);
}

/** Serves the table, so that it cannot promise what is not served. */
export function botApp(front: Front, bearers: Bearers): (request: Request) => Promise<Response> {
  const app = new Hono();
  const { log } = front.desk.parts;
  for (const name of BOT_ROUTE_NAMES) {
    const route = BOT_ROUTES[name];
    app.on(route.method, route.path, async (context) => {
      const request = context.req.raw;
      const scope = judged(bearers, request, route);
      const query = Object.fromEntries(new URL(request.url).searchParams);
      const given = route.method === "POST" ? await jsonBody(request) : query;
      const answer = await HANDLERS[name]({ front, scope, request, id: context.req.param("id") ?? "", given });
      answer.headers.set("x-request-id", requestIdOf(request));
      return answer;
    });
  }
  app.notFound((context) => {
    const path = context.req.path;
    const known = BOT_ROUTE_NAMES.map((name) => BOT_ROUTES[name]).filter((route) => isAt(route.path, path));
    const methods = known.map(({ method }) => method);
    const problem =
      methods.length > 0
        ? problemOf("WRONG_METHOD", `${path} takes ${methods.join(", ")}`, { methods })
        : problemOf("NO_ROUTE", path);
    return refused(log, context.req.raw, { problem });
  });
  app.onError((error, context) => refused(log, context.req.raw, error));
  return async (request) => await app.fetch(request);
}

/** Whether a path is one of a route's. */
function isAt(route: string, path: string): boolean {
  return new RegExp(`^${route.replace(":id", "[^/]+")}$`).test(path);
}
