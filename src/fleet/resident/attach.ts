// Attach, as the resident carries it out: walks `nextAttach`, performing the one effect that each state names.

import { LIMIT, REAL } from "#core/budgets.ts";
import {
  attachOf,
  nextAttach,
  refusedUntil,
  type AttachAnswer,
  type AttachEffect,
  type AttachFact,
  type ProvisionFailure,
} from "#core/gate.ts";
import type { LookId } from "#core/quiet.ts";
import type { AttachAsk, Registration } from "#core/registration.ts";
import { admitStep, arriveStep, endStep, rowStep, type Look } from "#core/resident.ts";
import { clockOf } from "#core/time.ts";
import { problemAnswer } from "#http/problemAnswer.ts";
import type { AttachBody, Binding } from "#wire/attach.ts";
import { problemIn, problemOf, type Problem } from "#wire/errors.ts";
import type { AgentClient } from "../container/agentClient.ts";
import { registryOf } from "../ports.ts";
import { messageOf, within } from "../root.ts";
import { currentAgent } from "./cycle.ts";
import { streamFlight, takeOff, type Flight, type Leader, type Workspace } from "./flight.ts";
import { release } from "./release.ts";
import { arm, closeLook, flush, flushed, openLook, takeBack, type Resident } from "./resident.ts";

type Say = (line: string) => void;

/** Makes a workspace; `again` is the row of a run that is registered and so has had one, as this attach has written it. */
export type MakeIt = (say: Say, again: Registration | null) => Promise<Workspace>;

/** One attach's own: what is asked of the agent, and what the last question was. */
interface Work extends Leader {
  readonly resident: Resident;
  readonly ask: AttachAsk;
  readonly provision: MakeIt;
  /** The attach of the same run that was under way when this one arrived. */
  leader: Leader | undefined;
  look: LookId | null;
}

/** Takes one of the provisioning slots, in order of arrival. */
async function inSlot<T>({ memory }: Resident, work: () => Promise<T>): Promise<T> {
  if (memory.slotsFree > 0) memory.slotsFree -= 1;
  else await new Promise<void>((resolve) => memory.slotQueue.push(resolve));
  try {
    return await work();
  } finally {
    const next = memory.slotQueue.shift();
    if (next === undefined) memory.slotsFree = Math.min(LIMIT.provisioningSlots, memory.slotsFree + 1);
    else next();
  }
}

type Tree = Awaited<ReturnType<AgentClient["worktree"]>>;

/** The worktree that a registered run has had, without a word to the repository that it came from; none without a mirror. */
async function standingTree(
  agent: AgentClient,
  ask: Parameters<AgentClient["worktree"]>[0],
  say: Say,
): Promise<Tree | undefined> {
  try {
    return await agent.worktree(ask, say);
  } catch (error) {
    if (problemIn(error)?.["agentCode"] !== "NO_MIRROR") throw error;
    return undefined;
  }
}

type Making = Parameters<MakeIt>;

/**
 * The worktree of a thread: container, mirror with the setup of its commit, worktree. Who attaches to a registered run
 * begins where it stands: what was let through before is taken back, so that nothing of an earlier caller comes behind.
 */
async function makeWorkspace(resident: Resident, body: AttachBody, ...[say, again]: Making): Promise<Workspace> {
  const meta = resident.storage.meta();
  if (meta === undefined) throw new Error("the resident has no repository");
  const agent = await currentAgent(resident, again === null ? body.runId : null);
  if (again !== null) await takeBack(resident, agent, again.threadKey, again.seq);
  const { url, setup } = meta;
  const ask = { thread: body.threadKey, setup, ref: body.ref };
  let tree = again === null ? undefined : await standingTree(agent, ask, say);
  if (tree === undefined) {
    await agent.mirror({ url, setup, ref: body.ref }, say);
    tree = await agent.worktree(ask, say);
  }
  resident.storage.writeSlug(body.threadKey, tree.slug);
  const { path, branch, base, head } = tree;
  return { path, branch, base, head };
}

function failureOf(thrown: unknown): ProvisionFailure {
  const problem = problemIn(thrown);
  if (problem === undefined) return { code: "INTERNAL", detail: messageOf(thrown), transient: false };
  return { code: problem.code, detail: problem.detail, transient: problem.code === "ROLLING" };
}

async function askRegistry(work: Work, seal: number | null): Promise<AttachFact> {
  const { resident, ask } = work;
  const look = openLook(resident);
  work.look = look;
  const question = {
    resource: resident.resource,
    runId: ask.runId,
    threadKey: ask.threadKey,
    look,
    parent: ask.parent,
    seal,
    kind: ask.kind,
  };
  try {
    const reply = await within(REAL.requestMs, registryOf(resident.env).look(question));
    if (reply === undefined) throw new Error("it does not answer");
    if (reply.kind === "open") return { kind: "looked", look: { ...reply, asked: seal } };
    closeLook(resident, look, true);
    if (reply.kind === "unknownResident") return { kind: "unknownResident" };
    work.quietBy = reply.quietBy;
    return { kind: "closed", drain: reply.drain };
  } catch (error) {
    resident.root.log("error", "the registry cannot be read: no drain for this run", {
      runId: ask.runId,
      error: messageOf(error),
    });
    return { kind: "looked", look: { kind: "unreadable" } };
  }
}

