// Runs one stage and answers its counts. A stage that finds nothing to run, leaves a process behind or outlives its
// bound has failed: silence never passes.

import fs from "node:fs";
import { end, start, sweep, type Marked } from "./children.ts";
import { root, type CommandStage, type Stage, type TestStage } from "./stages.ts";
import { newsSchema, type FilesOrder } from "./testFiles.ts";

/** How a stage went. `absent`: it has no tests, which is a failure. */
export interface Outcome {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly absent: boolean;
  /** What core/ has uncovered, when the stage measured it. */
  readonly coverage?: { readonly files: number; readonly gaps: readonly string[] };
}

/** Where a stage's lines go. `note` is shown at once, `text` once something has failed. */
export interface Voice {
  readonly note: (text: string) => void;
  readonly text: (text: string) => void;
  readonly failing: () => void;
}

/** The end of a child: whether it succeeded, and what it left behind. */
interface End {
  readonly succeeded: boolean;
  readonly why: readonly string[];
}

async function finish(marked: Marked, boundMs: number): Promise<End> {
  let late = false;
  const bound = setTimeout(() => {
    late = true;
    void end(marked);
  }, boundMs);
  const code = await new Promise<number | null>((resolve) => {
    marked.child.once("error", () => resolve(null));
    marked.child.once("close", resolve);
  });
  clearTimeout(bound);
  const left = await sweep(marked.mark);
  const why = left.map((process) => `left a process behind, now ended: ${process}`);
  if (late) why.unshift(`did not end within ${boundMs / 1000} s`);
  return { succeeded: code === 0 && why.length === 0, why };
}

async function runCommands(stage: CommandStage, voice: Voice): Promise<Outcome> {
  let passed = 0;
  let failed = 0;
  for (const command of stage.commands()) {
    const { succeeded, why } = await finish(start(command.argv, voice.text), stage.boundMs);
    if (succeeded) passed += 1;
    else {
      failed += 1;
      voice.text(`✖ ${[command.name, ...why].join("\n  ")}\n`);
      voice.failing();
    }
  }
  return { passed, failed, skipped: 0, absent: false };
}

/** The test files of a stage, by path from the root. */
function filesOf(stage: TestStage): string[] {
  const found = stage.globs.flatMap((glob) => fs.globSync(glob, { cwd: root }));
  return [...new Set(found)].toSorted();
}

async function runTests(stage: TestStage, argv: readonly string[], voice: Voice): Promise<Outcome> {
  const files = filesOf(stage);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  let coverage: Outcome["coverage"];
  if (files.length === 0) return { ...counts, absent: true };
  const order: FilesOrder = {
    files,
    atOnce: stage.atOnce,
    testBoundMs: stage.testBoundMs,
    coversCore: stage.coversCore ?? false,
    loud: stage.loud ?? false,
    argv: [...argv],
  };
  const marked = start(["node", "scripts/testFiles.ts", JSON.stringify(order)], voice.text);
  marked.child.on("message", (message) => {
    const news = newsSchema.parse(message);
    if (news.kind === "note") voice.note(news.text);
    else if (news.kind === "coverage") coverage = news;
    else counts[news.kind] += 1;
    if (news.kind === "failed") voice.failing();
  });
  const boundMs = argv.includes("--full") ? 2 ** 31 - 1 : stage.boundMs;
  const { succeeded, why } = await finish(marked, boundMs);
  const broke = [...why];
  if (!succeeded && why.length === 0 && counts.failed === 0) broke.push("its process failed");
  if (counts.passed + counts.failed === 0) broke.push("not one test ran");
  for (const reason of broke) voice.text(`✖ ${stage.name} ${reason}\n`);
  if (broke.length > 0) voice.failing();
  return { ...counts, failed: counts.failed + broke.length, absent: false, ...(coverage && { coverage }) };
}

/** Runs a stage to its end. `argv` is handed to its test files. */
export function runStage(stage: Stage, argv: readonly string[], voice: Voice): Promise<Outcome> {
  return "commands" in stage ? runCommands(stage, voice) : runTests(stage, argv, voice);
}
