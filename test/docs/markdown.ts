// The documents of the house as their tests read them: which there are, their links, their headings and their code.

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { filesBelow, root } from "../tidy/source.ts";

/** One document, by its path from the root. */
export interface Document {
  readonly file: string;
  readonly text: string;
}

/** Every document that is committed. */
export function documents(): Document[] {
  const top = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
  const there = top.filter((file) => existsSync(path.join(root, file)));
  return [...there, ...filesBelow("docs", /\.md$/)].map((file) => ({
    file,
    text: readFileSync(path.join(root, file), "utf8"),
  }));
}

const fences = /^```[^\n]*\n([\s\S]*?)^```$/gm;

/** The text without its code, where links are looked for. */
const proseOf = (text: string): string =>
  text.replaceAll(fences, "").replaceAll(/`[^`\n]*`/g, (code) => "x".repeat(code.length));

/** The names under which a document's headings are linked to. */
export function anchorsOf(text: string): string[] {
  const heads = [...text.replaceAll(fences, "").matchAll(/^#+ (.+)$/gm)].map(([, head = ""]) => head);
  return heads.map((head) =>
    head
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** Links of a document that lead nowhere: a file that is not there, or a heading that is not in it. */
export function brokenLinks({ file, text }: Document): string[] {
  const targets = [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [where = "", anchor] = target.split("#");
    const full = where === "" ? path.join(root, file) : path.join(root, path.dirname(file), where);
    if (!existsSync(full)) return true;
    return anchor !== undefined && !anchorsOf(readFileSync(full, "utf8")).includes(anchor);
  });
}

/** Everything that a document shows as code: the lines of its blocks and its inline pieces. */
export function codeOf(text: string): string[] {
  const blocks = [...text.matchAll(fences)].flatMap(([, block = ""]) => block.split("\n"));
  const inline = [...text.replaceAll(fences, "").matchAll(/`([^`\n]+)`/g)].map(([, code = ""]) => code);
  return [...blocks, ...inline];
}
