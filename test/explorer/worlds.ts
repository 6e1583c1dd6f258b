// The worlds: together they cover every kind of step; each alone affords the ones that it is about. What is missing from
// a world is said in its line of the report, since `says` is printed with the figures.

import { MINUTE } from "#core/time.ts";
import { BESIDE, CHILD, FIRST, ONE, PLAIN, TWIN, TWO, world } from "./runs.ts";
import type { World } from "./world.ts";

/** The worlds that every run of the tests explores to the end. */
export const WORLDS: readonly World[] = [
  world(
    "gate",
    "2 runs on 2 residents, failing workspaces, rolls, an administrator, signals; the second run is plain",
    { runs: [ONE, PLAIN], attempts: 1 },
    { fail: true, roll: true, admin: true, signal: true },
  ),
  world(
    "generations",
    "re-attaches by an older and a newer generation, also late ones, a release with its await, an administrator",
    { runs: [ONE], generations: 2, attempts: 1 },
    { fail: true, admin: true, late: ["attach"] },
  ),
  world(
    "takeover",
    "a later run of the thread takes it over on the ledger's word",
    { runs: [ONE, { ...TWIN, plain: true }], attempts: 1 },
    {},
  ),
  world(
    "restarts",
    "isolate restarts of residents and registry, rolls, a question's answer lost",
    { runs: [ONE, PLAIN], attempts: 2, calmSecond: true },
    { restart: true, registryRestart: true, roll: true, lost: ["look"] },
  ),
  world(
    "late",
    "drain, lift, confirm and upload: their answers lost, drain and lift late: the tombstone",
    { runs: [FIRST], attempts: 1 },
    { lost: ["drain", "lift", "confirm", "upload"], late: ["drain", "lift"] },
  ),
  world(
    "seals",
    "two attempts to seal: answers lost, asks lost or late at the first resident, unseals late or lost",
    { runs: [FIRST], attempts: 2, calmSecond: true },
    { lost: ["seal", "ask"], late: ["ask", "unseal"] },
  ),
  world(
    "words",
    "the outbox of one run: words delayed and re-ordered, restarts between",
    { deployers: [], runs: [FIRST], calmSecond: true },
    { words: true, restart: true },
  ),
  world(
    "questions",
    "the outbox with questions that arrive late and words that are not acknowledged",
    { deployers: [], runs: [FIRST] },
    { words: true, late: ["look"], lost: ["word", "look"] },
  ),
  world(
    "sum",
    "the outbox before a deployer that reads the sum and asks afresh",
    { runs: [FIRST], attempts: 1 },
    { words: true },
  ),
  world(
    "unreadable",
    "the registry unreadable at any time, a resident's restarts",
    { runs: [FIRST, PLAIN], attempts: 1, calmSecond: true },
    { unreadable: true, restart: true },
  ),
  world(
    "child",
    "a child of a registered run through the drain; attempts to seal that it makes void",
    { runs: [FIRST, CHILD, BESIDE], attempts: 2 },
    { restart: true },
  ),
  world(
    "time",
    "pulse bound, until, leases with grace, swap bound; a deployer that stalls or dies anywhere",
    { runs: [FIRST, PLAIN], attempts: 1, drainMinutes: 6 },
    { time: true },
  ),
  world(
    "deployers",
    "two deployers in time, the first may start anew under a new id; ends of all of them",
    { runs: [FIRST], deployers: [["a1", "a2"], ["b1"]], attempts: 2, drainMinutes: 3, swiftSeals: true },
    { time: true },
  ),
  world(
    "person",
    "two deployers and a person's drain, lost answers of drain and lift",
    { runs: [FIRST], deployers: [["a1"], ["b1"]], attempts: 2 },
    { person: true, lost: ["drain", "lift"] },
  ),
  world(
    "rivals",
    "two deployers while the registry is unreadable at any time; asks to seal lost at the first resident",
    { runs: [FIRST], deployers: [["a1"], ["b1"]], attempts: 2, calmSecond: true },
    { unreadable: true, lost: ["ask"] },
  ),
  world(
    "waits",
    "callers wait at the closed door by the shipped wait, to their deadlines",
    { runs: [{ ...FIRST, waits: true }], leaseMs: 13 * MINUTE, drainMinutes: 5, attempts: 1 },
    { time: true, fail: true },
  ),
  world(
    "garbage",
    "a record in the book that this build cannot read",
    { runs: [ONE, TWO], garbage: true },
    { restart: true },
  ),
];

/** The same ground with more at once: what `--full` adds. They are cut off at the bound that is printed with them. */
export const FULL_WORLDS: readonly World[] = [
  world(
    "gateTwo",
    "2 eventful runs on 2 residents, failing workspaces, rolls, an administrator, two attempts to seal",
    { runs: [ONE, TWO] },
    { fail: true, roll: true, admin: true, signal: true },
  ),
  world(
    "allFaults",
    "restarts, rolls, lost and late requests, an unreadable registry, all at once",
    { runs: [ONE, PLAIN] },
    {
      restart: true,
      registryRestart: true,
      roll: true,
      unreadable: true,
      fail: true,
      lost: ["drain", "lift", "seal", "confirm", "upload", "ask", "look"],
      late: ["drain", "lift", "seal", "ask", "unseal", "look"],
    },
  ),
  world(
    "timeOfTwo",
    "time with two eventful runs, two generations, a person and two deployers",
    { runs: [ONE, TWO], generations: 2, deployers: [["a1", "a2"], ["b1"]], drainMinutes: 6 },
    { time: true, person: true, signal: true, restart: true },
  ),
  world(
    "threeRuns",
    "a child, its parent and a run beside, restarts, an unreadable registry, time",
    { runs: [FIRST, CHILD, BESIDE] },
    { restart: true, unreadable: true, time: true },
  ),
];
