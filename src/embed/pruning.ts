// What piles up in the state folder, taken away once a release has landed and at a start. What is in use is read from the files
// that say so; where one cannot be read, what it may be using stays. Nothing here fails a deploy or a start: what is left is said.

import { lstatSync, readdirSync, type Stats } from "node:fs";
import { join, relative } from "node:path";
import { LIMIT } from "#core/budgets.ts";
import { decidePruning, isAsideSpent, type InUse } from "#core/pruning.ts";
import { wordsOf } from "#node/failure.ts";
import { tryFileLock } from "#node/fileLock.ts";
import { readJsonFile } from "#node/files.ts";
import { logOf } from "#node/log.ts";
import type { StatePaths } from "#node/stateFolder.ts";
import { receiptSchema } from "#wire/receipt.ts";
import { readRecords } from "#embed/containerFiles.ts";
import { neededBy, readRelease, type Release } from "#embed/releaseFile.ts";
import { emptyTrash, liesWithin, takeAway } from "#embed/trash.ts";

const LEADS_OUT = "it leads out of the state folder";
const CONTENT_ID = /^[0-9a-f]{12}$/;
const RECEIPT = /^[A-Za-z0-9][A-Za-z0-9_-]{5,63}\.json$/;
const AGENT_LOG = /^agent-(.+)\.log(?:\.1)?$/;

/** One folder of things of a kind. Whatever is named otherwise, is a link or is of another type is a stranger's and stays. */
interface Pile {
  readonly folder: string;
  readonly named: RegExp;
  readonly are: "folders" | "files";
  readonly keep: number;
  readonly inUse: (names: readonly string[]) => InUse;
}

interface Found {
  readonly name: string;
  readonly path: string;
  readonly stats: Stats;
}

/** One pruning: where, and what it leaves and why. */
interface Round {
  readonly paths: StatePaths;
  readonly left: string[];
  readonly now: number;
}

const known = (names: Iterable<string>): InUse => ({ kind: "known", names: new Set(names) });

function foundIn({ folder, named, are }: Pile): Found[] {
  return readdirSync(folder)
    .filter((name) => named.test(name))
    .map((name) => ({ name, path: join(folder, name), stats: lstatSync(join(folder, name)) }))
    .filter(({ stats }) => (are === "folders" ? stats.isDirectory() : stats.isFile()));
}

/** Acts, and says what it could not do to what. */
function tried({ paths, left }: Round, what: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    left.push(`${relative(paths.state, what)} is not pruned: ${wordsOf(error)}`);
  }
}

function take(round: Round, { path, stats }: Pick<Found, "path" | "stats">): void {
  tried(round, path, () => {
    if (takeAway(round.paths, path, stats)) logOf("pruning").info("taken away", { path });
  });
}

/** Prunes one pile; `mayGo` has the last word on each that would go. */
function prune(round: Round, pile: Pile, mayGo: (found: Found) => boolean = () => true): void {
  tried(round, pile.folder, () => {
    if (!liesWithin(round.paths, pile.folder)) throw new Error(LEADS_OUT);
    const found = foundIn(pile);
    const piled = found.map(({ name, stats }) => ({ name, at: stats.mtimeMs }));
    const inUse = pile.inUse(piled.map(({ name }) => name));
    const decided = decidePruning(piled, inUse, pile.keep, round.now);
    if (decided.kind === "leave") throw new Error(decided.why);
    for (const one of found) if (decided.names.includes(one.name) && mayGo(one)) take(round, one);
  });
}

/** Images that the release needs, or that a container runs on; a container that is gone starts again on the one of the day. */
function imagesInUse(paths: StatePaths, release: Release): InUse {
  const used = new Set(neededBy(release).images);
  for (const { slug, read } of readRecords(paths)) {
    if (read.kind !== "value") return { kind: "unreadable", why: `the record of container ${slug} cannot be read` };
    if (read.value.state !== "gone") used.add(read.value.imageId);
  }
  return known(used);
}

/** A half-built image is left to who builds it: while a build holds the lock, images wait for the next time. */
function pruneImages(round: Round, release: Release): void {
  const { paths } = round;
  if (!liesWithin(paths, paths.images)) throw new Error(LEADS_OUT);
  const lock = tryFileLock(join(paths.images, "lock"));
  if (lock === undefined) return;
  try {
    const inUse = (): InUse => imagesInUse(paths, release);
    prune(round, { folder: paths.images, named: CONTENT_ID, are: "folders", keep: LIMIT.imagesOnDisk, inUse });
  } finally {
    lock.release();
  }
}

function pruneReceipts(round: Round): void {
  const { deploys: folder } = round.paths;
  const inUse = (): InUse => known([]);
  prune(round, { folder, named: RECEIPT, are: "files", keep: LIMIT.receipts, inUse }, ({ path }) => {
    const isReceipt = readJsonFile(path, receiptSchema).kind === "value";
    if (!isReceipt)
      round.left.push(`${relative(round.paths.state, path)} is not pruned: it is no receipt that can be read`);
    return isReceipt;
  });
}

/** Logs whose container has a folder are in use, whatever the folder holds. */
function pruneLogs(round: Round): void {
  const { paths } = round;
  const inUse = (names: readonly string[]): InUse => {
    const slugs = new Set(readdirSync(paths.containers));
    return known(names.filter((name) => slugs.has(AGENT_LOG.exec(name)?.[1] ?? "")));
  };
  prune(round, { folder: paths.log, named: AGENT_LOG, are: "files", keep: LIMIT.logsOnDisk, inUse });
}

/** Data that a rebuild set aside: being renamed is the last that happened to it, which is what its ctime tells. */
function pruneAsides(round: Round): void {
  const { paths, now } = round;
  for (const { slug, read } of readRecords(paths)) {
    const before = join(paths.containers, slug, "before");
    tried(round, before, () => {
      const stats = lstatSync(before, { throwIfNoEntry: false });
      if (stats?.isDirectory() !== true || !isAsideSpent(stats.ctimeMs, now)) return;
      if (read.kind !== "value") throw new Error("the record of its container cannot be read");
      take(round, { path: before, stats });
    });
  }
}

function releaseOf({ paths, left }: Round): Release | undefined {
  try {
    const release = readRelease(paths);
    if (release === undefined) left.push(`nothing is pruned: ${paths.release} is not there`);
    return release;
  } catch (error) {
    left.push(`nothing is pruned: ${wordsOf(error)}`);
    return undefined;
  }
}

/** Takes away everything that may go, at `now` in real time as files tell it; answers what is left although it might go, and why. */
export function pruneState(paths: StatePaths, now: number): readonly string[] {
  const round: Round = { paths, left: [], now };
  const release = releaseOf(round);
  if (release !== undefined) {
    const inUse = (): InUse => known(neededBy(release).bundles);
    prune(round, { folder: paths.bundles, named: CONTENT_ID, are: "folders", keep: LIMIT.bundlesOnDisk, inUse });
    tried(round, paths.images, () => pruneImages(round, release));
    pruneReceipts(round);
    pruneLogs(round);
    tried(round, paths.containers, () => pruneAsides(round));
    void emptyTrash(paths);
  }
  for (const why of round.left) logOf("pruning").warn(why);
  return round.left;
}
