// Reads facts out of the source: the fields of a schema or an interface, the names that a file joins to a path, the keys
// that an object stores under. Documents made from these follow the code without anybody remembering to.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Node } from "oxc-parser";
import { lastName, parseSource, root, walk, type Source } from "../../test/tidy/source.ts";

/** One file of the package, parsed. */
function sourceOf(file: string): Source {
  return parseSource(file, readFileSync(join(root, file), "utf8"));
}

/** What a path or a key is built of: its literal text with `<…>` where something is put in. */
function textOf(node: Node | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  if (node?.type !== "TemplateLiteral") return undefined;
  return node.quasis.map((quasi, index) => (index === 0 ? "" : "<…>") + (quasi.value.cooked ?? "")).join("");
}

function keysOf(node: Node): string[] {
  if (node.type !== "ObjectExpression") return [];
  return node.properties.flatMap((one) =>
    one.type === "Property"
      ? [lastName(one.key) ?? textOf(one.key) ?? "?"]
      : [`…${one.type === "SpreadElement" ? (lastName(one.argument) ?? "") : ""}`],
  );
}

/** The fields that a zod schema of a file names itself; what it extends is named in front. */
export function schemaFields(file: string, name: string): string[] {
  let found: string[] | undefined;
  walk(sourceOf(file).program, (node) => {
    if (node.type !== "VariableDeclarator" || lastName(node.id) !== name || node.init === null) return;
    walk(node.init, (inner) => {
      if (found !== undefined || inner.type !== "CallExpression") return;
      const called = lastName(inner.callee) ?? "";
      const [first] = inner.arguments;
      if (first === undefined || !["object", "looseObject", "strictObject", "extend"].includes(called)) return;
      const base =
        called === "extend" && inner.callee.type === "MemberExpression" ? lastName(inner.callee.object) : undefined;
      found = [...(base === undefined ? [] : [`…${base}`]), ...keysOf(first)];
    });
  });
  if (found === undefined) throw new Error(`${file} has no schema ${name} of named fields`);
  return found;
}

/** The fields of an interface, each with its type as written. */
export function interfaceFields(
  file: string,
  name: string,
): { readonly name: string; readonly type: string; readonly says: string }[] {
  const source = sourceOf(file);
  const found: { name: string; type: string; says: string }[] = [];
  walk(source.program, (node) => {
    if (node.type !== "TSInterfaceDeclaration" || node.id.name !== name) return;
    for (const member of node.body.body) {
      if (member.type !== "TSPropertySignature" || !member.typeAnnotation) continue;
      const { start, end } = member.typeAnnotation.typeAnnotation;
      found.push({
        name: lastName(member.key) ?? "?",
        type: source.text.slice(start, end),
        says: commentBefore(source, member.start),
      });
    }
  });
  if (found.length === 0) throw new Error(`${file} has no interface ${name}`);
  return found;
}

/** The doc comment that ends right before an offset, as one line. */
function commentBefore(source: Source, offset: number): string {
  const comment = source.comments.find(
    (one) => one.type === "Block" && one.end <= offset && source.text.slice(one.end, offset).trim() === "",
  );
  return (comment?.value ?? "")
    .replaceAll(/^\s*\*+ ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** The keys under which an object's parts store, by each call on `kv`, and the tables that they create. */
export function storedKeys(files: readonly string[]): string[] {
  const keys = new Set<string>();
  for (const file of files) {
    const source = sourceOf(file);
    walk(source.program, (node) => {
      if (node.type !== "CallExpression" || node.callee.type !== "MemberExpression") return;
      if (
        lastName(node.callee.object) !== "kv" ||
        !["get", "put", "delete", "list"].includes(lastName(node.callee) ?? "")
      )
        return;
      const [first] = node.arguments;
      const given =
        first?.type === "ObjectExpression"
          ? first.properties.map((one) => (one.type === "Property" ? textOf(one.value) : undefined))[0]
          : textOf(first);
      if (given !== undefined) keys.add(given.replace(/<….*$/, ""));
    });
    for (const [, table] of source.text.matchAll(/CREATE TABLE IF NOT EXISTS (\w+)/g)) keys.add(`table ${table}`);
  }
  return [...keys].toSorted();
}

/** The names that a file joins to a path; a template has `<…>` where something is put in. */
export function joinedNames(file: string): string[] {
  const names = new Set<string>();
  walk(sourceOf(file).program, (node) => {
    if (node.type !== "CallExpression" || lastName(node.callee) !== "join") return;
    for (const argument of node.arguments.slice(1)) {
      const text = textOf(argument);
      if (text !== undefined && text !== "<…>") names.add(text);
    }
  });
  return [...names].toSorted();
}

/** The routes that a file registers on Hono: `app.get("/path", …)`, and calls of a local `post("/path", …)`. */
export function registeredRoutes(file: string, inFunction: RegExp): string[] {
  const source = sourceOf(file);
  const found: string[] = [];
  walk(source.program, (node, ancestors) => {
    if (node.type !== "CallExpression") return;
    const method = lastName(node.callee) ?? "";
    const path = textOf(node.arguments[0]);
    const within = ancestors.some((one) => one.type === "FunctionDeclaration" && inFunction.test(one.id?.name ?? ""));
    if (within && path?.startsWith("/") && ["get", "post", "put", "delete"].includes(method))
      found.push(`${method.toUpperCase()} ${path}`);
  });
  return found.toSorted();
}
