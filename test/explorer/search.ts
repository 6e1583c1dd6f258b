// Breadth first over everything that can happen in a world: what is found broken is found by a shortest path.

import { cellSteps } from "./cellSteps.ts";
import { firstDeploy } from "./deployer.ts";
import { deployerSteps } from "./deployerSteps.ts";
import { fleetSteps } from "./fleetSteps.ts";
import { brokenState } from "./invariants.ts";
import { lookSteps } from "./lookSteps.ts";
import { BOOK, CELLS, changed, firstTuple, FLEET, modelOf, WIDTH, type Emit, type Model, type Tuple } from "./model.ts";
import { Labels, StateTable } from "./pool.ts";
import { reconcileSteps } from "./reconcileSteps.ts";
import { sealSteps } from "./sealSteps.ts";
import type { Core } from "./shipped.ts";
import type { Broken, World } from "./world.ts";

/** A broken invariant and the shortest way to it, as readable steps. */
export interface CounterExample extends Broken {
  readonly steps: readonly string[];
}

/** How a search went. `complete`: every state within the world was seen. */
export interface Explored {
  readonly world: string;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly complete: boolean;
  /** Of the processor, since others work beside the tests. */
  readonly seconds: number;
  readonly megabytes: number;
  /** How many values each part of a state takes. */
  readonly parts: string;
  readonly counterExample: CounterExample | null;
  /** How often each kind of step was taken, by the words of its label without names and numbers. */
  readonly taken: ReadonlyMap<string, number>;
}

export interface Limits {
  readonly states: number;
  /** Only these invariants end the search; all of them when absent. */
  readonly only?: readonly string[];
}

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

/**
 * Takes the steps that a world begins with, into the table: what is found broken later is told from the very beginning.
 * Answers the number of the last state, from which the search goes on.
 */
function begin(model: Model, table: StateTable, labels: Labels): number {
  const tuple: number[] = [];
  let last = 0;
  for (const telling of model.world.begins ?? []) {
    table.read(last, tuple);
    let taken: { readonly label: string; readonly next: Tuple } | undefined;
    everyStep(model, [...tuple], (label, next) => {
      if (taken === undefined && telling.test(label)) taken = { label, next };
    });
    if (taken === undefined || !table.add(taken.next, last, labels.number(taken.label)))
      throw new Error(`${model.world.name} cannot begin with ${telling}`);
    last = table.count - 1;
  }
  return last;
}

/** Explores a world with the given functions until everything is seen, something is broken, or the limit is reached. */
export function explore(core: Core, world: World, limits: Limits): Explored {
  const started = process.cpuUsage();
  const model = modelOf(core, world);
  const table = new StateTable(WIDTH);
  const labels = new Labels();
  const taken: number[] = [];
  const counts = (found: Broken | null): found is Broken =>
    found !== null && (limits.only === undefined || limits.only.includes(found.invariant));
  let counterExample: CounterExample | null = null;
  let transitions = 0;
  table.add(firstTuple(model, [firstDeploy(model, 0), firstDeploy(model, 1)]), -1, 0);
  let at = begin(model, table, labels);
  const textOf = (path: readonly number[]): string[] => path.map((step) => labels.at(step));
  const emit: Emit = (label, next, wrong) => {
    if (counterExample !== null) return;
    transitions += 1;
    const step = labels.number(label);
    taken[step] = (taken[step] ?? 0) + 1;
    if (counts(wrong)) {
      counterExample = { ...wrong, steps: [...textOf(table.path(at)), label] };
      return;
    }
    if (!table.add(next, at, step)) return;
    const state = brokenState(model, next);
    if (counts(state)) counterExample = { ...state, steps: textOf(table.path(table.count - 1)) };
  };
  const tuple: number[] = [];
  for (; at < table.count && table.count <= limits.states && counterExample === null; at += 1) {
    table.read(at, tuple);
    everyStep(model, [...tuple], emit);
  }
  return {
    world: world.name,
    states: table.count,
    transitions,
    depth: table.path(table.count - 1).length,
    complete: counterExample === null && at === table.count,
    seconds: process.cpuUsage(started).user / 1e6,
    megabytes: Math.round(process.memoryUsage().rss / 2 ** 20),
    parts: `${model.books.values.length} books, ${model.cells.values.length} residents, ${model.deploys.values.length} deployers, ${model.registries.values.length} registries`,
    counterExample,
    taken: new Map(labels.texts.map((text, step) => [text, taken[step] ?? 0])),
  };
}
