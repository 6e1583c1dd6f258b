// Pushes a thread's branch from the mirror to where the mirror came from. Credentials go by environment and are in
// no answer; a remote that says no is told apart from one that was not reached.

import type { PushResult } from "#wire/agent.ts";
import { AgentError } from "./errors.ts";
import { REMOTE, sayOf, type Git } from "./git.ts";
import type { Layout } from "./layout.ts";
import { shownUrl } from "./mask.ts";
import type { Mirror } from "./mirror.ts";
import { branchOf, slugOf } from "./slug.ts";

/** Pushes; never by force. The branch needs no worktree: it is in the mirror. */
export async function pushBranch(
  needs: { git: Git; layout: Layout; mirror: Mirror },
  ask: { thread: string; remote?: string | undefined },
): Promise<PushResult> {
  const { git, layout, mirror } = needs;
  const url = ask.remote ?? (await mirror.origin());
  const branch = branchOf(slugOf(ask.thread));
  const head = await git.commitOf(layout.mirror, `refs/heads/${branch}`);
  if (head === undefined) throw new AgentError("NO_WORKTREE", `the mirror has no branch ${branch}`);
  const args = [
    "push",
    "--porcelain",
    "--no-follow-tags",
    "--end-of-options",
    REMOTE,
    `refs/heads/${branch}:refs/heads/${branch}`,
  ];
  const end = await git.run({ cwd: layout.mirror, url, args });
  if (end.exit === 0) return { branch, head, remote: shownUrl(url) };
  const rejected = /^!\t.*\[(remote )?rejected\]/m.test(end.stdout.toString("utf8"));
  throw new AgentError(
    rejected ? "PUSH_REJECTED" : "PUSH_FAILED",
    `${branch} to ${shownUrl(url)}: ${sayOf(args, end)}`,
  );
}
