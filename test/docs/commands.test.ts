// Whatever a document tells people to type exists: npm scripts by package.json, commands by the command line's own help.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import packageJson from "../../package.json" with { type: "json" };
import { ERRORS } from "#wire/errors.ts";
import { HOST_ERRORS } from "#wire/host.ts";
import { root } from "../tidy/source.ts";
import { commandsIn, topCommands, wrongWith } from "./commandLine.ts";
import { codeOf, documents } from "./markdown.ts";

const scripts = new Set(Object.keys(packageJson.scripts));

/** The npm scripts that a line of code names. */
function scriptsIn(code: string): string[] {
  const run = [...code.matchAll(/npm run ([a-z][\w:]*)/g)].map(([, name = ""]) => name);
  return [...run, ...[...code.matchAll(/npm (start|test)\b/g)].map(([, name = ""]) => name)];
}

/** Everything that is told to be typed: by documents, by errors, and by the start's own tour. */
function told(): { where: string; code: string }[] {
  const inDocuments = documents().flatMap(({ file, text }) => codeOf(text).map((code) => ({ where: file, code })));
  const inErrors = [...Object.entries(ERRORS), ...Object.entries(HOST_ERRORS)].map(([code, { next }]) => ({
    where: code,
    code: next.replaceAll("`tidegate ", "`npx tidegate "),
  }));
  const screen = "src/cli/render/startScreen.ts";
  const tour = readFileSync(path.join(root, screen), "utf8").split(/["\n]/);
  return [
    ...inDocuments,
    ...inErrors.flatMap(({ where, code }) => code.split("`").map((part) => ({ where, code: part }))),
    ...tour.map((code) => ({ where: screen, code })),
  ];
}

test("every npm script that is named exists", () => {
  const missing = told().flatMap(({ where, code }) =>
    scriptsIn(code)
      .filter((name) => !scripts.has(name))
      .map((name) => `${where}: npm run ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("every command that is named exists, with its options", () => {
  const named = told().flatMap(({ where, code }) => commandsIn(code).map((command) => ({ where, command })));
  assert.ok(named.length > 20, `only ${named.length} commands are named`);
  const wrong = named.map(({ where, command }) => ({ where, why: wrongWith(command) }));
  assert.deepEqual(
    wrong.filter(({ why }) => why !== undefined),
    [],
  );
});

/** Prose behind a command becomes a part of it, once that is pasted. */
const PROSE = /^npx tidegate [^"`]*?(?:[,:]| (?:ends|waits|shows|goes|which|or|then)\b)/;

test("an advice that begins with a command is that command alone, so that it can be pasted", () => {
  const sources = ["ask.ts", "deploy.ts", "down.ts", "drain.ts", "repo.ts", "repoRebuild.ts", "runs.ts", "runsSay.ts"];
  const files = [...sources.map((name) => `src/cli/commands/${name}`), "src/cli/deployAll.ts", "src/cli/runId.ts"];
  const typed = files.flatMap((file) =>
    [...readFileSync(path.join(root, file), "utf8").matchAll(/["`](npx tidegate [^\n]*)/g)].map(
      ([, text = ""]) => text,
    ),
  );
  const all = [...typed, ...Object.values(HOST_ERRORS).map(({ next }) => next)];
  assert.ok(typed.length > 15, `only ${typed.length} commands were found`);
  assert.deepEqual(
    all.map((text) => text.split(/["`](?:[,;)]|$)/)[0] ?? "").filter((text) => PROSE.test(text)),
    [],
  );
  assert.ok(PROSE.test("npx tidegate down --now ends them"), "the test sees what it is for");
});

test("a command that does not exist is seen", () => {
  const why = (code: string): (string | undefined)[] => commandsIn(code).map(wrongWith);
  assert.deepEqual(why("npx tidegate deploy --dry-run; npx tidegate run app --lease 45m -- npm test --x"), [
    undefined,
    undefined,
  ]);
  assert.deepEqual(why("npx tidegate deplow"), ["there is no command deplow"]);
  assert.deepEqual(why("npx tidegate drain stop"), ["drain has no stop"]);
  assert.deepEqual(why("echo 2 > sample/VERSION; npx tidegate deploy --forse --yes"), ["deploy has no --forse"]);
  assert.deepEqual(why("npx tidegate repo add ~/src/app --setup 'npm ci --x' --test 'npm test'"), [undefined]);
});

test("the commands are those that the real command line lists", () => {
  const help = execFileSync(process.execPath, [path.join(root, "src/cli/main.ts"), "--help"], { encoding: "utf8" });
  const listed = [...(help.split(/^Commands:$/m)[1] ?? "").matchAll(/^ {2}([a-z]+)/gm)].map(([, name = ""]) => name);
  assert.deepEqual(listed.toSorted(), topCommands());
});
