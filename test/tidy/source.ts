// One file as the rules see it: its text, its tree and its comments, read and parsed once.

import fs from "node:fs";
import path from "node:path";
import { parseSync, visitorKeys, type Comment, type Node, type Program } from "oxc-parser";

/** The folder of the whole package. */
export const root = path.resolve(import.meta.dirname, "../..");

/** A file of the package, by its path from the root with forward slashes. */
export interface Source {
  readonly path: string;
  readonly text: string;
  readonly program: Program;
  readonly comments: readonly Comment[];
}

/** Parses one file. Throws on a syntax error, naming the file. */
export function parseSource(file: string, text: string): Source {
  const result = parseSync(file, text);
  const [error] = result.errors;
  if (error) throw new Error(`${file} cannot be parsed: ${error.message}`);
  const from = result.program.hashbang?.end ?? 0;
  return { path: file, text, program: result.program, comments: result.comments.filter((one) => one.start >= from) };
}

/** Every file below a folder of the package whose name fits, by path from the root. Answers nothing for an absent folder. */
export function filesBelow(folder: string, fits: RegExp): string[] {
  const from = path.join(root, folder);
  if (!fs.existsSync(from)) return [];
  return fs
    .readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && fits.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).split(path.sep).join("/"))
    .filter((file) => !/(^|\/)(node_modules|fixtures)\//.test(file))
    .toSorted();
}

/** Every code file of the package. */
export function houseSources(): Source[] {
  const files = ["src", "test", "scripts"].flatMap((folder) => filesBelow(folder, /\.(ts|tsx|mts|mjs|js)$/));
  return files.map((file) => parseSource(file, fs.readFileSync(path.join(root, file), "utf8")));
}

/** The line of an offset, counted from 1. */
export function lineOf(source: Source, offset: number): number {
  return source.text.slice(0, offset).split("\n").length;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function childrenOf(node: Node): Node[] {
  const fields = new Map<string, unknown>(Object.entries(node));
  return (visitorKeys[node.type] ?? []).flatMap((key) => [fields.get(key)].flat()).filter(isNode);
}

/** Visits each node below one, outer ones first, with its ancestors from the nearest outwards. */
export function walk(
  node: Node,
  visit: (node: Node, ancestors: readonly Node[]) => void,
  ancestors: readonly Node[] = [],
): void {
  visit(node, ancestors);
  const inner = [node, ...ancestors];
  for (const child of childrenOf(node)) walk(child, visit, inner);
}

/** The name that an expression is called by: `sleep` for `sleep`, `clock.sleep` and `this.#sleep`; else nothing. */
export function lastName(node: Node): string | undefined {
  if (node.type === "Identifier" || node.type === "PrivateIdentifier") return node.name;
  if (
    node.type === "ChainExpression" ||
    node.type === "ParenthesizedExpression" ||
    node.type === "TSNonNullExpression"
  ) {
    return lastName(node.expression);
  }
  if (node.type !== "MemberExpression" || node.computed) return undefined;
  return node.property.type === "Identifier" || node.property.type === "PrivateIdentifier"
    ? node.property.name
    : undefined;
}

/** Whether a node is a function of any form. */
export function isFunction(node: Node): boolean {
  return (
    node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression"
  );
}

/** Whether a path is a test beside its file or below test/. */
export function isTest(file: string): boolean {
  return /\.test\.tsx?$/.test(file) || file.startsWith("test/");
}

/** The room of a file of src/, or nothing. */
export function roomOf(file: string): string | undefined {
  return /^src\/([^/]+)\//.exec(file)?.[1];
}
