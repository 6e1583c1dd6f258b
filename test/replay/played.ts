// A replay as a person starts it: its own process, asked for its facts as data. A fact that differs fails with its proof.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import * as z from "zod";

const root = resolve(import.meta.dirname, "../..");

const factSchema = z.object({
  says: z.string(),
  found: z.string(),
  holds: z.boolean(),
  proof: z.record(z.string(), z.unknown()),
});

/** What every replay tells of itself beside its own. */
export const playedSchema = z.looseObject({ variant: z.string(), facts: z.array(factSchema) });
export type Played = z.infer<typeof playedSchema>;

/** How a replay ended, and what it said. */
export interface Ran {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `npm run replay` with these words. */
export async function replay(...args: string[]): Promise<Ran> {
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

/** Plays what is asked for, every fact of which has to hold, and answers the plays under this key. */
export async function played(key: string, ...args: string[]): Promise<Played[]> {
  const { exit, out, err } = await replay(...args, "--json");
  const plays = z.object({ [key]: z.array(playedSchema) }).parse(JSON.parse(out === "" ? "{}" : out))[key];
  assert.ok(plays !== undefined, err);
  for (const { says, found, holds, proof } of plays.flatMap((one) => one.facts))
    assert.ok(holds, `${says}\nfound: ${found}\n${JSON.stringify(proof, null, 1)}\n${err}`);
  assert.equal(exit, 0);
  return plays;
}
