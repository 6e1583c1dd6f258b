// What a build has stored is read by the builds after it, and written back as it was: the shapes under test/fixtures/shapes
// are storage as it lay on disk. What cannot be read counts as standing where that is the safe side.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import * as z from "zod";
import { closingDrain, liveDrains, unreadableDrains } from "#core/drain.ts";
import { RECONCILE_STATES } from "#core/reconcile.ts";
import { bootStep } from "#core/resident.ts";
import { registryStore } from "./registry/store.ts";
import { residentStorage } from "./resident/store.ts";

const shapes = path.resolve(import.meta.dirname, "../../test/fixtures/shapes");
const keys = z.record(z.string(), z.unknown());
const storageSchema = z.object({ registry: keys, resident: keys });
const storedBy = (build: string): z.infer<typeof storageSchema> =>
  storageSchema.parse(JSON.parse(readFileSync(path.join(shapes, build, "storage.json"), "utf8")));

type Keys = Readonly<Record<string, unknown>>;

/** An object's storage as a map: what is read and written of it here is keys and values. */
function kvOf(stored: Keys): { kv: SyncKvStorage; now: () => Keys } {
  const map = new Map(Object.entries(structuredClone(stored)));
  const kv: unknown = {
    get: (key: string) => map.get(key),
    put: (key: string, value: unknown) => void map.set(key, structuredClone(value)),
    delete: (key: string) => map.delete(key),
    list: ({ prefix = "" }: SyncKvListOptions = {}) => [...map].filter(([key]) => key.startsWith(prefix)),
  };
  return { kv: kv as SyncKvStorage, now: () => Object.fromEntries(map) };
}

const residentOf = (kv: SyncKvStorage): ReturnType<typeof residentStorage> =>
  residentStorage({ kv, transactionSync: <T>(run: () => T) => run() } as DurableObjectStorage);

for (const build of readdirSync(shapes)) {
  const { registry, resident } = storedBy(build);
  const since = z.object({ since: z.number() }).parse(registry["drain:d1d1d1d1"]).since;

  test(`${build}: the registry reads every key, and a run meets the drain that was stored`, () => {
    const store = registryStore(kvOf(registry).kv);
    assert.equal(unreadableDrains(store.book()), 0);
    assert.deepEqual(
      liveDrains(store.book(), since).map((drain) => drain.id),
      ["d1d1d1d1", "person-a"],
    );
    assert.equal(store.book().attempts, registry["attempts"]);
    assert.deepEqual(store.book().tombstones, registry["tombstones"]);
    assert.deepEqual(store.entries(), [registry["entry:repo:local/app"]]);
    assert.partialDeepStrictEqual(store.metas(), [registry["resident:repo:local/app"]]);
    assert.deepEqual(store.waiting(), [registry["waiting:run-cccc"]]);
    assert.deepEqual(store.reconcile(), registry["reconcile"]);
    assert.equal(store.servedGeneration(), registry["served"]);
  });

  test(`${build}: what the registry reads it writes back as it was`, () => {
    const first = registryStore(kvOf(registry).kv);
    const { kv, now } = kvOf({});
    const store = registryStore(kv);
    store.writeBook(store.book(), first.book());
    for (const entry of first.entries()) store.writeEntry(entry);
    for (const meta of first.metas()) store.writeMeta(meta);
    for (const one of first.waiting()) store.writeWaiting(one);
    store.writeServedGeneration(first.servedGeneration());
    const reconcile = first.reconcile();
    if (reconcile !== undefined) store.writeReconcile(reconcile);
    assert.partialDeepStrictEqual(now(), registry);
    assert.deepEqual(Object.keys(now()).toSorted(), Object.keys(registry).toSorted());
  });

  test(`${build}: a resident reads every key, and writes it back as it was`, () => {
    const read = residentOf(kvOf(resident).kv);
    const { rows, seal, ...gate } = read.now();
    assert.partialDeepStrictEqual({ ...gate, seal }, resident["gate"]);
    assert.deepEqual(
      rows,
      Object.entries(resident).flatMap(([key, row]) => (key.startsWith("row:") ? [row] : [])),
    );
    assert.deepEqual(read.meta(), resident["meta"]);
    assert.equal(read.slug("slack:C1:1700.1"), resident["slug:slack:C1:1700.1"]);
    assert.equal(read.sweepAt(), resident["sweepAt"]);
    const { kv, now } = kvOf({ meta: resident["meta"], sweepAt: resident["sweepAt"] });
    const written = residentOf(kv);
    written.step(() => ({ store: read.now(), found: null }));
    written.writeSlug("slack:C1:1700.1", read.slug("slack:C1:1700.1") ?? "");
    assert.partialDeepStrictEqual(now(), resident);
    assert.deepEqual(Object.keys(now()).toSorted(), Object.keys(resident).toSorted());
  });

  test(`${build}: a drain that a later build made unreadable closes nothing and is counted, and force takes it away`, () => {
    const { kv, now } = kvOf({ ...registry, "drain:d1d1d1d1": { shape: 2 } });
    const store = registryStore(kv);
    assert.equal(unreadableDrains(store.book()), 1);
    assert.equal(closingDrain(store.book(), "repo:local/app", since)?.id, "person-a");
    assert.equal(store.dropUnreadDrains(), 1);
    assert.equal(unreadableDrains(store.book()), 0);
    assert.ok(!("drain:d1d1d1d1" in now()) && "drain:person-a" in now());
  });

  test(`${build}: a reconcile that cannot be read is none, and the drains and their holds stand all the same`, () => {
    const { kv } = kvOf({ ...registry, reconcile: { shape: 2 } });
    const store = registryStore(kv);
    assert.equal(store.reconcile(), undefined);
    assert.equal(unreadableDrains(store.book()), 0);
  });

  test(`${build}: a resident whose record cannot be read is named as such, and is not written over`, () => {
    const spoiled = { ...registry, "resident:repo:local/app": { shape: 2 } };
    const { kv, now } = kvOf(spoiled);
    const store = registryStore(kv);
    const [meta] = store.metas();
    assert.deepEqual([meta?.resource, meta?.readable], ["repo:local/app", false]);
    if (meta !== undefined) store.writeMeta({ ...meta, readable: true });
    assert.equal(store.meta("repo:local/app")?.readable, false);
    assert.deepEqual(now(), spoiled);
  });

  test(`${build}: a resident whose rows the registry cannot read is unreadable, never idle`, () => {
    const store = registryStore(kvOf({ ...registry, "entry:repo:local/app": { shape: 2 } }).kv);
    assert.equal(store.meta("repo:local/app")?.readable, false);
  });

  test(`${build}: a row or a seal that a resident cannot read counts as standing`, () => {
    const spoiled = { ...resident, "row:web:T2": { shape: 2 }, gate: { ...keys.parse(resident["gate"]), seal: "wax" } };
    const { rows, seal } = residentOf(kvOf(spoiled).kv).now();
    assert.deepEqual(
      rows.map(({ runId, threadKey, state }) => [runId, threadKey, state]),
      [
        ["run-aaaa", "slack:C1:1700.1", "running"],
        ["unreadable-web-T2", "web:T2", "running"],
      ],
    );
    assert.ok(seal !== null && seal.until > since && seal.attempt === 3);
    const gateless = residentOf(kvOf({ ...resident, gate: { shape: 2 } }).kv).now();
    assert.ok(gateless.seal !== null && gateless.rows.length === 2);
    // What it lets through from now on is numbered behind all that it has taken back, or its runs could do nothing.
    const { seq } = z.object({ seq: z.number() }).parse(resident["gate"]);
    assert.ok(gateless.seq > seq && gateless.rows.every((row) => row.seq < gateless.seq));
  });
}

