// Comments say why: each file opens with the invariant it keeps, each public function says what it answers, and what is
// left to do is in an issue.

import type { Node } from "oxc-parser";
import { perFile, type Rule } from "../rule.ts";
import { isTest, type Source } from "../source.ts";

/** Each file opens with a comment of at least a few words. */
export const opening: Rule = {
  name: "a file opens with its invariant",
  check: perFile((source, report) => {
    const from = source.program.hashbang ? source.program.hashbang.end : 0;
    const first = source.comments[0];
    const opens = first !== undefined && source.text.slice(from, first.start).trim() === "";
    if (!opens) report(0, "does not open with a comment: say what this file keeps true");
    else if (first.value.trim().split(/\s+/).length < 4)
      report(0, "opens with a comment that says nothing: say what this file keeps true");
  }),
  bad: [
    { files: { "src/core/a.ts": "export const a = 1;\n" }, says: ["does not open with a comment"] },
    { files: { "src/core/a.ts": "export const a = 1;\n// What closes has an end.\n" }, says: ["does not open"] },
    { files: { "src/core/a.ts": "// drain\nexport const a = 1;\n" }, says: ["says nothing"] },
  ],
  good: [
    {
      "src/core/a.ts": "// A drain ends by itself.\n\nexport const a = 1;\n",
      "src/core/b.ts": "/** A drain ends by itself. */\n",
    },
    { "scripts/a.mjs": "#!/usr/bin/env node\n// A drain ends by itself.\n" },
  ],
};

function isDocumented(source: Source, start: number): boolean {
  return source.comments.some(
    (one) =>
      one.type === "Block" &&
      one.value.startsWith("*") &&
      one.end <= start &&
      source.text.slice(one.end, start).trim() === "",
  );
}

function functionName(node: Node): string | undefined {
  if (node.type === "FunctionDeclaration" || node.type === "TSDeclareFunction" || node.type === "ClassDeclaration")
    return node.id?.name;
  if (node.type !== "VariableDeclaration") return undefined;
  const made = node.declarations.find(
    (one) => one.init?.type === "ArrowFunctionExpression" || one.init?.type === "FunctionExpression",
  );
  return made?.id.type === "Identifier" ? made.id.name : undefined;
}

/** Each exported function and class of src/ carries a doc comment. Of overloads the first one does. */
export const documented: Rule = {
  name: "public functions are documented",
  check: perFile((source, report) => {
    if (!source.path.startsWith("src/") || isTest(source.path)) return;
    const seen = new Set<string>();
    for (const node of source.program.body) {
      const name =
        node.type === "ExportNamedDeclaration" && node.declaration ? functionName(node.declaration) : undefined;
      if (name === undefined || seen.has(name)) continue;
      seen.add(name);
      if (!isDocumented(source, node.start))
        report(
          node.start,
          `${name} has no doc comment: what it answers, in which units, and its section of the protocol`,
        );
    }
  }),
  bad: [
    { files: { "src/core/a.ts": "export function decide() {}\n" }, says: ["decide has no doc comment"] },
    {
      files: { "src/core/a.ts": "// Answers.\nexport const decide = () => 1;\n" },
      says: ["decide has no doc comment"],
    },
    { files: { "src/core/a.ts": "/** Other. */\nconst x = 1;\nexport class Fleet {}\n" }, says: ["Fleet has no"] },
  ],
  good: [
    {
      "src/core/a.ts":
        "/** Answers. */\nexport function decide(a: string): void;\nexport function decide(a: unknown) {}\nfunction own() {}\n",
    },
    {
      "src/core/a.ts": "/** Answers. */\nexport const decide = () => 1;\nexport const LIMIT = 3;\n",
      "src/core/a.test.ts": "export function x() {}\n",
    },
  ],
};

const unfinished = /\b(TODO|FIXME|HACK|XXX)\b/;

/** Nothing is left undone in a comment. */
export const nothingLeftUndone: Rule = {
  name: "no work left in comments",
  check: perFile((source, report) => {
    for (const comment of source.comments) {
      const word = unfinished.exec(comment.value)?.[1];
      if (word) report(comment.start, `${word}: do it now, or make it an issue`);
    }
  }),
  bad: [
    { files: { "src/core/a.ts": "// TODO: later\n/* FIXME */\n" }, says: ["do it now", "do it now"] },
    { files: { "test/a.ts": "const a = 1; // HACK\n" }, says: ["HACK"] },
  ],
  good: [{ "src/core/a.ts": '// What is to do is in the issue.\nconst a = "TODO";\n' }],
};
