// What a bench says, from its samples: on a terminal, and as docs/bench.md. No figure in it was ever typed by hand.

import { readFileSync } from "node:fs";
import path from "node:path";
import { page, table } from "../docs/markdown.ts";
import { root } from "../stages.ts";
import { parseResults, type PartResult, type Results } from "./results.ts";
import { BLOCKS_WANTED, PEERS, ratioRow, timeRows, type RatioRow } from "./rows.ts";
import { EQUAL, P99_WANTS, type Estimate } from "./statistics.ts";

const HEADS = ["id", "ratio", "value", "95 %", "gate", "aim", "A/A (95 %)", "blocks", "says"];
const TIME_HEADS = ["time, ms", "samples", "p50", "p95", "p99"];

const ratioOf = (value: number): string => value.toFixed(2);
const rangeOf = ({ low, high }: Estimate): string => `${ratioOf(low)}–${ratioOf(high)}`;
const goalOf = (value: number | null): string => (value === null ? "–" : `≤ ${value}`);
const millisOf = (value: number): string => value.toFixed(value < 100 ? 2 : 0);

function ownCells({ goal, blocks, ratio, equal, verdict }: RatioRow): string[] {
  const goals = [goalOf(goal.gate), goalOf(goal.aim)];
  if (ratio === null) return [goal.id, goal.says, "not measured", "–", ...goals, "–", "0", verdict];
  const aa = equal === null ? "–" : `${ratioOf(equal.value)} (${rangeOf(equal)})`;
  const figures = [ratioOf(ratio.value), rangeOf(ratio), ...goals, aa];
  return [goal.id, goal.says, ...figures, String(blocks), verdict];
}

/** The ratios' cells, peers' first: a peer that was not run is absent and never a stored figure. */
function ratioCells({ parts, seed }: Results): string[][] {
  return parts.flatMap((part) => {
    const peers = PEERS[part.id].map(({ id, says, peer, gate, aim }) => {
      return [id, says, "absent", "–", goalOf(gate), goalOf(aim), "–", "–", `absent: ${peer}`];
    });
    return [...peers, ownCells(ratioRow(part, seed))];
  });
}

function timeCells(parts: readonly PartResult[]): string[][] {
  return parts.flatMap((part) =>
    timeRows(part).map((row) => {
      const last = row.p99 === undefined ? "–" : millisOf(row.p99);
      return [row.says, String(row.samples), millisOf(row.p50), millisOf(row.p95), last];
    }),
  );
}

const HOW = `
- **M1** begins when the request that releases the last run leaves its caller, and ends when the deployer's own code is
  told that nothing is in flight. The deployer is another process; it holds one watch and asks nothing. In between lie the
  front, the Worker, the resident (which has the agent stop the run's processes and say what its worktree holds, then deletes
  the row in storage), its word to the registry, the registry's commit, and the frame. The other arm is the same fleet asked
  for its residents back to back.
- **M4** is one process with its runs waiting at the doors of 8 residents behind one watch. It begins when the request that
  lifts the drain leaves its sender and ends when the last run has its workspace; the runs admitted before stay in flight.
  After each trial the registry is asked: all are committed, and at each door in the order of arrival, or the bench fails.
- **M8** runs three stacks at once: two with the gate, one whose Worker is built from a copy of the source in which the
  registry's question (and with it the counting there) is left out of an attach. The row in the resident's storage stays.
`;

const RULES = `
Arms run in blocks, each block in an order and its mirror; a value is the median of the blocks' ratios of medians, its
interval is drawn by resampling the blocks with the seed, and a gate looks at the interval's far end. A/A are two equal arms in
the same blocks: unless their interval stays within ${EQUAL.low}–${EQUAL.high} the row is \`noisy\` and neither passes nor fails; so is a row whose equal arms would themselves be past its gate. A row with
fewer than ${BLOCKS_WANTED} blocks, or without an A/A arm (M4 in a quick run), is \`few\` and neither passes nor fails. A p99 wants ${P99_WANTS} samples and is never gated. \`shown\` has no gate. The
first block is a warm-up and thrown away.
`;

function machineWords({ machine, commit, takenAt, command, seed, full }: Results): string {
  const { cpu, cores, memoryGb, platform, node, workerd, loadBefore, loadAfter } = machine;
  return `Taken ${takenAt.slice(0, 10)} at commit ${commit} by \`${command}\` (${full ? "full" : "quick"}, seed ${seed}) on ${cores} × ${cpu},
${memoryGb} GB, ${platform}, Node ${node}, workerd ${workerd}. Load average before and after: ${loadBefore} and ${loadAfter}.`;
}

/** The whole of docs/bench.md. */
export function benchPage(results: Results): string {
  return page(
    "# Bench",
    "<!-- Made from docs/bench.json by `npm run docs`, and both by `npm run bench -- --write`; a test fails when they differ. -->",
    `What the mechanism costs, as ratios of arms that ran side by side on one machine: the embedded stack with its real
workerd, the fleet Worker and the client of this package. **The agent is a stand-in** that speaks the agent's protocol, makes no worktree and
starts no process, so these figures are the control plane's and not git's; a real attach is slower by its worktree, which makes
every share of the control plane smaller. Other products are not run here yet, and their rows say \`absent\`.`,
    "## Ratios",
    table(HEADS, ratioCells(results)),
    "## Times",
    "Plain times of the same samples; they belong to this machine, and no check looks at them.",
    table(TIME_HEADS, timeCells(results.parts)),
    "## What is measured",
    HOW,
    "## How",
    RULES,
    machineWords(results),
    "Every raw sample is in [bench.json](bench.json). Again: `npm run bench -- --full --write`.",
  );
}

/** The page of the bench that is kept in docs/bench.json. */
export function keptBenchPage(): string {
  return benchPage(parseResults(readFileSync(path.join(root, "docs/bench.json"), "utf8")));
}

function columns(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, n) => Math.max(head.length, ...rows.map((row) => row[n]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, n) => cell.padEnd(widths[n] ?? 0))
      .join("  ")
      .trimEnd();
  return [heads, ...rows].map(line).join("\n");
}

/** The same for a terminal. */
export function benchText(results: Results): string {
  return [
    columns(HEADS, ratioCells(results)),
    columns(TIME_HEADS, timeCells(results.parts)),
    machineWords(results),
  ].join("\n\n");
}
