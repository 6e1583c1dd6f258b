// The mirror, the setup and the worktrees, over real git and a real agent.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { appendFile, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { keepResult, pushResult, sweepResult, worktreeList, worktreeResult, type WorktreeResult } from "#wire/agent.ts";
import { AgentForTests, commitAll, git, sampleRepository } from "./agentForTests.ts";

let agent: AgentForTests;
let origin: string;

before(async () => {
  agent = await AgentForTests.start();
  origin = await sampleRepository(agent.folder, { "README.md": "hello\n", ".gitignore": "node_modules/\n" });
});
after(async () => {
  assert.equal(await agent.stop(), 0, "an agent told to stop exits 0");
});

async function worktree(thread: string, more: Record<string, unknown> = {}): Promise<WorktreeResult> {
  const { last } = await agent.operate("worktrees", { thread, ...more });
  return worktreeResult.parse(last);
}

async function codeOf(path: string, body: unknown): Promise<unknown> {
  return (await agent.operate(path, body)).last["code"];
}

const commitIn = (path: string): string => commitAll(path, "work of a run");
const far = Number.MAX_SAFE_INTEGER;

describe("the mirror", () => {
  test("is asked for before a worktree", async () => {
    assert.equal(await codeOf("worktrees", { thread: "early" }), "NO_MIRROR");
  });

  test("refuses what is no repository, an empty one and a ref that is not there, and changes nothing", async () => {
    const plain = join(agent.folder, "plain");
    await mkdir(plain);
    const empty = join(agent.folder, "empty.git");
    git(agent.folder, "init", "--quiet", "--bare", empty);
    const { last } = await agent.operate("mirror", { url: plain });
    assert.equal(last["code"], "NOT_A_REPOSITORY");
    assert.match(String(last["next"]), /^tidegate repo add /);
    assert.equal(await codeOf("mirror", { url: join(agent.folder, "nowhere") }), "NOT_A_REPOSITORY");
    assert.equal(await codeOf("mirror", { url: "some/relative" }), "NOT_A_REPOSITORY");
    assert.equal(await codeOf("mirror", { url: empty }), "EMPTY_REPOSITORY");
    assert.equal(await codeOf("mirror", { url: "--upload-pack=touch /tmp/x" }), "BAD_REQUEST");
    assert.equal(await codeOf("mirror", { url: "ext::sh -c true" }), "BAD_REQUEST");
    assert.deepEqual(
      (await readdir(join(agent.folder, "data"))).filter((name) => name.startsWith("mirror")),
      [],
    );
    assert.equal(await codeOf("mirror", { url: origin, ref: "no-such-branch" }), "NO_SUCH_REF");
    assert.equal(await codeOf("mirror", { url: origin, ref: "--output=x" }), "BAD_REQUEST");
  });

  test("shows no credential of a URL it cannot reach", async () => {
    const { last, said } = await agent.operate("mirror", { url: "http://someone:s3cr3t-pass@127.0.0.1:1/repo.git" });
    assert.equal(last["code"], "REPOSITORY_UNREACHABLE");
    assert.doesNotMatch(JSON.stringify([last, said]), /s3cr3t|someone/);
  });

  test("is made, refreshed, and holds no branch of the origin among the runs' branches", async () => {
    const first = (await agent.operate("mirror", { url: origin })).last;
    assert.equal(first["type"], "result");
    assert.equal(first["commit"], git(origin, "rev-parse", "HEAD"));
    await writeFile(join(origin, "more"), "x");
    const commit = commitAll(origin, "second");
    const second = (await agent.operate("mirror", { url: origin, ref: "main" })).last;
    assert.equal(second["created"], false);
    assert.equal(second["commit"], commit);
    assert.equal(git(join(agent.folder, "data", "mirror.git"), "for-each-ref", "refs/heads"), "");
  });

  test("is refreshed beside worktrees that are being made, and over what a killed making left", async () => {
    const mirror = join(agent.folder, "data", "mirror.git");
    const half = join(mirror, "worktrees", "half");
    const left = { HEAD: `${"0".repeat(40)}\n`, gitdir: `${join(agent.folder, "nowhere", ".git")}\n`, locked: "\n" };
    for (const [commondir, says] of [
      ["../..\n", /bad object worktrees\/half\/HEAD/],
      ["", /failed to read worktrees\/half\/commondir/],
    ] as const) {
      await mkdir(half, { recursive: true });
      for (const [name, text] of Object.entries({ ...left, commondir })) await writeFile(join(half, name), text);
      assert.throws(() => git(mirror, "fetch", "--quiet", origin), says);
      assert.equal((await agent.operate("mirror", { url: origin })).last["type"], "result");
      assert.equal(existsSync(half), false);
    }
    const asked = Array.from({ length: 4 }, async (_, n) => {
      const { last } = await agent.operate("mirror", { url: origin });
      assert.equal(last["type"], "result", JSON.stringify(last));
      return worktree(`beside-${n}`);
    });
    for (const { slug } of await Promise.all(asked)) await agent.ask("DELETE", `worktrees/${slug}`);
  });
});

