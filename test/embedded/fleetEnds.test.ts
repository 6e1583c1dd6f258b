// The ends of drains on a scaled clock, a minute a second: nobody lifts, and the fleet opens by itself, at the bound and with its cause.

import assert from "node:assert/strict";
import { afterEach, before, test } from "node:test";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { FleetStack } from "./fleetStack.ts";
import { Watch } from "./fleetWatch.ts";

const fleet = new FleetStack(60);
let app = "";

before(async () => {
  await fleet.up();
  app = await fleet.onboard("app");
});

afterEach(() => fleet.reopen());

/** What the audit log says of a drain's end. */
async function ending(id: string) {
  const row = (await fleet.auditRows()).find(({ what, drainId }) => what === "reopen" && drainId === id);
  assert.ok(row !== undefined, "the end is told");
  return row;
}

/** Waits on the watch until this drain is gone; the frame must come from the registry's own alarm. */
async function endSeen(id: string): Promise<number> {
  const watch = new Watch(fleet.url, fleet.bearer("operator"));
  await watch.until(
    "the drain stands",
    ({ drains, msToNextEnd }) => drains.some((drain) => drain.id === id) && msToNextEnd !== null,
  );
  const { now } = await watch.until("it has ended", ({ drains }) => !drains.some((drain) => drain.id === id));
  watch.close();
  return now;
}

const atMost = (late: number, what: string): void =>
  assert.ok(late >= 0 && late <= 3 * MINUTE, `${what} ${late} ms late`);

test("a deployer whose pulse stops leaves the fleet open after the pulse bound, cause `pulse`, and finds itself over", async () => {
  const first = await fleet.drain("pulse-lost");
  assert.equal(first.drain.phaseUntil, first.drain.since + CLOCK.pulseBoundMs);
  const { drain } = await fleet.drain("pulse-lost");
  assert.ok((drain.phaseUntil ?? 0) > (first.drain.phaseUntil ?? 0), "a pulse moves the bound");
  const now = await endSeen("pulse-lost");
  atMost(now - (drain.phaseUntil ?? 0), "the watch is told");
  const { cause, at, principal } = await ending("pulse-lost");
  assert.deepEqual([cause, principal], ["pulse", "registry"]);
  assert.ok(at >= (drain.phaseUntil ?? 0));
  for (const [path, body] of [
    ["/drain", { id: "pulse-lost", minutes: 5, by: "slow", reason: "r", deploy: true }],
    ["/seal", { id: "pulse-lost" }],
  ] as const) {
    assert.equal((await fleet.refusal("drain", path, body)).code, "DRAIN_OVER", path);
  }
  await fleet.drain("next-deploy");
});

test("a person's drain ends at `until`, cause `expired`, and a lift that comes after it finds it over", async () => {
  const { drain } = await fleet.drain("one-minute", { deploy: false, minutes: 1 });
  const now = await endSeen("one-minute");
  atMost(now - drain.until, "the watch is told");
  assert.equal((await ending("one-minute")).cause, "expired");
  assert.equal((await fleet.lift("one-minute")).kind, "already");
  assert.equal((await fleet.attach(fleet.newRun(app))).status, 200);
  await fleet.clear();
});

test("a swap that nobody ends is open again at the swap bound, a lift without outcome meanwhile changes nothing", async () => {
  await fleet.drain("swap-bound");
  const { drain } = await fleet.seal("swap-bound");
  const bound = drain.phaseUntil ?? 0;
  assert.deepEqual((await fleet.lift("swap-bound")).deferredUntil, bound);
  const seen = endSeen("swap-bound");
  const refused = await fleet.attach(fleet.newRun(app));
  assert.deepEqual([refused.status, fleet.refusedBy(refused.problem).phaseUntil], [503, bound]);
  atMost((await seen) - bound, "the watch is told");
  const { cause, at } = await ending("swap-bound");
  assert.equal(cause, "bound");
  assert.ok(at >= bound);
  assert.equal((await fleet.attach(fleet.newRun(app))).status, 200, "the residents' seals have ended with it");
  await fleet.clear();
});
