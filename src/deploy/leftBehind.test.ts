// The next deploy of a folder lifts what a killed one left: its own folder's alone, no swap that may go on, no live one.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Drain } from "#core/drain.ts";
import { pathsOf } from "#node/stateFolder.ts";
import { leftBehind, liftLeftBehind, type Doors } from "#deploy/leftBehind.ts";
import { never } from "#deploy/portForTests.ts";
import { receiptOf } from "#deploy/receipt.ts";
import { keepReceipt } from "#deploy/receiptFile.ts";
import { drainOf, T0, TO } from "#deploy/recordsForTests.ts";

/** A receipt whose deployer has written no end to it, or has. */
const receipt = (drainId: string, isEnded = false) => {
  const said = { shapes: [], restart: false, mode: "drained", without: [], by: "ann", reason: "x" } as const;
  return { ...receiptOf({ ...said, drainId, to: TO, startedAt: T0 }), endedAt: isEnded ? T0 : null };
};

test("what is left behind: a deploy's drain of this folder, without an end, before its swap", () => {
  const of = (drain: Drain, ...receipts: ReturnType<typeof receipt>[]): number => leftBehind([drain], receipts).length;
  const dead = drainOf("d-dead-1", T0);
  assert.equal(of(dead, receipt("d-dead-1")), 1);
  assert.equal(of(dead), 0, "another folder's deploy may live");
  assert.equal(
    of(dead, receipt("d-dead-1", true)),
    0,
    "one that ended has lifted what it held, or was told that it is pending",
  );
  for (const phase of ["swapping", "reopening"] as const)
    assert.equal(of({ ...dead, phase }, receipt("d-dead-1")), 0, `${phase}: it ends by its own bound`);
  assert.equal(of({ ...dead, deploy: false }, receipt("d-dead-1")), 0, "a person's");
});

test("it is lifted at both doors and said, whatever the bot answers; a fleet that does not answer is the deploy's to meet", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "tidegate-left-"));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const paths = pathsOf(home);
  keepReceipt(paths, receipt("d-dead-1"));
  const asked: string[] = [];
  const doors = (bot: Doors["bot"]): Doors => ({
    fleet: {
      drains: () =>
        Promise.resolve({
          now: T0,
          drains: [drainOf("d-live-1", T0), drainOf("d-dead-1", T0)],
          draining: null,
          unreadable: 0,
        }),
      undrain: ({ id, outcome }) => {
        asked.push(`fleet ${id} ${outcome}`);
        return Promise.resolve({
          now: T0,
          kind: "lifted",
          deferredUntil: null,
          remaining: [],
          held: [],
          heldUntil: null,
        });
      },
    },
    bot,
  });
  const cut: Doors["bot"] = {
    undrain: ({ id }) => {
      asked.push(`bot ${id}`);
      return Promise.reject(new Error("cut"));
    },
  };
  const says = await liftLeftBehind(paths, doors(cut), never);
  assert.deepEqual(asked, ["fleet d-dead-1 none", "bot d-dead-1"]);
  assert.deepEqual(says, [
    { level: "warning", text: "the deploy by ci of 04:44:00Z is dead: its drain d-dead-1 is lifted" },
  ]);
  assert.equal((await liftLeftBehind(paths, doors(null), never)).length, 1, "a stack without a bot");
  const away = { fleet: { ...doors(null).fleet, drains: () => Promise.reject(new Error("cut")) }, bot: null };
  assert.deepEqual(await liftLeftBehind(paths, away, never), []);
});
