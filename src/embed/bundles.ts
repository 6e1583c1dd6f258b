// Bundles: what runs is one file each for the Worker and the agent, and its hash is its name. The same source gives the
// same bytes wherever it lies, so that a release is told from another by what it holds.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions } from "esbuild";
import { execa } from "execa";
import { Failure, wordsOf } from "#node/failure.ts";
import { writeFileWhole } from "#node/files.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { touch } from "#embed/trash.ts";

/** A bundle and the hash that names it. */
export interface Bundle {
  readonly id: string;
  readonly text: string;
}

/** The name of what these bytes are. */
export function contentId(...parts: readonly (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:`).update(part);
  return hash.digest("hex").slice(0, 12);
}

async function bundleOf(entry: string, root: string, options: BuildOptions): Promise<Bundle> {
  try {
    const result = await build({
      entryPoints: [entry],
      absWorkingDir: root,
      bundle: true,
      format: "esm",
      mainFields: ["module", "main"],
      legalComments: "none",
      charset: "utf8",
      logLevel: "silent",
      write: false,
      ...options,
    });
    const text = result.outputFiles?.[0]?.text ?? "";
    return { id: contentId(text), text };
  } catch (error) {
    throw new Failure("BUNDLE_FAILED", wordsOf(error));
  }
}

/** Bundles a Worker for workerd: the fleet's, or the ledger's. */
export function bundleWorker(entry: string, root: string): Promise<Bundle> {
  return bundleOf(entry, root, {
    platform: "browser",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
}

/** Bundles a program for Node: the agent, or the bot. Packages that still call `require` find one. */
export function bundleProgram(entry: string, root: string): Promise<Bundle> {
  return bundleOf(entry, root, {
    platform: "node",
    target: "node24",
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
}

/** The file of a bundle in the state folder. */
export function bundleFile(paths: StatePaths, bundle: string): string {
  return join(paths.bundles, bundle, "bundle.mjs");
}

/** Whether this bundle lies in the state folder, whole: its bytes still give its name. */
export function hasBundle(paths: StatePaths, bundle: string): boolean {
  const file = bundleFile(paths, bundle);
  return existsSync(file) && contentId(readFileSync(file, "utf8")) === bundle;
}

/** Puts a bundle into the state folder; one that is there stays, and counts among the newest again. */
export function keepBundle(paths: StatePaths, bundle: Bundle): void {
  touch(join(paths.bundles, bundle.id));
  if (hasBundle(paths, bundle.id)) return;
  mkdirSync(join(paths.bundles, bundle.id), { recursive: true, mode: 0o700 });
  writeFileWhole(bundleFile(paths, bundle.id), bundle.text);
}

/** The commit a folder is at, short, `-dirty` when its worktree differs, `none` without git. */
export async function commitOf(root: string): Promise<string> {
  const git = (...args: string[]) =>
    execa("git", ["-C", root, ...args], { reject: false, stdin: "ignore", env: { GIT_OPTIONAL_LOCKS: "0" } });
  const head = await git("rev-parse", "--short=7", "--verify", "HEAD");
  if (head.exitCode !== 0 || typeof head.stdout !== "string" || head.stdout === "") return "none";
  const status = await git("status", "--porcelain");
  return status.stdout === "" ? head.stdout : `${head.stdout}-dirty`;
}
