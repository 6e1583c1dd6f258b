// The night of the bot's door, as `npm run replay -- bot` plays it: with the door the roll lands under a plan runner that asks
// within a second of each ending, without it never. Its units are made shorter, and what is asserted follows.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { CLOCK } from "#core/budgets.ts";
import { MINUTE } from "#core/time.ts";
import { played, playedSchema } from "./played.ts";

const nightSchema = playedSchema.extend({
  timeline: z.array(
    z.object({ at: z.number().nullable(), here: z.string().nullable(), record: z.string().nullable() }),
  ),
  units: z.array(z.object({ kind: z.enum(["coding", "review"]), ms: z.number() })),
});
type Night = z.infer<typeof nightSchema>;

const MINUTES = { coding: 2.5, review: 1.5 } as const;
/** What they work where nobody says otherwise. */
const OTHERWISE = { coding: 4, review: 2 } as const;

const atOf = ({ timeline }: Night, words: RegExp): number =>
  timeline.find(({ here }) => words.test(here ?? ""))?.at ?? Number.NaN;

test("with the door the roll lands and the queue goes on; its control never reads zero and fails at its budget", async () => {
  const sets = Object.entries(MINUTES).flatMap(([kind, minutes]) => ["--set", `${kind}.minutes=${minutes}`]);
  const plays = await played("nights", "bot", ...sets);
  const [door, undrained, ...more] = plays.map((one) => nightSchema.parse(one));
  assert.ok(door?.variant === "door" && undrained?.variant === "undrained" && more.length === 0);
  assert.deepEqual([door.facts.length, undrained.facts.length], [8, 4]);
  for (const { units } of [door, undrained])
    for (const kind of ["coding", "review"] as const) {
      const spans = units.filter((one) => one.kind === kind).map(({ ms }) => ms);
      assert.ok(Math.min(...spans) >= MINUTES[kind] * MINUTE, `each ${kind} works for as long as it was told to`);
      if (kind === "coding")
        assert.ok(Math.min(...spans) < OTHERWISE[kind] * MINUTE, "and not for what it does untold");
    }
  const waited = atOf(door, /door opens/) - atOf(door, /deploy closes/);
  assert.ok(
    waited > 0 && waited < CLOCK.undrainedWaitMs,
    "the door lets it land in less than the other's whole budget",
  );
  const spent = atOf(undrained, /gives up at its budget/) - atOf(undrained, /deploy is typed/);
  assert.ok(spent >= CLOCK.undrainedWaitMs);
});
