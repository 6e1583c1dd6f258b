// The resident's copy of its repository: a bare mirror whose refs/heads hold the runs' branches and nothing else, and
// whose refs/remotes/origin hold what the origin has. A refresh never touches a run's branch.

import { readFile, rename, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import * as z from "zod";
import { AgentError } from "./errors.ts";
import { REMOTE, sayOf, type Git, type GitCall } from "./git.ts";
import type { Layout } from "./layout.ts";
import type { KeyedLock } from "./lock.ts";
import { shownUrl } from "./mask.ts";
import { readRecord, writeRecord } from "./records.ts";
import type { ToolEnd } from "./tool.ts";

const mirrorRecord = z.object({ url: z.string(), madeAt: z.number() });
/** The origin's default commit, whatever branch (or none) its HEAD stands on. */
const HEAD_REF = "refs/tidegate/head";
const REFS = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];

export type Report = (text: string) => void;

/** The mirror of one container. */
export class Mirror {
  readonly #layout: Layout;
  readonly #git: Git;
  readonly #locks: KeyedLock;

  constructor(layout: Layout, git: Git, locks: KeyedLock) {
    this.#layout = layout;
    this.#git = git;
    this.#locks = locks;
  }

  /** Makes the mirror or brings it up to date; one fetch at a time. Answers whether this call made it. */
  async refresh(url: string, now: () => number, report: Report): Promise<boolean> {
    return await this.#locks.run("mirror", async () => {
      await this.#refuseNoRepository(url);
      const known = await readRecord(this.#layout.mirrorRecord, mirrorRecord);
      if (known === undefined) await this.#make(url, report);
      else await this.#fetch(this.#layout.mirror, url, report);
      if (known?.url !== url) {
        await this.#git.text({ cwd: this.#layout.mirror, args: ["config", "remote.origin.url", shownUrl(url)] });
        await writeRecord(this.#layout.mirrorRecord, { url, madeAt: known?.madeAt ?? now() });
      }
      return known === undefined;
    });
  }

  /** Where the mirror comes from, credentials included; refused with NO_MIRROR before the first refresh. */
  async origin(): Promise<string> {
    const known = await readRecord(this.#layout.mirrorRecord, mirrorRecord);
    if (known === undefined) throw new AgentError("NO_MIRROR", "this container has no mirror of a repository");
    return known.url;
  }

  /**
   * The commit of a branch or tag of the origin, of a run's branch, or of a commit's name; without a ref the origin's
   * HEAD. A full ref or commit that is not here yet is asked of the origin once.
   */
  async resolve(ref: string | undefined): Promise<string> {
    const url = await this.origin();
    const cwd = this.#layout.mirror;
    if (ref === undefined) {
      const head = await this.#git.commitOf(cwd, HEAD_REF);
      if (head !== undefined) return head;
      throw new AgentError("NO_SUCH_REF", `the HEAD of ${shownUrl(url)} names no commit; name a branch`);
    }
    const named = await this.#named(ref);
    if (named !== undefined) return named;
    if (!/^([0-9a-f]{7,64}|refs\/.+)$/.test(ref))
      throw new AgentError("NO_SUCH_REF", `${shownUrl(url)} has no ref ${ref}`);
    const here = (await this.#git.commitOf(cwd, ref)) ?? (await this.#fetchOne(url, ref));
    if (here === undefined) throw new AgentError("NO_SUCH_REF", `${shownUrl(url)} has no ref ${ref}`);
    return here;
  }

  /** A branch of the origin before a tag before a run's branch, in one look. */
  async #named(ref: string): Promise<string | undefined> {
    const [branch, tag] = [ref.replace(/^refs\/heads\//, ""), ref.replace(/^refs\/tags\//, "")];
    const names = [`refs/remotes/origin/${branch}`, `refs/tags/${tag}`, `refs/heads/${branch}`];
    const args = ["for-each-ref", "--format=%(refname)", "--", ...names];
    const text = await this.#git.text({ cwd: this.#layout.mirror, args });
    const found = new Set(text.split("\n"));
    const name = names.find((one) => found.has(one));
    return name === undefined ? undefined : await this.#git.commitOf(this.#layout.mirror, name);
  }

  async #fetchOne(url: string, ref: string): Promise<string | undefined> {
    if (!/^([0-9a-f]{40}|[0-9a-f]{64}|refs\/.+)$/.test(ref)) return undefined;
    const cwd = this.#layout.mirror;
    const name = `refs/tidegate/asked/${ref.replace(/^refs\//, "")}`;
    const end = await this.#locks.run(
      "mirror",
      async () =>
        await this.#fetched({ cwd, url, args: ["fetch", "--no-tags", "--end-of-options", REMOTE, `+${ref}:${name}`] }),
    );
    return end.exit === 0 ? await this.#git.commitOf(cwd, name) : undefined;
  }

  async #make(url: string, report: Report): Promise<void> {
    // Without its record a mirror is one that was never finished.
    await this.#layout.discard(this.#layout.mirror);
    const half = this.#layout.half(this.#layout.mirror);
    try {
      report(`mirror ${shownUrl(url)}`);
      if (isAbsolute(url)) await this.#cloneLocal(url, half);
      else
        await this.#git.text({ cwd: this.#layout.data, args: ["init", "--quiet", "--bare", "--end-of-options", half] });
      await this.#git.text({
        cwd: half,
        args: ["config", "--replace-all", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"],
      });
      await this.#fetch(half, url, report);
      await rename(half, this.#layout.mirror);
    } finally {
      await this.#layout.discard(half);
    }
  }

