// A caller gives its run back while an attach of it is under way: the registry may be slow to answer that one, and whatever
// it lets in then is given back as well.

import assert from "node:assert/strict";
import { test } from "node:test";
import { budgetsOf } from "#core/budgets.ts";
import type { AttachAsk } from "#core/registration.ts";
import { problemOf } from "#wire/errors.ts";
import { rootOf, type Env } from "../root.ts";
import { beginAttach } from "./attach.ts";
import { release } from "./release.ts";
import { newMemory, type Resident } from "./resident.ts";
import { residentStorage } from "./store.ts";

const ask: AttachAsk = {
  runId: "run-000001",
  threadKey: "t:1",
  generation: 1,
  kind: "run",
  runKind: "shell",
  remainingMs: 60_000,
  parent: null,
  replace: { by: "nobody" },
};

/** A resident whose container does not run, and whose registry answers a look when it is told to. */
function scene() {
  const map = new Map<string, unknown>();
  const kv: unknown = {
    get: (key: string) => map.get(key),
    put: (key: string, value: unknown) => void map.set(key, value),
    delete: (key: string) => map.delete(key),
    list: ({ prefix = "" }: SyncKvListOptions = {}) => [...map].filter(([key]) => key.startsWith(prefix)),
  };
  const looked = Promise.withResolvers<unknown>();
  const registry = { look: () => looked.promise, report: async () => undefined };
  const build = { commit: "c", bundle: "b", image: "i" };
  const clock = { realEpochMs: 0, virtualEpochMs: 0, scale: 1 };
  const settings = {
    protocol: 1,
    build,
    clock,
    generation: 1,
    drainId: null,
    kinds: {},
    hostUrl: "http://127.0.0.1:1",
  };
  const env: unknown = {
    SETTINGS: JSON.stringify(settings),
    REGISTRY: { idFromName: () => "registry", get: () => registry },
  };
  const storage: unknown = { kv, transactionSync: <T>(run: () => T) => run(), setAlarm: async () => undefined };
  const root = { ...rootOf(env as Env, "resident"), budgets: budgetsOf({}), log: () => undefined };
  const stopped = { look: async () => ({ state: "stopped" }) };
  const resident = {
    env,
    root,
    state: { storage, waitUntil: () => undefined },
    storage: residentStorage(storage as DurableObjectStorage),
    resource: "repo:local/app",
    container: stopped,
    memory: newMemory(),
  } as unknown as Resident;
  const made = Promise.withResolvers<never>();
  const flight = beginAttach(resident, ask, () => made.promise);
  const rows = (): string[] => resident.storage.now().rows.map((row) => row.runId);
  return { resident, rows, flight, made, open: () => looked.resolve({ kind: "open" }), shut: looked.reject };
}

test("what an attach lets in whose caller gave it up at the door is given back", async () => {
  const { resident, rows, flight, made, open } = scene();
  const back = release(resident, ask.runId, { who: "caller", generation: 1 });
  await new Promise(setImmediate);
  assert.deepEqual(rows(), [], "it stands at the door");
  open();
  assert.equal((await back).kind, "released");
  assert.deepEqual(rows(), []);
  made.reject({ problem: problemOf("ROLLING", "gone") });
  await flight.landing;
  assert.deepEqual(rows(), [], "and nothing comes behind it");
});
