// A test runs always and waits for a fact: one that is left out proves nothing, and a fixed sleep is too long or too short.

import type { Node } from "oxc-parser";
import { perFile, type Rule } from "../rule.ts";
import { isFunction, isTest, lastName, walk } from "../source.ts";

const markers = new Set(["only", "skip", "todo"]);
const starters = new Set(["test", "it", "describe", "suite", "t", "context"]);

function leftOut(node: Node): string | undefined {
  if (node.type !== "CallExpression") return undefined;
  if (node.callee.type === "MemberExpression" && starters.has(lastName(node.callee.object) ?? "")) {
    const name = lastName(node.callee);
    return name !== undefined && markers.has(name) ? `.${name}` : undefined;
  }
  if (!starters.has(lastName(node.callee) ?? "")) return undefined;
  for (const option of node.arguments) {
    if (option.type !== "ObjectExpression") continue;
    for (const one of option.properties) {
      const name = one.type === "Property" ? lastName(one.key) : undefined;
      if (name !== undefined && markers.has(name)) return `{ ${name} }`;
    }
  }
  return undefined;
}

/** No test is left out, alone or still to be written. */
export const everyTestRuns: Rule = {
  name: "every test runs",
  check: perFile((source, report) => {
    if (!isTest(source.path)) return;
    walk(source.program, (node) => {
      const mark = leftOut(node);
      if (mark !== undefined) report(node.start, `${mark}: a test always runs; write it, mend it or delete it`);
    });
  }),
  bad: [
    { files: { "src/core/a.test.ts": 'test.only("x", () => {});' }, says: [".only"] },
    { files: { "test/e2e/a.test.ts": 'describe.skip("x", () => {});' }, says: [".skip"] },
    { files: { "test/e2e/a.test.ts": 'it.todo("x");' }, says: [".todo"] },
    { files: { "test/e2e/a.test.ts": 'test("x", { skip: noDocker }, () => {});' }, says: ["{ skip }"] },
    { files: { "test/e2e/a.test.ts": 'test("x", (t) => t.skip("later"));' }, says: [".skip"] },
  ],
  good: [
    { "src/core/a.test.ts": 'test("x", { timeout: 5 }, () => { stream.skip(3); });', "src/core/a.ts": "rows.skip();" },
  ],
};

const sleepers = new Set(["sleep", "delay", "pause", "wait", "setTimeout"]);

/** A call that does nothing but let real time pass. */
function isSleep(node: Node, ancestors: readonly Node[]): boolean {
  if (node.type !== "CallExpression") return false;
  const name = lastName(node.callee);
  const onTimers =
    node.callee.type === "MemberExpression" &&
    /^(timers?|scheduler|timersPromises|Bun)$/.test(lastName(node.callee.object) ?? "");
  if (name === undefined || !sleepers.has(name) || !(node.callee.type === "Identifier" || onTimers)) return false;
  const [first] = node.arguments;
  if (name !== "setTimeout" || (first && first.type !== "Identifier" && !isFunction(first)))
    return isWaitedFor(ancestors);
  const makesPromise = ancestors.some((one) => one.type === "NewExpression" && lastName(one.callee) === "Promise");
  return makesPromise && first !== undefined && onlyResolves(first);
}

/** Whether a timer's callback does nothing but end the promise: `resolve`, or `() => resolve()`. */
function onlyResolves(callback: Node): boolean {
  if (callback.type === "Identifier") return true;
  if (callback.type !== "ArrowFunctionExpression" || callback.body.type !== "CallExpression") return false;
  return (
    callback.body.arguments.length === 0 && /^(resolve|done|r|next|res)$/.test(lastName(callback.body.callee) ?? "")
  );
}

function isWaitedFor(ancestors: readonly Node[]): boolean {
  const parent = ancestors[0]?.type;
  return parent === "AwaitExpression" || parent === "ReturnStatement" || parent === "ArrowFunctionExpression";
}

const loops = new Set(["WhileStatement", "DoWhileStatement", "ForStatement", "ForOfStatement", "ForInStatement"]);

/** Tests poll a condition with a bound; a pause is only between two looks of a loop. */
export const noFixedSleep: Rule = {
  name: "tests sleep for no fixed time",
  check: perFile((source, report) => {
    if (!isTest(source.path)) return;
    walk(source.program, (node, ancestors) => {
      if (!isSleep(node, ancestors) || ancestors.some((one) => loops.has(one.type))) return;
      report(node.start, "a fixed sleep: poll a condition in a loop with a bound");
    });
  }),
  bad: [
    "await sleep(100);",
    "await setTimeout(100);",
    "await new Promise((resolve) => setTimeout(resolve, 100));",
    "await new Promise((resolve) => { setTimeout(() => resolve(), 100); });",
    "const rest = () => delay(30);",
    "await scheduler.wait(50);",
  ].map((text) => ({ files: { "test/e2e/a.test.ts": text }, says: ["a fixed sleep"] })),
  good: [
    {
      "test/e2e/a.test.ts":
        "while (!(await ready())) await sleep(20);\nfor (;;) { await new Promise((resolve) => setTimeout(resolve, 20)); }",
    },
    {
      "test/e2e/a.test.ts": 'await clock.sleep(60_000); const guard = setTimeout(() => fail(new Error("late")), 500);',
    },
    { "src/node/a.ts": "await sleep(ms);" },
  ],
};