  /** A local clone shares its objects by hard links; its copies of the origin's branches are then dropped. */
  async #cloneLocal(path: string, half: string): Promise<void> {
    const args = ["clone", "--quiet", "--bare", "--end-of-options", path, half];
    const end = await this.#git.run({ cwd: this.#layout.data, args });
    if (end.exit !== 0) throw refusalOf(path, args, end);
    const copied = await this.#git.text({ cwd: half, args: ["for-each-ref", "--format=%(refname)", "refs/heads"] });
    for (const name of copied.split("\n")) {
      if (name !== "") await this.#git.text({ cwd: half, args: ["update-ref", "-d", "--end-of-options", name] });
    }
  }

  async #fetch(cwd: string, url: string, report: Report): Promise<void> {
    const args = ["fetch", "--prune", "--no-tags", "--progress", "--end-of-options", REMOTE, ...REFS];
    const withHead = [...args, `+HEAD:${HEAD_REF}`];
    let end = await this.#fetched({ cwd, url, args: withHead, onLine: report });
    if (end.exit !== 0 && end.stderr.includes("couldn't find remote ref HEAD")) {
      // The origin's HEAD names a branch without a commit: its other branches may still have some.
      await this.#git.run({ cwd, args: ["update-ref", "-d", HEAD_REF] });
      end = await this.#fetched({ cwd, url, args, onLine: report });
      if (end.exit === 0) await this.#refuseEmpty(cwd, url);
    }
    if (end.exit !== 0) throw refusalOf(url, args, end);
  }

  /**
   * Runs a fetch. A worktree that is being made names no commit yet, and git refuses to fetch beside it: then it is tried
   * again while none is being made, and one that still names none was left by a making that was killed.
   */
  async #fetched(call: GitCall): Promise<ToolEnd> {
    const first = await this.#git.run(call);
    if (unmadeIn(first) === undefined) return first;
    return await this.#locks.run("worktrees", async () => {
      let end = await this.#git.run(call);
      for (let name = unmadeIn(end); name !== undefined; name = unmadeIn(end)) {
        const unmade = join(call.cwd, "worktrees", name);
        const head = await readFile(join(unmade, "HEAD"), "utf8").catch(() => "");
        if (!/^0+\s*$/.test(head)) return end;
        await this.#layout.discard(unmade);
        end = await this.#git.run(call);
      }
      return end;
    });
  }

  async #refuseEmpty(cwd: string, url: string): Promise<void> {
    const any = await this.#git.text({ cwd, args: ["for-each-ref", "--count=1", "refs/remotes/origin", "refs/tags"] });
    if (any === "") throw new AgentError("EMPTY_REPOSITORY", `${shownUrl(url)} has no commit yet`);
  }

  /** A path that is no repository is refused by name before git says it in its own words. */
  async #refuseNoRepository(url: string): Promise<void> {
    if (/^[a-z][a-z0-9+.-]*::/i.test(url))
      throw new AgentError(
        "BAD_REQUEST",
        "url: a remote helper is not taken; give a path or an https, ssh, git or file URL",
      );
    if (!isAbsolute(url)) {
      if (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || /^[^/]+:/.test(url)) return;
      throw new AgentError("NOT_A_REPOSITORY", `${url} is neither an absolute path nor a git URL`);
    }
    const folder = await stat(url).catch(() => undefined);
    if (folder === undefined) throw new AgentError("NOT_A_REPOSITORY", `${url} does not exist`);
  }
}

/** The worktree without a commit, or with files of its own still empty, that a fetch stumbled over. */
function unmadeIn({ exit, stderr }: ToolEnd): string | undefined {
  const unmade = /(?:bad object|failed to read) worktrees\/([^/\n]+)\/(?:HEAD|commondir)/;
  return exit === 0 ? undefined : unmade.exec(stderr)?.[1];
}

/** Why an origin could not be read, told apart by git's (untranslated) words. */
function refusalOf(url: string, args: readonly string[], end: ToolEnd): AgentError {
  const none =
    /not appear to be a git repository|not a git repository|repository .* (does not exist|not found)|repository not found/i;
  const code = none.test(end.stderr) ? "NOT_A_REPOSITORY" : "REPOSITORY_UNREACHABLE";
  return new AgentError(code, `${shownUrl(url)}: ${sayOf(args, end)}`);
}
