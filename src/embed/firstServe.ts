// What is served at a start: the release that the state folder names, never silently another; a swap that a killed
// supervisor began is finished first, since nothing can have been admitted after its workerd was gone.

import { readConfig } from "#node/config.ts";
import { wordsOf } from "#node/failure.ts";
import { isSameProcess } from "#node/processes.ts";
import type { ProcessId } from "#wire/host.ts";
import { hasBundle } from "#embed/bundles.ts";
import { builtImage } from "#embed/image.ts";
import { planRelease, prepareRelease, type PreparedRelease, type ReleaseAsk } from "#embed/release.ts";
import { NONE_BEFORE, readRelease, writeRelease, type Release } from "#embed/releaseFile.ts";
import type { Stack } from "#embed/stack.ts";
import type { HeldState } from "#embed/stateGuard.ts";
import { landSwap } from "#embed/swap.ts";
import { endWorkerd } from "#embed/workerd.ts";

/** What a start came to. */
export interface Served {
  readonly notes: readonly string[];
  readonly folder: PreparedRelease | null;
}

/** What a start knows. */
export interface FirstServeAsk {
  readonly stack: Stack;
  readonly held: HeldState;
  /** The workerd of the supervisor before, alive or not. */
  readonly leftOver: ProcessId | null;
  readonly ask: ReleaseAsk;
}

async function planned(ask: ReleaseAsk, notes: string[]): Promise<PreparedRelease | null> {
  try {
    return await planRelease(ask);
  } catch (error) {
    notes.push(`this folder cannot be released as it is: ${wordsOf(error)}`);
    return null;
  }
}

/** The release to serve: as written down, or this folder's own where nothing (or nothing that is still there) is. */
async function releaseToServe(
  first: FirstServeAsk,
  notes: string[],
): Promise<{ release: Release; folder: PreparedRelease | null }> {
  const { stack, held, ask } = first;
  const { paths, clock } = stack.parts;
  const { leases } = readConfig(paths.config);
  // What an older supervisor wrote down says no leases: those of the file are its from now on.
  const known = held.release === undefined ? undefined : { ...held.release, leases: held.release.leases ?? leases };
  if (
    known !== undefined &&
    hasBundle(paths, known.build.bundle) &&
    builtImage(paths, known.build.image) !== undefined
  ) {
    return { release: known, folder: await planned(ask, notes) };
  }
  const folder = await prepareRelease(ask);
  if (known !== undefined && known.build.bundle === folder.build.bundle && known.build.image === folder.build.image)
    return { release: known, folder };
  if (known !== undefined)
    notes.push(
      `build ${known.build.bundle}/${known.build.image} is no longer in the state folder: this folder's own is served`,
    );
  const generation = (known?.generation ?? 0) + 1;
  const release: Release = {
    generation,
    drainId: null,
    build: folder.build,
    leases,
    since: clock.now(),
    parts: known?.parts ?? { ledger: null, bot: null },
    before: known?.before ?? NONE_BEFORE,
    pending: null,
    last: null,
  };
  writeRelease(paths, release);
  return { release, folder };
}

async function finishSwap(stack: Stack, release: Release, notes: string[]): Promise<boolean> {
  const { pending } = release;
  const { paths } = stack.parts;
  if (pending === null) return false;
  if (!hasBundle(paths, pending.build.bundle) || builtImage(paths, pending.build.image) === undefined) {
    notes.push(`the swap of drain ${pending.drainId} was begun, and its build is gone: it is not finished`);
    return false;
  }
  const answer = await landSwap(stack, release, pending, true);
  const died =
    "killed" in answer
      ? answer.killed.flatMap((ended) => ended.processes).filter((one) => one.role === "inside").length
      : 0;
  notes.push(
    `the swap of drain ${pending.drainId}, begun by a supervisor that was killed, is finished: ${answer.outcome}, ${died} processes ended`,
  );
  return true;
}

/** Serves what the state folder names, finishing first what a killed supervisor had begun. */
export async function firstServe(first: FirstServeAsk): Promise<Served> {
  const { stack, leftOver } = first;
  const { paths, containers } = stack.parts;
  const notes: string[] = [];
  const wasLeft = leftOver !== null && isSameProcess(leftOver);
  if (wasLeft) {
    await endWorkerd(leftOver);
    notes.push(`a workerd of the supervisor before (pid ${leftOver.pid}) was still there and is ended`);
  }
  const { release, folder } = await releaseToServe(first, notes);
  containers.useImage(release.build.image);
  if (wasLeft && release.pending !== null)
    notes.push(`the swap of drain ${release.pending.drainId} had not ended the old workerd: it is dropped`);
  else if (await finishSwap(stack, release, notes)) return { notes, folder };
  writeRelease(paths, { ...(readRelease(paths) ?? release), leases: release.leases, pending: null });
  await stack.fleet.serve(release);
  return { notes, folder };
}
