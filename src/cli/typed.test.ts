// What a person types, and what the process ends with: bad input is refused before anything is asked.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { MINUTE } from "#core/time.ts";
import { problemOf, TidegateError } from "#wire/errors.ts";
import { idSchema } from "#wire/names.ts";
import { Failure } from "#node/failure.ts";
import type { Verdict } from "#client/work.ts";
import type { RunEnd } from "#client/run.ts";
import { asRunFailure, CliError, exitOf, OwnFailure } from "./exit.ts";
import { mintDrainId, mintShortId } from "./ids.ts";
import { leaseOf, threadOf } from "./person.ts";
import { completed } from "./program.ts";
import { resolveRepo } from "./repoName.ts";
import { repositoryOf } from "./repository.ts";
import { exitOfRun } from "./runInFleet.ts";
import { makeSample, SAMPLE } from "./sample.ts";
import { checkWithout, deployReasonOf, leftOutOf } from "./without.ts";

const home = mkdtempSync(join(tmpdir(), "tidegate-cli-"));
after(() => rmSync(home, { recursive: true, force: true }));

const refusedWith =
  (words: RegExp): ((error: unknown) => boolean) =>
  (error) =>
    error instanceof CliError && error.exit === 2 && words.test(error.message) && error.next !== "";

test("a repository is its resource, owner/name, or a name that is unique", () => {
  const known = ["repo:local/app", "repo:acme/app", "repo:local/sample"];
  assert.equal(resolveRepo("sample", known), "repo:local/sample");
  assert.equal(resolveRepo("acme/app", known), "repo:acme/app");
  assert.equal(resolveRepo("repo:local/app", known), "repo:local/app");
  assert.throws(() => resolveRepo("app", known), refusedWith(/names 2 repositories/));
  assert.throws(() => resolveRepo("sampel", known), refusedWith(/did you mean "sample"/));
  assert.throws(() => resolveRepo("sample", []), refusedWith(/no repository/));
});

test("a lease wants its unit, more than nothing, and no more than the longest kind's", () => {
  assert.equal(leaseOf("45m", 45 * MINUTE), 45 * MINUTE);
  for (const bad of ["45", "0m", "2h", "-1m", "soon", "1.5h", ""])
    assert.throws(() => leaseOf(bad, 45 * MINUTE), refusedWith(/--lease/), bad);
});

test("a thread has no blanks, no odd characters and an end", () => {
  assert.equal(threadOf("slack:C1:1700.1"), "slack:C1:1700.1");
  for (const bad of ["", "a b", "ä", "x".repeat(10_240), "-x", "a\nb"])
    assert.throws(() => threadOf(bad), refusedWith(/--thread/));
});

test("plain `tidegate` is the status, with its options; a word is a command", () => {
  const cases: [string[], string[]][] = [
    [[], ["status"]],
    [["--json"], ["status", "--json"]],
    [
      ["--output", "ndjson", "--watch"],
      ["status", "--output", "ndjson", "--watch"],
    ],
    [
      ["run", "x"],
      ["run", "x"],
    ],
    [
      ["--json", "repo", "list"],
      ["--json", "repo", "list"],
    ],
    [["--help"], ["--help"]],
    [["--version"], ["version"]],
    [["drain"], ["drain", "status"]],
    [
      ["--json", "runs", "--verbose"],
      ["--json", "runs", "list", "--verbose"],
    ],
    [
      ["runs", "--help"],
      ["runs", "--help"],
    ],
    [
      ["drain", "strt"],
      ["drain", "strt"],
    ],
  ];
  for (const [typed, meant] of cases) assert.deepEqual(completed(typed), meant);
});

test("ids fit the wire, and no two are the same", () => {
  assert.ok(idSchema.safeParse(mintDrainId()).success && idSchema.safeParse(mintShortId("r")).success);
  assert.equal(new Set(Array.from({ length: 1_000 }, () => mintShortId("r"))).size, 1_000);
});

test("exit codes: bad input 2, refused 3, not allowed 4, anything else 1", () => {
  const of = (code: Parameters<typeof problemOf>[0]): number => exitOf(new TidegateError(problemOf(code, "d")));
  assert.deepEqual(
    [of("BAD_FIELD"), of("NO_SUCH_RESIDENT"), of("DRAINING"), of("BEYOND_SCOPE"), of("UNREACHABLE"), of("INTERNAL")],
    [2, 2, 3, 4, 1, 1],
  );
  assert.deepEqual([of("NOT_HELD"), of("NOT_SWAPPED"), of("STALE_GENERATION"), of("IMAGE_CHANGES")], [3, 3, 3, 3]);
  assert.deepEqual(
    [exitOf(new Failure("ALREADY_UP", "d")), exitOf(new Failure("IN_FLIGHT", "d")), exitOf(new Failure("NOT_UP", "d"))],
    [2, 3, 1],
  );
  assert.equal(exitOf(new Error("x")), 1);
});

test("a failure on the way to a run's command never looks like the command's own", () => {
  assert.equal(exitOf(asRunFailure(new TidegateError(problemOf("UNREACHABLE", "d")))), 125);
  assert.equal(exitOf(asRunFailure(new CliError("bad", "next"))), 2);
  assert.equal(exitOf(asRunFailure(new TidegateError(problemOf("NO_BEARER", "d")))), 4);
  assert.ok(asRunFailure("text") instanceof OwnFailure);
});

