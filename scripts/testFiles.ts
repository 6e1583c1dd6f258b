// Runs the test files of one stage in a process of its own, which the runner can end with all its children. Says the
// counts to its parent as messages, so that nobody reads numbers out of text; prints what a person needs for a failure.

import path from "node:path";
import { run } from "node:test";
import { inspect } from "node:util";
import * as z from "zod";
import { coverageGaps, type Coverage } from "./coverage.ts";

const orderSchema = z.object({
  files: z.array(z.string()),
  atOnce: z.number().int().positive(),
  testBoundMs: z.number().int().positive(),
  coversCore: z.boolean(),
  loud: z.boolean(),
  argv: z.array(z.string()),
});

/** What the runner asks of this process, as its one argument. */
export type FilesOrder = z.infer<typeof orderSchema>;

/** What this process tells the runner. */
export const newsSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("passed") }),
  z.object({ kind: z.literal("failed") }),
  z.object({ kind: z.literal("skipped") }),
  z.object({ kind: z.literal("note"), text: z.string() }),
  z.object({ kind: z.literal("coverage"), files: z.number(), gaps: z.array(z.string()) }),
]);
export type News = z.infer<typeof newsSchema>;

const SHOWN_LINES = 80;
const said = new Map<string, string>();

function tell(news: News): void {
  process.send?.(news);
}

function keep(file: string | undefined, message: string, loud: boolean): void {
  if (loud && message.trim() !== "") tell({ kind: "note", text: message.trimEnd() });
  const key = path.resolve(file ?? "");
  said.set(key, (said.get(key) ?? "") + message);
}

interface Result {
  readonly name: string;
  readonly file?: string;
  readonly entryFile?: string;
  readonly line?: number;
  readonly skip?: string | boolean;
  readonly todo?: string | boolean;
  readonly details: { readonly type?: string; readonly error?: Error };
}

function where(result: Result): string {
  return result.file === undefined ? "" : ` (${path.relative(process.cwd(), result.file)}:${result.line ?? 1})`;
}

function printFailure(result: Result): void {
  const error = result.details.error;
  const cause = error && "cause" in error && error.cause !== undefined ? error.cause : error;
  const isAssertion = cause instanceof Error && cause.name === "AssertionError";
  const text = (isAssertion ? (cause.stack ?? cause.message) : inspect(cause)).replace(/\n +at .*\(?node:.*/g, "");
  console.log(`✖ ${result.name}${where(result)}\n${text.replace(/^/gm, "    ")}`);
  const output = said.get(path.resolve(result.file ?? ""))?.trimEnd();
  if (!output) return;
  console.log(`  its file printed:\n${output.split("\n").slice(-SHOWN_LINES).join("\n").replace(/^/gm, "    ")}`);
  said.delete(path.resolve(result.file ?? ""));
}

/** A file's own result, without an entry file, stands for a file that crashed or that holds no test. */
function isOfWholeFile(result: Result): boolean {
  return result.entryFile === undefined;
}

function onPass(result: Result): void {
  if (result.details.type === "suite") return;
  if (isOfWholeFile(result)) {
    tell({ kind: "failed" });
    console.log(`✖ ${result.name} holds no test: write one or delete the file`);
    return;
  }
  tell({ kind: result.skip || result.todo ? "skipped" : "passed" });
}

function onFail(result: Result): void {
  if (result.details.type === "suite" && result.details.error?.message.includes("subtest")) return;
  tell({ kind: "failed" });
  printFailure(result);
}

function onCoverage(summary: Coverage): void {
  tell({ kind: "coverage", files: summary.files.length, gaps: coverageGaps(summary) });
}

function main(): void {
  const order = orderSchema.parse(JSON.parse(process.argv[2] ?? "{}"));
  const stream = run({
    files: order.files,
    concurrency: order.atOnce,
    timeout: order.testBoundMs,
    argv: order.argv,
    ...(order.coversCore && {
      coverage: true,
      coverageIncludeGlobs: ["src/core/**/*.ts"],
      coverageExcludeGlobs: ["**/*.test.ts"],
    }),
  });
  stream.on("test:pass", onPass);
  stream.on("test:fail", onFail);
  stream.on("test:stdout", ({ file, message }) => keep(file, message, order.loud));
  stream.on("test:stderr", ({ file, message }) => keep(file, message, order.loud));
  stream.on("test:coverage", ({ summary }) => onCoverage(summary));
  stream.on("test:diagnostic", ({ file, message }) => {
    if (file !== undefined) tell({ kind: "note", text: message });
  });
  // A runner that was killed takes its tests along: this process leads their group.
  const orphaned = (): void => void process.kill(-process.pid, "SIGKILL");
  process.once("disconnect", orphaned);
  stream.on("end", () => {
    process.off("disconnect", orphaned);
    process.disconnect();
  });
  stream.resume();
}

if (import.meta.main) main();
