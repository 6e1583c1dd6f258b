// M8: what the gate costs an attach while nothing is closed. Three stacks stand at once: two equal ones with the gate, and
// one whose Worker was built without the registry's question.

import { microseconds, machineNs, newAsk } from "../caller.ts";
import { MIRRORED, runBlock, runBlocks, type ArmName } from "../blocks.ts";
import type { BenchStack } from "../stack.ts";
import { detach, type Part } from "./part.ts";

const RESOURCE = "repo:bench/one";
const ATTACHES = 10;
const LEASE_MS = 60_000;

async function attaches({ caller }: BenchStack): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < ATTACHES; n += 1) {
    const ask = newAsk(RESOURCE);
    const from = machineNs();
    await caller.fleet.attach({ ...ask, remainingMs: LEASE_MS });
    took.push(microseconds(from, machineNs()));
    await detach(caller.fleet, ask);
  }
  return took;
}

/** M8 of the table of goals. */
export const gateCost: Part = {
  quick: { order: MIRRORED, blocks: 25, budgetMs: 22_000 },
  full: { order: MIRRORED, blocks: 120, budgetMs: 180_000 },
  async measure(session, { order, blocks, budgetMs }) {
    session.say("M8: three stacks start");
    const { gate, noGate } = session.builds;
    const [a, b, again] = await Promise.all([
      session.stack("with the gate", gate, [RESOURCE]),
      session.stack("without the gate", noGate, [RESOURCE]),
      session.stack("with the gate, again", gate, [RESOURCE]),
    ]);
    const stacks: Readonly<Record<ArmName, BenchStack>> = { a, b, again };
    const { signal } = session;
    const run = (arm: ArmName): Promise<number[]> => attaches(stacks[arm]);
    session.say("M8: warm-up");
    const from = performance.now();
    await runBlock({ order, run, signal }, 0);
    const warmMs = performance.now() - from;
    const onBlock = (done: number): void => session.say(`M8: block ${done} of ${blocks}`);
    const measured = await runBlocks({ order, blocks, budgetMs, run, signal, onBlock }, warmMs);
    for (const stack of Object.values(stacks)) await stack.end();
    return { blocks: measured, firstStarts: [] };
  },
};
