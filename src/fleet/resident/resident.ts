// What a resident's parts share. Memory here (questions under way, attaches under way, where the agent is) belongs to one
// boot of the object; what must outlive it is in storage. Every changed row leaves through the outbox.

import { CLOCK, LIMIT, REAL } from "#core/budgets.ts";
import { wordOf, type LookId } from "#core/quiet.ts";
import { isSuspect, nextLeaseEnd } from "#core/registration.ts";
import { toldStep } from "#core/resident.ts";
import type { Running } from "#wire/host.ts";
import { agentClient, type AgentClient } from "../container/agentClient.ts";
import type { ContainerPort } from "../container/containerPort.ts";
import { registryOf, type Report } from "../ports.ts";
import { messageOf, within, type Env, type Root } from "../root.ts";
import type { Leader } from "./flight.ts";
import type { ResidentStorage } from "./store.ts";

export interface Resident {
  readonly env: Env;
  readonly root: Root;
  readonly state: DurableObjectState;
  readonly storage: ResidentStorage;
  readonly resource: string;
  readonly container: ContainerPort;
  readonly memory: Memory;
}

/** What one boot of the object remembers. */
export interface Memory {
  looks: number;
  readonly openLooks: Set<number>;
  /** The attach that leads, by its run. */
  readonly leading: Map<string, Leader>;
  running: Running | null;
  /** What was read inside the container of this boot id. */
  inside: { readonly imageId: string; readonly bootId: string } | null;
  /** Runs whose workspaces are being made now; a row may have gone from under one. */
  readonly provisioning: Set<string>;
  /** What is being done to the whole container, such as a restart; every provisioning waits for its end. */
  alone: Promise<void> | null;
  slotsFree: number;
  readonly slotQueue: (() => void)[];
  /** The word on its way to the registry. */
  flushing: Promise<void> | null;
  /** A question was answered without a row: the registry still counts it until it is told. */
  owesWord: boolean;
  live: number;
  /** What the alarm is set for, so that it is set only when that changes. */
  armedAt: number | null;
  /** A spent lease could not be ended: not before then is it tried again. */
  leaseRetryAt: number | null;
  /** The resident was taken away: nothing is written or armed for it any more. */
  gone: boolean;
}

/** The memory of a boot that has just begun. */
export const newMemory = (): Memory => ({
  looks: 0,
  openLooks: new Set(),
  leading: new Map(),
  running: null,
  inside: null,
  provisioning: new Set(),
  alone: null,
  slotsFree: LIMIT.provisioningSlots,
  slotQueue: [],
  flushing: null,
  owesWord: false,
  live: 0,
  armedAt: null,
  leaseRetryAt: null,
  gone: false,
});

/** Numbers a question of this boot and keeps it open until `closeLook`. */
export function openLook({ memory, storage }: Resident): LookId {
  memory.looks += 1;
  memory.openLooks.add(memory.looks);
  return { incarnation: storage.now().incarnation, n: memory.looks };
}

/** The question's attach has its row, or will never have one. */
export function closeLook(resident: Resident, look: LookId, rowed: boolean): void {
  resident.memory.openLooks.delete(look.n);
  if (!rowed) resident.memory.owesWord = true;
  flush(resident);
}

/** This resident's word as of now. */
export function reportOf({ storage, memory, resource }: Resident, suspects: readonly string[] | null): Report {
  const looks = { last: memory.looks, open: [...memory.openLooks] };
  const { inside } = memory;
  return {
    word: wordOf(resource, storage.now(), looks),
    ops: memory.live,
    image: inside?.imageId ?? null,
    bootId: inside?.bootId ?? null,
    suspects,
  };
}

async function send(resident: Resident): Promise<void> {
  const { storage, memory, env } = resident;
  do {
    memory.owesWord = false;
    const report = reportOf(resident, null);
    await registryOf(env).report(report);
    if (memory.gone) return;
    const { incarnation, seq } = report.word;
    storage.step((store) => ({ store: toldStep(store, incarnation, seq), found: null }));
  } while (memory.owesWord || storage.now().told < storage.now().seq);
}