describe("the sweep", () => {
  test("takes the clean and idle, keeps the dirty longer and never touches one with a live process", async () => {
    const [clean, dirty, live] = [await worktree("sw-clean"), await worktree("sw-dirty"), await worktree("sw-live")];
    await writeFile(join(dirty.path, "work"), "1");
    await agent.shell("sw-proc", "sw-live", "sleep 300");
    const spared = await agent.get(sweepResult, ["POST", "sweep"], {
      idleBeforeMs: far,
      keepBeforeMs: far,
      spare: ["sw-clean", "sw-dirty", "sw-live"],
    });
    assert.deepEqual(spared.removed, []);
    const none = await agent.get(sweepResult, ["POST", "sweep"], { idleBeforeMs: 0, keepBeforeMs: 0 });
    assert.deepEqual(none.removed, []);
    const some = await agent.get(sweepResult, ["POST", "sweep"], { idleBeforeMs: far, keepBeforeMs: 0 });
    assert.ok(some.removed.includes(clean.slug));
    assert.deepEqual(
      some.stayed.filter(({ slug }) => slug.startsWith("sw-")),
      [
        { slug: "sw-dirty", why: "dirty" },
        { slug: "sw-live", why: "live" },
      ],
    );
    await agent.get(sweepResult, ["POST", "sweep"], { idleBeforeMs: far, keepBeforeMs: far });
    assert.deepEqual(
      [clean, dirty, live].map(({ path }) => existsSync(path)),
      [false, false, true],
    );
    assert.equal((await agent.ask("DELETE", `worktrees/${live.slug}`)).status, 200);
    assert.equal(existsSync(live.path), false);
  });
});

describe("a worktree", () => {
  test("is one a thread, made once also when asked at once, and its branch is named for the thread", async () => {
    const made = await Promise.all([worktree("w-once"), worktree("w-once"), worktree("w-once")]);
    assert.equal(made.filter(({ created }) => created).length, 1);
    assert.equal(made[0]?.branch, "tidegate/w-once");
    assert.equal(await readFile(join(made[0]?.path ?? "", "README.md"), "utf8"), "hello\n");
    assert.equal(git(made[0]?.path ?? "", "status", "--porcelain"), "");
  });

  test("has another place for each of two keys that read alike", async () => {
    const keys = ["slack:C1:1700.1", "slack c1 1700 1", "../.."];
    const made = await Promise.all(keys.map(async (key) => await worktree(key)));
    assert.equal(new Set(made.map(({ path }) => path)).size, keys.length);
    for (const { slug } of made) assert.match(slug, /^[a-z0-9][a-z0-9-]*$/);
  });

  test("starts at a ref, and says so when there is none", async () => {
    git(origin, "branch", "--force", "older", "HEAD~1");
    git(origin, "tag", "v1", "HEAD~1");
    const older = git(origin, "rev-parse", "older");
    await agent.operate("mirror", { url: origin });
    for (const [index, ref] of ["v1", older.slice(0, 9), "refs/heads/older"].entries()) {
      assert.equal((await worktree(`w-ref-${index}`, { ref })).base, older, ref);
    }
    assert.equal(await codeOf("worktrees", { thread: "w-ref-none", ref: "nothing" }), "NO_SUCH_REF");
  });

  test("keeps a run's commits on its branch when it is removed, and goes on there", async () => {
    const { path, slug, base } = await worktree("w-goes-on");
    await writeFile(join(path, "work"), "1");
    const head = commitIn(path);
    await writeFile(join(path, "uncommitted"), "2");
    assert.deepEqual(await agent.get(keepResult, ["POST", `worktrees/${slug}/keep`]), {
      branch: "tidegate/w-goes-on",
      head,
      ahead: 1,
      dirty: true,
    });
    assert.equal((await agent.ask("DELETE", `worktrees/${slug}`)).status, 200);
    assert.equal(existsSync(path), false);
    const again = await worktree("w-goes-on");
    assert.deepEqual([again.created, again.head, again.base], [true, head, base]);
  });

  test("does not lose commits made on a detached HEAD", async () => {
    const { path, slug } = await worktree("w-detached");
    git(path, "checkout", "--quiet", "--detach");
    await writeFile(join(path, "work"), "1");
    const head = commitIn(path);
    assert.equal((await agent.get(keepResult, ["POST", `worktrees/${slug}/keep`])).head, head);
    assert.equal(
      git(origin, "--git-dir", join(agent.folder, "data", "mirror.git"), "rev-parse", "tidegate/w-detached"),
      head,
    );
  });

  test("that was half made when the agent was killed is made anew", async () => {
    const { path, slug } = await worktree("w-half");
    const record = join(agent.folder, "data", "threads", `${slug}.json`);
    await writeFile(record, (await readFile(record, "utf8")).replace('"ready"', '"making"'));
    await writeFile(join(path, "README.md"), "half");
    assert.equal((await worktree("w-half")).created, true);
    assert.equal(await readFile(join(path, "README.md"), "utf8"), "hello\n");
    await writeFile(record, '{"thread":"w-ha');
    assert.equal((await worktree("w-half")).created, true);
  });
});

