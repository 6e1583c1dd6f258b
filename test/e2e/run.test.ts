// `tidegate run` as a person has it: its command's bytes and exit code, its branch, and nothing left of it at its end.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { readProcess } from "#node/processes.ts";
import { git, Home, lastLine, root, SAMPLE } from "./home.ts";
import { eventually, type Typed } from "./typed.ts";

const home = new Home();
before(() => home.up());
after(() => home.dispose());

/** A run that is at work: it has said `begun`. */
async function begun(thread: string, ...args: string[]): Promise<Typed> {
  const run = home.type(["run", "sample", "--thread", thread, ...args]);
  await run.says(/^begun$/m);
  return run;
}

const isGone = (thread: string) =>
  eventually(
    () => `no process of ${thread} is left: ${JSON.stringify(home.processesOf(thread))}`,
    () => (home.processesOf(thread).length === 0 ? true : undefined),
  );

async function isReleased(thread: string): Promise<void> {
  const left = (await home.runs()).filter((run) => run.threadKey === thread);
  assert.deepEqual(left, []);
}

/** Every byte there is, none of it text, and no line's end at the end. */
const blob = (size: number, step: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, at) => (at * step) % 256));

function outputAndExit(): void {
  test("both streams are the command's own, byte for byte", async () => {
    const [out, err] = [blob(700_001, 7), blob(300_001, 11)];
    writeFileSync(home.file("out"), out);
    writeFileSync(home.file("err"), err);
    const script = `cat '${home.file("out")}' & cat '${home.file("err")}' >&2; wait`;
    const run = home.type(["--quiet", "run", "sample", "--", "sh", "-c", script]);
    const errors: Buffer[] = [];
    run.child.stderr?.on("data", (chunk: Buffer) => errors.push(chunk));
    const { code, bytes } = await run.ended;
    assert.equal(code, 0);
    assert.ok(bytes.equals(out), `stdout: ${bytes.length} bytes of ${out.length}`);
    assert.ok(Buffer.concat(errors).equals(err), `stderr: ${Buffer.concat(errors).length} bytes of ${err.length}`);
  });

  test("output is there while the command works, and its exit code is the run's", async () => {
    const script = `printf out; printf err >&2; while [ ! -e '${home.file("go-live")}' ]; do sleep 0.05; done; exit 7`;
    const run = home.type(["run", "sample", "--", "sh", "-c", script]);
    await run.says(/^out$/);
    await run.says(/err/);
    assert.equal(run.isOver, false);
    home.touch("go-live");
    const { code, out, err } = await run.ended;
    assert.equal(code, 7);
    assert.equal(out, "out");
    assert.match(lastLine(err), /work stays on branch tidegate\/\S+: no new commit, nothing uncommitted$/);
  });

  test("a command that a signal ends is 128 and the signal; one that is not there is 127", async () => {
    const of = (...command: string[]) => home.tidegate("run", "sample", "--", ...command);
    const [terminated, killed, missing] = await Promise.all([
      of("sh", "-c", "kill -TERM $$"),
      of("sh", "-c", "kill -KILL $$"),
      of("no-such-program --now"),
    ]);
    assert.equal(terminated.code, 143, terminated.err);
    assert.match(terminated.err, /ended by SIGTERM/);
    assert.equal(killed.code, 137, killed.err);
    assert.equal(missing.code, 127, missing.err);
    assert.equal(missing.out, "");
    assert.match(missing.err, /sh -c 'no-such-program --now'/, "it says what to type for a shell line");
  });
}

