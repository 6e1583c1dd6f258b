// Deploys on a real stack: one waits for the run in flight, swaps bundle and image and kills nobody; its control, by
// force, kills; a signal opens the fleet; a second deployer is refused by name; a dry run changes nothing.

import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { receiptSchema, type Receipt } from "#wire/receipt.ts";
import { readRelease } from "#embed/releaseFile.ts";
import { REAL } from "#core/budgets.ts";
import { DeployStack, eventually, type DeployerEnd } from "./deployStack.ts";

const receiptIn = ({ out }: DeployerEnd): Receipt => receiptSchema.parse(JSON.parse(out));
const isOpen = async (stack: DeployStack): Promise<boolean> =>
  (await stack.access().fleet.drains()).drains.length === 0;
const waits = (stack: DeployStack, said: () => string) =>
  eventually(said, async () => (/waits for /.test(said()) && !(await isOpen(stack)) ? true : undefined));

let stack: DeployStack;
before(async () => {
  stack = await DeployStack.up();
});
after(() => stack.dispose());
afterEach(() => stack.letAllGo());

test("a dry run says what it would do and changes nothing", async () => {
  const run = await stack.hold();
  stack.newImage();
  const release = readRelease(stack.paths);
  const { code, out, said } = await stack.deployer(["--dryRun"]).ended;
  assert.equal(code, 0, said);
  assert.match(out, /would wait for 1 run in flight, quiet by \d\d:\d\d \(budget 6h 15m/);
  assert.match(out, /would build image [0-9a-f]{12}/);
  assert.deepEqual(readRelease(stack.paths), release);
  assert.equal(await isOpen(stack), true);
  run.go();
  await run.ended;
});

test("a deploy waits for the run in flight and kills nobody", async () => {
  const run = await stack.hold();
  stack.newImage();
  const deployer = stack.deployer(["--json"]);
  await waits(stack, deployer.said);
  run.go();
  const ended = await deployer.ended;
  assert.equal(ended.code, 0, ended.said);
  assert.deepEqual(await run.ended, { code: 0, output: "begun\nended\n" });
  const receipt = receiptIn(ended);
  assert.equal(receipt.result, "deployed");
  assert.equal(receipt.killed, 0);
  assert.equal(receipt.build.imageChanged, true);
  assert.equal(receipt.reopened?.cause, "lifted");
  assert.deepEqual(
    receipt.inFlight.map((one) => [one.threadKey, one.how]),
    [[run.binding.threadKey, "released"]],
  );
  assert.equal((await stack.access().fleet.health()).drainId, receipt.drainId);
  const again = await stack.hold();
  again.go();
  await again.ended;
  assert.notEqual(again.binding.image, run.binding.image);
  assert.notEqual(again.binding.bootId, run.binding.bootId);
});

test("the control: by force the same deploy kills the run, and counts it from what died", async () => {
  const run = await stack.hold();
  stack.newImage();
  const ended = await stack.deployer(["--json", "--force"]).ended;
  assert.equal(ended.code, 0, ended.said);
  const receipt = receiptIn(ended);
  assert.equal(receipt.killed, 1);
  assert.deepEqual([...new Set(receipt.killedProcesses.map((one) => one.runId))], [run.binding.runId]);
  assert.ok(ended.said.indexOf(run.binding.runId) < ended.said.indexOf("swapped"), "named before it was killed");
  assert.equal(receipt.closed, null);
  await stack.access("admin").fleet.releaseRun({ runId: run.binding.runId, reason: "killed by the test" });
  await run.ended.catch(() => undefined);
});

test("SIGINT ends the wait, opens the fleet and says so within its bound", async () => {
  const run = await stack.hold();
  const deployer = stack.deployer(["--json"]);
  await waits(stack, deployer.said);
  const began = performance.now();
  deployer.child.kill("SIGINT");
  const ended = await deployer.ended;
  assert.ok(performance.now() - began < REAL.liftWithinMs);
  assert.equal(ended.code, 130);
  assert.match(ended.said, /fleet reopened/);
  assert.equal(receiptIn(ended).result, "stopped");
  assert.equal(await isOpen(stack), true);
  run.go();
  assert.equal((await run.ended).code, 0);
});

test("a second deployer of this folder, and one from elsewhere, are refused by name", async () => {
  const run = await stack.hold();
  const first = stack.deployer(["--json"]);
  await waits(stack, first.said);
  const second = await stack.deployer(["--json"]).ended;
  assert.equal(second.code, 3);
  assert.match(second.said, /a test \(pid \d+\) since \d\d:\d\d:\d\dZ deploys from this folder/);
  const elsewhere = stack
    .access()
    .fleet.drain({ id: "drain-elsewhere", minutes: 65, by: "b", reason: "r", deploy: true, build: null, without: [] });
  await assert.rejects(elsewhere, /DEPLOY_IN_PROGRESS|a test has been deploying since/);
  run.go();
  const ended = await first.ended;
  assert.equal(ended.code, 0, ended.said);
});

test("without the drain bearer it waits without a drain", async () => {
  stack.newImage();
  const ended = await stack.deployer(["--json"], { RESIDENT_DRAIN_TOKEN: "" }).ended;
  assert.equal(ended.code, 0, ended.said);
  assert.match(ended.said, /RESIDENT_DRAIN_TOKEN is not set — waiting without a drain/);
  assert.equal(receiptIn(ended).closed, null);
});

test("a person's drain outlives the deploy and is its last line", async () => {
  const person = {
    id: "drain-of-ann",
    minutes: 30,
    by: "ann",
    reason: "audit",
    deploy: false,
    build: null,
    without: [],
  };
  await stack.access().fleet.drain(person);
  const ended = await stack.deployer().ended;
  assert.equal(ended.code, 0, ended.said);
  assert.match(ended.said.trimEnd().split("\n").at(-1) ?? "", /^fleet stays closed by ann \(audit\) until /);
  await stack.access().fleet.undrain({ id: "drain-of-ann", outcome: "none", force: false });
});
