// The worlds: together they cover every kind of step; each alone affords the ones that it is about. What is missing from
// a world is said in its line of the report, since `says` is printed with the figures.

import { MINUTE } from "#core/time.ts";
import { CALM, type Allowed, type RunSpec, type World } from "./world.ts";

const ONE: RunSpec = { id: "r1", thread: "t1", cell: 0 };
const TWO: RunSpec = { id: "r2", thread: "t2", cell: 1 };
const PLAIN: RunSpec = { ...TWO, plain: true };
const FIRST: RunSpec = { ...ONE, plain: true };
const BESIDE: RunSpec = { ...PLAIN, cell: 0 };
const CHILD: RunSpec = { id: "child", thread: "t3", cell: 1, parent: "r1", plain: true };
const TWIN: RunSpec = { id: "twin", thread: "t1", cell: 0, replaces: "r1" };

const BASE: World = {
  name: "",
  says: "",
  runs: [ONE, TWO],
  generations: 1,
  deployers: [["a1"]],
  attempts: 2,
  leaseMs: 3 * MINUTE,
  drainMinutes: 65,
  allowed: CALM,
};

const world = (name: string, says: string, rest: Partial<Omit<World, "allowed">>, allowed: Partial<Allowed>): World => ({
  ...BASE,
  ...rest,
  name,
  says,
  allowed: { ...CALM, ...allowed },
});

/** The worlds that every run of the tests explores to the end. */
export const WORLDS: readonly World[] = [
  world("gate", "2 runs on 2 residents, failing workspaces, rolls, an administrator, signals; the second run is plain", { runs: [ONE, PLAIN], attempts: 1 }, { fail: true, roll: true, admin: true, signal: true }),
  world("generations", "re-attaches by an older and a newer generation, also late ones, a release with its await, an administrator", { runs: [ONE], generations: 2, attempts: 1 }, { fail: true, admin: true, late: ["attach"] }),
  world("takeover", "a later run of the thread takes it over on the ledger's word", { runs: [ONE, { ...TWIN, plain: true }], attempts: 1 }, {}),
  world("restarts", "isolate restarts of residents and registry, rolls, a question's answer lost", { runs: [ONE, PLAIN], attempts: 2, calmSecond: true }, { restart: true, registryRestart: true, roll: true, lost: ["look"] }),
  world("late", "drain, lift, confirm and upload: their answers lost, drain and lift late: the tombstone", { runs: [FIRST], attempts: 1 }, { lost: ["drain", "lift", "confirm", "upload"], late: ["drain", "lift"] }),
  world("seals", "the seal: its answer lost, itself late, an ask or its answer lost, asks and unseals late, a void attempt", { runs: [FIRST], attempts: 2 }, { lost: ["seal", "ask"], late: ["seal", "ask", "unseal"] }),
  world("words", "the outbox alone, 2 runs in one resident: words delayed and re-ordered, restarts between, late questions", { deployers: [], runs: [FIRST, BESIDE] }, { words: true, restart: true, late: ["look"] }),
  world("sum", "the outbox before a deployer that reads the sum and asks afresh; acknowledgements lost", { runs: [FIRST], attempts: 1 }, { words: true, restart: true, lost: ["word"] }),
  world("unreadable", "the registry unreadable at any time, a resident's restarts", { runs: [FIRST, PLAIN], attempts: 1, calmSecond: true }, { unreadable: true, restart: true }),
  world("child", "a child of a registered run through the drain; attempts to seal that it makes void", { runs: [FIRST, CHILD, BESIDE], attempts: 2 }, { restart: true }),
  world("time", "pulse bound, until, leases with grace, swap bound; a deployer that stalls or dies anywhere", { runs: [FIRST, PLAIN], attempts: 1, drainMinutes: 6 }, { time: true }),
  world("deployers", "two deployers in time, the first may start anew under a new id; ends of all of them", { runs: [FIRST], deployers: [["a1", "a2"], ["b1"]], attempts: 2, drainMinutes: 3 }, { time: true }),
  world("person", "two deployers and a person's drain, lost answers of drain and lift", { runs: [FIRST], deployers: [["a1"], ["b1"]], attempts: 2 }, { person: true, lost: ["drain", "lift"] }),
  world("waits", "callers wait at the closed door by the shipped wait, to their deadlines", { runs: [{ ...FIRST, waits: true }, PLAIN], leaseMs: 13 * MINUTE, drainMinutes: 5, attempts: 1 }, { time: true, waits: true, fail: true }),
  world("garbage", "a record in the book that this build cannot read", { runs: [ONE, TWO], garbage: true }, { restart: true }),
];
