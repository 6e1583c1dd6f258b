// One error class with a code; the HTTP layer alone turns it into a status.

import { agentProblemOf, type AgentErrorCode, type AgentProblem } from "#wire/agentErrors.ts";

/** A refusal the caller can tell apart by its code. The detail never holds a credential. */
export class AgentError extends Error {
  readonly code: AgentErrorCode;

  constructor(code: AgentErrorCode, detail: string) {
    super(detail);
    this.name = "AgentError";
    this.code = code;
  }
}

/** The problem document of anything thrown; what is no refusal of ours is INTERNAL, without its words. */
export function problemOf(error: unknown): AgentProblem {
  if (error instanceof AgentError) return agentProblemOf(error.code, error.message);
  return agentProblemOf("INTERNAL", "an unexpected failure; the agent's log names it");
}

/** The errno name of a system error, such as ENOENT. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}
