// M1: from the sending of the last run's detach to the deployer's word of quiet, in another process. One arm waits for
// its watch, the other asks for the residents back to back, as one must where nothing tells.

import { randomUUID } from "node:crypto";
import { armedSchema, toldSchema, type Order } from "../actor.ts";
import { MIRRORED, runBlock, runBlocks, type ArmName } from "../blocks.ts";
import { machineNs, microseconds, newAsk } from "../caller.ts";
import type { Child } from "../child.ts";
import type { BenchStack } from "../stack.ts";
import { close, detach, open, type Part } from "./part.ts";

const RESOURCE = "repo:bench/one";
const RELEASES = 5;
const LEASE_MS = 60_000;

/** One run in flight under a deploy's drain: it ends, and the deployer hears of it. */
async function release({ caller: { fleet } }: BenchStack, deployer: Child, how: "watch" | "poll"): Promise<number> {
  const ask = newAsk(RESOURCE);
  const drainId = `bench-${randomUUID()}`;
  await fleet.attach({ ...ask, remainingMs: LEASE_MS });
  await close(fleet, drainId, true);
  const order: Order = { do: "quiet", how, drainId };
  deployer.send(order);
  await deployer.next(armedSchema);
  const from = machineNs();
  await detach(fleet, ask);
  const { at } = await deployer.next(toldSchema);
  await open(fleet, drainId);
  return microseconds(from, at);
}

/** M1 of the table of goals, with the peer that is always there: this fleet, polled. */
export const lastRelease: Part = {
  quick: { order: MIRRORED, blocks: 20, budgetMs: 15_000 },
  full: { order: MIRRORED, blocks: 100, budgetMs: 150_000 },
  async measure(session, { order, blocks, budgetMs }) {
    session.say("M1: a stack starts");
    const stack = await session.stack("M1", session.builds.gate, [RESOURCE]);
    const watching = session.actor(stack, true);
    const polling = session.actor(stack, false);
    const { signal } = session;
    const run = async (arm: ArmName): Promise<number[]> => {
      const took: number[] = [];
      for (let n = 0; n < RELEASES; n += 1) {
        took.push(arm === "b" ? await release(stack, polling, "poll") : await release(stack, watching, "watch"));
      }
      return took;
    };
    session.say("M1: warm-up");
    const from = performance.now();
    await runBlock({ order, run, signal }, 0);
    const warmMs = performance.now() - from;
    const onBlock = (done: number): void => session.say(`M1: block ${done} of ${blocks}`);
    const measured = await runBlocks({ order, blocks, budgetMs, run, signal, onBlock }, warmMs);
    await Promise.all([watching.end(), polling.end()]);
    await stack.end();
    return { blocks: measured, firstStarts: [] };
  },
};
