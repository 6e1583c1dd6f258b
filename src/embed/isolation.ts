// How a container is kept apart on this machine: a pid and mount namespace of its own where that is allowed (its end then
// ends everything inside, setsid or not, and the state folder is hidden from runs), else its process group and a sweep.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REAL } from "#core/budgets.ts";

/** What this machine allows. */
export type Isolation =
  | { readonly kind: "namespace"; readonly flags: readonly string[]; readonly hides: boolean }
  | { readonly kind: "groups"; readonly why: string };

/** The folders of a container; everything else of the state folder is hidden from it. */
export interface ContainerMounts {
  readonly state: string;
  readonly data: string;
  readonly image: string;
  readonly handover: string;
}

const NAMESPACE = ["--pid", "--fork", "--kill-child=KILL", "--mount", "--mount-proc"];
const AS_USER = ["--user", "--map-root-user"];

// The init of a namespace is a shell that waits: it collects every orphan, so that none stays a zombie.
const PLAIN_INIT = `
cd "$2"; shift 4
"$@"
exit $?
`;

// The folders are held open while a tmpfs goes over the whole state folder, then come back to their own paths.
const HIDING_INIT = `
set -e
state=$1; data=$2; image=$3; handover=$4; shift 4
exec 7<"$data" 8<"$image" 9<"$handover"
mount -t tmpfs -o mode=0755,size=1m tidegate "$state"
mkdir -p "$data" "$image" "$handover"
mount -c --bind /proc/self/fd/7 "$data"
mount -c --bind /proc/self/fd/8 "$image"
mount -c --bind /proc/self/fd/9 "$handover"
mount -o remount,bind,ro "$image" 2>/dev/null || true
mount -o remount,ro "$state" 2>/dev/null || true
exec 7<&- 8<&- 9<&-
cd "$data"
set +e
"$@"
exit $?
`;

/** The command line that runs an agent in a container of this isolation. */
export function containerCommand(
  isolation: Isolation,
  mounts: ContainerMounts,
  agent: readonly string[],
): { readonly command: string; readonly args: readonly string[] } {
  if (isolation.kind === "groups") {
    const [command = "", ...args] = agent;
    return { command, args };
  }
  const init = isolation.hides ? HIDING_INIT : PLAIN_INIT;
  const folders = [mounts.state, mounts.data, mounts.image, mounts.handover];
  return {
    command: "unshare",
    args: [...isolation.flags, "--", "sh", "-c", init, "tidegate-init", ...folders, ...agent],
  };
}

function works(isolation: Isolation, folder: string): boolean {
  const mounts = { state: folder, data: join(folder, "d"), image: join(folder, "i"), handover: join(folder, "h") };
  const { command, args } = containerCommand(isolation, mounts, [
    "sh",
    "-c",
    'test "$$" -lt 20 && test -d "$1"',
    "sh",
    mounts.data,
  ]);
  const made = spawnSync("mkdir", ["-p", mounts.data, mounts.image, mounts.handover]);
  return made.status === 0 && spawnSync(command, args, { stdio: "ignore", timeout: REAL.toolVersionMs }).status === 0;
}

/** Tries what this machine allows, the best first. */
export function probeIsolation(): Isolation {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-probe-"));
  try {
    for (const hides of [true, false]) {
      for (const flags of [NAMESPACE, [...AS_USER, ...NAMESPACE]]) {
        const isolation: Isolation = { kind: "namespace", flags, hides };
        if (works(isolation, folder)) return isolation;
      }
    }
    return { kind: "groups", why: "unshare --pid is not allowed here" };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The isolation in words, as the start screen says it. */
export function isolationWords(isolation: Isolation): string {
  if (isolation.kind === "groups") return `process groups (${isolation.why}); tokens are readable by runs`;
  return isolation.hides ? "own pid namespace" : "own pid namespace; tokens are readable by runs";
}
