// No file but core/budgets.ts holds a duration: a number that names time elsewhere can drift from the table unseen.

import type { Node } from "oxc-parser";
import { perFile, type Rule } from "../rule.ts";
import { isFunction, isTest, lastName, walk } from "../source.ts";

const named =
  /(Ms|Millis|Milliseconds|Secs?|Seconds|Minutes|Hours|Days|Timeout|Delay|Interval)$|_(MS|MILLIS|SECONDS|MINUTES|HOURS|DAYS)$|^(ms|seconds|minutes|hours|timeout|delay|interval|ttl|lease|grace|deadline)$/i;
const waits = new Set(["setTimeout", "setInterval", "sleep", "delay", "pause", "timeout"]);
const units = new Set(["SECOND", "MINUTE", "HOUR", "DAY"]);
const MINUTE = 60_000;
const tell = "a duration outside core/budgets.ts: give it a name there";

/** The value of an expression made of numbers alone; `60 * 1000` is one, `left / 1000` is not. */
function constantOf(node: Node): number | undefined {
  if (node.type === "Literal") return typeof node.value === "number" ? node.value : undefined;
  if (
    node.type === "ParenthesizedExpression" ||
    node.type === "TSAsExpression" ||
    node.type === "TSSatisfiesExpression"
  )
    return constantOf(node.expression);
  if (node.type !== "BinaryExpression") return undefined;
  const [left, right] = [constantOf(node.left), constantOf(node.right)];
  if (left === undefined || right === undefined) return undefined;
  return node.operator === "*"
    ? left * right
    : node.operator === "+"
      ? left + right
      : node.operator === "-"
        ? left - right
        : undefined;
}

function isDurationName(node: Node): boolean {
  if (node.type === "Literal") return typeof node.value === "string" && named.test(node.value);
  const name = lastName(node);
  return name !== undefined && named.test(name);
}

/** The offsets of numbers in what a name of time is set to: the whole of it, or a large one somewhere inside. */
function numbersIn(value: Node): number[] {
  const whole = constantOf(value);
  if (whole !== undefined) return whole === 0 ? [] : [value.start];
  const found: number[] = [];
  walk(value, (node, ancestors) => {
    const large = node.type === "Literal" && typeof node.value === "number" && node.value >= 1000;
    const divides = ancestors[0]?.type === "BinaryExpression" && ancestors[0].operator === "/";
    if (large && !divides && !ancestors.some((one) => isFunction(one) || one.type === "Property"))
      found.push(node.start);
  });
  return found;
}

/** What a node sets under a name of time, if it does. */
function assigned(node: Node): Node | undefined {
  if (node.type === "VariableDeclarator") return node.init && isDurationName(node.id) ? node.init : undefined;
  if (node.type === "Property") return isDurationName(node.key) ? node.value : undefined;
  if (node.type === "PropertyDefinition") return node.value && isDurationName(node.key) ? node.value : undefined;
  if (node.type === "AssignmentPattern" || node.type === "AssignmentExpression")
    return isDurationName(node.left) ? node.right : undefined;
  return undefined;
}

function offsetsIn(node: Node): number[] {
  const value = assigned(node);
  if (value) return numbersIn(value);
  if (node.type === "CallExpression" && waits.has(lastName(node.callee) ?? "")) {
    return node.arguments.filter((one) => (constantOf(one) ?? 0) > 0).map((one) => one.start);
  }
  if (node.type === "BinaryExpression" && node.operator === "*") {
    const byUnit = [node.left, node.right].some((one) => units.has(lastName(one) ?? ""));
    const byNumber = [node.left, node.right].some((one) => constantOf(one) !== undefined);
    if (byUnit && byNumber) return [node.start];
  }
  const minutes = constantOf(node);
  return minutes !== undefined && minutes >= MINUTE && minutes % MINUTE === 0 && node.type !== "ParenthesizedExpression"
    ? [node.start]
    : [];
}

/** Durations are named in core/budgets.ts; core/time.ts holds the units that they are written in. */
export const durations: Rule = {
  name: "durations stand in core/budgets.ts",
  check: perFile((source, report) => {
    const table = source.path === "src/core/budgets.ts" || source.path === "src/core/time.ts";
    if (!source.path.startsWith("src/") || isTest(source.path) || table) return;
    const lines = new Set<string>();
    walk(source.program, (node) => {
      for (const offset of offsetsIn(node)) {
        const line = source.text.slice(0, offset).split("\n").length;
        if (!lines.has(String(line))) report(offset, tell);
        lines.add(String(line));
      }
    });
  }),
  bad: [
    "const pollMs = 500;",
    "const POLL_MS = 30_000;",
    "const bounds = { gitMs: 600_000 };",
    "const x = 30 * 60_000;",
    "const x = 60 * 1000 * minutesWanted(1000 * 60);",
    "const wait = 5 * SECOND;",
    "const wait = time.MINUTE * 2;",
    "setTimeout(end, 250);",
    "fetch(url, { signal: AbortSignal.timeout(2_000) });",
    "await clock.sleep(5 * 1000);",
    "await pause(20);",
    "execa(tool, { timeout: 5000 });",
    "const graceMs = z.number().int().min(0).max(600_000);",
    "function wait(timeoutMs = 100) {}",
    "class A { #leaseMs = 10; }",
    "const body = { minutes: 65 };",
  ].map((text) => ({ files: { "src/node/a.ts": text }, says: ["a duration outside"] })),
  good: [
    { "src/core/budgets.ts": "export const pollMs = 30_000;", "src/core/time.ts": "export const HOUR = 60 * MINUTE;" },
    { "src/node/a.ts": "const bodyBytes = 64 * 1024; const port = 8790; const rows = 10_000; const code = 4401;" },
    {
      "src/node/a.ts":
        "const seconds = Math.round(leftMs / 1000); const zeroMs = 0; setTimeout(end, 0); setTimeout(end, REAL.connectMs);",
    },
    { "src/node/a.ts": "const untilMs = now + REAL.startMs; const text = z.string().max(2_000);" },
    { "src/node/a.test.ts": "const leaseMs = 60_000;" },
  ],
};
