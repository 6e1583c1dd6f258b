// What is onboarded: a folder of this machine that is a git repository, or a URL for `git clone`.

import { spawnSync } from "node:child_process";
import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, resolve } from "node:path";
import { REAL } from "#core/budgets.ts";
import { CliError } from "./exit.ts";

/** A repository, and what it is called when nobody says otherwise. */
export interface Repository {
  readonly url: string;
  readonly owner: string;
  readonly name: string;
}

const URL_FORM = /^([a-z][a-z0-9+.-]*:\/\/|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:)/;

const cleanName = (text: string): string =>
  text
    .replace(/\.git$/, "")
    .replaceAll(/[^A-Za-z0-9_.-]+/g, "-")
    .replace(/^[^A-Za-z0-9_]+/, "")
    .replace(/[^A-Za-z0-9_-]+$/, "")
    .slice(0, 60);

function ofUrl(url: string): Repository {
  const parts = url
    .replace(/\/+$/, "")
    .replace(/^[a-z0-9+.-]+:\/\/[^/]*(\/|$)/, "")
    .replace(/^[^/:]*:/, "")
    .split("/")
    .filter((part) => part !== "");
  const name = cleanName(parts.at(-1) ?? "");
  const owner = cleanName(parts.at(-2) ?? "") || "remote";
  if (name === "") throw new CliError(`"${url}" names no repository`, "add --name owner/name");
  return { url, owner, name };
}

function gitFolderOf(folder: string): string | undefined {
  const env = { ...process.env, GIT_TERMINAL_PROMPT: "0" };
  const asked = spawnSync("git", ["-C", folder, "rev-parse", "--show-toplevel"], {
    encoding: "utf8",
    env,
    timeout: REAL.requestMs,
  });
  if (asked.error !== undefined)
    throw new CliError("git is not on the PATH", "install git, then type the command again");
  if (asked.status === 0) return asked.stdout.trim();
  const bare = spawnSync("git", ["-C", folder, "rev-parse", "--is-bare-repository"], {
    encoding: "utf8",
    env,
    timeout: REAL.requestMs,
  });
  return bare.status === 0 && bare.stdout.trim() === "true" ? folder : undefined;
}

/** Reads what was typed; a path is made absolute and must be a git repository's own folder. */
export function repositoryOf(typed: string, cwd: string): Repository {
  if (URL_FORM.test(typed) && !existsSync(resolve(cwd, typed))) return ofUrl(typed);
  const path = resolve(cwd, typed.replace(/^~(?=\/|$)/, homedir()));
  if (!existsSync(path))
    throw new CliError(
      `${path} does not exist`,
      "name a folder with a git repository, or a URL that `git clone` takes",
    );
  if (!statSync(path).isDirectory()) throw new CliError(`${path} is not a folder`, "name the folder of the repository");
  const folder = realpathSync(path);
  const top = gitFolderOf(folder);
  if (top === undefined)
    throw new CliError(
      `${folder} is not a git repository`,
      `git -C ${folder} init, and commit something; or name another folder`,
    );
  if (top !== folder)
    throw new CliError(
      `${folder} lies inside the git repository ${top}, and is none itself`,
      `npx tidegate repo add ${top}`,
    );
  const name = cleanName(basename(folder));
  if (name === "") throw new CliError(`${folder}: no name can be made of it`, "add --name name");
  return { url: folder, owner: "local", name };
}