describe("the setup", () => {
  const setup =
    "echo one >> ../../../setup-ran; mkdir -p node_modules/dep; echo dep > node_modules/dep/index.js; echo made > visible.txt; echo changed >> README.md; setsid sleep 300 & echo done";

  test("runs once a commit, also for many at once; its files are there, the tree is clean, no copy is shared", async () => {
    const made = await Promise.all(["s-1", "s-2", "s-3"].map(async (thread) => await worktree(thread, { setup })));
    assert.equal(await readFile(join(agent.folder, "data", "setup-ran"), "utf8"), "one\n");
    for (const { path } of made) assert.equal(await readFile(join(path, "node_modules/dep/index.js"), "utf8"), "dep\n");
    const { worktrees } = await agent.get(worktreeList, ["GET", "worktrees"]);
    assert.deepEqual(
      worktrees.filter(({ slug }) => slug.startsWith("s-")).map(({ dirty }) => dirty),
      [false, false, false],
    );
    const [first, second] = made.map(({ path }) => join(path, "node_modules/dep/index.js"));
    await appendFile(first ?? "", "edited by one run\n");
    assert.equal(await readFile(second ?? "", "utf8"), "dep\n");
    await writeFile(join(made[0]?.path ?? "", "visible.txt"), "a run's work");
    const after = await agent.get(worktreeList, ["GET", "worktrees"]);
    assert.deepEqual(
      after.worktrees
        .filter(({ dirty }) => dirty)
        .map(({ slug }) => slug)
        .filter((slug) => slug.startsWith("s-")),
      ["s-1"],
    );
  });

  test("that fails is refused with its last lines and leaves nothing", async () => {
    const before = await readdir(join(agent.folder, "data", "prepared"));
    const { last } = await agent.operate("worktrees", { thread: "s-fails", setup: "echo the reason >&2; exit 3" });
    assert.equal(last["code"], "SETUP_FAILED");
    assert.match(String(last["detail"]), /exit 3\nthe reason/);
    assert.deepEqual(await readdir(join(agent.folder, "data", "prepared")), before);
  });

  test("keeps the last few prepared trees only", async () => {
    for (const word of ["a", "b", "c"]) await agent.operate("mirror", { url: origin, setup: `echo ${word} > f` });
    assert.equal((await readdir(join(agent.folder, "data", "prepared"))).length, 3);
  });
});

describe("the push", () => {
  test("brings the branch to the origin, and names a refusal", async () => {
    const { path } = await worktree("p-1");
    await writeFile(join(path, "work"), "1");
    const head = commitIn(path);
    const pushed = await agent.get(pushResult, ["POST", "push"], { thread: "p-1" });
    assert.deepEqual(pushed, { branch: "tidegate/p-1", head, remote: origin });
    assert.equal(git(origin, "rev-parse", "tidegate/p-1"), head);
    git(
      path,
      "-c",
      "user.name=t",
      "-c",
      "user.email=t@localhost",
      "commit",
      "--quiet",
      "--amend",
      "--message",
      "other",
    );
    const refused = await agent.operate("push", { thread: "p-1" });
    assert.equal(refused.last["code"], "PUSH_REJECTED");
    const failed = await agent.operate("push", { thread: "p-1", remote: "http://u:hidden-word@127.0.0.1:1/r" });
    assert.equal(failed.last["code"], "PUSH_FAILED");
    assert.doesNotMatch(JSON.stringify(failed.last), /hidden-word/);
    assert.equal((await agent.operate("push", { thread: "p-none" })).last["code"], "NO_WORKTREE");
  });
});
