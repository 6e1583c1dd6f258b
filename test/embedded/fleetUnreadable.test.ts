// Parts of the fleet that cannot be read, spoiled on disk between two starts: a run never fails on a flag it could not
// read, a deploy is refused by name, and putting the file back mends everything, with the count of what happened meanwhile.

import assert from "node:assert/strict";
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, test } from "node:test";
import { serialize } from "node:v8";
import { isSameProcess } from "#node/processes.ts";
import { readSupervisorFile } from "#node/supervisorFile.ts";
import { FleetStack } from "./fleetStack.ts";
import { Watch } from "./fleetWatch.ts";
import { eventually, type Up } from "./hostStack.ts";

const fleet = new FleetStack(60);
let up: Up;
let [app, other] = ["", ""];
/** The object files of the residents, in the order in which they were onboarded. */
let files: string[] = [];

const objects = (kind: "registry" | "resident"): string[] => {
  const folder = join(fleet.paths.storage, `tidegate-${kind}`);
  return readdirSync(folder)
    .filter((name) => /^[0-9a-f]{64}\.sqlite$/.test(name))
    .map((name) => join(folder, name));
};

before(async () => {
  up = await fleet.up();
  app = await fleet.onboard("app");
  const first = objects("resident");
  other = await fleet.onboard("other");
  files = [...first, ...objects("resident").filter((file) => !first.includes(file))];
});

/** Ends supervisor and workerd, containers left alive, so that nobody writes. */
async function stop(): Promise<void> {
  const workerd = readSupervisorFile(fleet.paths)?.workerd;
  const ended = new Promise((resolve) => up.child.once("exit", resolve));
  up.child.kill("SIGKILL");
  await ended;
  assert.ok(workerd);
  await eventually("workerd is gone", () => (isSameProcess(workerd) ? undefined : true));
}

const parts = ["", "-wal", "-shm"];

/** Spoils an object's file; answers how to put it back. */
async function spoiled(file: string): Promise<() => Promise<void>> {
  await stop();
  const there = parts.filter((part) => readdirSync(join(file, "..")).includes(`${file.split("/").at(-1)}${part}`));
  for (const part of there) copyFileSync(`${file}${part}`, join(fleet.home, `kept${part}`));
  for (const part of there) rmSync(`${file}${part}`);
  writeFileSync(file, "this is no database, and was one");
  up = await fleet.up();
  return async () => {
    await stop();
    for (const part of parts) rmSync(`${file}${part}`, { force: true });
    for (const part of there) copyFileSync(join(fleet.home, `kept${part}`), `${file}${part}`);
    up = await fleet.up();
  };
}

const spoilRegistry = (): Promise<() => Promise<void>> => {
  const [file] = objects("registry");
  assert.ok(file);
  return spoiled(file);
};

test("while the registry cannot be read an attach passes and a deploy does not; once it is back, its count is right by itself", async () => {
  const leaving = await fleet.inFlight(app);
  await fleet.drain("unread-person", { deploy: false, minutes: 80 });
  const putBack = await spoilRegistry();
  const run = fleet.newRun(app);
  assert.equal((await fleet.attach(run)).status, 200, "no drain for a run");
  assert.match(
    readFileSync(join(fleet.paths.log, "workerd.log"), "utf8"),
    new RegExp(`the registry cannot be read: no drain for this run.*${run.runId}`),
  );
  assert.equal((await fleet.exec(run, { id: "unread-proc", shell: "echo goes on" })).out, "goes on\n");
  assert.equal((await fleet.detach(leaving)).kind, "released", "a release that the registry is not told of");
  for (const path of ["/residents", "/residents?fresh=1", "/drain", "/audit"]) {
    const { status, headers, body } = await fleet.ask("read", path);
    assert.deepEqual(
      [status, (body as { code: string }).code, headers.has("retry-after")],
      [503, "UNREADABLE", true],
      path,
    );
  }
  const asked = { id: "unread-deploy", minutes: 5, by: "a", reason: "r", deploy: true };
  for (const [path, body] of [
    ["/drain", asked],
    ["/seal", { id: "unread-deploy" }],
    ["/undrain", { id: "unread-person" }],
  ] as const) {
    assert.equal((await fleet.refusal("drain", path, body)).code, "UNREADABLE", path);
  }
  assert.equal((await fleet.ask(null, "/healthz")).status, 200);
  const watch = new Watch(fleet.url, fleet.bearer("read"));
  assert.equal(await watch.end(), 1006);
  assert.deepEqual(watch.frames, [], "a watch ends, and does not tell that the fleet is open");
  await assert.rejects(fleet.control().down(false), { code: "REGISTRY_UNREADABLE" });
  await putBack();
  const { runs, drains } = await fleet.untilResidents(
    "the count arrives",
    (one) => one.runs.length === 1 && one.runs[0]?.runId === run.runId,
  );
  assert.deepEqual([runs[0]?.state, drains.map(({ id }) => id)], ["running", ["unread-person"]]);
  assert.equal((await fleet.attach(fleet.newRun(app))).problem?.code, "DRAINING", "and the drain closes again");
  await fleet.detach(run);
  await fleet.reopen();
});

