// Pruning on real files: what is in use and the newest stay, and whatever is not plainly one of ours is left as it is.

import assert from "node:assert/strict";
import {
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type * as z from "zod";
import { CLOCK, LIMIT } from "#core/budgets.ts";
import { tryFileLock } from "#node/fileLock.ts";
import { pathsOf, type StatePaths } from "#node/stateFolder.ts";
import type { HostBuild, Part } from "#wire/host.ts";
import type { receiptSchema } from "#wire/receipt.ts";
import { contentId, hasBundle, keepBundle } from "#embed/bundles.ts";
import { containerPaths, setDataAside, slugOf, writeRecord, type ContainerRecord } from "#embed/containerFiles.ts";
import { pruneState } from "#embed/pruning.ts";
import { beforeOf, neededBy, NONE_BEFORE, writeRelease, type Release } from "#embed/releaseFile.ts";
import { emptyTrash, takeAway } from "#embed/trash.ts";

const idOf = (number: number): string => number.toString(16).padStart(12, "0");
const buildOf = (bundle: number, image: number): HostBuild => ({
  commit: "c",
  bundle: idOf(bundle),
  image: idOf(image),
});
const partOf = (bundle: number): Part => ({
  build: buildOf(bundle, 0),
  generation: 1,
  drainId: null,
  since: 1,
  config: null,
  pending: null,
  last: null,
});
const RELEASE: Release = {
  generation: 3,
  drainId: null,
  build: buildOf(1, 1),
  leases: null,
  since: 1,
  pending: { drainId: "d", mode: "sealed", build: buildOf(2, 2), generation: 4, leases: null, begunAt: 1, doomed: [] },
  parts: { ledger: partOf(4), bot: partOf(5) },
  before: { resident: buildOf(3, 3), ledger: buildOf(6, 0), bot: null },
  last: null,
};

/** A state folder with nothing in it but its release. */
function stateOf(context: TestContext, release: Release = RELEASE): StatePaths {
  const home = mkdtempSync(join(tmpdir(), "tidegate-pruning-"));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const paths = pathsOf(home);
  for (const folder of [paths.bundles, paths.images, paths.containers, paths.log, paths.deploys])
    mkdirSync(folder, { recursive: true });
  writeRelease(paths, release);
  return paths;
}

const age = (path: string, seconds: number): void => utimesSync(path, seconds, seconds);

function folders(parent: string, count: number): void {
  for (let number = 1; number <= count; number += 1) {
    mkdirSync(join(parent, idOf(number)));
    writeFileSync(join(parent, idOf(number), "something"), "in it");
    age(join(parent, idOf(number)), number);
  }
}

const numbersIn = (parent: string): number[] =>
  readdirSync(parent)
    .filter((name) => /^[0-9a-f]{12}$/.test(name))
    .map((name) => Number.parseInt(name, 16))
    .toSorted((a, b) => a - b);
const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n);

function container(paths: StatePaths, name: string, record: ContainerRecord | string): string {
  const resource = `repo:acme/${name}`;
  const its = containerPaths(paths, resource);
  mkdirSync(its.data, { recursive: true });
  if (typeof record === "string") writeFileSync(its.record, record);
  else writeRecord(its, record);
  return its.folder;
}

const process = { pid: 1, startTicks: 1, machineBootId: "b" };
const starting = (name: string, image: number): ContainerRecord => ({
  state: "starting",
  resource: `repo:acme/${name}`,
  imageId: idOf(image),
  since: 1,
  process,
});
const gone = (name: string, image: number): ContainerRecord => ({
  state: "gone",
  resource: `repo:acme/${name}`,
  imageId: idOf(image),
  since: 1,
  goneSince: 1,
});

function receipt(paths: StatePaths, number: number): string {
  const build = buildOf(1, 1);
  const value: z.input<typeof receiptSchema> = {
    format: 1,
    step: "resident",
    drainId: `drain-${number}`,
    drainIds: [`drain-${number}`],
    mode: "drained",
    by: "ann",
    reason: "a release",
    startedAt: 1,
    endedAt: 2,
    result: "deployed",
    why: null,
    outcome: "landed",
    exitCode: 0,
    build: { from: build, to: build, imageChanged: false },
    generation: { from: 1, to: 2 },
    closed: null,
    phases: [],
    inFlight: [],
    waited: [],
    residents: [],
    killed: 0,
    killedProcesses: [],
    reopened: null,
    closedMs: null,
    effects: [],
  };
  const file = join(paths.deploys, `drain-${number}.json`);
  writeFileSync(file, JSON.stringify(value));
  age(file, number);
  return file;
}

const prune = async (paths: StatePaths, now = Date.now()): Promise<readonly string[]> => {
  const left = pruneState(paths, now);
  await emptyTrash(paths);
  return left;
};

