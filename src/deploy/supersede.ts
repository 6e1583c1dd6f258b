// An older release does not silently take the place of a newer one. What git cannot answer (a shallow clone, a commit
// that is not here) is said aloud and refuses nothing: the guard is against haste, not a lock.

import { execa } from "execa";

/** Whether a release may take the place of the live one. */
export type Superseding =
  | { readonly kind: "newer" }
  | { readonly kind: "same" }
  | { readonly kind: "older" }
  | { readonly kind: "unknown"; readonly why: string };

const DIRTY = /-dirty$/;
const isCommit = (commit: string): boolean => /^[0-9a-f]{7,64}$/.test(commit);

async function git(root: string, ...args: string[]): Promise<{ code: number | undefined; out: string; err: string }> {
  const { exitCode, stdout, stderr } = await execa("git", ["-C", root, ...args], {
    reject: false,
    stdin: "ignore",
    env: { GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0" },
  });
  return { code: exitCode, out: stdout.trim(), err: stderr };
}

/** A shallow clone's history ends early, so that it finds no ancestor proves nothing. */
async function isShallow(root: string): Promise<boolean> {
  return (await git(root, "rev-parse", "--is-shallow-repository")).out === "true";
}

/** Judges by ancestry: a commit that the live one was built upon is older. `root` is the repository that both come from. */
export async function judgeSuperseding(root: string, live: string, next: string): Promise<Superseding> {
  const [from, to] = [live.replace(DIRTY, ""), next.replace(DIRTY, "")];
  if (from === to) return { kind: "same" };
  if (!isCommit(from) || !isCommit(to)) return { kind: "unknown", why: `${isCommit(to) ? live : next} is no commit` };
  const asked = await git(root, "merge-base", "--is-ancestor", to, from);
  if (asked.code === 0) return { kind: "older" };
  if (await isShallow(root)) {
    return { kind: "unknown", why: "this clone is shallow, so its history ends early (git fetch --unshallow)" };
  }
  if (asked.code === 1) return { kind: "newer" };
  return { kind: "unknown", why: asked.err.split("\n")[0] ?? "git does not answer" };
}
