// The routes of a run in flight. The resident says, in one step, that the run is registered and where its agent is; the
// bytes then go between the caller and the agent, and no object holds a stream open.

import { LIMIT } from "#core/budgets.ts";
import { mayStartIn } from "#core/resident.ts";
import { execBodySchema, opBodySchema, readBodySchema, writeBodySchema, type ExecBody } from "#wire/attach.ts";
import { problemIn, raise } from "#wire/errors.ts";
import { parsed } from "#wire/parse.ts";
import { agentClient, type AgentClient } from "../container/agentClient.ts";
import { hostContainer } from "../container/containerPort.ts";
import type { Ticket, TicketAsk } from "../ports.ts";
import type { Env, Root } from "../root.ts";
import { askResident } from "./objects.ts";

type OfRun = TicketAsk & { readonly resource: string };

async function reach(env: Env, root: Root, run: OfRun): Promise<{ agent: AgentClient; ticket: Ticket }> {
  const { resource, threadKey, runId, generation } = run;
  const reply = await askResident(env, resource, (resident) => resident.ticket({ threadKey, runId, generation }));
  if (!reply.ok) return raise(reply.error.code, reply.error.detail);
  return { agent: agentClient(hostContainer(env, root, resource), reply.value), ticket: reply.value };
}

async function begin(agent: AgentClient, body: ExecBody): Promise<void> {
  const { procId: id, threadKey: thread, command, env } = body;
  if (command === null) await agent.proc(id);
  else await agent.start({ id, thread, command, env: { ...env, TIDEGATE_RUN: body.runId } });
}

/** `POST /exec`: starts once by its id, or finds it when no command is given, and streams the output from these offsets. */
export async function exec(env: Env, root: Root, raw: unknown, signal: AbortSignal): Promise<Response> {
  const body = parsed(execBodySchema, raw);
  const { agent, ticket } = await reach(env, root, body);
  // The ticket is of one boot: its agent is the one that is judged here, or it is gone.
  if (body.command !== null && !mayStartIn(ticket.bootId, body.bootId))
    raise(
      "CONTAINER_REPLACED",
      `process ${body.procId} was to begin in boot ${body.bootId}, and this is ${ticket.bootId}`,
    );
  await begin(agent, body);
  const output = await agent.output(body.procId, { out: body.out, err: body.err }, signal);
  return new Response(output.body, { headers: { "content-type": "application/x-ndjson" } });
}

/** `POST /op`: stop, push or status of a run in flight. */
export async function op(env: Env, root: Root, raw: unknown): Promise<Response> {
  const body = parsed(opBodySchema, raw);
  const { agent, ticket } = await reach(env, root, body);
  const live = (await agent.procs()).filter((proc) => proc.thread === body.threadKey && proc.end === null);
  const processes = live.map((proc) => ({ id: proc.id, pid: proc.pid ?? 0, command: proc.argv.join(" ") }));
  if (body.op === "stop") await agent.stopThread(ticket.slug);
  const said =
    body.op === "push"
      ? await agent.push(body.threadKey).then(({ branch, remote }) => `${branch} pushed to ${remote}`)
      : "";
  const work = await agent
    .keep(ticket.slug)
    .catch((error: unknown) => (problemIn(error) === undefined ? raise("INTERNAL", "keep") : null));
  return Response.json({ op: body.op, processes, work, said });
}

/** `POST /read`: one file of the thread's worktree, also after its run: what is kept can be read. */
export async function read(env: Env, root: Root, raw: unknown): Promise<Response> {
  const body = parsed(readBodySchema, raw);
  const { agent } = await reach(env, root, { ...body, runId: null, generation: null });
  const { data } = await agent.read(body.threadKey, body.path);
  return Response.json({ data });
}

/** `POST /write`: one file of the thread's worktree. */
export async function write(env: Env, root: Root, raw: unknown): Promise<Response> {
  const body = parsed(writeBodySchema, raw);
  const { agent } = await reach(env, root, body);
  const live = await agent.write(body.threadKey, body.path, body.data);
  return Response.json({ data: body.data, live });
}

/** A file travels as base64 inside JSON. */
export const FILE_BODY_BYTES = Math.ceil(LIMIT.fileBytes * 1.4);
