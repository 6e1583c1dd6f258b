// A short chaos as a person starts it, and its control: with the door nothing is killed, lost, doubled or left closed although
// everything dies; by force the same work is killed, so the judge can tell.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import * as z from "zod";

const root = resolve(import.meta.dirname, "../..");
const SECONDS = 30;

const playedSchema = z.object({
  seed: z.number(),
  facts: z.array(z.object({ says: z.string(), found: z.string(), holds: z.boolean() })),
});

interface Ran {
  readonly exit: number;
  readonly err: string;
  readonly facts: z.infer<typeof playedSchema>["facts"];
}

/** Runs `npm run chaos` with these words; its own words tell how far it came. */
async function chaos(...words: string[]): Promise<Ran> {
  const args = ["scripts/chaos.ts", "--seconds", String(SECONDS), ...words, "--json"];
  return await new Promise((answer, fail) => {
    execFile(process.execPath, args, { cwd: root }, (error, out, err) => {
      const exit = error === null ? 0 : Number(error.code);
      if (out === "") fail(new Error(err));
      else answer({ exit, err, facts: playedSchema.parse(JSON.parse(out)).facts });
    });
  });
}

test("nothing is killed, lost, doubled or left closed, whatever dies", async (t) => {
  const seed = 2;
  const { exit, err, facts } = await chaos("--seed", String(seed));
  for (const { says, found, holds } of facts) assert.ok(holds, `${says}\nfound: ${found}\n${err}`);
  assert.deepEqual([exit, facts.length], [0, 4], err);
  assert.match(err, /is killed|stands still/, "something was struck");
  t.diagnostic(`chaos ${seed}: ${facts.map(({ found }) => found).join(", ")}`);
});

test("the control: by force it opens too, and its releases kill what is at work", async () => {
  const { exit, err, facts } = await chaos("--forced");
  assert.deepEqual(
    facts.map(({ holds }) => holds),
    [true, false, false, false],
    err,
  );
  assert.match(facts[3]?.found ?? "", /killed [1-9]/);
  assert.equal(exit, 1);
});