test("a run ends with its command's code, and with tidegate's own where it is tidegate's own", () => {
  const exit = (verdict: Verdict, more: Partial<RunEnd> = {}, signal = 0): number =>
    exitOfRun({ verdict, attached: null, work: null, pushed: null, notReleased: null, ...more }, signal, true);
  const refused = (code: Parameters<typeof problemOf>[0]): number =>
    exit({ kind: "refused", problem: problemOf(code, "d"), draining: null });
  assert.equal(exit({ kind: "finished", exit: 7, signal: null }), 7);
  assert.equal(exit({ kind: "finished", exit: 0, signal: null }, { pushed: { ok: false, said: "" } }), 125);
  assert.equal(exit({ kind: "notStarted", why: "" }), 127);
  assert.deepEqual([exit({ kind: "stopped" }, {}, 143), exit({ kind: "stopped" })], [143, 130]);
  assert.equal(exit({ kind: "leaseSpent" }), 124);
  assert.deepEqual([exit({ kind: "replaced", by: "transport" }), exit({ kind: "failed", why: "" })], [125, 125]);
  assert.deepEqual(
    [refused("DRAINING"), refused("THREAD_BUSY"), refused("NO_SUCH_REF"), refused("BAD_BEARER")],
    [125, 125, 2, 4],
  );
});

test("a closed door is an answer to whoever does not wait there, and a failure to whoever did", () => {
  const end = (code: Parameters<typeof problemOf>[0]): RunEnd => ({
    verdict: { kind: "refused", problem: problemOf(code, "d"), draining: null },
    attached: null,
    work: null,
    pushed: null,
    notReleased: null,
  });
  const exits = (waits: boolean): number[] =>
    (["DRAINING", "ROLLING", "BAD_BEARER"] as const).map((code) => exitOfRun(end(code), 0, waits));
  assert.deepEqual(
    [exits(false), exits(true)],
    [
      [3, 125, 4],
      [125, 125, 4],
    ],
  );
});

test("a resident is left out by its name and for a reason; what does not fit is refused, naming the option", () => {
  const known = ["repo:local/app", "repo:acme/app", "repo:local/sample"];
  const asked = {
    force: false,
    reason: "its disk",
    restart: null,
    without: ["sample", "acme/app", "repo:local/sample"],
  };
  checkWithout(asked);
  checkWithout({ force: true, reason: null, without: [] });
  const left = leftOutOf(asked, known);
  assert.deepEqual(left, [
    { resource: "repo:local/sample", reason: "its disk" },
    { resource: "repo:acme/app", reason: "its disk" },
  ]);
  assert.throws(() => checkWithout({ ...asked, reason: null }), refusedWith(/^--without: wants a --reason/));
  assert.throws(() => checkWithout({ ...asked, force: true }), refusedWith(/^--without: --force waits for nobody/));
  assert.throws(() => leftOutOf({ ...asked, without: ["sampel"] }, known), refusedWith(/^--without: .*mean "sample"/));
  assert.throws(() => leftOutOf({ ...asked, without: ["app"] }, known), refusedWith(/^--without: "app" names 2/));
  const build = { commit: "7b02d9e", bundle: "b", image: "i" };
  assert.equal(deployReasonOf(asked, left, build), "deploy 7b02d9e without sample, app: its disk");
  assert.equal(deployReasonOf({ ...asked, reason: null }, [], build), "deploy 7b02d9e");
  assert.equal(deployReasonOf(asked, [], build), "its disk");
  assert.equal(deployReasonOf({ ...asked, reason: "x".repeat(200) }, left, build).length, 200);
  assert.equal(deployReasonOf({ reason: null, restart: [] }, [], build), "restart 7b02d9e");
});

function repository(name: string): string {
  const folder = join(home, name);
  mkdirSync(folder, { recursive: true });
  execFileSync("git", ["init", "--quiet", folder]);
  return folder;
}

test("a folder must be a git repository of its own; its name becomes the repository's", () => {
  const folder = repository("My App");
  assert.deepEqual(repositoryOf("My App", home), { url: folder, owner: "local", name: "My-App" });
  mkdirSync(join(folder, "inside"));
  mkdirSync(join(home, "plain"));
  writeFileSync(join(home, "file"), "");
  assert.throws(() => repositoryOf("inside", folder), refusedWith(/lies inside the git repository/));
  assert.throws(() => repositoryOf("plain", home), refusedWith(/is not a git repository/));
  assert.throws(() => repositoryOf("nowhere", home), refusedWith(/does not exist/));
  assert.throws(() => repositoryOf("file", home), refusedWith(/is not a folder/));
});

test("a URL's owner and name are its last two parts", () => {
  const of = (url: string): string => {
    const { owner, name } = repositoryOf(url, home);
    return `${owner}/${name}`;
  };
  assert.equal(of("https://example.com/acme/app.git"), "acme/app");
  assert.equal(of("git@example.com:acme/app.git"), "acme/app");
  assert.equal(of("ssh://git@example.com:22/acme/team/app/"), "team/app");
  assert.equal(of("https://example.com/app"), "remote/app");
  assert.throws(() => of("https://example.com/"), refusedWith(/names no repository/));
});

test("the sample is made once, with git, and its test passes", () => {
  assert.equal(makeSample(home), true);
  const folder = join(home, SAMPLE.folder);
  assert.equal(execFileSync("git", ["-C", folder, "status", "--porcelain"], { encoding: "utf8" }), "");
  assert.match(execFileSync("sh", ["test.sh"], { cwd: folder, encoding: "utf8" }), /ok/);
  writeFileSync(join(folder, "VERSION"), "mine\n");
  assert.equal(makeSample(home), false);
  assert.equal(readFileSync(join(folder, "VERSION"), "utf8"), "mine\n");
  assert.ok(existsSync(join(folder, ".git")));
});
