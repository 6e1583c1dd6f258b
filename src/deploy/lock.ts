// One deploy a state folder. The kernel holds the lock, so that a dead deployer holds nothing; who holds it is told in a
// file beside it, which is believed only while that very process lives.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { processIdSchema } from "#wire/host.ts";
import { tryFileLock } from "#node/fileLock.ts";
import { readJsonFile, removeFile, writeJsonFile } from "#node/files.ts";
import { identityOf, isSameProcess } from "#node/processes.ts";
import type { StatePaths } from "#node/stateFolder.ts";

const holderSchema = z.object({ process: processIdSchema, since: z.number(), by: z.string(), drainId: z.string() });

/** Who deploys from this state folder. */
export type LockHolder = z.infer<typeof holderSchema>;

/** The lock, or who has it (null when that cannot be told). */
export type LockTaken =
  | { readonly kind: "taken"; release(): void }
  | { readonly kind: "held"; readonly holder: LockHolder | null };

/** Takes the deploy lock of a state folder for this process. */
export function takeDeployLock(paths: StatePaths, holder: { since: number; by: string; drainId: string }): LockTaken {
  mkdirSync(paths.deploys, { recursive: true, mode: 0o700 });
  const told = join(paths.deploys, "holder.json");
  const lock = tryFileLock(join(paths.deploys, "lock"));
  if (lock === undefined) {
    const read = readJsonFile(told, holderSchema);
    return { kind: "held", holder: read.kind === "value" && isSameProcess(read.value.process) ? read.value : null };
  }
  const self = identityOf(process.pid);
  if (self !== undefined) writeJsonFile(told, { process: self, ...holder });
  return {
    kind: "taken",
    release() {
      removeFile(told);
      lock.release();
    },
  };
}
