// The evening and its two controls, as `npm run replay` plays them. The evening is moved: what is asserted follows from the
// instants that are set here, so that a timeline which stays when its input moves fails.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import * as z from "zod";
import { MINUTE } from "#core/time.ts";

const root = resolve(import.meta.dirname, "../..");

const factSchema = z.object({
  says: z.string(),
  found: z.string(),
  holds: z.boolean(),
  proof: z.record(z.string(), z.unknown()),
});
const eveningSchema = z.object({
  variant: z.string(),
  timeline: z.array(z.object({ what: z.string(), at: z.number().optional() })),
  facts: z.array(factSchema),
});
type Evening = z.infer<typeof eveningSchema>;

async function replay(...args: string[]): Promise<{ exit: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ["scripts/replay.ts", ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    child.exitCode === null ? once(child, "exit") : null,
  ]);
  return { exit: child.exitCode, out, err };
}

async function evening(variant: string, ...sets: string[]): Promise<Evening> {
  const { exit, out, err } = await replay(variant, "--json", ...sets.flatMap((set) => ["--set", set]));
  const { evenings } = z
    .object({ evenings: z.array(eveningSchema).length(1) })
    .parse(JSON.parse(out === "" ? "{}" : out));
  const [played] = evenings;
  assert.ok(played !== undefined);
  for (const { says, found, holds, proof } of played.facts)
    assert.ok(holds, `${says}\nfound: ${found}\n${JSON.stringify(proof, null, 1)}\n${err}`);
  assert.equal(exit, 0);
  return played;
}

const night = (hours: number, minutes: number): number => Date.UTC(2026, 8, 17, hours, minutes);

test("the evening: nobody is killed, the late ask starts on the new generation, the one without the time is refused", async () => {
  const sets = ["coding.lease=05:20", "coding.ends=05:12"];
  const played = await evening("drained", ...sets);
  assert.equal(played.facts.length, 7);
  const at = (what: string): number => played.timeline.find((beat) => beat.what === what)?.at ?? 0;
  assert.ok(at("the coding child releases") >= night(5, 12), "it ends when it was told to");
  assert.ok(at("the swap") >= at("the coding child releases"));
  const waited = Number(/after waiting (\d+)s/.exec(played.facts.map((fact) => fact.found).join("\n"))?.[1] ?? "0");
  const door = at("the waiting ask starts") - at("a new ask waits");
  assert.ok(
    Math.abs(waited * 1_000 - door) < 2 * MINUTE,
    `the opening line names ${waited} s, the door was closed for ${door} ms`,
  );
  assert.ok(waited > 20 * 60, "five minutes more than the evening's own");
});

test("its control without the bearer: refused at the budget's end, and nothing was closed", async () => {
  const played = await evening("undrained");
  assert.equal(played.facts.length, 2);
});

test("its control with --force: both are killed, counted from the processes that died", async () => {
  const played = await evening("forced");
  assert.equal(played.facts[0]?.proof["killed"], 2);
});

test("an evening that is asked for wrongly is refused before anything is started", async () => {
  for (const [args, says] of [
    [["--set", "coding.ends=25:00"], /no time of the night/],
    [["--set", "coding.begins=05:00"], /is none of/],
    [["--set", "coding.ends=06:30"], /cannot hold it/],
    [["midnight"], /is no evening/],
  ] as const) {
    const { exit, err } = await replay(...args);
    assert.equal(exit, 2);
    assert.match(err, says);
  }
});
