// M4 and the shape of G1: one process has many runs waiting behind its one watch; the fleet reopens, and the clock stops
// when the last of them is admitted. After each trial the registry is asked whether all are committed, in their order.

import { randomUUID } from "node:crypto";
import { admittedSchema, waitingSchema, type Order } from "../actor.ts";
import { ABBA, runBlocks, type ArmName } from "../blocks.ts";
import { machineNs, microseconds } from "../caller.ts";
import type { Child } from "../child.ts";
import { MANY, FEW } from "../rows.ts";
import type { BenchStack } from "../stack.ts";
import { close, detachAll, open, type Part, type RunOf } from "./part.ts";

const RESIDENTS = Array.from({ length: 8 }, (_, n) => `repo:bench/r${n + 1}`);

interface Trial {
  readonly first: number;
  readonly last: number;
}

/** Throws unless every run is in flight, and at each door nobody's row is older than that of one who came before. */
async function provenInOrder({ caller: { fleet } }: BenchStack, arrived: readonly RunOf[]): Promise<void> {
  const { runs } = await fleet.residents();
  const since = new Map(runs.filter((run) => run.state === "running").map((run) => [run.runId, run.since]));
  const newest = new Map<string, number>();
  for (const { runId, resource } of arrived) {
    const at = since.get(runId);
    if (at === undefined) throw new Error(`${runId} was admitted and is not in flight`);
    if (at < (newest.get(resource) ?? 0)) throw new Error(`${runId} was admitted before one that had come earlier`);
    newest.set(resource, at);
  }
}

async function reopening(stack: BenchStack, process: Child, count: number): Promise<Trial> {
  const { fleet } = stack.caller;
  const drainId = `bench-${randomUUID()}`;
  await close(fleet, drainId, false);
  const order: Order = { do: "wait", resources: RESIDENTS, count };
  process.send(order);
  await process.next(waitingSchema);
  const from = machineNs();
  await open(fleet, drainId);
  const { firstAt, lastAt, runs } = await process.next(admittedSchema);
  await provenInOrder(stack, runs);
  await detachAll(fleet, runs);
  return { first: microseconds(from, firstAt), last: microseconds(from, lastAt) };
}

/** M4 of the table of goals, and a tenth of G1. */
export const manyWaiting: Part = {
  quick: { blocks: 2, budgetMs: 30_000 },
  full: { blocks: 12, budgetMs: 420_000 },
  async measure(session, { blocks, budgetMs }) {
    session.say("M4: a stack with 8 residents starts");
    const stack = await session.stack("M4", session.builds.gate, RESIDENTS);
    const process = session.actor(stack, false);
    const firstStarts: number[] = [];
    const run = async (arm: ArmName): Promise<number[]> => {
      const trial = await reopening(stack, process, arm === "b" ? FEW : MANY);
      if (arm !== "b") firstStarts.push(trial.first);
      session.say(`M4: ${arm === "b" ? FEW : MANY} were let in after ${(trial.last / 1e6).toFixed(2)} s`);
      return [trial.last];
    };
    session.say("M4: warm-up");
    await run("b");
    const from = performance.now();
    await run("b");
    const expectedMs = (performance.now() - from) * (2 + (2 * MANY) / FEW);
    const { signal } = session;
    const onBlock = (done: number): void => session.say(`M4: block ${done} of ${blocks}`);
    const measured = await runBlocks({ order: ABBA, blocks, budgetMs, run, signal, onBlock }, expectedMs);
    if (measured.length === 0) session.say("M4: not measured, this machine is too slow or too busy now for one block");
    await process.end();
    await stack.end();
    return { blocks: measured, firstStarts };
  },
};
