// One worktree a thread, on a branch of its own in the mirror. The thread's record is written `ready` last: a
// worktree without it is one that was never finished and is made anew, its branch (where commits live) untouched.
// No tree goes while a process of its thread lives: kill, wait, then remove.

import { createHash } from "node:crypto";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { KeepResult, WorktreeRequest, WorktreeResult } from "#wire/agent.ts";
import type { Clock } from "./clock.ts";
import { AgentError } from "./errors.ts";
import type { Git } from "./git.ts";
import type { Layout } from "./layout.ts";
import type { KeyedLock } from "./lock.ts";
import type { Mirror, Report } from "./mirror.ts";
import type { Prepared } from "./prepared.ts";
import { HALF, readRecord, writeRecord } from "./records.ts";
import { branchOf, slugOf } from "./slug.ts";

const threadRecord = z.object({
  thread: z.string(),
  slug: z.string(),
  base: z.string(),
  state: z.enum(["making", "ready"]),
  prepared: z.string().nullable(),
  createdAt: z.number(),
  lastUsedAt: z.number(),
  keptAt: z.number().nullable(),
  /** The setup's own files that git would call untracked: while unchanged they are no work of a run. */
  setupFiles: z.array(z.object({ path: z.string(), size: z.number(), modifiedMs: z.number() })),
});
export type ThreadRecord = z.infer<typeof threadRecord>;

export interface WorktreeNeeds {
  readonly layout: Layout;
  readonly git: Git;
  readonly locks: KeyedLock;
  readonly mirror: Mirror;
  readonly prepared: Prepared;
  readonly clock: Clock;
}

/** The worktrees of one container. */
export class Worktrees {
  readonly #needs: WorktreeNeeds;

  constructor(needs: WorktreeNeeds) {
    this.#needs = needs;
  }

  /** Runs work that no removal or making of this thread's worktree may cross. */
  async exclusively<T>(slug: string, work: () => Promise<T>): Promise<T> {
    return await this.#needs.locks.run(`thread ${slug}`, work);
  }

