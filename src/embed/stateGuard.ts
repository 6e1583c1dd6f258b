// The state folder is read whole before anything in it is changed: one of a newer protocol, or one that cannot be read,
// is refused and left as it is. What can be made anew without harm is made anew; strangers' files are left alone.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import * as z from "zod";
import { formatDuration } from "#core/time.ts";
import { REAL_TIME } from "#node/clock.ts";
import { Failure } from "#node/failure.ts";
import { tryFileLock, type FileLock } from "#node/fileLock.ts";
import { readJsonFile, writeJsonFile } from "#node/files.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { isOrphan, lookAtSupervisor } from "#node/supervisorFile.ts";
import { makeBearers, readBearers, type Bearers } from "#node/tokens.ts";
import { clockSettingSchema, HOST_PROTOCOL, type ClockSetting } from "#wire/host.ts";
import { readRelease, type Release } from "#embed/releaseFile.ts";

const guardSchema = z.object({ protocol: z.int() });

/** A state folder that this process holds. */
export interface HeldState {
  readonly lock: FileLock;
  readonly bearers: Bearers;
  readonly clock: ClockSetting;
  /** What is served; `undefined` before the first start. */
  readonly release: Release | undefined;
  /** What had to be made anew, for the start screen. */
  readonly notes: readonly string[];
}

interface Seen {
  readonly clock: ClockSetting | undefined;
  readonly release: Release | undefined;
  readonly used: boolean;
  readonly bearers: Bearers | undefined;
}

const halfWritten = (detail: string): Failure => new Failure("STATE_HALF_WRITTEN", detail);

/** Reads everything that decides whether this folder can be used; throws, having changed nothing, when it cannot. */
function inspect(paths: StatePaths): Seen {
  const stored = existsSync(paths.storage) && readdirSync(paths.storage).length > 0;
  const guard = readJsonFile(paths.guard, guardSchema);
  if (guard.kind === "unreadable") throw halfWritten(`${paths.guard} cannot be read (${guard.why})`);
  if (guard.kind === "value" && guard.value.protocol > HOST_PROTOCOL) {
    const detail = `${paths.state} is of protocol ${guard.value.protocol}, and this tidegate reads up to ${HOST_PROTOCOL}`;
    throw new Failure("STATE_NEWER", detail);
  }
  const release = readRelease(paths);
  if (guard.kind === "missing" && (stored || release !== undefined))
    throw halfWritten(`${paths.state} has a fleet in it, but no state.json`);
  if (stored && release === undefined) throw halfWritten(`${paths.state} has storage in it, but no release.json`);
  const clock = readJsonFile(paths.clock, clockSettingSchema);
  if (clock.kind === "unreadable") throw halfWritten(`${paths.clock} cannot be read (${clock.why})`);
  const bearers = readBearers(paths.tokens);
  return { clock: clock.kind === "value" ? clock.value : undefined, release, used: stored, bearers };
}

function alreadyUp(paths: StatePaths): Failure {
  const look = lookAtSupervisor(paths);
  if (look.kind === "unreadable") {
    const what = `the fleet of ${paths.home} is up, and its ${paths.supervisor} cannot be read (${look.why})`;
    return new Failure("ALREADY_UP", what, "end it by Ctrl-C where it was started, or by its pid; then npm start");
  }
  if (look.kind === "none")
    return new Failure(
      "ALREADY_UP",
      `another process is starting the fleet of ${paths.home}`,
      "wait for it, or end it",
    );
  const { file } = look;
  const { pid } = file.supervisor;
  const age = formatDuration(Date.now() - file.since);
  const since = new Date(file.since).toISOString();
  const orphan = isOrphan(file) ? "; what started it (npm, a terminal) is gone, and it went on" : "";
  return new Failure(
    "ALREADY_UP",
    `the fleet of ${paths.home} is up since ${since} (${age}), pid ${pid}, ${file.url}${orphan}`,
  );
}

/**
 * Takes a state folder, making what is missing. Throws ALREADY_UP when another supervisor has it, STATE_NEWER or
 * STATE_HALF_WRITTEN when it cannot be used; then nothing was changed. A clock is taken only by a folder without one.
 */
export function holdState(paths: StatePaths, clock: ClockSetting | undefined): HeldState {
  inspect(paths);
  mkdirSync(paths.state, { recursive: true, mode: 0o700 });
  const lock = tryFileLock(paths.lock);
  if (lock === undefined) throw alreadyUp(paths);
  try {
    const seen = inspect(paths);
    const notes: string[] = [];
    if (seen.used && seen.clock === undefined) notes.push("clock.json was gone: the stack runs in real time");
    if (seen.used && seen.bearers === undefined)
      notes.push("tokens.json was gone: new tokens were made, and the old ones open nothing");
    for (const folder of [paths.bundles, paths.images, paths.containers, paths.log, paths.deploys, paths.run]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    }
    writeJsonFile(paths.guard, { protocol: HOST_PROTOCOL });
    const setting = seen.clock ?? clock ?? REAL_TIME;
    if (seen.clock === undefined) writeJsonFile(paths.clock, setting);
    return { lock, bearers: makeBearers(paths.tokens), clock: setting, release: seen.release, notes };
  } catch (error) {
    lock.release();
    throw error;
  }
}
