// A thread's key becomes a folder and a branch name: safe for both, stable, and never the same for two keys.

import { createHash } from "node:crypto";

const PLAIN = /^[a-z0-9][a-z0-9-]{0,39}$/;
const HASHED = /-[0-9a-f]{12}$/;

/**
 * The slug of a thread key. A plain key is its own slug; any other (and one that only looks like a made slug) gets
 * its readable part and 48 bits of its hash. The record in the folder names the key, so even a clash is refused.
 */
export function slugOf(thread: string): string {
  if (PLAIN.test(thread) && !HASHED.test(thread) && !thread.endsWith("-")) return thread;
  const readable = thread
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, 40)
    .replace(/-+$/, "");
  return `${readable || "thread"}-${createHash("sha256").update(thread).digest("hex").slice(0, 12)}`;
}

/** The branch that carries a thread's commits. */
export function branchOf(slug: string): string {
  return `tidegate/${slug}`;
}
