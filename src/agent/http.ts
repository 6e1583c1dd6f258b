// The agent's door: loopback, one bearer compared in constant time, bodies capped, and one place that turns
// whatever was thrown into problem+json.

import { createHash, timingSafeEqual } from "node:crypto";
import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import type * as z from "zod";
import { LIMIT } from "#core/budgets.ts";
import { AgentError, problemOf } from "./errors.ts";
import { issueWords } from "#wire/issueWords.ts";

/** A file comes as base64 within JSON: a third more, and room for the rest of the document. */
const FILE_BODY_BYTES = Math.ceil(LIMIT.fileBytes / 3) * 4 + 4_096;

/** An app with the door's rules and no route yet. */
export function agentDoor(token: string, log: (error: unknown) => void): Hono {
  const app = new Hono();
  const wanted = digestOf(token);
  const capped = (maxSize: number): ReturnType<typeof bodyLimit> =>
    bodyLimit({
      maxSize,
      onError: () => {
        throw new AgentError("BODY_TOO_LARGE", `a body has at most ${maxSize} bytes here`);
      },
    });
  const usual = capped(LIMIT.bodyBytes);
  const forFiles = capped(FILE_BODY_BYTES);
  app.use(async (c, next) => {
    const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? "";
    if (!timingSafeEqual(digestOf(bearer), wanted)) throw new AgentError("UNAUTHENTICATED", "no or another bearer");
    await next();
  });
  app.use(async (c, next) => await (c.req.path === "/v1/files" ? forFiles : usual)(c, next));
  app.notFound((c) => problemResponse(new AgentError("NO_SUCH_ROUTE", `${c.req.method} ${c.req.path}`)));
  app.onError((error) => {
    if (!(error instanceof AgentError)) log(error);
    return problemResponse(error);
  });
  return app;
}

/** The JSON body as a schema reads it; BAD_REQUEST names the field. */
export async function bodyOf<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new AgentError("UNSUPPORTED_TYPE", `content-type is ${type || "missing"}`);
  const text = await c.req.text();
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    throw new AgentError("BAD_REQUEST", "the body is not JSON");
  }
  return parsed(raw, schema);
}

/** The query as a schema reads it. */
export function queryOf<T>(c: Context, schema: z.ZodType<T>): T {
  return parsed(c.req.query(), schema);
}

/** One part of the path as a schema reads it. */
export function paramOf<T>(c: Context, name: string, schema: z.ZodType<T>): T {
  return parsed(c.req.param(name), schema, name);
}

function parsed<T>(raw: unknown, schema: z.ZodType<T>, at = ""): T {
  const result = schema.safeParse(raw, { error: issueWords });
  if (result.success) return result.data;
  const said = result.error.issues
    .slice(0, 3)
    .map((issue) => `${[at, ...issue.path].filter(String).join(".") || "body"}: ${issue.message}`);
  throw new AgentError("BAD_REQUEST", said.join("; "));
}

function problemResponse(error: unknown): Response {
  const problem = problemOf(error);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
}

/** Digests have one length, so that the comparison takes the same time whatever was sent. */
function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
