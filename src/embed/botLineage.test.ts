// A bot is said to be gone only when its process, and each that was begun behind it, has ended.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { ProcessId } from "#wire/host.ts";
import { BotLineage } from "#embed/botLineage.ts";

const idOf = (pid: number): ProcessId => ({ pid, startTicks: 1, machineBootId: "m" });

test("the last number is said once every process since is gone, and one that never answered counts", () => {
  const alive = new Set<number>();
  const lineage = new BotLineage(({ pid }) => alive.has(pid));
  const begins = (pid: number): void => {
    alive.add(pid);
    lineage.began(idOf(pid));
  };
  assert.equal(lineage.gone(), null, "there was none");
  begins(1);
  lineage.answers({ number: 7 });
  assert.equal(lineage.gone(), null, "it lives");
  alive.delete(1);
  assert.equal(lineage.gone(), 7);
  begins(2);
  assert.equal(lineage.gone(), null, "the next one may hold something, under a number that nobody knows");
  alive.delete(2);
  assert.equal(lineage.gone(), 7, "and is gone without a word");
  begins(3);
  lineage.answers({ number: null });
  alive.delete(3);
  assert.equal(lineage.gone(), null, "an older bot does not say its number");
  begins(4);
  begins(5);
  lineage.answers({ number: 12 });
  alive.delete(5);
  assert.equal(lineage.gone(), null, "one that was begun before it may live still");
  alive.delete(4);
  assert.equal(lineage.gone(), 12);
});
