// Cycles, as the resident carries them out: walks `nextCycle` over its container. One at a time; every provisioning waits
// for its end, and nothing is restarted under a registration but the asking attach's own.

import { cycleOf, nextCycle, type CycleAsk, type CycleEffect, type CycleFact } from "#core/cycle.ts";
import { cycledStep, cycleStep } from "#core/resident.ts";
import type { ReconcileWord } from "#core/reconcile.ts";
import { raise } from "#wire/errors.ts";
import type { Ended } from "#wire/host.ts";
import type { AgentClient } from "../container/agentClient.ts";
import { messageOf } from "../root.ts";
import { agentOf, flush, type Resident } from "./resident.ts";

/** Processes of runs that ended with a container; its own agent is none. */
const runsEndedWith = ({ processes }: Ended): number => processes.filter((one) => one.role === "inside").length;

/** A container that an attach or a rebuild is about to start is not one that nobody needs: what it says then is the word. */
const absence = ({ storage }: Resident): CycleFact =>
  storage.now().rows.some((row) => row.state === "attaching")
    ? { kind: "unseen", why: "its container is being made" }
    : { kind: "absent" };

async function probe(resident: Resident): Promise<CycleFact> {
  try {
    const agent = await agentOf(resident, false);
    const { inside } = resident.memory;
    if (agent === undefined || inside === null) return absence(resident);
    const procs = await agent.procs();
    const live = procs.filter((proc) => proc.end === null).length;
    resident.memory.live = live;
    return { kind: "inside", inside: { image: inside.imageId, bootId: inside.bootId, live } };
  } catch (error) {
    return { kind: "unseen", why: messageOf(error) };
  }
}

/** Workspaces that others are having made; one may go on under a row that was ended meanwhile. */
export const othersMaking = ({ memory }: Resident, own: string | null): number =>
  [...memory.provisioning].filter((runId) => runId !== own).length;

async function restart(resident: Resident, bootId: string): Promise<CycleFact> {
  const { container, memory, root } = resident;
  try {
    memory.inside = null;
    const { ended } = await container.restart(bootId);
    const killed = runsEndedWith(ended);
    root.log("info", "a container was restarted", { was: ended.imageId, bootId: ended.bootId, killed });
    return { kind: "restarted", killed };
  } catch (error) {
    return { kind: "unseen", why: messageOf(error) };
  }
}

async function perform(resident: Resident, ask: CycleAsk, effect: CycleEffect): Promise<CycleFact> {
  const { storage } = resident;
  switch (effect.do) {
    case "begin": {
      const live = effect.inside.live + othersMaking(resident, ask.own);
      return storage.step((store) => cycleStep(store, { own: ask.own, live }));
    }
    case "restart":
      return restart(resident, effect.inside.bootId);
    case "end":
      storage.step((store) => ({ store: cycledStep(store), found: null }));
      return { kind: "ended" };
    default:
      return probe(resident);
  }
}

async function walk(resident: Resident, ask: CycleAsk): Promise<ReconcileWord> {
  let state = cycleOf(ask);
  while (state.effect.do !== "answer") state = nextCycle(state, await perform(resident, ask, state.effect));
  const { word } = state.effect;
  if (word.state !== "current" && word.state !== "inactive") resident.root.log("info", "cycle", { ...word });
  return word;
}

/** Does one thing to the whole container at a time; whoever provisions waits for its end. */
export function alone<T>({ memory }: Resident, act: () => Promise<T>): Promise<T> {
  const turn = (memory.alone ?? Promise.resolve()).then(act);
  const settled = turn.then(
    () => undefined,
    () => undefined,
  );
  memory.alone = settled;
  void settled.then(() => {
    if (memory.alone === settled) memory.alone = null;
  });
  return turn;
}

/**
 * Brings the container onto the image that this Worker pins, if nobody works in it (protocol.md, "Reconcile, report,
 * hold"). Who asks meanwhile waits for the one under way and then looks for itself.
 */
export async function cycle(
  resident: Resident,
  ask: { readonly wanted: string | null; readonly own: string | null },
): Promise<ReconcileWord> {
  const pinned = resident.root.settings.build.image;
  const word = await alone(resident, () => walk(resident, { ...ask, pinned }));
  flush(resident);
  return word;
}

/**
 * The agent of a container that runs, for a provisioning. `own`: the new run whose attach asks; a container on another
 * image is then restarted first, unless somebody else works in it.
 */
export async function currentAgent(resident: Resident, own: string | null): Promise<AgentClient> {
  const { memory, root } = resident;
  while (memory.alone !== null) await memory.alone;
  let agent = await agentOf(resident, true);
  if (own !== null && memory.inside?.imageId !== root.settings.build.image) {
    await cycle(resident, { wanted: null, own });
    agent = await agentOf(resident, true);
  }
  return agent ?? raise("ROLLING", "the container did not start");
}

/** After a release, at a refresh: a container that was deferred is looked at again. Nobody waits for it. */
export function cycleLater(resident: Resident): void {
  const { memory, root, storage, state } = resident;
  const { inside } = memory;
  if (memory.gone || inside === null || inside.imageId === root.settings.build.image) return;
  if (storage.now().rows.length > 0) return;
  state.waitUntil(
    cycle(resident, { wanted: null, own: null }).catch((error: unknown) =>
      root.log("warn", "the container could not be brought onto the image", { error: messageOf(error) }),
    ),
  );
}
