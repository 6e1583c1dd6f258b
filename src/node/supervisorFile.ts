// supervisor.json: who holds a state folder. It is believed only while that very process lives.

import type { StatePaths } from "#node/stateFolder.ts";
import { supervisorFileSchema, type SupervisorFile } from "#wire/host.ts";
import { readJsonFile } from "#node/files.ts";
import { isSameProcess } from "#node/processes.ts";

/** The file whoever wrote it, alive or not; `undefined` when there is none that can be read. */
export function readSupervisorFile(paths: StatePaths): SupervisorFile | undefined {
  const read = readJsonFile(paths.supervisor, supervisorFileSchema);
  return read.kind === "value" ? read.value : undefined;
}

/** The supervisor that lives in this state folder, or `undefined`. */
export function liveSupervisor(paths: StatePaths): SupervisorFile | undefined {
  const file = readSupervisorFile(paths);
  return file !== undefined && isSameProcess(file.supervisor) ? file : undefined;
}

/** Whether what started this supervisor (npm, a shell) is gone, so that nobody watches its terminal any more. */
export function isOrphan(file: SupervisorFile): boolean {
  return file.parent !== null && !isSameProcess(file.parent);
}
