// The runner behind `npm test`, `npm run test:quick` and `npm run check`. One line tells each stage's start and its end;
// the last line is always the sum, `N passed, N failed`, and the exit code is 0 only when nothing failed.

import { parseArgs } from "node:util";
import { endAll } from "./children.ts";
import { runStage, type Outcome, type Voice } from "./runStage.ts";
import { order, selections, stages } from "./stages.ts";

const usage = `usage: npm test [-- OPTIONS]
  --only STAGE,…  ${stages.map((stage) => stage.name).join(", ")}
  --quick         ${selections.quick.join(", ")}
  --check         everything that CI runs
  --full          the explorer without its bounds`;

const total = { passed: 0, failed: 0 };
let stopping = false;

interface Asked {
  readonly names: readonly string[];
  readonly full: boolean;
}

function readArguments(): Asked {
  const { values } = parseArgs({
    options: {
      only: { type: "string", multiple: true },
      quick: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
    },
  });
  const only = values.only?.flatMap((names) => names.split(","));
  const unknown = only?.find((name) => !stages.some((stage) => stage.name === name));
  if (unknown !== undefined) throw new TypeError(`There is no stage "${unknown}".`);
  const selection = values.check ? selections.check : values.quick ? selections.quick : selections.test;
  return { names: only ?? selection, full: values.full };
}

/** Lines of one stage: kept back until something fails there, then shown as they come. */
function voiceOf(name: string): Voice {
  let kept = "";
  let loud = false;
  const print = (text: string): void => {
    for (const line of text.trimEnd().split("\n")) console.log(`${name.padEnd(9)}| ${line}`);
  };
  return {
    note: print,
    text: (text) => {
      if (loud) print(text);
      else kept += text;
    },
    failing: () => {
      loud = true;
      if (kept !== "") print(kept);
      kept = "";
    },
  };
}

function line(name: string, word: string, rest: string): void {
  console.log(`${name.padEnd(10)}${word.padEnd(8)}${rest}`.trimEnd());
}

function tellCoverage({ files, gaps }: NonNullable<Outcome["coverage"]>): void {
  if (files === 0) gaps = ["no file of src/core was run at all"];
  if (gaps.length === 0) {
    total.passed += 1;
    return line("coverage", "ok", `src/core: every line, branch and function of ${files} files`);
  }
  total.failed += 1;
  line(
    "coverage",
    "FAILED",
    `src/core wants 100 % of lines, branches and functions; ${gaps.length} of ${files} files lack some:`,
  );
  for (const gap of gaps) console.log(`coverage | ${gap}`);
}

function tellEnd(name: string, outcome: Outcome, seconds: string): void {
  if (outcome.absent) {
    total.failed += 1;
    return line(name, "FAILED", "it must have tests, and has none");
  }
  total.passed += outcome.passed;
  total.failed += outcome.failed;
  const skipped = outcome.skipped > 0 ? `, ${outcome.skipped} skipped` : "";
  line(
    name,
    outcome.failed === 0 ? "ok" : "FAILED",
    `${seconds.padStart(6)} s   ${outcome.passed} passed, ${outcome.failed} failed${skipped}`,
  );
}

async function runRow(row: readonly string[], asked: Asked): Promise<void> {
  for (const name of row) {
    const stage = stages.find((one) => one.name === name);
    if (stopping || !stage || !asked.names.includes(name)) continue;
    const started = performance.now();
    line(name, "starts", "");
    const outcome = await runStage(stage, asked.full && name === "explorer" ? ["--full"] : [], voiceOf(name));
    if (stopping) return;
    tellEnd(name, outcome, ((performance.now() - started) / 1000).toFixed(1));
    if (outcome.coverage) tellCoverage(outcome.coverage);
  }
}

function endOn(signal: "SIGINT" | "SIGTERM" | "SIGHUP", code: number): void {
  process.on(signal, () => {
    if (stopping) process.exit(code);
    stopping = true;
    console.log(`\n${signal}: ending what runs`);
    void endAll().then(() => process.exit(code));
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
  endOn("SIGINT", 130);
  endOn("SIGTERM", 143);
  endOn("SIGHUP", 129);
  for (const group of order) await Promise.all(group.map((row) => runRow(row, asked)));
  if (stopping) return;
  process.exitCode = total.failed === 0 ? 0 : 1;
  console.log(`${total.passed} passed, ${total.failed} failed`);
}

await main();
