// Imports go one way: a room names only what its row allows, types included, and nothing hangs together in a ring.

import path from "node:path";
import { perFile, type Finding, type Rule } from "../rule.ts";
import { rooms, testExtras } from "../rooms.ts";
import { isTest, roomOf, walk, type Source } from "../source.ts";

interface Import {
  readonly from: string;
  readonly offset: number;
}

function importsOf(source: Source): Import[] {
  const found: Import[] = [];
  walk(source.program, (node) => {
    if (node.type === "ImportExpression") {
      const from = node.source.type === "Literal" && typeof node.source.value === "string" ? node.source.value : "";
      found.push({ from, offset: node.start });
    } else if (
      node.type === "ImportDeclaration" ||
      node.type === "ExportAllDeclaration" ||
      node.type === "TSImportType"
    ) {
      found.push({ from: node.source.value, offset: node.start });
    } else if (node.type === "ExportNamedDeclaration" && node.source) {
      found.push({ from: node.source.value, offset: node.start });
    }
  });
  return found;
}

/** The path from the root of a file that an import names, or nothing for a package. */
function target(file: string, from: string): string | undefined {
  if (from.startsWith("#")) return `src/${from.slice(1)}`;
  return from.startsWith(".") ? path.posix.join(path.posix.dirname(file), from) : undefined;
}

function mayImport(file: string, from: string): boolean {
  const room = roomOf(file) ?? "";
  const row = rooms[room];
  if (!row) return false;
  const named = target(file, from);
  if (named !== undefined) {
    const other = roomOf(named);
    const inTests = isTest(file) && named.startsWith("test/");
    return inTests || other === room || row.rooms.some((one) => one === other || named === `src/${one}.ts`);
  }
  const extras = isTest(file) ? testExtras : { packages: [], schemes: [] };
  const packages = [...row.packages, ...extras.packages];
  const schemes = [...row.schemes, ...extras.schemes];
  return (
    packages.some((one) => from === one || from.startsWith(`${one}/`)) || schemes.some((one) => from.startsWith(one))
  );
}

function lookAtRoom(source: Source, report: (offset: number, what: string) => void): void {
  const room = roomOf(source.path);
  if (!source.path.startsWith("src/")) return;
  if (room === undefined || !rooms[room]) return report(0, "is in no room: see test/tidy/rooms.ts");
  for (const { from, offset } of importsOf(source)) {
    if (from === "") report(offset, "imports a computed name: write the name out");
    else if (!mayImport(source.path, from))
      report(offset, `src/${room} may not import "${from}": its row in test/tidy/rooms.ts`);
    else if ((from.startsWith(".") || from.startsWith("#")) && !/\.(ts|tsx|json)$/.test(from))
      report(offset, `"${from}" names no file: write its ending`);
  }
}

/** Each room imports only what its row allows. */
export const matrix: Rule = {
  name: "the matrix of imports",
  check: perFile(lookAtRoom),
  bad: [
    { files: { "src/core/a.ts": 'import fs from "node:fs";\n' }, says: ['src/core may not import "node:fs"'] },
    { files: { "src/core/a.ts": 'import type { Z } from "zod";\n' }, says: ["zod"] },
    { files: { "src/core/a.ts": 'type A = import("#wire/b.ts").B;\n' }, says: ["#wire/b.ts"] },
    { files: { "src/core/a.ts": 'export * from "../wire/b.ts";\n' }, says: ["../wire/b.ts"] },
    { files: { "src/wire/a.ts": 'export { b } from "#node/b.ts";\n' }, says: ["#node/b.ts"] },
    { files: { "src/client/a.ts": 'const os = await import("node:os");\n' }, says: ["node:os"] },
    { files: { "src/cli/a.ts": "const x = await import(name);\n" }, says: ["computed"] },
    { files: { "src/agent/a.ts": 'import { decide } from "#core/gate.ts";\n' }, says: ["#core/gate.ts"] },
    { files: { "src/wire/a.ts": 'import { b } from "./b";\n' }, says: ["write its ending"] },
    { files: { "src/other/a.ts": "" }, says: ["is in no room"] },
    { files: { "src/core/a.test.ts": 'import { b } from "#wire/b.ts";\n' }, says: ["#wire/b.ts"] },
  ],
  good: [
    { "src/core/a.ts": 'import { b } from "#core/b.ts";\nimport { c } from "./c.ts";\n' },
    { "src/core/a.test.ts": 'import { test } from "node:test";\nimport fc from "fast-check";\n' },
    {
      "src/fleet/registry/a.ts":
        'import { DurableObject } from "cloudflare:workers";\nimport { streamSSE } from "hono/streaming";\nimport { b } from "../b.ts";\n',
    },
    { "src/agent/a.ts": 'import { REAL } from "#core/budgets.ts";\n' },
  ],
};

function ringFrom(start: string, edges: ReadonlyMap<string, readonly Import[]>): string[] | undefined {
  const queue = [[start]];
  const seen = new Set<string>();
  for (let trail = queue.shift(); trail; trail = queue.shift()) {
    for (const { from } of edges.get(trail.at(-1) ?? "") ?? []) {
      if (from === start) return [...trail, start];
      if (!seen.has(from)) queue.push([...trail, from]);
      seen.add(from);
    }
  }
  return undefined;
}

function rings(sources: readonly Source[]): Finding[] {
  const edges = new Map<string, Import[]>();
  for (const source of sources) {
    const to = importsOf(source).map(({ from, offset }) => ({ from: target(source.path, from) ?? "", offset }));
    edges.set(
      source.path,
      to.filter((one) => one.from !== ""),
    );
  }
  const told = new Set<string>();
  return sources.flatMap(({ path: file }) => {
    const ring = told.has(file) ? undefined : ringFrom(file, edges);
    for (const one of ring ?? []) told.add(one);
    return ring ? [{ path: file, line: 1, what: `is in a ring of imports: ${ring.join(" → ")}` }] : [];
  });
}

/** No file reaches itself through imports, types included. */
export const noRings: Rule = {
  name: "no import cycles",
  check: rings,
  bad: [
    {
      files: {
        "src/core/a.ts": 'import type { B } from "./b.ts";\n',
        "src/core/b.ts": 'import { a } from "#core/a.ts";\n',
      },
      says: ["src/core/a.ts → src/core/b.ts → src/core/a.ts"],
    },
    { files: { "src/core/a.ts": 'export * from "./a.ts";\n' }, says: ["a.ts → src/core/a.ts"] },
  ],
  good: [
    {
      "src/core/a.ts": 'import { b } from "./b.ts";\nimport { c } from "./c.ts";\n',
      "src/core/b.ts": 'import { c } from "./c.ts";\n',
      "src/core/c.ts": "",
    },
  ],
};
