// A run's end, which awaits: it deletes the row only as it was noted, and only a caller gives way to a newer attach.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { at, rowOf, T0 } from "../../test/unit/coreSamples.ts";
import { CLOCK } from "./budgets.ts";
import type { Registration } from "./registration.ts";
import { nextRelease, releaseOf, type ReleaseBy, type ReleaseEffect, type ReleaseFact } from "./release.ts";
import type { Instant } from "./time.ts";

const caller: ReleaseBy = { who: "caller", generation: 1 };
const admin: ReleaseBy = { who: "admin", reason: "stuck" };
const spentAt = at(30) + CLOCK.graceMs;
const noted = (row: Registration | null): ReleaseFact => ({ kind: "noted", row });
const stopped: ReleaseFact = { kind: "stopped" };
const ended = (deleted: boolean): ReleaseFact => ({ kind: "ended", deleted });
const answer = (kind: "released" | "absent" | "superseded"): ReleaseEffect => ({ do: "answer", answer: { kind } });
const moved = rowOf({ seq: 2 });

const table: readonly (readonly [
  says: string,
  by: ReleaseBy,
  facts: readonly ReleaseFact[],
  effect: ReleaseEffect,
  now?: Instant,
])[] = [
  ["the row is noted first", caller, [], { do: "note" }],
  ["a run without a row is absent", caller, [noted(null)], answer("absent")],
  ["its caller ends it: its processes first", caller, [noted(rowOf())], { do: "stop", row: rowOf() }],
  ["then its row, as it was noted", caller, [noted(rowOf()), stopped], { do: "end", row: rowOf() }],
  ["then it is released", caller, [noted(rowOf()), stopped, ended(true)], answer("released")],
  ["a caller of an older generation ends nothing", caller, [noted(rowOf({ generation: 2 }))], answer("superseded")],
  [
    "a caller gives way to an attach that came between",
    caller,
    [noted(rowOf()), stopped, ended(false)],
    answer("superseded"),
  ],
  ["an administrator does not: the row is noted again", admin, [noted(rowOf()), stopped, ended(false)], { do: "note" }],
  [
    "and ended as it now is",
    admin,
    [noted(rowOf()), stopped, ended(false), noted(moved), stopped],
    { do: "end", row: moved },
  ],
  ["an administrator ends a run of any generation", admin, [noted(moved)], { do: "stop", row: moved }],
  ["a person's replacement ends it at once", { who: "replaced" }, [noted(rowOf())], { do: "stop", row: rowOf() }],
  ["a lease that is not spent ends nothing", { who: "lease" }, [noted(rowOf())], answer("superseded"), spentAt - 1],
  ["a lease that is spent ends the run", { who: "lease" }, [noted(rowOf())], { do: "stop", row: rowOf() }, spentAt],
  ["a lease that is spent insists", { who: "lease" }, [noted(rowOf()), stopped, ended(false)], { do: "note" }, spentAt],
  ["a fact of another effect changes nothing", caller, [stopped, ended(true)], { do: "note" }],
  ["no row is noted twice", caller, [noted(rowOf()), noted(null)], { do: "stop", row: rowOf() }],
  ["processes are not stopped twice", caller, [noted(rowOf()), stopped, stopped], { do: "end", row: rowOf() }],
  ["what is answered stays answered", caller, [noted(null), noted(rowOf()), stopped], answer("absent")],
];
for (const [says, by, facts, effect, now = T0] of table)
  test(`release: ${says}`, () => {
    const end = facts.reduce((state, fact) => nextRelease(state, fact, now), releaseOf("run-a", by));
    assert.deepEqual(end.effect, effect);
    assert.deepEqual([end.runId, end.by], ["run-a", by]);
  });

const anyFact: fc.Arbitrary<ReleaseFact> = fc.oneof(
  fc.option(fc.nat(3)).map((seq) => noted(seq === null ? null : rowOf({ seq }))),
  fc.constant(stopped),
  fc.boolean().map(ended),
);

test("in any order of facts a row is deleted only as it was noted last, and after its processes were stopped", () => {
  const who = fc.constantFrom<ReleaseBy>(caller, admin, { who: "lease" }, { who: "replaced" });
  fc.assert(
    fc.property(who, fc.array(anyFact, { maxLength: 12 }), (by, facts) => {
      let state = releaseOf("run-a", by);
      for (const fact of facts) {
        const before = state.effect;
        state = nextRelease(state, fact, spentAt);
        const { effect } = state;
        if (effect.do === "end" && before.do !== "end") {
          assert.ok(before.do === "stop" && fact.kind === "stopped");
          assert.equal(effect.row, before.row);
        }
        if (before.do === "answer") assert.equal(effect, before);
      }
    }),
  );
});
