// Where things are: the home folder (tidegate.jsonc) and the state folder inside it. No other file spells these paths.

import { createHash } from "node:crypto";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The paths of one stack. */
export interface StatePaths {
  readonly home: string;
  readonly config: string;
  readonly state: string;
  readonly lock: string;
  readonly guard: string;
  readonly supervisor: string;
  readonly tokens: string;
  readonly clock: string;
  readonly release: string;
  readonly bundles: string;
  readonly images: string;
  readonly storage: string;
  readonly storageLock: string;
  readonly run: string;
  readonly containers: string;
  readonly log: string;
  readonly deploys: string;
}

/** The paths of the stack whose home this is. Links are resolved, so that one folder has one set of paths. */
export function pathsOf(home: string): StatePaths {
  const real = existsSync(home) ? realpathSync(home) : resolve(home);
  const state = join(real, ".tidegate");
  return {
    home: real,
    config: join(real, "tidegate.jsonc"),
    state,
    lock: join(state, "lock"),
    guard: join(state, "state.json"),
    supervisor: join(state, "supervisor.json"),
    tokens: join(state, "tokens.json"),
    clock: join(state, "clock.json"),
    release: join(state, "release.json"),
    bundles: join(state, "bundles"),
    images: join(state, "images"),
    storage: join(state, "storage"),
    storageLock: join(state, "storage.lock"),
    run: join(state, "run"),
    containers: join(state, "containers"),
    log: join(state, "log"),
    deploys: join(state, "deploys"),
  };
}

/** A short name for this stack, the same for every process of it; it marks the processes of its containers. */
export function stackIdOf(paths: StatePaths): string {
  return createHash("sha256").update(paths.state).digest("hex").slice(0, 12);
}

/**
 * The home that a command typed in `cwd` means: TIDEGATE_HOME, else the nearest folder upwards that has a
 * tidegate.jsonc or a .tidegate; `undefined` when there is none.
 */
export function findHome(cwd: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const named = env["TIDEGATE_HOME"];
  if (named !== undefined && named !== "") return resolve(cwd, named);
  let folder = resolve(cwd);
  for (;;) {
    if (existsSync(join(folder, "tidegate.jsonc")) || existsSync(join(folder, ".tidegate"))) return folder;
    const up = dirname(folder);
    if (up === folder) return undefined;
    folder = up;
  }
}
