// What is taken away leaves its place in one step and is deleted from the trash, so that a kill in between leaves nothing half
// there. Only what lies in the state folder itself is touched: no link is followed out of it.

import { randomBytes } from "node:crypto";
import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, utimesSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { wordsOf } from "#node/failure.ts";
import { logOf } from "#node/log.ts";
import type { StatePaths } from "#node/stateFolder.ts";

/** Where what is taken away lies until it is deleted. */
const trashOf = (paths: StatePaths): string => join(paths.state, "trash");

/** Marks something as asked for just now, so that it is none of the oldest. */
export function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date());
  } catch {
    // What is not there is made by whoever asks for it, and is new then.
  }
}

/** Whether this path lies in the state folder also when every link on the way is followed. */
export function liesWithin(paths: StatePaths, path: string): boolean {
  return realpathSync(path) === join(realpathSync(paths.state), relative(paths.state, path));
}

/**
 * Takes something out of its place, unless it was touched since it was seen: then somebody counts on it, and it stays. Answers
 * whether it was taken; throws when it cannot be.
 */
export function takeAway(paths: StatePaths, path: string, seen: { readonly mtimeMs: number }): boolean {
  const trash = trashOf(paths);
  mkdirSync(trash, { recursive: true, mode: 0o700 });
  for (const one of [trash, path]) if (!liesWithin(paths, one)) throw new Error(`${one} leads out of the state folder`);
  const taken = join(trash, randomBytes(8).toString("hex"));
  renameSync(path, taken);
  if (lstatSync(taken).mtimeMs === seen.mtimeMs) return true;
  if (!existsSync(path)) renameSync(taken, path);
  return false;
}

/** Deletes what was taken away, now or by one that was killed before it could. What cannot be deleted is a warning. */
export async function emptyTrash(paths: StatePaths): Promise<void> {
  const trash = trashOf(paths);
  try {
    if (!existsSync(trash) || !liesWithin(paths, trash)) return;
    for (const name of readdirSync(trash)) {
      await rm(join(trash, name), { recursive: true, force: true }).catch((error: unknown) =>
        logOf("pruning").warn("what was taken away cannot be deleted", { name, error: wordsOf(error) }),
      );
    }
  } catch (error) {
    logOf("pruning").warn("the trash cannot be emptied", { error: wordsOf(error) });
  }
}
