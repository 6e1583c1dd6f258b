// `npm run bench`: measures the mechanism in real time, as ratios of arms that run side by side, and tells what it found.
// Whatever it starts ends with it, also at a Ctrl-C, and a figure that is not measured now is never shown.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { commitOf } from "#embed/bundles.ts";
import { benchPage, benchText } from "./bench/page.ts";
import { gateCost } from "./bench/parts/gateCost.ts";
import { lastRelease } from "./bench/parts/lastRelease.ts";
import type { Part } from "./bench/parts/part.ts";
import { manyWaiting } from "./bench/parts/reopening.ts";
import { newResults, PART_IDS, textOfResults, type PartId, type PartResult, type Results } from "./bench/results.ts";
import { hasFailed } from "./bench/rows.ts";
import { Session } from "./bench/session.ts";
import { root } from "./stages.ts";

const usage = `usage: npm run bench [-- OPTIONS]
  --full        at most 15 minutes instead of 90 seconds
  --check       exit 1 when a row is past its gate; a noisy row, or one with too few blocks, neither passes nor fails
  --only PART,… ${PART_IDS.join(", ")}
  --json FILE   the command, the seed, the machine and every raw sample
  --seed N      the seed of the intervals
  --write       docs/bench.json and docs/bench.md, from this run`;

const SEED = 20_260_101;
const parts: Readonly<Record<PartId, Part>> = { M1: lastRelease, M4: manyWaiting, M8: gateCost };

interface Asked {
  readonly full: boolean;
  readonly check: boolean;
  readonly write: boolean;
  readonly json: string | undefined;
  readonly seed: number;
  readonly ids: readonly PartId[];
}

function readArguments(): Asked {
  const { values } = parseArgs({
    options: {
      full: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      json: { type: "string" },
      seed: { type: "string", default: String(SEED) },
      only: { type: "string", multiple: true },
    },
  });
  const only = values.only?.flatMap((names) => names.split(","));
  const unknown = only?.find((name) => !PART_IDS.some((id) => id === name));
  if (unknown !== undefined) throw new TypeError(`There is no part "${unknown}".`);
  if (only !== undefined && values.write) throw new TypeError("--write wants every part: leave --only out.");
  const seed = Number(values.seed);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new TypeError(`--seed wants a whole number: ${values.seed}`);
  const { full, check, write, json } = values;
  return { full, check, write, json, seed, ids: PART_IDS.filter((id) => only === undefined || only.includes(id)) };
}

const load = (): number => Number((os.loadavg()[0] ?? 0).toFixed(2));
const GB = 2 ** 30;

function workerdVersion(): string {
  const text = readFileSync(path.join(root, "node_modules/workerd/package.json"), "utf8");
  return z.object({ version: z.string() }).parse(JSON.parse(text)).version;
}

function machineOf(loadBefore: number): Results["machine"] {
  return {
    platform: `${process.platform}-${process.arch}`,
    cpu: os.cpus()[0]?.model ?? "unknown",
    cores: os.availableParallelism(),
    memoryGb: Math.round(os.totalmem() / GB),
    node: process.versions.node,
    workerd: workerdVersion(),
    loadBefore,
    loadAfter: load(),
  };
}

async function measure(session: Session, asked: Asked): Promise<PartResult[]> {
  const measured: PartResult[] = [];
  for (const id of asked.ids) {
    const part = parts[id];
    const from = performance.now();
    const result = await part.measure(session, asked.full ? part.full : part.quick);
    measured.push({ id, ...result, tookMs: Math.round(performance.now() - from) });
  }
  return measured;
}

function keep(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  console.error(`wrote ${file}`);
}

/** The command that gives this bench again. */
function commandOf({ full, ids, seed }: Asked): string {
  const flags = [
    ...(full ? ["--full"] : []),
    ...(ids.length < PART_IDS.length ? [`--only ${ids.join(",")}`] : []),
    ...(seed === SEED ? [] : [`--seed ${seed}`]),
  ];
  return flags.length === 0 ? "npm run bench" : `npm run bench -- ${flags.join(" ")}`;
}

async function bench(session: Session, asked: Asked): Promise<void> {
  const [loadBefore, commit, takenAt] = [load(), await commitOf(root), new Date().toISOString()];
  const measured = await measure(session, asked);
  const { full, seed } = asked;
  const machine = machineOf(loadBefore);
  const results = newResults({ takenAt, command: commandOf(asked), commit, full, seed, machine, parts: measured });
  if (asked.json !== undefined) keep(path.resolve(asked.json), textOfResults(results));
  if (asked.write) {
    keep(path.join(root, "docs/bench.json"), textOfResults(results));
    keep(path.join(root, "docs/bench.md"), benchPage(results));
  }
  console.log(benchText(results));
  if (asked.check && hasFailed(results)) process.exitCode = 1;
}

/** A first signal ends what was started, a second one ends the bench at once: its children then end by themselves. */
function endOn(session: Session, signal: "SIGINT" | "SIGTERM" | "SIGHUP", code: number): void {
  process.on(signal, () => {
    if (session.signal.aborted) process.exit(code);
    console.error(`${signal}: ending what runs`);
    session.stop(signal);
    void session.end().then(() => process.exit(code));
  });
}

async function main(): Promise<void> {
  let asked: Asked;
  try {
    asked = readArguments();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  const session = new Session((line) => console.error(line));
  endOn(session, "SIGINT", 130);
  endOn(session, "SIGTERM", 143);
  endOn(session, "SIGHUP", 129);
  try {
    await bench(session, asked);
  } catch (error) {
    if (session.signal.aborted) return;
    throw error;
  } finally {
    await session.end();
  }
}

await main();
