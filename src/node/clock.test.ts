// A scaled clock keeps what a real one promises: a sleep ends at its instant or later, and at once when it is stopped.

import assert from "node:assert/strict";
import { test } from "node:test";
import { clockOf, REAL_TIME, scaledFromNow } from "#node/clock.ts";

test("sixty times as fast, a minute passes in a second or a little more, and never before its instant", async () => {
  const clock = clockOf(scaledFromNow(1_000_000, 60));
  const [real, virtual] = [performance.now(), clock.now()];
  assert.ok(virtual >= 1_000_000 && virtual < 1_060_000);
  await clock.sleep(12_000);
  assert.ok(clock.now() >= virtual + 12_000);
  assert.ok(performance.now() - real >= 199);
});

test("the real clock is the machine's, in whole milliseconds", () => {
  const clock = clockOf(REAL_TIME);
  const [before, now, after] = [Date.now(), clock.now(), Date.now()];
  assert.ok(before <= now && now <= after && Number.isInteger(now));
});

test("a sleep that is stopped rejects with the reason, before and during; a span of nothing is no sleep", async () => {
  const clock = clockOf(REAL_TIME);
  await clock.sleep(-5);
  const stop = new AbortController();
  const asleep = clock.sleep(3_600_000_000, stop.signal);
  stop.abort(new Error("enough"));
  await assert.rejects(asleep, /enough/);
  await assert.rejects(clock.sleep(1, stop.signal), /enough/);
});