test("bundles and images: the release's, those of containers that are up, and the newest stay; the trash is emptied", async (context) => {
  const paths = stateOf(context);
  folders(paths.bundles, 60);
  folders(paths.images, 20);
  container(paths, "up", starting("up", 7));
  container(paths, "down", gone("down", 8));
  assert.deepEqual(await prune(paths), []);
  assert.deepEqual(numbersIn(paths.bundles), [...span(1, 6), ...span(61 - LIMIT.bundlesOnDisk, 60)]);
  assert.deepEqual(numbersIn(paths.images), [1, 2, 3, 7, ...span(21 - LIMIT.imagesOnDisk, 20)]);
  assert.deepEqual(readdirSync(join(paths.state, "trash")), []);
});

test("a bundle that is prepared again is one of the newest, so that what a deploy is to swap next stays behind its first step", async (context) => {
  const paths = stateOf(context);
  const bundles = ["one", "another"].map((text) => ({ id: contentId(text), text }));
  folders(paths.bundles, 60);
  for (const bundle of bundles) keepBundle(paths, bundle);
  for (const { id } of bundles) age(join(paths.bundles, id), 1);
  const [again, never] = bundles;
  assert.ok(again && never);
  keepBundle(paths, again);
  await prune(paths);
  assert.deepEqual([hasBundle(paths, again.id), hasBundle(paths, never.id)], [true, false]);
});

test("while it cannot be told what is in use, nothing of it goes, and that is said", async (context) => {
  const paths = stateOf(context);
  folders(paths.bundles, 60);
  folders(paths.images, 20);
  const folder = container(paths, "spoiled", "{");
  mkdirSync(join(folder, "before"));
  const left = await prune(paths, Date.now() + CLOCK.keepDirtyMs);
  assert.match(left.join("\n"), /^images is not pruned: the record of container acme-spoiled\S* cannot be read$/m);
  assert.match(left.join("\n"), /before is not pruned: the record of its container cannot be read/);
  assert.equal(numbersIn(paths.images).length, 20);
  assert.ok(existsSync(join(folder, "before")));
  assert.equal(numbersIn(paths.bundles).length, 6 + LIMIT.bundlesOnDisk, "what it does not use goes");
});

test("a release file that is spoiled or gone: nothing goes at all", async (context) => {
  const paths = stateOf(context);
  folders(paths.bundles, 60);
  folders(paths.images, 20);
  for (let number = 1; number <= LIMIT.receipts + 1; number += 1) receipt(paths, number);
  const folder = container(paths, "app", gone("app", 1));
  mkdirSync(join(folder, "before"));
  mkdirSync(join(paths.state, "trash"));
  writeFileSync(join(paths.state, "trash", "left"), "");
  for (const [spoil, says] of [
    [() => writeFileSync(paths.release, "{"), /^nothing is pruned: .*release\.json cannot be read/],
    [() => rmSync(paths.release), /^nothing is pruned: .*release\.json is not there/],
  ] as const) {
    spoil();
    const left = pruneState(paths, Date.now() + CLOCK.keepDirtyMs);
    assert.equal(left.length, 1);
    assert.match(left[0] ?? "", says);
    assert.deepEqual([numbersIn(paths.bundles).length, numbersIn(paths.images).length], [60, 20]);
    assert.equal(readdirSync(paths.deploys).length, LIMIT.receipts + 1);
    assert.ok(existsSync(join(folder, "before")));
    assert.deepEqual(readdirSync(join(paths.state, "trash")), ["left"]);
  }
});

test("receipts: beyond the newest they go, but for one that nobody can read and what is none", async (context) => {
  const paths = stateOf(context);
  const files = span(1, LIMIT.receipts + 4).map((number) => receipt(paths, number));
  const [first = "", second = "", third = ""] = files;
  writeFileSync(second, "{");
  age(second, 2);
  for (const name of ["lock", "holder.json.new", "x.json"]) writeFileSync(join(paths.deploys, name), "");
  const left = await prune(paths);
  assert.deepEqual(left, ["deploys/drain-2.json is not pruned: it is no receipt that can be read"]);
  assert.deepEqual(
    [existsSync(first), existsSync(third), existsSync(files[3] ?? ""), existsSync(files[4] ?? "")],
    [false, false, false, true],
  );
  assert.equal(readdirSync(paths.deploys).length, LIMIT.receipts + 1 + 3);
});

test("logs of agents go only once their container has no folder; what a rebuild set aside goes after its time", async (context) => {
  const paths = stateOf(context);
  const folder = container(paths, "app", gone("app", 1));
  const its = slugOf("repo:acme/app");
  const logs = span(1, LIMIT.logsOnDisk + 3).map((number) => `agent-removed-${number}.log`);
  for (const [at, name] of [`agent-${its}.log`, `agent-${its}.log.1`, ...logs, "workerd.log"].entries()) {
    writeFileSync(join(paths.log, name), "");
    age(join(paths.log, name), at + 1);
  }
  setDataAside(containerPaths(paths, "repo:acme/app"));
  const before = join(folder, "before");
  age(before, 1);
  const { ctimeMs } = lstatSync(before);
  await prune(paths, ctimeMs + CLOCK.keepDirtyMs - 1);
  assert.ok(existsSync(before), "a file's own age does not count: it was set aside just now");
  assert.deepEqual(
    readdirSync(paths.log).toSorted(),
    [`agent-${its}.log`, `agent-${its}.log.1`, ...logs.slice(3), "workerd.log"].toSorted(),
  );
  await prune(paths, ctimeMs + CLOCK.keepDirtyMs);
  assert.ok(!existsSync(before));
  assert.ok(existsSync(join(folder, "container.json")));
});

