// The agent of a container that is none: it speaks the agent's protocol, makes nothing, and says of image and boot what
// its container is. A process here is a name that lives until its thread is stopped or its container ends; what is asked
// under a ticket that was taken back is refused, unless the agent is of an older image, which knows of no tickets.

import { createHash } from "node:crypto";
import * as z from "zod";
import {
  AGENT_PROTOCOL,
  fenceRequest,
  NDJSON,
  procRequest,
  type KeepResult,
  type MirrorResult,
  type ProcView,
  type StopResult,
  type WhoAmI,
  type WorktreeResult,
} from "#wire/agent.ts";
import { agentProblemOf, type AgentErrorCode } from "#wire/agentErrors.ts";

/** One start of a container. */
export interface FakeContainer {
  readonly resource: string;
  readonly bootId: string;
  readonly imageId: string;
  readonly token: string;
  /** Processes of runs, by their id: the thread each works in. */
  readonly procs: Map<string, string>;
  /** By its thread, the number up to which tickets were taken back. */
  readonly fences: Map<string, number>;
  /** Whether its image is from before tickets. */
  readonly isOlder: boolean;
}

/** What an agent answers with. */
export interface AgentReply {
  readonly status: number;
  readonly type: string;
  readonly body: object;
}

const COMMIT = "0".repeat(40);
const threadSchema = z.object({ thread: z.string() });

const json = (body: object): AgentReply => ({ status: 200, type: "application/json", body });
const result = (body: object): AgentReply => ({ status: 200, type: NDJSON, body: { type: "result", ...body } });

/** A refusal in the agent's words. */
function refused(code: AgentErrorCode, detail: string): AgentReply {
  const body = agentProblemOf(code, detail);
  return { status: body.status, type: "application/problem+json", body };
}

const slugOf = (thread: string): string => `t-${createHash("sha256").update(thread).digest("hex").slice(0, 16)}`;

function whoAmI({ imageId, bootId }: FakeContainer): WhoAmI {
  return { imageId, bootId, protocol: AGENT_PROTOCOL, pid: process.pid, since: 0 };
}

function procs({ procs: live, bootId }: FakeContainer): ProcView[] {
  return [...live].map(([id, thread]) => ({
    id,
    thread,
    slug: slugOf(thread),
    argv: ["work"],
    bootId,
    pid: process.pid,
    startedAt: 0,
    out: 0,
    err: 0,
    end: null,
  }));
}

function fence({ fences }: FakeContainer, body: string): AgentReply {
  const { thread, ticket } = fenceRequest.parse(JSON.parse(body));
  const stands = Math.max(ticket, fences.get(thread) ?? 0);
  fences.set(thread, stands);
  return json({ ticket: stands });
}

function start(container: FakeContainer, body: string): AgentReply {
  const { id, thread, ticket } = procRequest.parse(JSON.parse(body));
  if (ticket !== undefined && ticket <= (container.fences.get(thread) ?? -1))
    return refused("TAKEN_BACK", `ticket ${ticket} of ${thread}`);
  container.procs.set(id, thread);
  return json(procs(container).find((one) => one.id === id) ?? {});
}

const mirror: MirrorResult = { url: "contract", ref: "main", commit: COMMIT, created: false, prepared: null };
const kept: KeepResult = { branch: "main", head: COMMIT, ahead: 0, dirty: false };

function worktree(thread: string): WorktreeResult {
  const slug = slugOf(thread);
  const at = { path: `/contract/${slug}`, branch: `tidegate/${slug}`, base: COMMIT, head: COMMIT };
  return { slug, thread, ...at, created: true };
}

function stop({ procs: live }: FakeContainer, ends: (id: string, thread: string) => boolean): StopResult {
  for (const [id, thread] of live) if (ends(id, thread)) live.delete(id);
  return { ended: [], left: [] };
}

/** The answer to one question. */
export function answerAgent(container: FakeContainer, method: string, path: string, body: string): AgentReply {
  return known(container, method, path, body) ?? refused("NO_SUCH_ROUTE", `${method} ${path}`);
}

/** The answer to what this agent knows. */
function known(container: FakeContainer, method: string, path: string, body: string): AgentReply | undefined {
  if (method === "GET" && path === "/v1/whoami") return json(whoAmI(container));
  if (method === "GET" && path === "/v1/procs") return json({ procs: procs(container) });
  if (method === "GET" && path === "/v1/worktrees") return json({ worktrees: [] });
  if (method !== "POST") return undefined;
  if (path === "/v1/procs") return start(container, body);
  if (path === "/v1/fence") return container.isOlder ? undefined : fence(container, body);
  if (path === "/v1/mirror") return result(mirror);
  if (path === "/v1/worktrees") return result(worktree(threadSchema.parse(JSON.parse(body)).thread));
  if (/^\/v1\/worktrees\/[^/]+\/keep$/.test(path)) return json(kept);
  const [, of, name] = /^\/v1\/(threads|procs)\/([^/]+)\/stop$/.exec(path) ?? [];
  if (of === "threads") return json(stop(container, (_, thread) => slugOf(thread) === name));
  if (of === "procs") return json(stop(container, (id) => id === name));
  return path === "/v1/sweep" ? json({ removed: [], stayed: [], procsForgotten: 0 }) : undefined;
}
