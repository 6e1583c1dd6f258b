// What the stacks of one bench are built from: copies of the source taken at one moment, so that two arms differ by the
// one patch that makes them arms and by nothing else. The product has no option for any of it.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Sources } from "#embed/sources.ts";
import { root } from "../stages.ts";

/** A change of one file of a copy. */
export interface Patch {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** An attach goes straight to its row: the registry's question is left out, and with it the counting in the registry. */
export const WITHOUT_GATE: Patch = {
  file: "src/fleet/resident/attach.ts",
  from: "registryOf(resident.env).look(question)",
  to: 'Promise.resolve({ kind: "open", parentUntil: null, sealStands: false } as const)',
};

const COPIED = ["src", "package.json", "tsconfig.json", "tsconfig.base.json"];

/** Replaces the one place that a patch names; one that is not there exactly once is an error, not a silent equal arm. */
export function patched(text: string, { file, from, to }: Patch): string {
  const places = text.split(from).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places for the bench's patch, and it wants one: ${from}`);
  return text.replace(from, () => to);
}

/** Copies the package's source into `folder`, with a stand-in for the agent, and applies the patch. */
export function copySources(folder: string, patch: Patch | null): Sources {
  mkdirSync(folder, { recursive: true });
  for (const part of COPIED) cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  if (patch !== null) {
    const file = join(folder, patch.file);
    writeFileSync(file, patched(readFileSync(file, "utf8"), patch));
  }
  const agent = fileURLToPath(import.meta.resolve("./standInAgent.ts"));
  return { root: folder, worker: join(folder, "src/fleet/entry.ts"), agent };
}
