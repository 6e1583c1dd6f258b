// Work that runs once more for whoever asked while it ran, at whichever instant of it: nobody's ask is lost in its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Again } from "./again.ts";

/** More than there are steps between the end of the work and the last of its promises. */
const OFFSETS = 20;

test("an ask at any instant around the end of the work has it run once more from its beginning", async () => {
  for (let offset = 0; offset < OFFSETS; offset += 1) {
    const end = Promise.withResolvers<void>();
    let asks = 1;
    let seen = 0;
    const again = new Again(async () => {
      seen = asks;
      await end.promise;
    });
    void again.ask();
    const late = end.promise.then(async () => {
      for (let n = 0; n < offset; n += 1) await Promise.resolve();
      asks += 1;
      await again.ask();
      assert.equal(seen, asks, `after ${offset} steps`);
    });
    end.resolve();
    await late;
    assert.equal(again.running, null);
  }
});

test("it never runs beside itself, and as many asks as come meanwhile are one run more", async () => {
  let [runs, beside] = [0, 0];
  const again = new Again(async () => {
    runs += 1;
    beside += 1;
    assert.equal(beside, 1);
    await Promise.resolve();
    beside -= 1;
  });
  const first = again.ask();
  assert.equal(again.running, first);
  await Promise.resolve();
  assert.equal(runs, 1);
  await Promise.all([first, again.ask(), again.ask()]);
  assert.deepEqual([runs, again.running], [2, null]);
});

test("work that asks for itself runs once more, and not beside itself", async () => {
  let runs = 0;
  const again: Again = new Again(async () => {
    runs += 1;
    if (runs === 1) void again.ask();
    await Promise.resolve();
  });
  await again.ask();
  assert.equal(runs, 2);
});

test("work that fails is over, tells whoever asked, and runs again for the next", async () => {
  let runs = 0;
  const again = new Again(async () => {
    runs += 1;
    await Promise.resolve();
    if (runs === 1) throw new Error("away");
  });
  const first = again.ask();
  await assert.rejects(first, /away/);
  assert.equal(again.running, null);
  await again.ask();
  assert.equal(runs, 2);
});
