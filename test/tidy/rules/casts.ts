// What comes from outside is parsed, never believed: a cast on a body, on JSON or on storage is a promise nobody keeps.

import type { Node } from "oxc-parser";
import { perFile, type Rule } from "../rule.ts";
import { lastName, walk } from "../source.ts";

const tell = "believes what comes from outside: parse it with a schema (a parseX of wire/ or zod)";
const stores = /^(storage|kv|sql|state|store)$/i;
const reads = new Set(["get", "list", "exec", "one", "toArray"]);

/** The call behind awaits, brackets and other casts. */
function callBehind(node: Node): Node {
  if (node.type === "AwaitExpression") return callBehind(node.argument);
  const wraps =
    node.type === "ParenthesizedExpression" ||
    node.type === "TSAsExpression" ||
    node.type === "TSNonNullExpression" ||
    node.type === "ChainExpression";
  return wraps ? callBehind(node.expression) : node;
}

function readsStorage(node: Node): boolean {
  if (node.type === "CallExpression") return readsStorage(node.callee);
  if (node.type !== "MemberExpression") return false;
  return reads.has(lastName(node) ?? "") && (stores.test(lastName(node.object) ?? "") || readsStorage(node.object));
}

function isOutside(node: Node): boolean {
  if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return false;
  const name = lastName(node.callee);
  const parses = name === "parse" && lastName(node.callee.object) === "JSON";
  return parses || (name === "json" && node.arguments.length === 0) || readsStorage(node);
}

function isHonest(type: Node): boolean {
  if (type.type === "TSUnknownKeyword") return true;
  return type.type === "TSTypeReference" && type.typeName.type === "Identifier" && type.typeName.name === "const";
}

/** No type is put on a body, on parsed JSON or on storage by a cast, an annotation or a type argument. */
export const noBelief: Rule = {
  name: "what comes from outside is parsed",
  check: perFile((source, report) => {
    walk(source.program, (node) => {
      if (node.type === "TSAsExpression" || node.type === "TSTypeAssertion") {
        if (!isHonest(node.typeAnnotation) && isOutside(callBehind(node.expression))) report(node.start, tell);
      } else if (node.type === "VariableDeclarator" && node.init && isOutside(callBehind(node.init))) {
        const type = node.id.typeAnnotation?.typeAnnotation;
        if (type && !isHonest(type)) report(node.start, tell);
      } else if (node.type === "CallExpression" && node.typeArguments?.params.some((one) => !isHonest(one))) {
        if (isOutside(node)) report(node.start, tell);
      }
    });
  }),
  bad: [
    "const a = (await response.json()) as Drain;",
    "const a = JSON.parse(text) as { x: 1 };",
    "const a: Drain = JSON.parse(text);",
    "const a = await response.json<Drain>();",
    "const a = (await this.ctx.storage.get('drain')) as Drain | undefined;",
    "const a = await ctx.storage.get<Drain>('drain');",
    "const a = this.sql.exec('select 1').one() as Row;",
    "const a = sql.exec<Row>('select 1').toArray();",
    "const a = <Drain>JSON.parse(text);",
    "const a = ((await response.json()) as unknown) as Drain;",
  ].map((text) => ({ files: { "src/fleet/a.ts": text }, says: ["believes"] })),
  good: [
    {
      "src/fleet/a.ts":
        "const a: unknown = JSON.parse(text); const b = (await r.json()) as unknown; const c = parseDrain(await r.json());",
    },
    {
      "src/fleet/a.ts":
        "const a = map.get('x') as Drain; const list = ['a'] as const; const row = rowSchema.parse(sql.exec('select 1').one());",
    },
  ],
};
