// A release is named by what is in it and is whole or not there: what is wrong with it is found before anything is closed.

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { planRelease, prepareRelease, type PreparedRelease } from "#embed/release.ts";
import { HostStack } from "./hostStack.ts";

const images = (stack: HostStack): string[] =>
  existsSync(stack.paths.images) ? readdirSync(stack.paths.images).filter((name) => /^[0-9a-f]{12}$/.test(name)) : [];

async function prepare(
  stack: HostStack,
  said: string[] = [],
  signal = new AbortController().signal,
): Promise<PreparedRelease> {
  const building = {
    progress: (line: string) => said.push(line),
    signal,
    env: { PATH: process.env["PATH"], HOME: "/nowhere", SECRET: "s" },
  };
  return await prepareRelease({ paths: stack.paths, sources: stack.sources(), building });
}

test("the same content is the same build, and each part of the definition is part of the image's name", async (context) => {
  const stack = new HostStack(context, { image: { files: ["v"] } });
  writeFileSync(join(stack.home, "v"), "1");
  const first = await prepare(stack);
  const folders = [join(stack.paths.bundles, first.build.bundle), join(stack.paths.images, first.build.image)];
  for (const folder of folders) utimesSync(folder, 1, 1);
  assert.deepEqual((await prepare(stack)).build, first.build);
  for (const folder of folders) assert.ok(statSync(folder).mtimeMs > 1000, "prepared again, it is one of the newest");
  const seen = new Set([first.build.image]);
  writeFileSync(join(stack.home, "v"), "2");
  seen.add((await prepare(stack)).build.image);
  for (const image of [
    { files: ["v"], env: { A: "1" } },
    { files: ["v"], setup: "true" },
    { files: ["v"], tools: { sh: "1" } },
    {},
  ]) {
    stack.configure({ image });
    seen.add(
      await planRelease({
        paths: stack.paths,
        sources: stack.sources(),
        building: { progress: () => undefined, signal: new AbortController().signal, env: process.env },
      }).then(
        (planned) => planned.build.image,
        (error: unknown) => (assert.match(String(error), /sh --version/), "the tool is asked"),
      ),
    );
  }
  assert.equal(seen.size, 6);
  assert.equal(images(stack).length, 2);
});

test("setup sees the image's own path, its files, its env and no secret; its output is progress; its bin serves the tools", async (context) => {
  const setup =
    'echo "in $TIDEGATE_IMAGE"; test "$PWD" = "$TIDEGATE_IMAGE"; test -z "${SECRET:-}"; test "$A" = one; printf "#!/bin/sh\\necho mytool $(cat files/v)\\n" > bin/mytool; chmod +x bin/mytool';
  const stack = new HostStack(context, { image: { files: ["v"], setup, env: { A: "one" }, tools: { mytool: "3.1" } } });
  writeFileSync(join(stack.home, "v"), "3.1.7");
  const said: string[] = [];
  const { build } = await prepare(stack, said);
  const folder = join(stack.paths.images, build.image);
  assert.deepEqual(said, [`in ${folder}`]);
  assert.match(readFileSync(join(folder, "image.json"), "utf8"), /"mytool": "3\.1\.7"/);
  chmodSync(join(folder, "bin", "mytool"), 0o600);
  await assert.rejects(prepare(stack), { code: "IMAGE_TOOL_MISMATCH" });
});

test("a failing setup, a tool of another version, a missing or strange file and a source that does not build leave nothing behind", async (context) => {
  const stack = new HostStack(context);
  mkdirSync(join(stack.home, "folder"));
  symlinkSync("/etc/hostname", join(stack.home, "link"));
  for (const [image, code, says] of [
    [{ setup: "echo no; exit 3" }, "IMAGE_SETUP_FAILED", /exit code 3/],
    [{ tools: { node: "1" } }, "IMAGE_TOOL_MISMATCH", /node is \d+.* wants 1/],
    [{ tools: { node: process.versions.node.slice(0, 1) } }, "IMAGE_TOOL_MISMATCH", /wants 2/],
    [{ tools: { nosuchtool: "1" } }, "IMAGE_TOOL_MISMATCH", /nosuchtool --version fails/],
    [{ files: ["missing"] }, "IMAGE_FILE_MISSING", /missing, which is not there/],
    [{ files: ["folder"] }, "IMAGE_FILE_MISSING", /no file/],
    [{ files: ["link"] }, "IMAGE_FILE_MISSING", /leads out/],
  ] as const) {
    stack.configure({ image });
    await assert.rejects(prepare(stack), { code, message: says });
  }
  const building = { progress: () => undefined, signal: new AbortController().signal, env: process.env };
  const sources = { ...stack.sources(), worker: join(stack.home, "tidegate.jsonc") };
  await assert.rejects(
    prepareRelease({ paths: stack.paths, sources: { ...sources, worker: join(stack.home, "none.ts") }, building }),
    { code: "BUNDLE_FAILED" },
  );
  assert.deepEqual(images(stack), []);
});

test("a setup that is stopped ends with its whole group, and a half-built image is built anew", async (context) => {
  const stack = new HostStack(context, { image: { setup: "echo begun; sleep 1001 & sleep 1001" } });
  const stop = new AbortController();
  const building = { progress: () => stop.abort(), signal: stop.signal, env: process.env };
  await assert.rejects(prepareRelease({ paths: stack.paths, sources: stack.sources(), building }), {
    code: "INTERRUPTED",
  });
  assert.deepEqual(images(stack), []);
  stack.configure({ image: { setup: "echo done > bin/done" } });
  const { build } = await prepare(stack);
  const folder = join(stack.paths.images, build.image);
  writeFileSync(join(folder, "image.json"), "{");
  writeFileSync(join(folder, "bin", "done"), "spoiled");
  const both = await Promise.all([prepare(stack), prepare(stack)]);
  assert.deepEqual(
    both.map((one) => one.build),
    [build, build],
  );
  assert.equal(readFileSync(join(folder, "bin", "done"), "utf8"), "done\n");
});
