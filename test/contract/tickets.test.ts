// What was let through and is still on its way to the agent when its run is released or taken over starts nothing there; an
// agent of an older image, which cannot take anything back, goes on as before, and that is said.

import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { problemSchema } from "#wire/errors.ts";
import type { Run } from "../embedded/fleetStack.ts";
import { ContractFleet } from "./contractFleet.ts";

const SCALE = 20;

/** An exec that has its ticket and whose start has not come to the agent; `letGo` lets it come, and answers what it was told. */
async function onItsWay(fleet: ContractFleet, run: Run): Promise<{ letGo: () => Promise<unknown[]> }> {
  const [come, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  fleet.platform.treat(run.resource, {
    inside: (path) => {
      if (path !== "/v1/procs" || !isFirst) return undefined;
      isFirst = false;
      come.resolve();
      return go.promise;
    },
  });
  const exec = fleet.ask("operator", "/exec", { ...run, procId: "proc-late", command: ["work"] });
  await come.promise;
  const letGo = async (): Promise<unknown[]> => {
    go.resolve();
    const problem = problemSchema.parse((await exec).body);
    return [problem.code, problem["agentCode"]];
  };
  return { letGo };
}

async function released(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const run = await fleet.inFlight(app);
  const { letGo } = await onItsWay(fleet, run);
  assert.equal((await fleet.detach(run)).kind, "released");
  assert.deepEqual(await letGo(), ["NEEDS_ATTACH", "TAKEN_BACK"]);
  assert.equal(fleet.platform.running(app)?.procs.size, 0, "nothing runs without a registration");
}

async function takenOver(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  const app = await fleet.onboard("app");
  const run = fleet.newRun(app);
  await fleet.admitted(run, { generation: 1 });
  const { letGo } = await onItsWay(fleet, run);
  await fleet.admitted(run, { generation: 2 });
  assert.deepEqual(await letGo(), ["NEEDS_ATTACH", "TAKEN_BACK"]);
  assert.equal(fleet.platform.running(app)?.procs.size, 0, "nothing runs beside what the next one starts");
  await fleet.detach(run, 2);
}

async function olderAgent(): Promise<void> {
  const fleet = await ContractFleet.begin(SCALE);
  fleet.platform.treat("repo:test/app", { isOlder: true });
  const app = await fleet.onboard("app");
  const run = fleet.newRun(app);
  await fleet.admitted(run, { generation: 1 });
  assert.equal((await fleet.admitted(run, { generation: 2 })).again, true);
  fleet.platform.running(app)?.procs.set("proc-1", run.threadKey);
  assert.equal((await fleet.detach(run, 2)).kind, "released");
  assert.equal(fleet.platform.running(app)?.procs.size, 0);
  const said = fleet.log().filter(({ level, event }) => level === "warn" && event.includes("takes nothing back"));
  assert.deepEqual(
    said.map((line) => line["threadKey"]),
    [run.threadKey, run.threadKey],
    "at the re-attach and at the release",
  );
}

suite("a start that was let through", { concurrency: true }, () => {
  test("before the release of its run does not come in behind it", released);
  test("to an older generation does not come in behind the attach of the next one", takenOver);
});

test(
  "an agent of an older image takes nothing back: its runs are attached and released as before, and that is said",
  olderAgent,
);
