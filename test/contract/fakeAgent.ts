// The agent of a container that is none: it speaks the agent's protocol, makes nothing, and says of image and boot what
// its container is. A process here is a name that lives until its thread is stopped or its container ends.

import { createHash } from "node:crypto";
import * as z from "zod";
import {
  AGENT_PROTOCOL,
  NDJSON,
  type KeepResult,
  type MirrorResult,
  type ProcView,
  type StopResult,
  type WhoAmI,
  type WorktreeResult,
} from "#wire/agent.ts";

/** One start of a container. */
export interface FakeContainer {
  readonly resource: string;
  readonly bootId: string;
  readonly imageId: string;
  readonly token: string;
  /** Processes of runs, by their id: the thread each works in. */
  readonly procs: Map<string, string>;
}

/** What an agent answers with. */
export interface AgentReply {
  readonly type: string;
  readonly body: object;
}

const COMMIT = "0".repeat(40);
const threadSchema = z.object({ thread: z.string() });

const json = (body: object): AgentReply => ({ type: "application/json", body });
const result = (body: object): AgentReply => ({ type: NDJSON, body: { type: "result", ...body } });

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

/** The answer to one question, or undefined for what this agent does not know. */
export function answerAgent(
  container: FakeContainer,
  method: string,
  path: string,
  body: string,
): AgentReply | undefined {
  if (method === "GET" && path === "/v1/whoami") return json(whoAmI(container));
  if (method === "GET" && path === "/v1/procs") return json({ procs: procs(container) });
  if (method === "GET" && path === "/v1/worktrees") return json({ worktrees: [] });
  if (method !== "POST") return undefined;
  if (path === "/v1/mirror") return result(mirror);
  if (path === "/v1/worktrees") return result(worktree(threadSchema.parse(JSON.parse(body)).thread));
  if (/^\/v1\/worktrees\/[^/]+\/keep$/.test(path)) return json(kept);
  const [, of, name] = /^\/v1\/(threads|procs)\/([^/]+)\/stop$/.exec(path) ?? [];
  if (of === "threads") return json(stop(container, (_, thread) => slugOf(thread) === name));
  if (of === "procs") return json(stop(container, (id) => id === name));
  return path === "/v1/sweep" ? json({ removed: [], stayed: [], procsForgotten: 0 }) : undefined;
}