test("the first build knew no reports, nobody left out, no restart and no reconcile: its storage says none of each", () => {
  const { registry, resident } = storedBy("build1");
  const store = registryStore(kvOf(registry).kv);
  const [drain] = liveDrains(store.book(), z.object({ since: z.number() }).parse(registry["drain:d1d1d1d1"]).since);
  assert.deepEqual([drain?.id, drain?.reported, drain?.without], ["d1d1d1d1", [], []]);
  assert.equal(store.reconcile(), undefined);
  assert.equal(residentOf(kvOf(resident).kv).now().cycling, false);
});

test("what the second build added is read from its storage, and a boot takes the restart along", () => {
  const { registry, resident } = storedBy("build2");
  const store = registryStore(kvOf(registry).kv);
  const [drain] = liveDrains(store.book(), z.object({ since: z.number() }).parse(registry["drain:d1d1d1d1"]).since);
  assert.deepEqual(
    [drain?.phase, drain?.holds, drain?.reported.length, drain?.without.length],
    ["reconciling", ["repo:local/app"], 1, 1],
  );
  assert.deepEqual(
    store
      .reconcile()
      ?.entries.map((entry) => entry.state)
      .toSorted(),
    RECONCILE_STATES.toSorted(),
  );
  const storage = residentOf(kvOf(resident).kv);
  assert.equal(storage.now().cycling, true);
  assert.equal(bootStep(storage.now()).cycling, false);
});

test("an object's first boot reads an empty storage", () => {
  const store = registryStore(kvOf({}).kv);
  assert.deepEqual([store.book().drains, store.entries(), store.metas(), store.servedGeneration()], [[], [], [], 0]);
  const resident = residentOf(kvOf({}).kv);
  assert.deepEqual([resident.now().rows, resident.now().seal, resident.meta()], [[], null, undefined]);
  assert.deepEqual([store.reconcile(), resident.now().cycling], [undefined, false]);
});