test("a seal that was taken stands to its own end while the registry cannot be asked about it", async () => {
  await fleet.drain("unread-seal");
  const { drain } = await fleet.seal("unread-seal");
  const putBack = await spoilRegistry();
  const refused = await fleet.attach(fleet.newRun(app));
  const until = drain.phaseUntil ?? 0;
  const record = refused.problem?.["draining"] as { id: string; until: number; phase: string };
  assert.deepEqual([refused.status, record.id, record.until, record.phase], [503, "unread-seal", until, "swapping"]);
  const run = fleet.newRun(app);
  const binding = await eventually("the seal's own end", async () => (await fleet.attach(run)).binding);
  assert.ok(binding.admittedAt >= until);
  await putBack();
  await fleet.untilResidents("the count arrives", ({ runs }) => runs[0]?.runId === run.runId);
  await fleet.detach(run);
});

test("one resident that cannot be read is named by the seal and by the sum, and the others are free again", async () => {
  const [, file] = files;
  assert.ok(file);
  const putBack = await spoiled(file);
  await fleet.drain("unread-beside", { deploy: false });
  await fleet.drain("unread-one");
  const busy = await fleet.refusal("drain", "/seal", { id: "unread-one" });
  assert.deepEqual([busy.code, busy.detail, busy["unreadable"]], ["SEAL_BUSY", `${other} is unreadable`, [other]]);
  const rows = (await fleet.residents(true)).residents.map(({ resource, readable, readiness }) => [
    resource,
    readable,
    readiness,
  ]);
  assert.deepEqual(rows, [
    [app, true, "drained — attach refused"],
    [other, false, "unreadable"],
  ]);
  await fleet.reopen();
  await fleet.clear();
  const run = await fleet.inFlight(app);
  const { status, problem } = await fleet.attach(fleet.newRun(other));
  assert.deepEqual([status, problem?.code], [503, "UNREADABLE"]);
  await fleet.detach(run);
  await putBack();
  const mended = (await fleet.residents(true)).residents.map(({ readable }) => readable);
  assert.deepEqual(mended, [true, true]);
  await fleet.drain("mended");
  await fleet.seal("mended");
  await fleet.lift("mended", "none");
  await fleet.detach(await fleet.inFlight(other));
});

/** Writes a key of an object as another build might have; the object does not live meanwhile. */
function foreign(file: string, key: string, value: unknown): void {
  const database = new DatabaseSync(file);
  database.prepare("INSERT OR REPLACE INTO _cf_KV (key, value) VALUES (?, ?)").run(key, serialize(value));
  database.close();
}

test("records of another build: a drain closes nothing and refuses a deploy, a row and a seal stand, each until an admin says so", async () => {
  const [registry, resident, sealedOne] = [objects("registry")[0] ?? "", ...files];
  await stop();
  foreign(registry, "drain:of-another-build", { id: "of-another-build", shape: 9 });
  foreign(resident ?? "", "row:test:foreign", { shape: 9 });
  const gate = { shape: 9 };
  foreign(sealedOne ?? "", "gate", gate);
  up = await fleet.up();
  assert.deepEqual([(await fleet.drains()).unreadable, (await fleet.residents()).unreadableDrains], [1, 1]);
  await fleet.detach(await fleet.inFlight(app));
  assert.match(
    readFileSync(join(fleet.paths.log, "workerd.log"), "utf8"),
    /drains that this build cannot read close nothing/,
  );
  await fleet.detach(await fleet.inFlight(other));
  await fleet.drain("foreign-deploy");
  const busy = await fleet.refusal("drain", "/seal", { id: "foreign-deploy" });
  assert.deepEqual([busy.code, busy.detail], ["SEAL_BUSY", `${app} has unreadable-test-foreign`]);
  assert.equal((await fleet.attach({ ...fleet.newRun(app), threadKey: "test:foreign" })).problem?.code, "THREAD_BUSY");
  const release = { runId: "unreadable-test-foreign", reason: "it is over" };
  assert.equal((await fleet.ask("admin", "/runs/release", release)).status, 200);
  assert.equal((await fleet.ask("admin", "/undrain", { force: true })).status, 200);
  assert.deepEqual([(await fleet.drains()).unreadable, (await fleet.drains()).draining], [0, null]);
  await fleet.drain("foreign-gone");
  assert.equal((await fleet.seal("foreign-gone")).drain.phase, "swapping");
  await fleet.lift("foreign-gone", "none");
});