function writeRow(work: Work, look: Look): AttachFact {
  const { resident, ask } = work;
  const { root, storage } = resident;
  const row = storage.step((store) => rowStep(store, { ask, look }, root.budgets, root.clock.now()));
  if (work.look !== null) closeLook(resident, work.look, row.kind === "written");
  return { kind: "rowed", row };
}

/** A registered run waits for no slot: its work is under way. */
async function provision(work: Work, row: Registration, again: boolean): Promise<AttachFact> {
  work.flight.decide(null);
  const make = (): Promise<Workspace> => work.provision((line) => work.flight.say(line), again ? row : null);
  const { provisioning } = work.resident.memory;
  provisioning.add(work.ask.runId);
  try {
    work.made = await (again ? make() : inSlot(work.resident, make));
    return { kind: "provisioned" };
  } catch (thrown) {
    const why = failureOf(thrown);
    work.resident.root.log("warn", "a workspace was not made", { runId: work.ask.runId, ...why });
    return { kind: "notProvisioned", why };
  } finally {
    provisioning.delete(work.ask.runId);
  }
}

async function perform(work: Work, effect: AttachEffect): Promise<AttachFact> {
  const { resident } = work;
  const { storage } = resident;
  switch (effect.do) {
    case "look":
      return askRegistry(work, effect.seal?.attempt ?? null);
    case "row":
      return writeRow(work, effect.look);
    case "endOld":
      await release(resident, effect.row.runId, { who: "replaced" });
      return { kind: "oldEnded" };
    case "provision":
      return provision(work, effect.row, effect.again);
    case "admit": {
      const { runId, seq } = effect.row;
      return { kind: "admitted", row: storage.step((store) => admitStep(store, runId, seq)) };
    }
    case "drop": {
      const { runId, seq } = effect.row;
      storage.step((store) => endStep(store, runId, seq));
      return { kind: "dropped" };
    }
    case "join":
      return join(work);
    default:
      return arrive(work);
  }
}

/** Judged in one step with joining: whoever is first of its run to arrive leads, and every other one follows it. */
function arrive(work: Work): AttachFact {
  const { resident, ask } = work;
  const { storage, root, memory } = resident;
  const leading = memory.leading.get(ask.runId);
  work.leader = leading === work ? undefined : leading;
  const arrival = storage.step((store) =>
    arriveStep(store, { ask, underway: work.leader !== undefined }, root.clock.now()),
  );
  if (arrival.kind !== "join") memory.leading.set(ask.runId, work);
  return { kind: "arrived", arrival, seal: storage.now().seal };
}

/** Follows the leader to its answer, with its progress and its workspace. */
async function join(work: Work): Promise<AttachFact> {
  const { leader, flight } = work;
  if (leader === undefined) {
    const why: ProvisionFailure = { code: "ROLLING", detail: "an attach of this run was cut off", transient: true };
    return { kind: "joined", answer: { kind: "failed", why } };
  }
  leader.flight.listen((line) => flight.say(line));
  const begun = leader.flight.refused.then((refusal) => {
    if (refusal === null) flight.decide(null);
  });
  const answer = await leader.flight.answered;
  await begun;
  work.made = leader.made;
  work.quietBy = leader.quietBy;
  return { kind: "joined", answer };
}

function drainingProblem(answer: Extract<AttachAnswer, { kind: "draining" }>, quietBy: number | null): Problem {
  const { drain, seal } = answer;
  const until = refusedUntil(answer) ?? 0;
  const record = drain ?? {
    id: seal?.drainId ?? "unknown",
    until,
    by: "a deploy",
    reason: "sealed; the registry cannot be read",
    deploy: true,
    phase: "swapping",
  };
  const detail = `draining: ${record.by} — ${record.reason}, until ${clockOf(until)}`;
  return problemOf("DRAINING", detail, { error: detail, draining: record, quietBy });
}

/** What an older generation of a run's caller is told, whatever it asks for. */
export function oldGeneration({ generation, runId }: Registration): Problem {
  return problemOf("OLD_GENERATION", `generation ${generation} of run ${runId} is attached`);
}

function problemOfAnswer(answer: Exclude<AttachAnswer, { kind: "admitted" }>, work: Work): Problem {
  switch (answer.kind) {
    case "draining":
      return drainingProblem(answer, work.quietBy);
    case "threadBusy":
      return problemOf(
        "THREAD_BUSY",
        `run ${answer.row.runId} holds ${answer.row.threadKey}, its lease ends ${clockOf(answer.row.leaseUntil)}`,
        { runId: answer.row.runId },
      );
    case "oldGeneration":
      return oldGeneration(answer.row);
    case "leaseSpent":
      return problemOf("LEASE_SPENT", `run ${work.ask.runId}`);
    case "unknownResident":
      return problemOf("NO_SUCH_RESIDENT", work.resident.resource);
    case "failed":
      return problemOf(codeOf(answer.why), answer.why.detail);
  }
}