function workAndThreads(): void {
  test("work stays on the thread's branch, and the thread's next run goes on there; --push pushes it", async () => {
    const commit = "echo new > new.txt && git add new.txt && git -c user.name=t -c user.email=t@t commit -qm new";
    const script = `${commit} && echo half > open.txt`;
    const first = await home.tidegate("run", "sample", "--thread", "work:1", "--", "sh", "-c", script);
    assert.equal(first.code, 0, first.err);
    const stays = /work stays on branch (\S+): 1 commit on it, what is not committed is kept for a week$/;
    const branch = stays.exec(lastLine(first.err))?.[1] ?? "";
    assert.match(branch, /^tidegate\/work-1/, first.err);
    assert.equal(git(home.file("sample"), "branch", "--list", branch), "", "nothing is pushed that nobody asked for");

    const push = ["run", "sample", "--thread", "work:1", "--push", "--", "cat", "new.txt", "open.txt"];
    const second = await home.tidegate(...push);
    assert.equal(second.code, 0, second.err);
    assert.equal(second.out, "new\nhalf\n");
    assert.equal(git(home.file("sample"), "show", `${branch}:new.txt`), "new");
  });

  test("--ref begins elsewhere; a ref that is not there is refused before anything", async () => {
    git(home.file("sample"), "tag", "v1");
    const there = await home.tidegate("run", "sample", "--ref", "v1", "--", "cat", "VERSION");
    assert.equal(there.code, 0, there.err);
    const missing = await home.tidegate("run", "sample", "--thread", "ref:1", "--ref", "nowhere", "--", "true");
    assert.equal(missing.code, 2, missing.err);
    assert.match(missing.err, /nowhere/);
    await isReleased("ref:1");
  });

  test("a thread has one run: a second is refused by name, and --replace ends the first", async () => {
    const first = await begun("busy:1", "--", ...home.held("never"));
    const second = await home.tidegate("run", "sample", "--thread", "busy:1", "--", "true");
    assert.equal(second.code, 125, second.err);
    assert.match(second.err, /run r-\w+/, "it names who has the thread");
    assert.equal(first.isOver, false);
    const third = await home.tidegate("run", "sample", "--thread", "busy:1", "--replace", "--", "echo", "mine");
    assert.equal(third.code, 0, third.err);
    assert.equal(third.out, "mine\n");
    const { code, err } = await first.ended;
    assert.equal(code, 125);
    assert.match(err, /ended from outside/);
    await isGone("busy:1");
  });
}

function ends(): void {
  for (const [signal, exit] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`${signal} ends the whole tree, one that left its session too, and gives the registration back`, async () => {
      const thread = `stop:${signal}`;
      const script = "setsid sh -c 'echo $$; sleep 1000; true' & (sleep 1000; true) & echo begun; wait";
      const run = await begun(thread, "--", "sh", "-c", script);
      await eventually(
        () => `the escapee runs: ${run.out}`,
        () => (home.processesOf(thread).length >= 5 ? true : undefined),
      );
      run.signal(signal);
      const { code, err } = await run.ended;
      assert.equal(code, exit, err);
      assert.match(err, /stopped: its processes are ended and the thread is free/);
      assert.match(lastLine(err), /work stays on branch/);
      assert.deepEqual(home.processesOf(thread), [], "nothing is left at the moment it says so");
      await isReleased(thread);
    });
  }

  test("a lease that is over ends the run: 124", async () => {
    const run = await begun("lease:1", "--lease", "3s", "--", "sh", "-c", "echo begun; sleep 1000");
    const { code, err } = await run.ended;
    assert.equal(code, 124, err);
    assert.match(err, /the lease of 3s is over: its processes are ended/);
    assert.deepEqual(home.processesOf("lease:1"), []);
    await isReleased("lease:1");
  });

  test("a reader that went away ends the run quietly", async () => {
    const line = `'${root}/bin/tidegate' run sample --thread pipe:1 -- sh -c 'while :; do echo tidegate; sleep 0.01; done'; echo "exit $?" >&2`;
    const { code, out, err } = await home.start("sh", ["-c", `{ ${line}; } | head -n 1`]).ended;
    assert.equal(code, 0);
    assert.equal(out, "tidegate\n");
    assert.match(err, /^exit 141$/m);
    assert.doesNotMatch(err, /EPIPE|Error|^ +at /m);
    await isGone("pipe:1");
    await isReleased("pipe:1");
  });

  test("`repo test` runs the repository's own command and ends as it does", async () => {
    const { code, out, err } = await home.tidegate("repo", "test", "sample");
    assert.equal(code, 0, err);
    assert.equal(out, "ok: it greets\n");
  });
}

describe("a run", { concurrency: 3 }, () => {
  outputAndExit();
  workAndThreads();
  ends();
});

test("a container that rolls ends the run `replaced`; with --resume the run goes on", async () => {
  const script = "echo begun; sleep 1000";
  const plain = await begun("roll:plain", "--", "sh", "-c", script);
  const resumed = await begun(
    "roll:resume",
    "--resume",
    `echo again; cat '${home.file("sample/VERSION")}'`,
    "--",
    "sh",
    "-c",
    script,
  );
  const before = await home.control.inside(SAMPLE);
  assert.ok(before.processes.length >= 4, "the runs are inside");
  await home.control.roll(SAMPLE);
  const alive = before.processes.filter((one) => readProcess(one.pid)?.startTicks === one.startTicks);
  assert.deepEqual(alive, [], "everything that was inside has ended");
  const [one, two] = await Promise.all([plain.ended, resumed.ended]);
  assert.equal(one.code, 125, one.err);
  assert.match(one.err, /container replaced — the run ends here, since it has no --resume command/);
  assert.equal(two.code, 0, two.err);
  assert.equal(two.out, "begun\nagain\n1\n");
  assert.match(two.err, /^tidegate: container replaced — goes on by echo again;/m);
  await isReleased("roll:plain");
  await isReleased("roll:resume");
});
