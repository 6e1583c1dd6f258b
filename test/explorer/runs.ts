// The runs that the worlds are peopled with, and what a world is unless it says otherwise.

import { MINUTE } from "#core/time.ts";
import { CALM, type Allowed, type RunSpec, type World } from "./world.ts";

export const ONE: RunSpec = { id: "r1", thread: "t1", cell: 0 };
export const TWO: RunSpec = { id: "r2", thread: "t2", cell: 1 };
export const PLAIN: RunSpec = { ...TWO, plain: true };
export const FIRST: RunSpec = { ...ONE, plain: true };
export const BESIDE: RunSpec = { ...PLAIN, cell: 0 };
export const CHILD: RunSpec = { id: "child", thread: "t3", cell: 1, parent: "r1", plain: true };
export const TWIN: RunSpec = { id: "twin", thread: "t1", cell: 0, replaces: "r1" };
export const REBUILD: RunSpec = { id: "rebuild", thread: "rebuild", cell: 0, plain: true, rebuild: true };

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

/** A world: what it is named and says, who is there, and which steps may happen beside the ordinary ones. */
export const world = (
  name: string,
  says: string,
  rest: Partial<Omit<World, "allowed">>,
  allowed: Partial<Allowed>,
): World => ({
  ...BASE,
  ...rest,
  name,
  says,
  allowed: { ...CALM, ...allowed },
});
