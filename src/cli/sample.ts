// The sample repository of a first start: a folder of the project that git made, so that there is something to run in.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CliError } from "./exit.ts";

/** The sample's folder name, its short name in the fleet, and the command of `repo test sample`. */
export const SAMPLE = { folder: "sample", resource: "repo:local/sample", test: "sh test.sh" } as const;

const FILES: Readonly<Record<string, string>> = {
  VERSION: "1\n",
  "README.md":
    "# sample\n\nA repository to try tidegate on. Its VERSION is part of the container image: change it, and a deploy replaces the containers.\n",
  "greet.sh": '#!/bin/sh\necho "hello from the sample, version $(cat VERSION)"\n',
  "test.sh": '#!/bin/sh\nset -e\nsh greet.sh | grep -q "hello from the sample"\necho "ok: it greets"\n',
};

function git(folder: string, ...args: string[]): void {
  const who = [
    "-c",
    "user.name=tidegate",
    "-c",
    "user.email=tidegate@localhost",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "commit.gpgsign=false",
  ];
  const env = { ...process.env };
  for (const name of Object.keys(env)) if (name.startsWith("GIT_")) delete env[name];
  execFileSync("git", ["-C", folder, ...who, ...args], { stdio: "pipe", env });
}

/** Makes the sample where there is none; answers whether it did. A folder that is there is its owner's and stays. */
export function makeSample(home: string): boolean {
  const folder = join(home, SAMPLE.folder);
  if (existsSync(folder)) return false;
  mkdirSync(folder, { recursive: true });
  try {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
    git(folder, "init", "--quiet", "--initial-branch=main");
    git(folder, "add", ".");
    git(folder, "commit", "--quiet", "--message=The sample");
    return true;
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    const what = missing ? "git is not on the PATH" : `the sample repository could not be made: ${String(error)}`;
    throw new CliError(what, missing ? "install git, then: npm start" : "npm start -- --no-sample");
  }
}