type KnownFailure = "ROLLING" | "NOT_A_REPOSITORY" | "NO_SUCH_REF" | "SETUP_FAILED" | "AGENT_FAILED" | "INTERNAL";
const KNOWN: readonly KnownFailure[] = ["ROLLING", "NOT_A_REPOSITORY", "NO_SUCH_REF", "SETUP_FAILED", "AGENT_FAILED"];
const codeOf = (why: ProvisionFailure): KnownFailure => KNOWN.find((known) => known === why.code) ?? "INTERNAL";

function bindingOf(work: Work, row: Registration, again: boolean): Binding {
  const { root, resource, memory } = work.resident;
  const made = work.made ?? { path: "", branch: "", base: "", head: "" };
  const { runId, threadKey, generation, kind, leaseUntil } = row;
  return {
    resource,
    runId,
    threadKey,
    generation,
    kind,
    again,
    leaseUntil,
    fleetGeneration: root.settings.generation,
    workspace: made.path,
    branch: made.branch,
    base: made.base,
    head: made.head,
    // As read inside the container: what its platform says of it is hearsay.
    bootId: memory.inside?.bootId ?? "",
    image: memory.inside?.imageId ?? "",
    admittedAt: root.clock.now(),
  };
}

async function fly(work: Work): Promise<void> {
  const { resident, ask, flight } = work;
  let state = attachOf(ask);
  while (state.effect.do !== "answer") {
    state = nextAttach(state, await perform(work, state.effect));
    flush(resident);
    arm(resident);
  }
  const { answer } = state.effect;
  if (answer.kind === "admitted") await flushed(resident);
  flight.answer(answer);
  if (answer.kind === "admitted") return flight.land({ binding: bindingOf(work, answer.row, answer.again) });
  const problem = problemOfAnswer(answer, work);
  flight.decide({ answer, problem });
  flight.land({ problem });
}

/** A row that no attach works on any more is not in flight. */
function dropUnfinished({ storage }: Resident, runId: string): void {
  const row = storage.now().rows.find((one) => one.runId === runId && one.state === "attaching");
  if (row !== undefined) storage.step((store) => endStep(store, runId, row.seq));
}

/** An attach that broke answers so, and leaves no row behind. */
function broke(work: Work, error: unknown): void {
  const { resident, ask, flight } = work;
  const problem = problemIn(error) ?? problemOf("INTERNAL", messageOf(error));
  resident.root.log("error", "an attach broke", { runId: ask.runId, error: messageOf(error) });
  if (work.leader === undefined) dropUnfinished(resident, ask.runId);
  if (work.look !== null) closeLook(resident, work.look, false);
  const answer: AttachAnswer = {
    kind: "failed",
    why: { code: problem.code, detail: problem.detail, transient: false },
  };
  flight.answer(answer);
  flight.decide({ answer, problem });
  flight.land({ problem });
}

/** Begins one attach; a second one of the same run follows the one under way, from its look to its last line. */
export function beginAttach(resident: Resident, ask: AttachAsk, makeIt: MakeIt): Flight<Binding> {
  const flight = takeOff<Binding>();
  const work: Work = {
    resident,
    ask,
    threadKey: ask.threadKey,
    provision: makeIt,
    flight,
    leader: undefined,
    look: null,
    made: null,
    quietBy: null,
  };
  const { leading } = resident.memory;
  const flown = fly(work)
    .catch((error: unknown) => broke(work, error))
    .finally(() => {
      if (leading.get(ask.runId) === work) leading.delete(ask.runId);
    });
  resident.state.waitUntil(flown);
  return flight;
}

/** The thread that a run of this resident works in, from the first step of its attach on. */
function threadOf({ storage, memory }: Resident, runId: string): string | undefined {
  return storage.now().rows.find((row) => row.runId === runId)?.threadKey ?? memory.leading.get(runId)?.threadKey;
}

/** `POST /attach`: a refusal is a real status, decided before the first byte; what is admitted is streamed. */
export async function attach(resident: Resident, body: AttachBody): Promise<Response> {
  const { runId, threadKey, generation, runKind, remainingMs, parent, replace } = body;
  const ask: AttachAsk = {
    runId,
    threadKey,
    generation,
    kind: parent === null ? "run" : "child",
    runKind,
    remainingMs,
    parent,
    replace,
  };
  const thread = threadOf(resident, runId) ?? threadKey;
  if (thread !== threadKey) {
    return problemAnswer(
      problemOf("BAD_FIELD", `threadKey: run ${runId} works in thread ${thread}`, { field: "threadKey" }),
    );
  }
  const flight = beginAttach(resident, ask, (say, again) => makeWorkspace(resident, body, say, again));
  const refusal = await flight.refused;
  if (refusal !== null) return problemAnswer(refusal.problem);
  const lines = streamFlight(flight, (landing) =>
    "binding" in landing ? { type: "binding", ...landing } : { type: "error", ...landing },
  );
  return new Response(lines, { headers: { "content-type": "application/x-ndjson" } });
}
