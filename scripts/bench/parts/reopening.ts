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
  /** How many got no answer at their turn. */
  readonly away: number;
}

interface Arrived extends RunOf {
  readonly away: boolean;
}

/**
 * Throws unless every run is in flight, and at each door nobody's row is older than that of one who came before. A run
 * that got no answer at its turn has come again later, and its own place says nothing.
 */
async function provenInOrder({ caller: { fleet } }: BenchStack, arrived: readonly Arrived[]): Promise<void> {
  const { runs } = await fleet.residents();
  const since = new Map(runs.filter((run) => run.state === "running").map((run) => [run.runId, run.since]));
  const newest = new Map<string, number>();
  for (const { runId, resource, away } of arrived) {
    const at = since.get(runId);
    if (at === undefined) throw new Error(`${runId} was admitted and is not in flight`);
    const before = (newest.get(resource) ?? at) - at;
    if (before > 0 && !away) throw new Error(`${runId} was let in ${before} ms before one that had come earlier`);
    if (!away) newest.set(resource, at);
  }
}

async function reopening(stack: BenchStack, waiters: Child, count: number): Promise<Trial> {
  const { fleet } = stack.caller;
  const drainId = `bench-${randomUUID()}`;
  await close(fleet, drainId, false);
  const order: Order = { do: "wait", resources: RESIDENTS, count };
  waiters.send(order);
  await waiters.next(waitingSchema);
  const from = machineNs();
  await open(fleet, drainId);
  const { firstAt, lastAt, runs } = await waiters.next(admittedSchema);
  await provenInOrder(stack, runs);
  const away = runs.filter((one) => one.away).length;
  await detachAll(fleet, runs);
  return { first: microseconds(from, firstAt), last: microseconds(from, lastAt), away };
}

/** M4 of the table of goals, and a tenth of G1. */
export const manyWaiting: Part = {
  quick: { order: ["b", "a", "b"], blocks: 1, budgetMs: 35_000 },
  full: { order: ABBA, blocks: 12, budgetMs: 420_000 },
  async measure(session, { order, blocks, budgetMs }) {
    session.say("M4: a stack with 8 residents starts");
    const stack = await session.stack("M4", session.builds.gate, RESIDENTS);
    const waiters = session.actor(stack, false);
    const firstStarts: number[] = [];
    const run = async (arm: ArmName): Promise<number[]> => {
      const trial = await reopening(stack, waiters, arm === "b" ? FEW : MANY);
      if (arm !== "b") firstStarts.push(trial.first);
      const again = trial.away > 0 ? `, ${trial.away} of them had to ask again` : "";
      session.say(`M4: ${arm === "b" ? FEW : MANY} were let in after ${(trial.last / 1e6).toFixed(2)} s${again}`);
      return [trial.last];
    };
    session.say("M4: warm-up");
    await run("b");
    const from = performance.now();
    await run("b");
    const expectedMs = (performance.now() - from) * order.reduce((all, arm) => all + (arm === "b" ? 1 : MANY / FEW), 0);
    const { signal } = session;
    const onBlock = (done: number): void => session.say(`M4: block ${done} of ${blocks}`);
    const measured = await runBlocks({ order, blocks, budgetMs, run, signal, onBlock }, expectedMs);
    if (measured.length === 0) session.say("M4: not measured, this machine is too slow or too busy now for one block");
    await waiters.end();
    await stack.end();
    return { blocks: measured, firstStarts };
  },
};
