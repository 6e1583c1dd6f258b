// Readiness tells the truth: what refuses an attach is never printed warm.

import assert from "node:assert/strict";
import { test } from "node:test";
import { APP, at, drainOf, personsDrain, reopeningDrain, WEB } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import { expectedOpen, imageReportOf, readinessOf, type ImageReport, type ResidentState } from "./readiness.ts";
import type { Drain } from "./drain.ts";

const held = reopeningDrain({ holds: [WEB] });
const table: readonly (readonly [says: string, state: ResidentState, drains: readonly Drain[], word: string])[] = [
  ["what nobody closes is how it is", "ready", [], "ready"],
  ["what starts says so", "starting", [], "starting"],
  ["what closes it comes before how it is", "ready", [drainOf()], "drained — attach refused"],
  ["what failed is drained too", "failed", [personsDrain()], "drained — attach refused"],
  ["another resident's hold is not its own", "ready", [held], "ready"],
  ["what is held refuses, and is never called ready", "ready", [reopeningDrain()], "drained — attach refused"],
  ["what cannot be read is said to be, drained or not", "unreadable", [drainOf()], "unreadable"],
];
for (const [says, state, drains, word] of table)
  test(`readiness: ${says}`, () => assert.equal(readinessOf(APP, state, drains), word));

const images: readonly (readonly [says: string, inside: string | null, held: boolean, report: ImageReport])[] = [
  ["is current by the container's own word", "c9e0", false, "current"],
  ["is current by that word also while it is held", "c9e0", true, "current"],
  ["that nobody has read is unknown", null, false, "unknown"],
  ["of another build is stale", "a41b", false, "stale"],
  ["of another build is pending while a reopening waits for it", "a41b", true, "pending"],
  ["that nobody has read is pending while a reopening waits for it", null, true, "pending"],
];
for (const [says, inside, held, report] of images)
  test(`an image ${says}`, () => assert.equal(imageReportOf(inside, "c9e0", held), report));

test("an opening is expected when all is quiet and the swap behind it, at the latest at the record's end", () => {
  const drain = { until: at(65) };
  assert.equal(expectedOpen(drain, null, CLOCK.swapBoundMs), at(65));
  assert.equal(expectedOpen(drain, at(20), CLOCK.swapBoundMs), at(35));
  assert.equal(expectedOpen(drain, at(60), CLOCK.swapBoundMs), at(65));
});