/** Empties the outbox: sends until the registry has the newest word. What cannot be sent now is sent by the alarm. */
export function flush(resident: Resident): void {
  const { memory, storage, state, root } = resident;
  const pending = memory.owesWord || storage.now().told < storage.now().seq;
  if (!pending || memory.flushing !== null || memory.gone) return;
  const sent = send(resident)
    .catch((error: unknown) => {
      memory.owesWord = true;
      root.log("warn", "the registry did not take a word", { error: messageOf(error) });
    })
    .finally(() => {
      memory.flushing = null;
      arm(resident);
    });
  memory.flushing = sent;
  state.waitUntil(sent);
}

/** Waits until the registry has the newest word, so that whoever is answered now finds it there; not for long, and not for ever. */
export async function flushed(resident: Resident): Promise<void> {
  flush(resident);
  if (resident.memory.flushing !== null) await within(REAL.connectMs, resident.memory.flushing);
}

/** Arms the one alarm for what is due first: a lease's end, a full outbox that nobody is emptying, the sweep of worktrees. */
export function arm({ storage, root, state, memory }: Resident): void {
  if (memory.gone) return;
  const now = root.clock.now();
  const store = storage.now();
  const full = memory.flushing === null && (store.told < store.seq || memory.owesWord);
  const leaseEnd = nextLeaseEnd(store.rows);
  const leaseAt = leaseEnd === null ? null : Math.max(leaseEnd, memory.leaseRetryAt ?? leaseEnd);
  const due = [leaseAt, full ? now + CLOCK.outboxRetryMs : null, storage.sweepAt()].filter((at) => at !== null);
  const at = due.length === 0 ? null : Math.max(now, Math.min(...due));
  if (at === null || at === memory.armedAt) return;
  memory.armedAt = at;
  state.waitUntil(state.storage.setAlarm(root.clock.realAt(at)));
}

/** Reads from inside which image and boot a container is, once a boot, and owes the registry the word of it. */
async function identify({ memory }: Resident, running: Running, agent: AgentClient): Promise<void> {
  if (memory.inside?.bootId === running.bootId) return;
  memory.inside = null;
  const { imageId, bootId } = await agent.whoAmI();
  memory.inside = { imageId, bootId };
  memory.owesWord = true;
}

/** The agent of the running container; started when it is not there and `start` says so, else undefined. */
export async function agentOf(resident: Resident, start: boolean): Promise<AgentClient | undefined> {
  const { container, memory } = resident;
  const found = start ? await container.ensure() : await container.look();
  memory.running = found.state === "running" ? found : null;
  if (found.state !== "running") {
    memory.inside = null;
    return undefined;
  }
  const agent = agentClient(container, found);
  await identify(resident, found, agent);
  return agent;
}

/** Takes back what was let through of a thread up to this ticket: what of it is still on its way does nothing any more. */
export async function takeBack({ root }: Resident, agent: AgentClient, threadKey: string, seq: number): Promise<void> {
  if (await agent.takeBack(threadKey, seq)) return;
  root.log("warn", "the agent is of an older image and takes nothing back", { threadKey, seq });
}

/** Looks into the container: which rows have no process left. Null when it cannot be seen. */
export async function suspectsOf(resident: Resident): Promise<readonly string[] | null> {
  const { storage, root, memory } = resident;
  try {
    const agent = await agentOf(resident, false);
    const procs = agent === undefined ? [] : await agent.procs();
    const live = procs.filter((proc) => proc.end === null);
    memory.live = live.length;
    const now = root.clock.now();
    const aliveIn = (threadKey: string): number => live.filter((proc) => proc.thread === threadKey).length;
    return storage
      .now()
      .rows.filter((row) => isSuspect(row, { ops: 0, processes: aliveIn(row.threadKey) }, now))
      .map((row) => row.runId);
  } catch (error) {
    root.log("warn", "the container cannot be seen", { error: messageOf(error) });
    return null;
  }
}
