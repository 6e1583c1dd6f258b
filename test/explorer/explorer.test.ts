// Everything that can happen in each world, over the functions that ship: no invariant is broken, nothing is left out
// unseen. `--full` adds larger worlds, which are cut off at a bound and say so.

import { test } from "node:test";
import type { Limits } from "./breadth.ts";
import { explore } from "./search.ts";
import { SHIPPED } from "./shipped.ts";
import type { World } from "./world.ts";
import { exploredWell, testWorlds } from "./worldTests.ts";
import { FULL_WORLDS, WORLDS } from "./worlds.ts";

const FULL_BOUND = 3_000_000;
const full = process.argv.includes("--full");

/** What the issue lists as steps: each must have been taken somewhere, or the worlds explore less than they claim. */
const TELLING: readonly RegExp[] = [
  /attaches at R1 \(generation 1\): new/,
  /: join$/,
  /looks: open$/,
  /looks: open, and the answer is lost/,
  /looks: closed/,
  /writes its row: written/,
  /writes its row: sealed/,
  /is admitted: running/,
  /drops its row/,
  /detaches/,
  /finds another row than it noted/,
  /generation 2\): registered/,
  /: oldGeneration/,
  /the alarm ends it/,
  /an administrator releases/,
  /later run replaces it/,
  /asks for its drain .*: created, and its answer is lost/,
  /a late request arrives: drain .*: over/,
  /pulses all the while/,
  /pass to the next end/,
  /finds a1 over and mints a2/,
  /is asked to seal .*: sealed$/,
  /is asked to seal .*: busy/,
  /is asked to seal .*: sealed, and its answer is lost/,
  /an ask to seal R1 arrives late .*: stale/,
  /takes back its seal/,
  /is given up/,
  /is finished: void/,
  /is finished: over/,
  /the upload of deploy A .* begins/,
  /lands: the swap$/,
  /lands without its deployer/,
  /upload unknown\): deferred/,
  /upload none\): lifted/,
  /the registry cannot be read any more/,
  /isolate restart of R1/,
  /isolate restart of the registry/,
  /the container of R1 rolls/,
  /open, a child of a registered run/,
  /sends its word/,
  /a late question of .* is answered: open/,
  /a person opens the fleet: lifted/,
  /drain b1: busy/,
  /which waits, attaches again/,
  /the wait of r1 is spent/,
];

const search = (world: World, limits: Limits) => explore(SHIPPED, world, limits);

testWorlds(search, WORLDS, TELLING);

for (const world of full ? FULL_WORLDS : [])
  test(`${world.name} (full): ${world.says}`, () => void exploredWell(search, world, FULL_BOUND));
