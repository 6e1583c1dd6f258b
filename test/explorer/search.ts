// Everything that can happen in a world of the fleet, one step of whoever is there at a time.

import { exploreSpace, type Explored, type Limits } from "./breadth.ts";
import { cellSteps } from "./cellSteps.ts";
import { firstDeploy } from "./deployer.ts";
import { deployerSteps } from "./deployerSteps.ts";
import { fleetSteps } from "./fleetSteps.ts";
import { brokenState, INVARIANTS } from "./invariants.ts";
import { lookSteps } from "./lookSteps.ts";
import { BOOK, CELLS, changed, firstTuple, FLEET, modelOf, WIDTH, type Emit, type Model, type Tuple } from "./model.ts";
import { reconcileSteps } from "./reconcileSteps.ts";
import { sealSteps } from "./sealSteps.ts";
import type { Core } from "./shipped.ts";
import type { World } from "./world.ts";

function residentSteps(model: Model, tuple: Tuple, emit: Emit): void {
  const { readable } = model.fleets.at(tuple[FLEET] as number);
  for (const at of [0, 1] as const) {
    const place = CELLS[at];
    for (const step of cellSteps(model, at, tuple[place] as number))
      emit(step.label, changed(tuple, place, step.cell), step.broken);
    for (const step of lookSteps(model, tuple, at, readable))
      emit(step.label, changed(tuple, place, step.cell, BOOK, step.book), step.broken);
  }
}

function everyStep(model: Model, tuple: Tuple, emit: Emit): void {
  residentSteps(model, tuple, emit);
  for (const deployer of [0, 1]) deployerSteps(model, tuple, deployer, emit);
  sealSteps(model, tuple, emit);
  reconcileSteps(model, tuple, emit);
  fleetSteps(model, tuple, emit);
}

const partsOf = ({ books, cells, deploys, registries }: Model): string =>
  `${books.values.length} books, ${cells.values.length} residents, ${deploys.values.length} deployers, ${registries.values.length} registries`;

/** Explores a world with the given functions until everything is seen, something is broken, or the limit is reached. */
export function explore(core: Core, world: World, limits: Limits): Explored {
  const model = modelOf(core, world);
  const space = {
    name: world.name,
    width: WIDTH,
    first: firstTuple(model, [firstDeploy(model, 0), firstDeploy(model, 1)]),
    begins: world.begins ?? [],
    invariants: INVARIANTS,
    steps: (tuple: Tuple, emit: Emit) => everyStep(model, tuple, emit),
    brokenState: (tuple: Tuple) => brokenState(model, tuple),
    parts: () => partsOf(model),
  };
  return exploreSpace(space, limits);
}