test("no link is followed: neither in a folder of ours, nor in the place of one, nor to the trash", async (context) => {
  const paths = stateOf(context);
  const outside = mkdtempSync(join(tmpdir(), "tidegate-outside-"));
  context.after(() => rmSync(outside, { recursive: true, force: true }));
  folders(outside, 60);
  folders(paths.bundles, 60);
  rmSync(join(paths.bundles, idOf(10)), { recursive: true });
  symlinkSync(outside, join(paths.bundles, idOf(10)));
  age(outside, 10);
  lutimesSync(join(paths.bundles, idOf(10)), 10, 10);
  symlinkSync(outside, join(paths.bundles, idOf(11), "link"));
  age(join(paths.bundles, idOf(11)), 11);
  rmSync(paths.images, { recursive: true });
  symlinkSync(outside, paths.images);
  const left = await prune(paths);
  assert.deepEqual(left, ["images is not pruned: it leads out of the state folder"]);
  assert.ok(lstatSync(join(paths.bundles, idOf(10))).isSymbolicLink(), "a link is none of ours");
  assert.ok(!existsSync(join(paths.bundles, idOf(11))), "a link in what goes is only unlinked");
  assert.equal(numbersIn(outside).length, 60);
  rmSync(join(paths.state, "trash"), { recursive: true });
  symlinkSync(outside, join(paths.state, "trash"));
  const again = [1, 2].map((number) => idOf(100 + number));
  for (const name of again) mkdirSync(join(paths.bundles, name));
  assert.match((await prune(paths)).join("\n"), /trash leads out of the state folder/);
  assert.deepEqual([numbersIn(outside).length, readdirSync(outside).length], [60, 60]);
});

test("a state folder that is itself a link, such as to a larger disk, is pruned", async (context) => {
  const paths = stateOf(context);
  const elsewhere = `${paths.home}-elsewhere`;
  context.after(() => rmSync(elsewhere, { recursive: true, force: true }));
  renameSync(paths.state, elsewhere);
  symlinkSync(elsewhere, paths.state);
  folders(paths.bundles, 60);
  assert.deepEqual(await prune(paths), []);
  assert.equal(numbersIn(paths.bundles).length, 6 + LIMIT.bundlesOnDisk);
});

test("an image that is being built is waited for by nobody: images go the next time", async (context) => {
  const paths = stateOf(context);
  folders(paths.images, 20);
  const lock = tryFileLock(join(paths.images, "lock"));
  await prune(paths);
  assert.equal(numbersIn(paths.images).length, 20);
  lock?.release();
  await prune(paths);
  assert.equal(numbersIn(paths.images).length, 3 + LIMIT.imagesOnDisk);
});

test("what cannot be taken away is said, and the rest goes all the same", async (context) => {
  const paths = stateOf(context);
  folders(paths.images, 20);
  rmSync(paths.bundles, { recursive: true });
  writeFileSync(paths.bundles, "a file");
  const left = await prune(paths);
  assert.match(left.join("\n"), /^bundles is not pruned: ENOTDIR/);
  assert.equal(numbersIn(paths.images).length, 3 + LIMIT.imagesOnDisk);
});

test("what was touched since it was looked at is put back: somebody counts on it", (context) => {
  const paths = stateOf(context);
  folders(paths.bundles, 1);
  const path = join(paths.bundles, idOf(1));
  const seen = lstatSync(path);
  age(path, 2);
  assert.equal(takeAway(paths, path, seen), false);
  assert.deepEqual(readdirSync(path), ["something"]);
  assert.equal(takeAway(paths, path, lstatSync(path)), true);
  assert.equal(existsSync(path), false);
});

test("what is served before the release is what a rollback goes to; the same builds started anew change nothing", () => {
  const other = buildOf(50, 50);
  assert.deepEqual(beforeOf(RELEASE, "resident", other), { ...RELEASE.before, resident: RELEASE.build });
  assert.deepEqual(beforeOf(RELEASE, "resident", { ...RELEASE.build, commit: "d" }), RELEASE.before);
  assert.deepEqual(beforeOf(RELEASE, "resident", { ...RELEASE.build, image: idOf(9) }).resident, RELEASE.build);
  assert.deepEqual(beforeOf(RELEASE, "bot", other), { ...RELEASE.before, bot: partOf(5).build });
  assert.deepEqual(beforeOf(RELEASE, "bot", buildOf(5, 9)), RELEASE.before, "an image is no part of the bot");
  const fleetAlone: Release = { ...RELEASE, pending: null, parts: { ledger: null, bot: null }, before: NONE_BEFORE };
  assert.deepEqual(neededBy(fleetAlone), { bundles: new Set([idOf(1)]), images: new Set([idOf(1)]) });
});
