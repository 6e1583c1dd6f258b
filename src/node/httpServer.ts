// The host's HTTP server: loopback only, bodies capped, one bearer a route group compared in constant time, and every
// error leaves as problem+json through one place.

import { createHash, timingSafeEqual } from "node:crypto";
import { serve, type ServerType } from "@hono/node-server";
import { Hono, type Context, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ZodType } from "zod";
import { LIMIT, REAL } from "#core/budgets.ts";
import { HOST_ERRORS } from "#wire/host.ts";
import { Failure, problemOf, wordsOf } from "#node/failure.ts";
import { logOf } from "#node/log.ts";
import { issueWords } from "#wire/issueWords.ts";

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

/** Whether a secret was presented, in a time that tells nothing of it. An empty secret is never presented. */
export function isSecret(presented: string, secret: string): boolean {
  return timingSafeEqual(digest(presented), digest(secret)) && secret !== "";
}

/** Lets a request pass only with this bearer. */
export function bearerGuard(secret: string): MiddlewareHandler {
  return async (context, next) => {
    const [scheme, token = ""] = (context.req.header("authorization") ?? "").split(" ");
    if (scheme?.toLowerCase() !== "bearer" || !isSecret(token, secret)) {
      throw new Failure("UNAUTHENTICATED", "this route wants the host's own bearer");
    }
    await next();
  };
}

function answerProblem(context: Context, error: unknown): Response {
  const problem = problemOf(error);
  if (problem.code === "INTERNAL")
    logOf("http").error("a request failed", { path: context.req.path, error: wordsOf(error) });
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { "content-type": "application/problem+json" },
  });
}

/** An application whose every error, unknown route and oversized body is problem+json. */
export function problemApp(): Hono {
  const app = new Hono();
  app.onError((error, context) => answerProblem(context, error));
  app.notFound((context) =>
    answerProblem(context, new Failure("NOT_FOUND", `${context.req.method} ${context.req.path} is not a route`)),
  );
  app.use(
    bodyLimit({
      maxSize: LIMIT.bodyBytes,
      onError: (context) =>
        answerProblem(context, new Failure("TOO_LARGE", `a body holds at most ${LIMIT.bodyBytes} bytes`)),
    }),
  );
  return app;
}

/** Parses a JSON body by its schema; what is wrong is a failure that names the field. */
export async function readBody<T>(context: Context, schema: ZodType<T>): Promise<T> {
  const type = context.req.header("content-type") ?? "";
  if (!/^application\/json\b/i.test(type)) throw new Failure("NOT_JSON", HOST_ERRORS.NOT_JSON.title);
  let raw: unknown;
  try {
    raw = JSON.parse(await context.req.text());
  } catch {
    throw new Failure("BAD_REQUEST", "the body is not JSON");
  }
  const parsed = schema.safeParse(raw, { error: issueWords });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new Failure("BAD_REQUEST", `${issue?.path.join(".") || "the body"}: ${issue?.message ?? "not as expected"}`);
}

/** A server that listens on a port of 127.0.0.1; what it serves is given once everything stands that its routes need. */
export interface HostServer {
  readonly url: string;
  serve(app: Hono): void;
  /** Lets answers under way out, then ends every connection. */
  close(): Promise<void>;
}

/** A port that answers. */
export interface Listening {
  readonly port: number;
  /** Lets answers under way out, then ends every connection. */
  readonly close: () => Promise<void>;
}

/** Listens on a port of 127.0.0.1, 0 for any free one; rejects when it is taken. */
export function listenOn(port: number, fetch: (request: Request) => Response | Promise<Response>): Promise<Listening> {
  return new Promise((resolve, reject) => {
    const server: ServerType = serve({ fetch, hostname: "127.0.0.1", port }, (address) => {
      const close = (): Promise<void> =>
        new Promise((closed) => {
          if (!("closeAllConnections" in server)) return void server.close(() => closed());
          const cut = setTimeout(() => server.closeAllConnections(), REAL.connectMs);
          // A connection whose answer ends only now, such as a stream's, would be kept alive for another request.
          const idle = setInterval(() => server.closeIdleConnections(), REAL.lookEveryMs);
          server.close(() => {
            clearTimeout(cut);
            clearInterval(idle);
            closed();
          });
        });
      resolve({ port: address.port, close });
    });
    server.once("error", reject);
  });
}

/** Listens on any free port of 127.0.0.1. Until there is something to serve, every request is told that it is starting. */
export async function openHost(): Promise<HostServer> {
  let app = problemApp();
  app.all("*", () => {
    throw new Failure("ENDING", "the supervisor is starting", "wait a moment, then ask again");
  });
  const { port, close } = await listenOn(0, (request) => app.fetch(request));
  return { url: `http://127.0.0.1:${port}`, serve: (next) => void (app = next), close };
}
