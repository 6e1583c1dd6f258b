// What a resident and the Worker ask the agent inside a container. A refusal of the agent becomes a problem of ours by its
// code; an agent that cannot be reached is a container that rolls, which a caller waits for.

import type * as z from "zod";
import { CLOCK, REAL } from "#core/budgets.ts";
import {
  fenceResult,
  fileContent,
  filePutResult,
  keepResult,
  mirrorLine,
  procList,
  procView,
  pushResult,
  stopResult,
  sweepResult,
  whoAmI,
  worktreeLine,
  worktreeList,
  type FileContent,
  type KeepResult,
  type MirrorResult,
  type ProcView,
  type PushResult,
  type StopResult,
  type WorktreeResult,
} from "#wire/agent.ts";
import { agentProblem, type AgentErrorCode, type AgentProblem } from "#wire/agentErrors.ts";
import { problemIn, raise, titled, type ErrorCode } from "#wire/errors.ts";
import { jsonOf } from "#wire/parse.ts";
import { bounded, messageOf } from "../root.ts";
import type { ContainerPort } from "./containerPort.ts";

/** Where an agent answers, and by which token. */
export interface AgentAt {
  readonly url: string;
  readonly token: string;
  /** The ticket under which a run's caller asks; what the resident does itself has none. */
  readonly number?: number | null;
}

const CODES: Partial<Record<AgentErrorCode, ErrorCode>> = {
  NOT_A_REPOSITORY: "NOT_A_REPOSITORY",
  EMPTY_REPOSITORY: "NOT_A_REPOSITORY",
  REPOSITORY_UNREACHABLE: "NOT_A_REPOSITORY",
  NO_SUCH_REF: "NO_SUCH_REF",
  SETUP_FAILED: "SETUP_FAILED",
  NO_SUCH_PROC: "NO_SUCH_PROCESS",
  TAKEN_BACK: "NEEDS_ATTACH",
  PROC_CONFLICT: "PROCESS_DIFFERS",
  OFFSET_BEYOND_END: "BAD_FIELD",
  NOT_STARTED: "NOT_STARTED",
  PATH_REFUSED: "FILE_OUTSIDE",
  NO_SUCH_FILE: "NO_SUCH_FILE",
  NOT_A_FILE: "NO_SUCH_FILE",
  FILE_TOO_LARGE: "TOO_LARGE",
  BODY_TOO_LARGE: "TOO_LARGE",
  PUSH_REJECTED: "PUSH_FAILED",
  PUSH_FAILED: "PUSH_FAILED",
  STOPPING: "ROLLING",
};

/** Answers with the agent's refusal in our words. */
function raiseAgent(problem: AgentProblem): never {
  raise(CODES[problem.code] ?? "AGENT_FAILED", titled(problem), { agentCode: problem.code });
}

/** One request to the agent; its refusals are raised, its silence is ROLLING. */
async function askAgent(port: ContainerPort, at: AgentAt, path: string, init: RequestInit): Promise<Response> {
  const headers = { authorization: `Bearer ${at.token}`, "content-type": "application/json" };
  const answer = await port
    .fetch(`${at.url}/v1/${path}`, { ...init, headers })
    .catch((error: unknown) => raise("ROLLING", `the agent does not answer: ${messageOf(error)}`));
  if (answer.ok) return answer;
  const problem = agentProblem.safeParse(jsonOf(await answer.text()));
  if (!problem.success) raise("AGENT_FAILED", `the agent answered ${answer.status}`);
  return raiseAgent(problem.data);
}

/** The lines of an ndjson answer as they come. */
async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator {
  if (body === null) return;
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part !== "") yield jsonOf(part);
  }
}

type Line = z.infer<typeof mirrorLine> | z.infer<typeof worktreeLine>;

async function lastOf<T extends Line>(
  answer: Response,
  schema: z.ZodType<T>,
  say: (line: string) => void,
): Promise<Extract<T, { type: "result" }>> {
  const isResult = (line: T): line is Extract<T, { type: "result" }> => line.type === "result";
  try {
    for await (const raw of linesOf(answer.body)) {
      const parsed = schema.safeParse(raw);
      if (!parsed.success) continue;
      const line = parsed.data;
      if (line.type === "progress") say(line.text);
      if (line.type === "error") raiseAgent(line);
      if (isResult(line)) return line;
    }
  } catch (error) {
    if (error instanceof Error && "problem" in error) throw error;
    raise("ROLLING", `the agent's answer was cut: ${messageOf(error)}`);
  }
  return raise("ROLLING", "the agent's answer ended before its result");
}