  /** Makes the thread's worktree, or answers the one that stands (protocol.md, "Words": one a thread). */
  async ensure(ask: WorktreeRequest, report: Report): Promise<WorktreeResult> {
    const slug = slugOf(ask.thread);
    return await this.exclusively(slug, async () => {
      const known = await this.#record(slug);
      if (known && known.thread !== ask.thread) throw new AgentError("SLUG_TAKEN", `${slug} belongs to another thread`);
      const created = known?.state !== "ready" || !(await this.#stands(slug));
      const made = created ? await this.#make(slug, ask, report) : undefined;
      const record = await this.require(slug);
      await this.#write({ ...record, lastUsedAt: this.#needs.clock.now() });
      const path = this.pathOf(slug);
      const head = made ?? (await this.#needs.git.commitOf(path, "HEAD")) ?? record.base;
      return { slug, thread: ask.thread, path, branch: branchOf(slug), base: record.base, head, created };
    });
  }

  /** Where the thread's worktree lies. */
  pathOf(slug: string): string {
    return this.#needs.layout.worktree(slug);
  }

  /** The record of a thread whose worktree is whole; refused with NO_WORKTREE when there is none. */
  async require(slug: string): Promise<ThreadRecord> {
    const record = await this.#record(slug);
    if (record?.state === "ready" && (await this.#stands(slug))) return record;
    throw new AgentError("NO_WORKTREE", `no worktree of ${slug} in this container`);
  }

  /** Every thread whose worktree is whole. */
  async all(): Promise<ThreadRecord[]> {
    const names = (await readdir(this.#needs.layout.threads)).filter(
      (name) => name.endsWith(".json") && !name.endsWith(HALF),
    );
    const records = await Promise.all(names.map(async (name) => await this.#record(name.replace(/\.json$/, ""))));
    return records.filter((record) => record !== undefined).filter((record) => record.state === "ready");
  }

  /** Notes that a thread's worktree is in use now. */
  async touch(slug: string): Promise<void> {
    await this.exclusively(slug, async () => {
      const record = await this.#record(slug);
      if (record) await this.#write({ ...record, lastUsedAt: this.#needs.clock.now() });
    });
  }

  /** Whether files of a run are uncommitted; a tree that cannot be read counts as dirty, so that it stays. */
  async isDirty(record: ThreadRecord): Promise<boolean> {
    const { git } = this.#needs;
    const cwd = this.pathOf(record.slug);
    const end = await git.run({
      cwd,
      args: ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"],
    });
    if (end.exit !== 0) return true;
    const bySetup = new Map(record.setupFiles.map((file) => [file.path, file]));
    for (const entry of end.stdout
      .toString("utf8")
      .split("\0")
      .filter((text) => text !== "")) {
      const file = entry.startsWith("? ") ? bySetup.get(entry.slice(2)) : undefined;
      if (file === undefined) return true;
      const found = await lstat(join(cwd, file.path)).catch(() => undefined);
      if (found?.size !== file.size || Math.floor(found.mtimeMs) !== file.modifiedMs) return true;
    }
    return false;
  }

  /** A run's end: nothing is committed, the branch carries what was, the rest stays for its retention. */
  async keep(slug: string): Promise<KeepResult> {
    return await this.exclusively(slug, async () => {
      const record = await this.require(slug);
      const head = await this.#anchor(record);
      const now = this.#needs.clock.now();
      await this.#write({ ...record, lastUsedAt: now, keptAt: now });
      const ahead = await this.#needs.git.text({
        cwd: this.pathOf(slug),
        args: ["rev-list", "--count", "--end-of-options", `${record.base}..${head}`],
      });
      return { branch: branchOf(slug), head, ahead: Number(ahead), dirty: await this.isDirty(record) };
    });
  }

  /** Takes the worktree away and keeps its branch. The caller holds `exclusively` and has ended its processes. */
  async remove(slug: string): Promise<boolean> {
    const { layout, git, locks } = this.#needs;
    const record = await this.#record(slug);
    if (record === undefined) return false;
    if (await this.#stands(slug)) await this.#anchor(record).catch(() => undefined);
    await this.#write({ ...record, state: "making" });
    await layout.discard(this.pathOf(slug));
    await locks.run("worktrees", async () => await git.run({ cwd: layout.mirror, args: ["worktree", "prune"] }));
    await layout.discard(layout.threadRecord(slug));
    return true;
  }

  async #record(slug: string): Promise<ThreadRecord | undefined> {
    return await readRecord(this.#needs.layout.threadRecord(slug), threadRecord);
  }

  async #write(record: ThreadRecord): Promise<void> {
    await writeRecord(this.#needs.layout.threadRecord(record.slug), record);
  }

  async #stands(slug: string): Promise<boolean> {
    return await lstat(join(this.pathOf(slug), ".git")).then(
      () => true,
      () => false,
    );
  }

  /** Makes it and answers its head. */
  async #make(slug: string, ask: WorktreeRequest, report: Report): Promise<string> {
    const { layout, git, locks, mirror, prepared, clock } = this.#needs;
    const from = await mirror.resolve(ask.ref);
    const branch = branchOf(slug);
    const path = this.pathOf(slug);
    const continued = await this.#continuing(branch);
    const base = continued === undefined ? from : await this.#commonBase(continued.head, from);
    const now = clock.now();
    const record: ThreadRecord = {
      thread: ask.thread,
      slug,
      base,
      state: "making",
      prepared: null,
      createdAt: now,
      lastUsedAt: now,
      keptAt: null,
      setupFiles: [],
    };
    await this.#write(record);
    await layout.discard(path);
    report(
      continued === undefined
        ? `worktree on ${branch} at ${from.slice(0, 12)}`
        : `worktree on ${branch}, which goes on at ${continued.head.slice(0, 12)}`,
    );
    // Forced over what a killed making left registered; no other worktree ever has this branch.
    const where = continued?.local ? [path, branch] : ["-b", branch, "--no-track", path, continued?.head ?? from];
    await locks.run(
      "worktrees",
      async () =>
        await git.text({
          cwd: layout.mirror,
          args: ["worktree", "add", "--quiet", "--force", "--no-checkout", ...where],
        }),
    );
    const setup = ask.setup?.trim() ? ask.setup : undefined;
    const key = setup === undefined ? null : await prepared.copyInto(path, base, setup, report);
    // Files that the branch tracks win over what the setup left in their place.
    await git.text({ cwd: path, args: ["reset", "--quiet", "--hard"] });
    const setupFiles = key === null ? [] : ((await prepared.record(key))?.untracked ?? []);
    await this.#write({ ...record, state: "ready", prepared: key, setupFiles });
    return continued?.head ?? from;
  }

  /** Where an earlier run left the branch: in this mirror, or pushed before the mirror was made anew. */
  async #continuing(branch: string): Promise<{ head: string; local: boolean } | undefined> {
    const { layout, git } = this.#needs;
    const [local, pushed] = [`refs/heads/${branch}`, `refs/remotes/origin/${branch}`];
    const text = await git.text({
      cwd: layout.mirror,
      args: ["for-each-ref", "--format=%(refname) %(objectname)", local, pushed],
    });
    const found = new Map(text.split("\n").map((line) => line.split(" ") as [string, string]));
    const head = found.get(local) ?? found.get(pushed);
    return head === undefined ? undefined : { head, local: found.has(local) };
  }

  async #commonBase(head: string, from: string): Promise<string> {
    const end = await this.#needs.git.run({
      cwd: this.#needs.layout.mirror,
      args: ["merge-base", "--end-of-options", head, from],
    });
    return end.exit === 0 ? end.stdout.toString("utf8").trim() : head;
  }

  /**
   * Sees to it that a ref holds what the worktree's HEAD has, and answers the branch's tip. A run may have left its
   * branch: where the branch can be moved forward to HEAD it is; commits beside it get a branch of their own.
   */
  async #anchor(record: ThreadRecord): Promise<string> {
    const { git } = this.#needs;
    const cwd = this.pathOf(record.slug);
    const branch = `refs/heads/${branchOf(record.slug)}`;
    const tip = await git.commitOf(cwd, branch);
    const head = (await git.commitOf(cwd, "HEAD")) ?? tip ?? record.base;
    if (tip === head || (tip !== undefined && (await this.#isAncestor(head, tip)))) return tip;
    if (tip === undefined || (await this.#isAncestor(tip, head))) {
      await git.text({ cwd, args: ["update-ref", "--end-of-options", branch, head, tip ?? ""] });
      return head;
    }
    const aside = `${branch}-aside-${createHash("sha256").update(head).digest("hex").slice(0, 8)}`;
    await git.text({ cwd, args: ["update-ref", "--end-of-options", aside, head] });
    return tip;
  }

  async #isAncestor(older: string, newer: string): Promise<boolean> {
    const args = ["merge-base", "--is-ancestor", older, newer];
    return (await this.#needs.git.run({ cwd: this.#needs.layout.mirror, args })).exit === 0;
  }
}
