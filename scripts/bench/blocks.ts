// Blocks of arms: in each block every arm runs, in an order and its mirror, so that a drift of the machine falls on all of
// them alike. A part stops beginning blocks when its time is over, and says how many it has.

/** The arms of a part: two that differ, and one that is the first again. */
export type ArmName = "a" | "b" | "again";

/** What one arm gave in a block, in whole microseconds. */
export type Block = Readonly<Record<ArmName, number[]>>;

/** How a part is measured. */
export interface BlockPlan {
  /** The arms of a block, in order. An odd block runs `again` where an even one runs `a`. */
  readonly order: readonly ArmName[];
  readonly blocks: number;
  /** No block begins that would end after this much time. */
  readonly budgetMs: number;
  readonly run: (arm: ArmName) => Promise<number[]>;
  readonly signal: AbortSignal;
  readonly onBlock: (done: number) => void;
}

/** Cheap arms: each twice, mirrored. */
export const MIRRORED: readonly ArmName[] = ["a", "b", "again", "again", "b", "a"];
/** Arms that take seconds: `a` and `again` are one arm, run on either side of the other. */
export const ABBA: readonly ArmName[] = ["a", "b", "b", "again"];

/** The arm that runs at a place of an odd block. */
const swapped = (arm: ArmName): ArmName => (arm === "a" ? "again" : arm === "again" ? "a" : arm);

/** The order of the n-th block. */
export function orderOf(order: readonly ArmName[], n: number): readonly ArmName[] {
  return n % 2 === 0 ? order : order.map(swapped);
}

/** Runs one block. */
export async function runBlock(plan: Pick<BlockPlan, "order" | "run" | "signal">, n: number): Promise<Block> {
  const block: Record<ArmName, number[]> = { a: [], b: [], again: [] };
  for (const arm of orderOf(plan.order, n)) {
    plan.signal.throwIfAborted();
    block[arm].push(...(await plan.run(arm)));
  }
  return block;
}

/**
 * Runs as many blocks as were wished and as fit into the time; `expectedMs` is what the warm-up says of the first one.
 * None at all when not even one fits.
 */
export async function runBlocks(plan: BlockPlan, expectedMs: number): Promise<Block[]> {
  const begun = performance.now();
  const blocks: Block[] = [];
  let longestMs = expectedMs;
  while (blocks.length < plan.blocks && performance.now() - begun + longestMs <= plan.budgetMs) {
    const from = performance.now();
    blocks.push(await runBlock(plan, blocks.length));
    longestMs = Math.max(blocks.length === 1 ? 0 : longestMs, performance.now() - from);
    plan.onBlock(blocks.length);
  }
  return blocks;
}
