// The command line as a process: exit codes, streams, and what every error ends with.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as z from "zod";

const main = fileURLToPath(new URL("./main.ts", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "tidegate-main-"));
after(() => rmSync(home, { recursive: true, force: true }));

function tidegate(...typed: string[]): { exit: number | null; out: string; err: string } {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, TIDEGATE_HOME: home };
  const ended = spawnSync(process.execPath, [main, ...typed], { encoding: "utf8", cwd: home, env });
  return { exit: ended.status, out: ended.stdout, err: ended.stderr };
}

const documentSchema = z.object({ error: z.object({ code: z.string(), detail: z.string(), next: z.string() }) });
const NEXT = /\n {2}next: .+\n$/;

test("a usage error ends with 2, says what was meant, and what to type next", () => {
  const unknown = tidegate("stats");
  assert.deepEqual([unknown.exit, unknown.out], [2, ""]);
  assert.match(unknown.err, /^tidegate: unknown command 'stats' \(Did you mean status\?\)/);
  assert.match(unknown.err, NEXT);
});

test("bad minutes are refused before anything is asked, each naming the option", () => {
  for (const minutes of ["91", "1.5"]) {
    const { exit, out, err } = tidegate("drain", "start", "--minutes", minutes, "--reason", "r");
    assert.deepEqual([exit, out], [2, ""], minutes);
    assert.match(err, /--minutes/);
    assert.match(err, NEXT);
  }
});

test("where no fleet has been, status says unknown and what starts one; a run's failure is not its command's", () => {
  const status = tidegate("--json");
  assert.equal(status.exit, 1);
  assert.match(status.out, /"state": "unknown"/);
  const run = tidegate("run", "app", "--", "date");
  assert.deepEqual([run.exit, run.out], [125, ""]);
  assert.match(run.err, /^tidegate: no fleet is up in \S+, and none has been\n {2}next: npm start\n$/);
});

test("with --json an error of the grammar is the document that every error is; behind -- the option is the command's own", () => {
  for (const typed of [
    ["ask", "--json"],
    ["ask", "date", "--json", "--lese"],
    ["runs", "--json", "nope"],
  ]) {
    const { exit, out, err } = tidegate(...typed);
    assert.deepEqual([exit, out], [2, ""]);
    const { error } = documentSchema.parse(JSON.parse(err));
    assert.equal(error.code, "USAGE");
    assert.match(error.next, /^npx tidegate (ask|runs list) --help$/);
  }
  assert.match(tidegate("run", "--lese", "--", "ls", "--json").err, /^tidegate: /);
});

test("every command's help names the options that all have; a command that help does not know is an error", () => {
  assert.match(tidegate("ask", "--help").out, /Global Options:\n {2}--json/);
  assert.match(
    tidegate("deploy", "--help").out,
    /Named alone it is `deploy all`.*\n {2}--dry-run .*\n(?:.*\n)* {2}--rollback /,
  );
  assert.equal(tidegate("help", "runs", "steer").exit, 0);
  assert.match(tidegate("deploy", "plan", "--skip", "bott").err, /^tidegate: --skip: "bott" is no step/);
  for (const typed of [
    ["help", "stats"],
    ["help", "runs", "stats"],
    ["runs", "help", "stats"],
  ]) {
    const { exit, out, err } = tidegate(...typed);
    assert.deepEqual([exit, out], [2, ""], typed.join(" "));
    assert.match(err, /^tidegate: unknown command 'stats'.*\n {2}next: npx tidegate (runs )?--help\n$/);
  }
});

test("down where nothing is up ends nothing, and tells nobody to start something", () => {
  const { exit, err } = tidegate("down");
  assert.equal(exit, 1);
  assert.match(err, /^tidegate: no fleet is up in \S+: there is nothing to end\n {2}next: npx tidegate status\n$/);
});

test("help is no error, and is asked for in every form", () => {
  const { exit, out } = tidegate("run", "--help");
  assert.equal(exit, 0);
  assert.match(out, /127 the command could not be started/);
});
