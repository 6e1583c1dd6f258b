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
import type { Sources } from "#embed/sources.ts";

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

/** Bundles the fleet Worker for workerd. */
export function bundleWorker(sources: Sources): Promise<Bundle> {
  return bundleOf(sources.worker, sources.root, {
    platform: "browser",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
  });
}

/** Bundles the agent for Node. Packages that still call `require` find one. */
export function bundleAgent(sources: Sources): Promise<Bundle> {
  return bundleOf(sources.agent, sources.root, {
    platform: "node",
    target: "node24",
    banner: {
      js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
    },
  });
}

/** The file of a Worker bundle in the state folder. */
export function workerFile(paths: StatePaths, bundle: string): string {
  return join(paths.bundles, bundle, "fleet.js");
}

/** Whether this bundle lies in the state folder, whole: its bytes still give its name. */
export function hasWorker(paths: StatePaths, bundle: string): boolean {
  const file = workerFile(paths, bundle);
  return existsSync(file) && contentId(readFileSync(file, "utf8")) === bundle;
}

/** Puts a Worker bundle into the state folder; one that is there stays. */
export function keepWorker(paths: StatePaths, bundle: Bundle): void {
  if (hasWorker(paths, bundle.id)) return;
  mkdirSync(join(paths.bundles, bundle.id), { recursive: true, mode: 0o700 });
  writeFileWhole(workerFile(paths, bundle.id), bundle.text);
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
