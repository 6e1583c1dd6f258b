// The routes of the agent and of the host, in words. Which routes there are is read out of the source; the generator
// stops when one has no words here.

import * as z from "zod";
import * as agent from "#wire/agent.ts";
import * as host from "#wire/host.ts";

/** One route: what it does, what it asks (in a body or a query), what it answers. */
export interface ApiRoute {
  readonly says: string;
  readonly asks: z.ZodType | null;
  readonly answers: z.ZodType;
}

const threadQuery = agent.fileQuery.pick({ thread: true }).partial();
const queryAndBody = agent.fileQuery.extend(agent.filePut.shape);

/** The server inside a container. */
export const AGENT_ROUTES: Readonly<Record<string, ApiRoute>> = {
  "GET /v1/whoami": {
    says: "The image as read inside, and this start of the agent.",
    asks: null,
    answers: agent.whoAmI,
  },
  "POST /v1/mirror": {
    says: "Makes or refreshes the mirror, and prepares the ref's commit when there is a setup; streamed.",
    asks: agent.mirrorRequest,
    answers: agent.mirrorLine,
  },
  "POST /v1/worktrees": {
    says: "One worktree a thread, idempotent; its branch goes on where an earlier run left it; streamed.",
    asks: agent.worktreeRequest,
    answers: agent.worktreeLine,
  },
  "GET /v1/worktrees": { says: "Every worktree, or one thread's.", asks: threadQuery, answers: agent.worktreeList },
  "POST /v1/worktrees/:slug/keep": {
    says: "What a run leaves: its branch, and whether files are uncommitted.",
    asks: null,
    answers: agent.keepResult,
  },
  "DELETE /v1/worktrees/:slug": {
    says: "Ends the thread's processes, then takes its worktree away; the branch stays.",
    asks: null,
    answers: agent.removeResult,
  },
  "POST /v1/sweep": {
    says: "Takes away worktrees that are idle, except those of registered runs.",
    asks: agent.sweepRequest,
    answers: agent.sweepResult,
  },
  "POST /v1/threads/:slug/stop": {
    says: "Ends every process of a thread, by group and by sweep.",
    asks: agent.stopRequest,
    answers: agent.stopResult,
  },
  "POST /v1/fence": {
    says: "Takes back what was allowed of a thread by a ticket up to this one: it is refused with TAKEN_BACK from now on.",
    asks: agent.fenceRequest,
    answers: agent.fenceResult,
  },
  "POST /v1/procs": {
    says: "Starts a process once by its id; asked again it answers the same process.",
    asks: agent.procRequest,
    answers: agent.procView,
  },
  "GET /v1/procs": { says: "Every process on disk, or one thread's.", asks: threadQuery, answers: agent.procList },
  "GET /v1/procs/:id": { says: "One process, alive or ended.", asks: null, answers: agent.procView },
  "POST /v1/procs/:id/stop": {
    says: "Ends one process with its family.",
    asks: agent.stopRequest,
    answers: agent.stopResult,
  },
  "GET /v1/procs/:id/output": {
    says: "Its output from two offsets; with `follow=1` until its end; streamed.",
    asks: agent.outputQuery,
    answers: agent.outputLine,
  },
  "GET /v1/files": {
    says: "One regular file inside the thread's worktree.",
    asks: agent.fileQuery,
    answers: agent.fileContent,
  },
  "PUT /v1/files": {
    says: "Writes one. `thread` and `path` are in the query.",
    asks: queryAndBody,
    answers: agent.filePutResult,
  },
  "POST /v1/push": {
    says: "Pushes the thread's branch, to where the mirror came from or to `remote`.",
    asks: agent.pushRequest,
    answers: agent.pushResult,
  },
};

const ended = z.object({ ended: host.endedSchema });

/** What the fleet Worker may ask of the host. */
export const CONTAINER_ROUTES: Readonly<Record<string, ApiRoute>> = {
  "GET /containers": {
    says: "Every container that was started and not removed.",
    asks: null,
    answers: host.containerListSchema,
  },
  "POST /containers/look": {
    says: "One container as it is now.",
    asks: host.resourceAskSchema,
    answers: host.containerSchema,
  },
  "POST /containers/start": {
    says: "Starts it unless it runs; two at once are one start.",
    asks: host.resourceAskSchema,
    answers: host.startedSchema,
  },
  "POST /containers/stop": { says: "Ends it and everything inside.", asks: host.resourceAskSchema, answers: ended },
  "POST /containers/roll": {
    says: "Stops it and starts it again; with a boot id only if that boot is the one that runs.",
    asks: host.rollAskSchema,
    answers: host.rolledSchema,
  },
  "POST /containers/renew": {
    says: "Ends it and sets its data aside, so that the next start begins with nothing.",
    asks: host.resourceAskSchema,
    answers: ended,
  },
  "POST /containers/inside": {
    says: "The processes inside.",
    asks: host.resourceAskSchema,
    answers: host.insideListSchema,
  },
  "POST /containers/remove": {
    says: "Ends it and removes its folder, the mirror and every worktree with it.",
    asks: host.resourceAskSchema,
    answers: ended,
  },
};

/** What the command line and the deploy runner may ask of the supervisor. */
export const CONTROL_ROUTES: Readonly<Record<string, ApiRoute>> = {
  "GET /control/status": { says: "What this supervisor is and does now.", asks: null, answers: host.statusSchema },
  "POST /control/swap": {
    says: "Swaps, joins the swap of the same drain, or answers what that swap ended with.",
    asks: host.swapAskSchema,
    answers: host.swapAnswerSchema,
  },
  "POST /control/down": {
    says: "Ends the stack; refused while runs are in flight unless `now`.",
    asks: host.downAskSchema,
    answers: host.downAnswerSchema,
  },
  "POST /control/containers/roll": {
    says: "Rolls one container, as a platform would.",
    asks: host.resourceAskSchema,
    answers: host.rolledSchema,
  },
  "POST /control/containers/inside": {
    says: "The processes inside one container.",
    asks: host.resourceAskSchema,
    answers: host.insideListSchema,
  },
};
