// The evening and its two controls, as `npm run replay` plays them. The evening is moved: what is asserted follows from the
// instants that are set here, so that a timeline which stays when its input moves fails.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { MINUTE } from "#core/time.ts";
import { played, playedSchema, replay } from "./played.ts";

const eveningSchema = playedSchema.extend({
  timeline: z.array(z.object({ what: z.string(), at: z.number().optional() })),
});
type Evening = z.infer<typeof eveningSchema>;

async function evening(variant: string, ...sets: string[]): Promise<Evening> {
  const [one, ...more] = await played("evenings", variant, ...sets.flatMap((set) => ["--set", set]));
  assert.equal(more.length, 0);
  return eveningSchema.parse(one);
}

const night = (hours: number, minutes: number): number => Date.UTC(2026, 8, 17, hours, minutes);

test("the evening: nobody is killed, the late ask starts on the new generation, the one without the time is refused", async () => {
  const { facts, timeline } = await evening("drained", "coding.lease=05:20", "coding.ends=05:12");
  assert.equal(facts.length, 7);
  const at = (what: string): number => timeline.find((beat) => beat.what === what)?.at ?? 0;
  assert.ok(at("the coding child releases") >= night(5, 12), "it ends when it was told to");
  assert.ok(at("the swap") >= at("the coding child releases"));
  assert.ok(at("the containers reconcile") >= at("the swap"));
  const waited = Number(/after waiting (\d+)s/.exec(facts.map((fact) => fact.found).join("\n"))?.[1] ?? "0");
  const door = at("the waiting ask starts") - at("a new ask waits");
  assert.ok(
    Math.abs(waited * 1_000 - door) < 2 * MINUTE,
    `the opening line names ${waited} s, the door was closed for ${door} ms`,
  );
  assert.ok(waited > 20 * 60, "five minutes more than the evening's own");
});

test("its control without the bearer: refused at the budget's end, and nothing was closed", async () => {
  const { facts } = await evening("undrained");
  assert.equal(facts.length, 2);
});

test("its control with --force: both are killed, counted from the processes that died", async () => {
  const { facts } = await evening("forced");
  assert.equal(facts[0]?.proof["killed"], 2);
});

test("a replay that is asked for wrongly is refused before anything is started", async () => {
  for (const [args, says] of [
    [["--set", "coding.ends=25:00"], /no time of the night/],
    [["--set", "coding.begins=05:00"], /is none of/],
    [["--set", "coding.ends=06:30"], /cannot hold it/],
    [["midnight"], /is no evening/],
    [["closure", "--set", "coding.ends=05:12"], /is not rebuild\.at/],
    [["closure", "--set", "rebuild.at=10"], /below 10, the cycle bound/],
    [["bot", "--set", "rebuild.at=3"], /is none of coding\.minutes, review\.minutes/],
    [["bot", "--set", "coding.minutes=0"], /no number of minutes from 1 to 12/],
  ] as const) {
    const { exit, err } = await replay(...args);
    assert.equal(exit, 2);
    assert.match(err, says);
  }
});
