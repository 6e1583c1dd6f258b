// The refusals of the agent's API: a code a caller can tell apart, its status, its title, and what to type or do next.
// Told apart by `code`, never by words.

import * as z from "zod";

interface AgentErrorRow {
  readonly status: number;
  readonly title: string;
  readonly next: string;
}

/** Every code the agent answers, in the one place that picks its status. */
export const AGENT_ERRORS = {
  UNAUTHENTICATED: {
    status: 401,
    title: "no valid bearer for this agent",
    next: "send the token of this container's agent",
  },
  BAD_REQUEST: { status: 400, title: "the request cannot be read", next: "mend the named field and ask again" },
  UNSUPPORTED_TYPE: { status: 415, title: "the body is not JSON", next: "send content-type: application/json" },
  BODY_TOO_LARGE: { status: 413, title: "the body is too large", next: "send less at once" },
  NO_SUCH_ROUTE: { status: 404, title: "the agent has no such route", next: "see wire/agent.ts for its routes" },
  NOT_A_REPOSITORY: {
    status: 422,
    title: "not a git repository",
    next: "tidegate repo add <folder with a .git, or a git URL>",
  },
  EMPTY_REPOSITORY: {
    status: 422,
    title: "the repository has no commit",
    next: "git commit --allow-empty -m 'first', then tidegate repo add",
  },
  REPOSITORY_UNREACHABLE: {
    status: 502,
    title: "the repository cannot be reached",
    next: "git ls-remote <url>, then ask again",
  },
  NO_MIRROR: { status: 409, title: "no mirror has been made yet", next: "tidegate repo add <path or url>" },
  NO_SUCH_REF: {
    status: 422,
    title: "the ref does not exist",
    next: "git ls-remote <url> lists them; name one with --ref",
  },
  SETUP_FAILED: {
    status: 422,
    title: "the repository's setup failed",
    next: "run the setup in a fresh clone, mend it, then ask again",
  },
  GIT_FAILED: { status: 500, title: "git failed", next: "read the detail; the agent's log has the command" },
  NO_WORKTREE: { status: 409, title: "the thread has no worktree here", next: "attach first: POST /v1/worktrees" },
  TAKEN_BACK: {
    status: 409,
    title: "what allowed this was taken back",
    next: "attach again: the run was released or taken over meanwhile",
  },
  SLUG_TAKEN: { status: 409, title: "another thread has this slug", next: "name the thread otherwise" },
  STILL_ALIVE: {
    status: 409,
    title: "a process did not end",
    next: "ask again; a process in the kernel's hands ends with its call",
  },
  NO_SUCH_PROC: { status: 404, title: "no process has this id", next: "GET /v1/procs lists them" },
  PROC_CONFLICT: {
    status: 409,
    title: "this process id stands for another command",
    next: "mint a new id for a new command",
  },
  NOT_STARTED: {
    status: 422,
    title: "the command cannot be started",
    next: "check its name, its mode bits and the image's bin folder",
  },
  OFFSET_BEYOND_END: {
    status: 416,
    title: "the offset lies beyond what was written",
    next: "ask from the offset you have really read",
  },
  PATH_REFUSED: {
    status: 403,
    title: "the path is not inside the thread's worktree",
    next: "name a relative path without .., .git or a link that leads out",
  },
  NO_SUCH_FILE: { status: 404, title: "no such file", next: "check the path" },
  NOT_A_FILE: { status: 409, title: "not a regular file", next: "name a file, not a folder, a pipe or a device" },
  FILE_TOO_LARGE: {
    status: 413,
    title: "the file is too large for one call",
    next: "read or write it by a command in the worktree",
  },
  PUSH_REJECTED: {
    status: 409,
    title: "the remote refused the branch",
    next: "fetch and merge the remote's branch in the worktree, then push again",
  },
  PUSH_FAILED: {
    status: 502,
    title: "the push did not reach the remote",
    next: "check the credentials of this machine: git push --dry-run",
  },
  STOPPING: { status: 503, title: "the agent is stopping", next: "ask again once the container is back" },
  INTERNAL: { status: 500, title: "the agent failed", next: "read the agent's log" },
} as const satisfies Record<string, AgentErrorRow>;

export type AgentErrorCode = keyof typeof AGENT_ERRORS;

const codes = Object.keys(AGENT_ERRORS) as [AgentErrorCode, ...AgentErrorCode[]];

/** RFC 9457, with the code and the next thing to do. Unknown codes of a newer agent read as INTERNAL. */
export const agentProblem = z.object({
  type: z.string().optional(),
  title: z.string(),
  status: z.number().int(),
  detail: z.string(),
  code: z.enum(codes).catch("INTERNAL"),
  next: z.string(),
});
export type AgentProblem = z.infer<typeof agentProblem>;

/** The problem document of a code, with what happened in words. */
export function agentProblemOf(code: AgentErrorCode, detail: string): AgentProblem {
  const { status, title, next } = AGENT_ERRORS[code];
  return { type: `urn:tidegate:${code.toLowerCase()}`, title, status, detail, code, next };
}
