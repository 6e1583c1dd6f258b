// What a repository's setup leaves behind, made once a (commit, setup, image) and copied into each new worktree.
// Only untracked and ignored files are kept: a worktree starts clean. The folder gets its name last, so a name stands
// for a whole tree; worktrees take copies (reflinks where the disk has them), never links, so no run can change
// another's files or the original.

import { createHash } from "node:crypto";
import { lstat, mkdir, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { REAL } from "#core/budgets.ts";
import { AGENT_LIMITS } from "./bounds.ts";
import type { Clock } from "./clock.ts";
import { endFamily } from "./endFamily.ts";
import { gitEnvironment, markOf, runEnvironment, type Surroundings } from "./environment.ts";
import { AgentError } from "./errors.ts";
import type { Git } from "./git.ts";
import type { Layout } from "./layout.ts";
import type { KeyedLock } from "./lock.ts";
import type { Report } from "./mirror.ts";
import { ownStartTicks } from "./procfs.ts";
import { HALF, readRecord, writeRecord } from "./records.ts";
import { runTool, type ToolEnd } from "./tool.ts";

/** In a mark the place of a thread's slug; no thread can have it. */
const SETUP = "_setup";
const setupFile = z.object({ path: z.string(), size: z.number(), modifiedMs: z.number() });
const preparedRecord = z.object({ commit: z.string(), usedAt: z.number(), untracked: z.array(setupFile) });
export type PreparedRecord = z.infer<typeof preparedRecord>;

export interface PreparedNeeds {
  readonly layout: Layout;
  readonly git: Git;
  readonly locks: KeyedLock;
  readonly around: Surroundings;
  readonly imageId: string;
  readonly clock: Clock;
  readonly machine: Clock;
}

/** The prepared trees of one container. */
export class Prepared {
  readonly #needs: PreparedNeeds;
  readonly #making = new Map<string, Promise<void>>();
  readonly #inUse = new Map<string, number>();

  constructor(needs: PreparedNeeds) {
    this.#needs = needs;
  }

  /** Makes the commit's prepared tree unless it stands; two who ask at once share one. Answers its key. */
  async ensure(commit: string, setup: string, report: Report): Promise<string> {
    const key = this.#keyOf(commit, setup);
    if ((await this.record(key)) !== undefined) return key;
    const under = this.#making.get(key);
    if (under) report(`setup at ${commit.slice(0, 12)} is under way already`);
    const making = under ?? this.#make(key, commit, setup, report).finally(() => this.#making.delete(key));
    if (!under) this.#making.set(key, making);
    await making;
    return key;
  }

  /** The record of a whole prepared tree; undefined when there is none. */
  async record(key: string): Promise<PreparedRecord | undefined> {
    return await readRecord(join(this.#needs.layout.preparedAt(key), "prepared.json"), preparedRecord);
  }

  /** Makes the tree and copies it into a folder, as one use: no pruning comes between. */
  async copyInto(tree: string, commit: string, setup: string, report: Report): Promise<string> {
    const key = this.#keyOf(commit, setup);
    this.#inUse.set(key, (this.#inUse.get(key) ?? 0) + 1);
    try {
      await this.ensure(commit, setup, report);
      const found = await this.record(key);
      if (found === undefined) throw new AgentError("INTERNAL", `prepared tree ${key} went away`);
      const at = this.#needs.layout.preparedAt(key);
      await writeRecord(join(at, "prepared.json"), { ...found, usedAt: this.#needs.clock.now() });
      if ((await readdir(join(at, "files"))).length > 0) await this.#copy(join(at, "files"), tree);
    } finally {
      this.#inUse.set(key, (this.#inUse.get(key) ?? 1) - 1);
    }
    await this.prune();
    return key;
  }

  /** Drops all but the most recently used; one that is being copied stays. */
  async prune(): Promise<void> {
    const { layout } = this.#needs;
    const found = await Promise.all(
      (await readdir(layout.prepared))
        .filter((name) => !name.endsWith(HALF))
        .map(async (key) => ({ key, usedAt: (await this.record(key))?.usedAt ?? 0 })),
    );
    const old = found.sort((a, b) => b.usedAt - a.usedAt).slice(AGENT_LIMITS.preparedKept);
    for (const { key } of old)
      if (!this.#inUse.get(key) && !this.#making.has(key)) await layout.discard(layout.preparedAt(key));
  }

  /** A new image may bring another Node: what an install compiled for the old one is not kept for it. */
  #keyOf(commit: string, setup: string): string {
    const hash = createHash("sha256").update(`${this.#needs.imageId}\0${setup}`).digest("hex");
    return `${commit.slice(0, 16)}-${hash.slice(0, 12)}`;
  }

  async #copy(from: string, to: string): Promise<void> {
    const copy = async (...options: string[]): Promise<ToolEnd> =>
      await runTool({
        argv: ["cp", "-a", ...options, "--", `${from}/.`, to],
        cwd: from,
        env: gitEnvironment(this.#needs.around),
        machine: this.#needs.machine,
        boundMs: REAL.repositorySetupMs,
      });
    let end = await copy("--reflink=auto");
    if (/unrecognized option/.test(end.stderr)) end = await copy();
    if (end.exit !== 0) throw new AgentError("INTERNAL", `cp: ${end.stderr.slice(0, 300)}`);
  }

  async #make(key: string, commit: string, setup: string, report: Report): Promise<void> {
    const { layout, git, locks, clock } = this.#needs;
    const half = layout.half(layout.preparedAt(key));
    const tree = join(half, "tree");
    try {
      await mkdir(join(half, "files"), { recursive: true });
      await locks.run(
        "worktrees",
        async () =>
          await git.text({
            cwd: layout.mirror,
            args: ["worktree", "add", "--quiet", "--detach", "--no-checkout", "--end-of-options", tree, commit],
          }),
      );
      await git.text({ cwd: tree, args: ["reset", "--quiet", "--hard"] });
      report(`setup at ${commit.slice(0, 12)}: ${setup.split("\n")[0]}`);
      await this.#runSetup(key, tree, setup, report);
      const untracked = await this.#moveResults(tree, join(half, "files"));
      await rm(tree, { recursive: true, force: true });
      await writeRecord(join(half, "prepared.json"), { commit, usedAt: clock.now(), untracked });
      await layout.discard(layout.preparedAt(key));
      await rename(half, layout.preparedAt(key));
    } finally {
      await layout.discard(half);
      await locks.run("worktrees", async () => await git.run({ cwd: layout.mirror, args: ["worktree", "prune"] }));
    }
  }

  async #runSetup(key: string, tree: string, setup: string, report: Report): Promise<void> {
    const { around, clock, machine } = this.#needs;
    const tail: string[] = [];
    const family = { leaders: [], mark: markOf(around, SETUP, key), sinceTicks: ownStartTicks() };
    const end = await runTool({
      argv: ["sh", "-ec", setup],
      cwd: tree,
      machine,
      boundMs: REAL.repositorySetupMs,
      bothLines: true,
      env: runEnvironment(around, { slug: SETUP, id: key, thread: SETUP }),
      onLine: (line) => {
        tail.push(line);
        if (tail.length > AGENT_LIMITS.setupTailLines) tail.shift();
        report(line);
      },
      onExit: () => void endFamily({ family, graceMs: 0, clock, machine }),
    });
    await endFamily({ family, graceMs: 0, clock, machine });
    if (end.exit === 0 && !end.timedOut) return;
    const why = end.timedOut ? "did not end within its bound" : `exit ${end.exit}`;
    throw new AgentError("SETUP_FAILED", `${setup.split("\n")[0]}: ${why}\n${tail.join("\n")}`);
  }

  /** Moves what git does not track out of the tree; answers those that are not ignored, to tell them from a run's. */
  async #moveResults(tree: string, files: string): Promise<PreparedRecord["untracked"]> {
    const { git } = this.#needs;
    const visible = await git.list({ cwd: tree, args: ["ls-files", "--others", "--exclude-standard", "-z"] });
    const untracked = await Promise.all(
      visible.map(async (path) => {
        const found = await lstat(join(tree, path));
        return { path, size: found.size, modifiedMs: Math.floor(found.mtimeMs) };
      }),
    );
    for (const entry of await git.list({ cwd: tree, args: ["ls-files", "--others", "--directory", "-z"] })) {
      const path = entry.replace(/\/$/, "");
      await mkdir(dirname(join(files, path)), { recursive: true });
      await rename(join(tree, path), join(files, path));
    }
    return untracked;
  }
}
