// A lock that the kernel gives back when its holder dies, however it dies: an exclusive transaction on a SQLite file.
// A lock made of a file's existence would need a takeover, and a takeover is a race between two who both find a dead holder.

import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { REAL } from "#core/budgets.ts";

/** A lock that is held. */
export interface FileLock {
  release(): void;
}

/** Takes the lock, or answers `undefined` when another process (or another holder in this one) has it. */
export function tryFileLock(path: string): FileLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA journal_mode = MEMORY");
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === 5) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

/** Waits for the lock, at most `boundMs`; `undefined` when it is still held then or the signal fired. */
export async function waitFileLock(path: string, boundMs: number, signal?: AbortSignal): Promise<FileLock | undefined> {
  const end = performance.now() + boundMs;
  for (;;) {
    const lock = tryFileLock(path);
    if (lock !== undefined) return lock;
    if (performance.now() >= end || signal?.aborted === true) return undefined;
    await pause(REAL.lookEveryMs * 10);
  }
}
