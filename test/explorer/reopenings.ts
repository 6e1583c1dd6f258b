// The worlds of what comes behind a swap: reconcile, holds, reports, bounds and restarts of containers. Most begin where
// that begins, so that they can afford more of it; `reconcile` and `bounds` go the whole way.

import { BESIDE, FIRST, ONE, PLAIN, REBUILD, world } from "./runs.ts";
import { OLD, type World } from "./world.ts";

/** A deploy that nobody disturbs, to the live gate. */
const LIVE = [
  /^deploy A reads the fleet \(preflight\)$/,
  /^deploy A asks for its drain a1: created$/,
  /^deploy A reads the fleet \(look\)$/,
  /^deploy A asks to seal the fleet for a1: asking$/,
  /^R1 is asked to seal .*: sealed$/,
  /^R2 is asked to seal .*: sealed$/,
  /^the seal of a1 \(attempt 1\) is finished: sealed$/,
  /^deploy A hears of its seal: sealed$/,
  /^deploy A confirms its swap: confirmed$/,
  /^the upload of deploy A \(a1\) begins$/,
  /^the upload of a1 lands: the swap$/,
  /^deploy A asks what the fleet serves: its upload$/,
];

/** … and on, until everything is open but what is held. */
const REOPENING = [
  ...LIVE,
  /^deploy A reconciles a1: begun, 2 held$/,
  /^deploy A lifts a1 \(upload landed\): lifted, 2 held$/,
];

/** … and its deployer has gone, and nobody waits for a report: every attach finds the stale container. */
const STALE = [
  ...REOPENING,
  /^deploy A waits for nobody held any longer$/,
  /^R2 is asked to bring its container onto new/,
  /^R2 answers the reconcile of a1: inactive$/,
  /^a person releases the hold of R1$/,
];

/** What most of these are of: the first resident's container is of the old image, the second has none and answers so. */
const HELD = { attempts: 1, containers: [OLD, null], calmSecond: true } as const;

export const REOPENINGS: readonly World[] = [
  world(
    "reconcile",
    "a whole deploy: reconcile asked, lost, answered, sent again, late; restarts onto the old image or none, signals",
    { ...HELD, runs: [FIRST] },
    {
      lost: ["reconcile", "lift", "cycle"],
      late: ["reconcile"],
      restarts: ["old", "fails"],
      registryRestart: true,
      signal: true,
    },
  ),
  world(
    "bounds",
    "time to the bound of every phase, the deployer dead anywhere, isolate restarts, late restarts and late reports",
    { ...HELD, runs: [FIRST] },
    { time: true, restart: true, restarts: ["old", "late"], late: ["report"] },
  ),
  world(
    "reports",
    "reports lost, late, before the hold, of another image; a person's release; containers that roll by themselves",
    { ...HELD, runs: [], begins: LIVE },
    { lost: ["report"], late: ["report"], restarts: ["old"], release: true, roll: true, refresh: true },
  ),
  world(
    "twoHeld",
    "two residents with containers, each held by itself",
    { attempts: 1, containers: [OLD, OLD], runs: [FIRST, PLAIN], begins: LIVE },
    {},
  ),
  world(
    "cycles",
    "two attaches at once that find a stale container, isolate restarts in the middle of a cycle, late restarts",
    { ...HELD, runs: [ONE, BESIDE], begins: STALE },
    { release: true, restart: true, restarts: ["old", "late"] },
  ),
  world(
    "ends",
    "an administrator ends a run while its container is cycled, isolate restarts",
    { ...HELD, runs: [ONE], begins: STALE },
    { release: true, restart: true, restarts: ["old"], admin: true },
  ),
  world(
    "rolls",
    "a resident that looks after its container by itself; containers that roll, restarts that end in nothing",
    { ...HELD, runs: [ONE], begins: STALE },
    { release: true, restart: true, restarts: ["old", "late", "fails", "gone"], refresh: true, roll: true },
  ),
  world(
    "rebuild",
    "a rebuild of a held resident beside a run, a person's shorter drain",
    { ...HELD, runs: [FIRST, REBUILD], begins: LIVE, drainMinutes: 6 },
    { restart: true, person: true },
  ),
  world(
    "blind",
    "the registry unreadable at any time while a resident is held",
    { ...HELD, runs: [FIRST], begins: LIVE },
    { unreadable: true, restarts: ["late"], restart: true },
  ),
  world(
    "second",
    "a second deploy, of another image, that begins while the first one is reopening",
    { ...HELD, attempts: 2, runs: [FIRST], deployers: [["a1"], ["b1"]], images: { b1: "newer" }, begins: REOPENING },
    { late: ["report"], restarts: ["old", "late"], restart: true },
  ),
  world(
    "rollback",
    "a second deploy that brings the old image back while the first one is reopening",
    { ...HELD, attempts: 2, runs: [], deployers: [["a1"], ["b1"]], images: { b1: OLD }, begins: REOPENING },
    { late: ["report"], restarts: ["late"], roll: true },
  ),
  world(
    "lag",
    "objects that stay of the generation before for a while: the registry's, a resident's",
    { ...HELD, runs: [FIRST], begins: LIVE.slice(0, 10) },
    { lag: true, restarts: ["old"], lost: ["cycle", "reconcile"], refresh: true },
  ),
];
