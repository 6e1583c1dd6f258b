// The rows of the bench: what each ratio is, which gate it has, and what the samples say of it. Goals are the table's of
// the design; figures come from the samples, and a peer that was not there is absent.

import { estimate, isQuietEnough, judge, median, p99, quantile, type Estimate, type Verdict } from "./statistics.ts";
import type { Block } from "./blocks.ts";
import type { PartId, PartResult, Results } from "./results.ts";

/** How many wait in the arms of M4. */
export const MANY = 1000;
export const FEW = 100;

/** With fewer blocks an interval is a guess. */
export const BLOCKS_WANTED = 5;

interface Goal {
  readonly id: string;
  readonly says: string;
  /** Past it a check fails; null: it is only shown. */
  readonly gate: number | null;
  readonly aim: number | null;
}

/** A ratio between arms that this bench runs itself. */
interface OwnRatio extends Goal {
  /** The arms' names, in words. */
  readonly arms: Readonly<Record<"a" | "b", string>>;
  /** What a sample is divided by before arms are compared: how many runs it stands for. */
  readonly per: Readonly<Record<"a" | "b", number>>;
}

/** A ratio to another product. */
interface PeerRatio extends Goal {
  readonly peer: string;
}

const EVEN = { a: 1, b: 1 } as const;

/** Each part's own ratio. */
const OWN: Readonly<Record<PartId, OwnRatio>> = {
  M1: {
    id: "M1 · own",
    says: "last release → deployer told by its watch ÷ told by asking the same fleet back to back",
    arms: { a: "last release → told by the watch", b: "last release → seen by polling back to back" },
    per: EVEN,
    gate: null,
    aim: null,
  },
  M4: {
    id: "G1 · a tenth",
    says: `cost a waiting run at the reopening, ${MANY} ÷ ${FEW} waiting`,
    arms: { a: `reopen → the ${MANY}th of ${MANY} admitted`, b: `reopen → the ${FEW}th of ${FEW} admitted` },
    per: { a: MANY, b: FEW },
    gate: 1.5,
    aim: 1,
  },
  M8: {
    id: "M8",
    says: "attach with the gate, nothing closed ÷ attach without it, p50",
    arms: { a: "attach with the gate", b: "attach without the gate" },
    per: EVEN,
    gate: 1.15,
    aim: 1.05,
  },
};

/** The ratios of these parts that want another product. */
export const PEERS: Readonly<Record<PartId, readonly PeerRatio[]>> = {
  M1: [
    { id: "M1", says: "last release → deployer told ÷ BullMQ polled back to back", peer: "BullMQ", gate: 5, aim: 1.5 },
  ],
  M4: [
    {
      id: "M4",
      says: `reopen → ${MANY}th waiting run admitted ÷ best peer`,
      peer: "BullMQ, pg-boss, graphile-worker",
      gate: 2,
      aim: 0.5,
    },
  ],
  M8: [],
};

/** A row of ratios, judged. `few`: too few blocks to say anything. */
export interface RatioRow {
  readonly goal: OwnRatio;
  readonly blocks: number;
  readonly ratio: Estimate | null;
  readonly equal: Estimate | null;
  readonly verdict: Verdict | "few";
}

/** A row of plain times, in milliseconds. */
export interface TimeRow {
  readonly says: string;
  readonly samples: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number | undefined;
}

/** Arms of one sample each are one arm, on either side of the other. */
function firstArm({ a, again }: Block): number {
  return median(a.length === 1 ? [...a, ...again] : a);
}

/** What two equal arms came to; null where no block has a second one. */
function equalArms(blocks: readonly Block[], seed: number): Estimate | null {
  const both = blocks.filter((block) => block.again.length > 0);
  if (both.length === 0) return null;
  return estimate(
    both.map((block) => median(block.again) / median(block.a)),
    seed,
  );
}

function verdictOf(ratio: Estimate, equal: Estimate | null, gate: number | null, blocks: number): RatioRow["verdict"] {
  if (equal === null) return "few";
  if (blocks >= BLOCKS_WANTED) return judge(ratio, equal, gate);
  return isQuietEnough(equal, gate) ? "few" : "noisy";
}

/** What the samples of a part say of its own ratio. */
export function ratioRow(part: PartResult, seed: number): RatioRow {
  const goal = OWN[part.id];
  const { blocks } = part;
  if (blocks.length === 0) return { goal, blocks: 0, ratio: null, equal: null, verdict: "few" };
  const { per, gate } = goal;
  const ratio = estimate(
    blocks.map((block) => firstArm(block) / per.a / (median(block.b) / per.b)),
    seed,
  );
  const equal = equalArms(blocks, seed);
  return { goal, blocks: blocks.length, ratio, equal, verdict: verdictOf(ratio, equal, gate, blocks.length) };
}

function timeRow(says: string, micros: readonly number[]): TimeRow[] {
  if (micros.length === 0) return [];
  const ms = micros.map((one) => one / 1000);
  return [{ says, samples: ms.length, p50: median(ms), p95: quantile(ms, 0.95), p99: p99(ms) }];
}

/** The plain times of a part. */
export function timeRows(part: PartResult): TimeRow[] {
  const { arms } = OWN[part.id];
  const firsts = timeRow(`reopen → first start, ${MANY} waiting`, part.firstStarts);
  const a = part.blocks.flatMap((block) => [...block.a, ...block.again]);
  return [
    ...timeRow(arms.a, a),
    ...timeRow(
      arms.b,
      part.blocks.flatMap((block) => block.b),
    ),
    ...firsts,
  ];
}

/** Whether a check of this bench fails: one row is past its gate, and the machine was quiet enough to say so. */
export function hasFailed({ parts, seed }: Results): boolean {
  return parts.some((part) => ratioRow(part, seed).verdict === "fail");
}
