// supervisor.json: who holds a state folder. It is believed only while that very process lives, and one that cannot be read says
// neither that somebody is up nor that nobody is.

import type { StatePaths } from "#node/stateFolder.ts";
import { supervisorFileSchema, type SupervisorFile } from "#wire/host.ts";
import { Failure } from "#node/failure.ts";
import { readJsonFile } from "#node/files.ts";
import { isSameProcess } from "#node/processes.ts";

/** The file whoever wrote it, alive or not; `undefined` when there is none that can be read. */
export function readSupervisorFile(paths: StatePaths): SupervisorFile | undefined {
  const read = readJsonFile(paths.supervisor, supervisorFileSchema);
  return read.kind === "value" ? read.value : undefined;
}

/** Who is up in a state folder, as far as its file tells. */
export type SupervisorLook =
  | { readonly kind: "up"; readonly file: SupervisorFile }
  | { readonly kind: "none" }
  | { readonly kind: "unreadable"; readonly why: string };

/** Looks who is up in a state folder. */
export function lookAtSupervisor(paths: StatePaths): SupervisorLook {
  const read = readJsonFile(paths.supervisor, supervisorFileSchema);
  if (read.kind === "unreadable") return read;
  return read.kind === "value" && isSameProcess(read.value.supervisor)
    ? { kind: "up", file: read.value }
    : { kind: "none" };
}

/** The supervisor that lives in this state folder, or `undefined`; STATE_HALF_WRITTEN when its file cannot be read. */
export function liveSupervisor(paths: StatePaths): SupervisorFile | undefined {
  const look = lookAtSupervisor(paths);
  if (look.kind !== "unreadable") return look.kind === "up" ? look.file : undefined;
  throw new Failure(
    "STATE_HALF_WRITTEN",
    `${paths.supervisor} cannot be read (${look.why}), so nobody can say whether a fleet is up here`,
    "npm start writes it anew; where that says a fleet is up, end it first, by Ctrl-C where it was started",
  );
}

/** Whether what started this supervisor (npm, a shell) is gone, so that nobody watches its terminal any more. */
export function isOrphan(file: SupervisorFile): boolean {
  return file.parent !== null && !isSameProcess(file.parent);
}
