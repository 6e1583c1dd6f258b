// Files go in and out of a thread's worktree and nowhere else, whatever a run puts in the way.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { LIMIT } from "#core/budgets.ts";
import { AgentError, errnoOf } from "./errors.ts";
import { folderInside, readInside, writeInside } from "./files.ts";

let folder: string;
let root: string;

before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "tidegate-files-")));
  root = join(folder, "tree");
  mkdirSync(join(root, "sub"), { recursive: true });
  mkdirSync(join(folder, "tree-beside"));
  writeFileSync(join(folder, "secret"), "secret");
  writeFileSync(join(folder, "tree-beside", "secret"), "secret");
  writeFileSync(join(root, "file"), "inside");
  writeFileSync(join(root, ".git"), "gitdir: /elsewhere");
});
after(async () => {
  await rm(folder, { recursive: true });
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => "done",
    (error: unknown) => (error instanceof AgentError ? error.code : String(error)),
  );
}
const data = Buffer.from("written");

/** Swaps a folder, a link that leads out and a link that stays inside, over and over. */
function swapping(): { end: () => Promise<void> } {
  const swap = { on: true };
  const at = (name: string): string => join(root, name);
  // A writer that finds nothing makes a folder, so what stands at the name is taken away until the step is done.
  const put = (step: () => void): void => {
    for (let done = false; !done;) {
      try {
        rmSync(at("race"), { recursive: true, force: true });
        step();
        done = true;
      } catch (error) {
        assert.match(String(errnoOf(error)), /^(EEXIST|ENOTEMPTY|ENOTDIR|EISDIR)$/);
      }
    }
  };
  const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));
  const done = (async () => {
    renameSync(at("race"), at("race-real"));
    while (swap.on) {
      put(() => symlinkSync(join(folder, "tree-beside"), at("race")));
      await turn();
      put(() => symlinkSync("race-real", at("race")));
      await turn();
      put(() => renameSync(at("race-real"), at("race")));
      await turn();
      renameSync(at("race"), at("race-real"));
    }
  })();
  return {
    end: async () => {
      swap.on = false;
      await done;
    },
  };
}

describe("a path", () => {
  const refused = [
    "..",
    "../secret",
    "sub/../../secret",
    "/etc/passwd",
    "",
    ".",
    "sub/",
    ".git",
    "sub/.GIT/config",
    "a\0b",
    "../tree-beside/secret",
  ];
  for (const path of refused) {
    test(`${JSON.stringify(path)} is refused for reading and for writing`, async () => {
      assert.equal(await codeOf(readInside(root, path)), "PATH_REFUSED");
      assert.equal(await codeOf(writeInside(root, path, { data })), "PATH_REFUSED");
    });
  }

  test("inside is read and written whole, its mode kept, its folders made", async () => {
    assert.equal((await writeInside(root, "new/deep/file", { data, executable: true })).created, true);
    assert.deepEqual(await writeInside(root, "./new/deep/file", { data: Buffer.from("2") }), {
      path: "./new/deep/file",
      size: 1,
      created: false,
    });
    assert.equal(lstatSync(join(root, "new/deep/file")).mode & 0o777, 0o755);
    const read = await readInside(root, "new//deep/file");
    assert.equal(Buffer.from(read.data, "base64").toString(), "2");
    assert.equal(await codeOf(readInside(root, "missing")), "NO_SUCH_FILE");
    assert.equal(await codeOf(readInside(root, "sub")), "NOT_A_FILE");
    assert.equal(await codeOf(writeInside(root, "sub", { data })), "NOT_A_FILE");
    assert.equal(await codeOf(writeInside(root, "file/below", { data })), "NOT_A_FILE");
  });

  test("of a pipe or of too much is refused and does not hang", async () => {
    execFileSync("sh", ["-c", "mkfifo pipe"], { cwd: root });
    assert.equal(await codeOf(readInside(root, "pipe")), "NOT_A_FILE");
    assert.equal(await codeOf(writeInside(root, "pipe", { data })), "NOT_A_FILE");
    const much = Buffer.alloc(LIMIT.fileBytes + 1);
    assert.equal(await codeOf(writeInside(root, "much", { data: much })), "FILE_TOO_LARGE");
    writeFileSync(join(root, "much"), much);
    assert.equal(await codeOf(readInside(root, "much")), "FILE_TOO_LARGE");
    rmSync(join(root, "much"));
  });
});

describe("a link", () => {
  test("that stays inside is followed; one that leads out is not, whether it is the file or a folder above", async () => {
    symlinkSync("../file", join(root, "sub/in"));
    assert.equal(Buffer.from((await readInside(root, "sub/in")).data, "base64").toString(), "inside");
    const outs: [string, string][] = [
      ["out-file", "../secret"],
      ["out-absolute", join(folder, "secret")],
      ["out-folder", ".."],
      ["out-new", "../not-yet"],
      ["out-beside", "../tree-beside"],
      ["out-git", ".git"],
      ["loop", "loop"],
    ];
    for (const [name, target] of outs) symlinkSync(target, join(root, name));
    for (const path of [
      "out-file",
      "out-absolute",
      "out-folder/secret",
      "out-beside/secret",
      "out-git",
      "loop",
      "loop/x",
    ]) {
      assert.equal(await codeOf(readInside(root, path)), "PATH_REFUSED", path);
      assert.equal(await codeOf(writeInside(root, path, { data })), "PATH_REFUSED", path);
    }
    for (const path of ["out-new", "out-folder/made", "out-folder/a/made"]) {
      assert.notEqual(await codeOf(writeInside(root, path, { data })), "done", path);
    }
    assert.equal(readFileSync(join(folder, "secret"), "utf8"), "secret");
    for (const name of ["not-yet", "made", "a"]) assert.throws(() => lstatSync(join(folder, name)), name);
    assert.equal(await codeOf(folderInside(root, "out-folder")), "PATH_REFUSED");
    assert.equal(await folderInside(root, "sub"), join(root, "sub"));
  });

  test("swapped in between any two steps never leads out", async () => {
    mkdirSync(join(root, "race"));
    writeFileSync(join(root, "race/secret"), "decoy");
    const swapped = swapping();
    const seen = new Set<string>();
    for (let turn = 0; turn < 300; turn++) {
      const path = turn % 2 === 0 ? "race/secret" : "race/new";
      seen.add(
        await codeOf(
          turn % 2 === 0
            ? readInside(root, path).then(({ data }) =>
                assert.notEqual(Buffer.from(data, "base64").toString(), "secret"),
              )
            : writeInside(root, path, { data }),
        ),
      );
    }
    await swapped.end();
    assert.equal(readFileSync(join(folder, "tree-beside/secret"), "utf8"), "secret");
    assert.throws(() => lstatSync(join(folder, "tree-beside/new")));
    assert.ok(seen.has("done"), [...seen].join());
    for (const code of seen) assert.match(code, /^(done|PATH_REFUSED|NO_SUCH_FILE|NOT_A_FILE)$/);
  });
});
