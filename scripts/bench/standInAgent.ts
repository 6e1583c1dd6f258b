// An agent for the bench: it speaks the agent's protocol and makes nothing, so that what is measured is the control plane.
// No git runs, no process is started, and each question is answered at once.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as z from "zod";
import {
  AGENT_PROTOCOL,
  fenceResult,
  NDJSON,
  type KeepResult,
  type MirrorResult,
  type StopResult,
  type WorktreeResult,
} from "#wire/agent.ts";

const COMMIT = "0".repeat(40);
const BRANCH = "main";
const threadSchema = z.object({ thread: z.string() });
const imageSchema = z.object({ id: z.string() });

interface Reply {
  readonly type: string;
  readonly body: object;
}

const json = (body: object): Reply => ({ type: "application/json", body });
const result = (body: object): Reply => ({ type: NDJSON, body: { type: "result", ...body } });

function mirror(): MirrorResult {
  return { url: "bench", ref: BRANCH, commit: COMMIT, created: false, prepared: null };
}

function worktree(thread: string): WorktreeResult {
  const slug = `t-${createHash("sha256").update(thread).digest("hex").slice(0, 16)}`;
  const tree = { slug, thread, path: `/bench/${slug}`, branch: `tidegate/${slug}` };
  return { ...tree, base: COMMIT, head: COMMIT, created: true };
}

const kept: KeepResult = { branch: BRANCH, head: COMMIT, ahead: 0, dirty: false };
const stopped: StopResult = { ended: [], left: [] };

/** The answer to one question, or undefined for what this agent does not know. */
function answer(method: string, path: string, body: string, imageId: string): Reply | undefined {
  if (method === "GET" && path === "/v1/whoami") {
    return json({ imageId, bootId, protocol: AGENT_PROTOCOL, pid: process.pid, since: 0 });
  }
  if (method === "GET" && path === "/v1/procs") return json({ procs: [] });
  if (method === "GET" && path === "/v1/worktrees") return json({ worktrees: [] });
  if (method !== "POST") return undefined;
  if (path === "/v1/mirror") return result(mirror());
  if (path === "/v1/worktrees") return result(worktree(threadSchema.parse(JSON.parse(body)).thread));
  if (/^\/v1\/worktrees\/[^/]+\/keep$/.test(path)) return json(kept);
  if (/^\/v1\/threads\/[^/]+\/stop$/.test(path)) return json(stopped);
  if (path === "/v1/fence") return json(fenceResult.parse(JSON.parse(body)));
  if (path === "/v1/sweep") return json({ removed: [], stayed: [], procsForgotten: 0 });
  return undefined;
}

const bootId = randomBytes(8).toString("hex");
const setting = (name: string): string => process.env[name] ?? "";
const bearer = `Bearer ${readFileSync(setting("TIDEGATE_AGENT_TOKEN_FILE"), "utf8").trim()}`;
const imageId = imageSchema.parse(JSON.parse(readFileSync(`${setting("TIDEGATE_IMAGE")}/image.json`, "utf8"))).id;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  const known = request.headers.authorization === bearer;
  const reply = known ? answer(request.method ?? "", request.url ?? "", body, imageId) : undefined;
  if (reply === undefined) {
    const detail = `${request.method} ${request.url} is not a question for the bench's stand-in`;
    response.writeHead(404, { "content-type": "application/problem+json" }).end(JSON.stringify({ detail }));
    return;
  }
  const line = `${JSON.stringify(reply.body)}\n`;
  response.writeHead(200, { "content-type": reply.type, "content-length": Buffer.byteLength(line) }).end(line);
}

const server = createServer((request, response) => {
  serve(request, response).catch(() => response.destroy());
});
server.keepAliveTimeout = 0;
server.listen(0, "127.0.0.1", () => {
  const address: AddressInfo | string | null = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const portFile = setting("TIDEGATE_PORT_FILE");
  writeFileSync(`${portFile}.new`, JSON.stringify({ port, bootId, pid: process.pid }));
  renameSync(`${portFile}.new`, portFile);
});
