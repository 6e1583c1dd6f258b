// A container platform with one fault, for the closure: it stands before the container host and passes everything on, but
// one container it never cycles. It takes the order and answers with the container as it stands. The fleet knows nothing of it.

import { serve, type ServerType } from "@hono/node-server";
import { jsonOf } from "#wire/parse.ts";
import { containerSchema, resourceAskSchema, type Rolled } from "#wire/host.ts";

/** A platform that listens. */
export interface Platform {
  readonly url: string;
  close(): void;
}

const ORDER = "/containers/roll";

async function passOn(hostUrl: string, path: string, request: Request, body: string): Promise<Response> {
  const kept = ["authorization", "content-type"].flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const answer = await fetch(`${hostUrl}${path}`, {
    method: request.method,
    headers: Object.fromEntries(kept),
    ...(request.method === "GET" ? {} : { body }),
  });
  const type = answer.headers.get("content-type") ?? "application/json";
  return new Response(await answer.text(), { status: answer.status, headers: { "content-type": type } });
}

/** The order to cycle that is taken and never carried out; undefined where there is no container that could be cycled. */
async function taken(hostUrl: string, request: Request, body: string): Promise<Response | undefined> {
  const look = await passOn(hostUrl, "/containers/look", request, body);
  const container = containerSchema.safeParse(jsonOf(await look.text())).data;
  if (container?.state !== "running") return undefined;
  const ended = { resource: container.resource, bootId: null, imageId: null, processes: [] };
  return Response.json({ ended, container } satisfies Rolled);
}

async function answer(hostUrl: string, stuck: string, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const body = await request.text();
  const { data } = resourceAskSchema.safeParse(jsonOf(body));
  const never = pathname === ORDER && data?.resource === stuck ? await taken(hostUrl, request, body) : undefined;
  return never ?? passOn(hostUrl, pathname, request, body);
}

/** Stands before this host; the container of `stuck` is never cycled. */
export function platformBefore(hostUrl: string, stuck: string): Promise<Platform> {
  return new Promise((resolve, reject) => {
    const server: ServerType = serve(
      { fetch: (request) => answer(hostUrl, stuck, request), hostname: "127.0.0.1", port: 0 },
      ({ port }) => resolve({ url: `http://127.0.0.1:${port}`, close: () => void server.close() }),
    );
    server.once("error", reject);
  });
}
