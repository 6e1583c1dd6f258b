// A Worker's isolate is shared by requests and objects, and the core is called by all of them: neither keeps anything at
// module level. A Durable Object's class stays small enough to read.

import type { Node } from "oxc-parser";
import { perFile, type Rule } from "../rule.ts";
import { isTest, lastName, roomOf, walk, type Source } from "../source.ts";

const stateless = new Set(["core", "wire", "http", "fleet", "ledger"]);
const changers = new Set([
  "push",
  "pop",
  "shift",
  "unshift",
  "splice",
  "sort",
  "reverse",
  "fill",
  "copyWithin",
  "set",
  "add",
  "delete",
  "clear",
]);

function declarationsOf(source: Source): Node[] {
  return source.program.body.map((node) =>
    node.type === "ExportNamedDeclaration" && node.declaration ? node.declaration : node,
  );
}

/** The name whose contents a node changes: `x.push()`, `x[0] = 1`, `x.y = 1`, `delete x.y`, `x.y++`. */
function changedName(node: Node): string | undefined {
  const owner = (target: Node): string | undefined => {
    if (target.type !== "MemberExpression") return undefined;
    return target.object.type === "Identifier" ? target.object.name : owner(target.object);
  };
  if (node.type === "CallExpression") {
    return changers.has(lastName(node.callee) ?? "") ? owner(node.callee) : undefined;
  }
  if (node.type === "AssignmentExpression") return owner(node.left);
  if (node.type === "UpdateExpression") return owner(node.argument);
  return node.type === "UnaryExpression" && node.operator === "delete" ? owner(node.argument) : undefined;
}

/** Nothing at module level changes in core, wire and the Workers. */
export const noModuleState: Rule = {
  name: "no mutable state at module level",
  check: perFile((source, report) => {
    if (!stateless.has(roomOf(source.path) ?? "") || isTest(source.path)) return;
    const held = new Map<string, number>();
    for (const node of declarationsOf(source)) {
      if (node.type !== "VariableDeclaration" || node.declare) continue;
      if (node.kind !== "const")
        report(node.start, `module-level ${node.kind}: keep state in the object's storage or pass it in`);
      for (const one of node.declarations) if (one.id.type === "Identifier") held.set(one.id.name, one.start);
    }
    const told = new Set<string>();
    walk(source.program, (node) => {
      if (node.type === "PropertyDefinition" && node.static && !node.readonly)
        report(node.start, "a static field that can change: it is shared by all objects of the isolate");
      const name = changedName(node);
      const start = name === undefined ? undefined : held.get(name);
      if (name === undefined || start === undefined || told.has(name)) return;
      told.add(name);
      report(start, `${name} is at module level and changed below: keep state in the object's storage or pass it in`);
    });
  }),
  bad: [
    { files: { "src/fleet/a.ts": "let drains = 0;" }, says: ["module-level let"] },
    {
      files: { "src/fleet/a.ts": "export const seen = new Map();\nfunction f() { seen.set(1, 2); }" },
      says: ["seen is at module level"],
    },
    {
      files: { "src/core/a.ts": "const list: string[] = [];\nexport const f = () => { list[0] = 'x'; };" },
      says: ["list is at"],
    },
    { files: { "src/core/a.ts": "const box = { n: 0 };\nexport const f = () => box.n++;" }, says: ["box is at"] },
    { files: { "src/fleet/a.ts": "class A { static cache = new Map(); }" }, says: ["static field"] },
  ],
  good: [
    {
      "src/fleet/a.ts":
        "const table = new Map([[1, 2]]);\nclass A { #seen = new Set(); static readonly NAME = 'a'; f() { this.#seen.add(table.get(1)); } }",
    },
    { "src/node/a.ts": "let count = 0;", "src/core/a.test.ts": "let count = 0;" },
  ],
};

const CLASS_LINES = 250;

/** A Durable Object's class has at most 250 lines. */
export const smallObjects: Rule = {
  name: "Durable Object classes are small",
  check: perFile((source, report) => {
    walk(source.program, (node) => {
      if (node.type !== "ClassDeclaration" && node.type !== "ClassExpression") return;
      const isObject = lastName(node.superClass ?? node) === "DurableObject" || (node.id?.name ?? "").endsWith("DO");
      const lines = source.text.slice(node.start, node.end).split("\n").length;
      if (isObject && lines > CLASS_LINES)
        report(
          node.start,
          `${node.id?.name ?? "a class"} has ${lines} lines, more than ${CLASS_LINES}: move a decision to core/ or a part to its own file`,
        );
    });
  }),
  bad: [
    { files: { "src/fleet/a.ts": `class RegistryDO {${"\n".repeat(250)}}` }, says: ["RegistryDO has 251 lines"] },
    {
      files: { "src/fleet/a.ts": `export class Other extends DurableObject {${"\n".repeat(250)}}` },
      says: ["Other has 251 lines"],
    },
  ],
  good: [
    { "src/fleet/a.ts": `class RegistryDO {${"\n".repeat(249)}}`, "src/node/b.ts": `class Big {${"\n".repeat(300)}}` },
  ],
};