export interface AgentClient {
  /** The image and the boot of the container, as read inside it. */
  whoAmI(): Promise<{ readonly imageId: string; readonly bootId: string }>;
  mirror(
    ask: { url: string; setup: string | null; ref: string | null },
    say: (line: string) => void,
  ): Promise<MirrorResult>;
  worktree(
    ask: { thread: string; setup: string | null; ref: string | null },
    say: (line: string) => void,
  ): Promise<WorktreeResult>;
  slugOf(thread: string): Promise<string | undefined>;
  keep(slug: string): Promise<KeepResult>;
  stopThread(slug: string): Promise<StopResult>;
  stopProc(id: string): Promise<StopResult>;
  procs(): Promise<ProcView[]>;
  start(ask: { id: string; thread: string; command: string[]; env: Record<string, string> }): Promise<ProcView>;
  proc(id: string): Promise<ProcView>;
  output(id: string, from: { out: number; err: number }, signal: AbortSignal): Promise<Response>;
  push(thread: string): Promise<PushResult>;
  read(thread: string, path: string): Promise<FileContent>;
  /** Answers how many processes of the thread were alive once the file stood; an older agent does not say. */
  write(thread: string, path: string, data: string): Promise<number | undefined>;
  /** Takes back what was allowed of a thread up to this ticket; false for an agent of an older image, which cannot. */
  takeBack(thread: string, number: number): Promise<boolean>;
  sweep(idleBeforeMs: number, keepBeforeMs: number, spare: string[]): Promise<void>;
}

const without = (fields: Record<string, unknown>): string =>
  JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)));

/** The agent at an address. */
export function agentClient(port: ContainerPort, at: AgentAt): AgentClient {
  const whole = <T>(path: string, init: RequestInit, schema: z.ZodType<T>): Promise<T> =>
    bounded(REAL.startMs, async (signal) =>
      schema.parse(await (await askAgent(port, at, path, { ...init, signal })).json()),
    );
  const get = <T>(path: string, schema: z.ZodType<T>): Promise<T> => whole(path, {}, schema);
  const post = (fields: Record<string, unknown>): RequestInit => ({ method: "POST", body: without(fields) });
  const posted = <T>(path: string, fields: Record<string, unknown>, schema: z.ZodType<T>): Promise<T> =>
    whole(path, post(fields), schema);
  const ticket = at.number ?? null;
  const file = (thread: string, path: string): string =>
    `files?thread=${encodeURIComponent(thread)}&path=${encodeURIComponent(path)}`;
  return {
    whoAmI: () => get("whoami", whoAmI),
    mirror: async (ask, say) => lastOf(await askAgent(port, at, "mirror", post(ask)), mirrorLine, say),
    worktree: async (ask, say) => lastOf(await askAgent(port, at, "worktrees", post(ask)), worktreeLine, say),
    slugOf: async (thread) =>
      (await get("worktrees", worktreeList)).worktrees.find((tree) => tree.thread === thread)?.slug,
    keep: (slug) => posted(`worktrees/${slug}/keep`, {}, keepResult),
    stopThread: (slug) => posted(`threads/${slug}/stop`, { graceMs: CLOCK.stopGraceMs, ticket }, stopResult),
    stopProc: (id) => posted(`procs/${id}/stop`, { graceMs: CLOCK.stopGraceMs }, stopResult),
    procs: async () => (await get("procs", procList)).procs,
    start: (ask) => posted("procs", { ...ask, ticket }, procView),
    proc: (id) => get(`procs/${id}`, procView),
    output: (id, { out, err }, signal) =>
      askAgent(port, at, `procs/${id}/output?out=${out}&err=${err}&follow=1`, { signal }),
    push: (thread) => posted("push", { thread, ticket }, pushResult),
    read: (thread, path) => get(file(thread, path), fileContent),
    async write(thread, path, data) {
      const put = { method: "PUT", body: without({ data, ticket }) };
      return (await whole(file(thread, path), put, filePutResult)).live;
    },
    async takeBack(thread, number) {
      try {
        await posted("fence", { thread, ticket: number }, fenceResult);
        return true;
      } catch (error) {
        if (problemIn(error)?.["agentCode"] !== "NO_SUCH_ROUTE") throw error;
        return false;
      }
    },
    async sweep(idleBeforeMs, keepBeforeMs, spare) {
      await posted("sweep", { idleBeforeMs, keepBeforeMs, spare }, sweepResult);
    },
  };
}
