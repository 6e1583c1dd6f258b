// The 34-minute closure, as `npm run replay -- closure` plays it: one container that never cycles closes its own repository
// and no other, to the cycle bound or to a rebuild's report. The rebuild is moved, and what is asserted moves with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { played, playedSchema } from "./played.ts";

const closureSchema = playedSchema.extend({
  comparison: z.object({
    note: z.string(),
    closedMs: z.array(z.object({ resource: z.string(), record: z.number(), here: z.number() })),
  }),
  timeline: z.array(z.object({ at: z.number().nullable(), here: z.string().nullable() })),
});
type Closure = z.infer<typeof closureSchema>;

const STALE = "repo:local/switchboard";
const REBUILD_MINUTE = 3;

function closedFor({ comparison }: Closure, isStale: boolean): number[] {
  return comparison.closedMs.filter((one) => (one.resource === STALE) === isStale).map((one) => one.here);
}

const atOf = ({ timeline }: Closure, words: RegExp): number =>
  timeline.find((beat) => words.test(beat.here ?? ""))?.at ?? Number.NaN;

test("one container never cycles: the others open at the lift, it at the bound or by its rebuild's report", async () => {
  const plays = await played("closures", "closure", "--set", `rebuild.at=${REBUILD_MINUTE}`);
  const [bound, rebuild, ...more] = plays.map((one) => closureSchema.parse(one));
  assert.ok(bound?.variant === "bound" && rebuild?.variant === "rebuild" && more.length === 0);
  for (const play of [bound, rebuild]) {
    assert.equal(play.facts.length, 8);
    assert.match(play.comparison.note, /quoted and not measured/);
    assert.ok(play.comparison.closedMs.every((one) => one.record === 34 * MINUTE));
    const [others, [stale = 0]] = [closedFor(play, false), closedFor(play, true)];
    assert.equal(others.length, 2);
    for (const other of others) assert.ok(other < stale, "its hold closes no other");
  }
  const asked = atOf(bound, /at the end$/);
  assert.equal(atOf(bound, /opens: the cycle bound/) - asked, CLOCK.cycleBoundMs);
  const moved = atOf(rebuild, /^repo rebuild/) - atOf(rebuild, /at the end$/);
  assert.ok(moved >= REBUILD_MINUTE * MINUTE, "it is rebuilt when it was told to");
  const opened = atOf(rebuild, /opens: its own report/) - atOf(rebuild, /at the end$/);
  assert.ok(opened >= moved && opened < CLOCK.cycleBoundMs, "and opens on the report, before the bound");
});
