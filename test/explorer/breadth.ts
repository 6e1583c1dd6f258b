// Breadth first over everything that can happen in a space of states: what is found broken is found by a shortest path. What
// the states are of is the space's own; here they are tuples of small numbers.

import type { Emit, Tuple } from "./model.ts";
import { Labels, StateTable } from "./pool.ts";
import type { Broken } from "./world.ts";

/** What is searched: where it begins, what may happen in a state, and what is wrong with one. */
export interface Space {
  readonly name: string;
  /** How many numbers a state has. */
  readonly width: number;
  readonly first: Tuple;
  /** Steps that were taken before the search begins, each the only one whose label matches, or the first such. */
  readonly begins: readonly RegExp[];
  /** Each invariant that is judged, in words. */
  readonly invariants: Readonly<Record<string, string>>;
  readonly steps: (tuple: Tuple, emit: Emit) => void;
  readonly brokenState: (tuple: Tuple) => Broken | null;
  /** How many values each part of a state takes so far, for the report. */
  readonly parts: () => string;
}

/** A broken invariant and the shortest way to it, as readable steps; `says` is the invariant in words. */
export interface CounterExample extends Broken {
  readonly says: string;
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

/**
 * Takes the steps that a space begins with, into the table: what is found broken later is told from the very beginning.
 * Answers the number of the last state, from which the search goes on.
 */
function begin(space: Space, table: StateTable, labels: Labels): number {
  const tuple: number[] = [];
  let last = 0;
  for (const telling of space.begins) {
    table.read(last, tuple);
    let taken: { readonly label: string; readonly next: Tuple } | undefined;
    space.steps([...tuple], (label, next) => {
      if (taken === undefined && telling.test(label)) taken = { label, next };
    });
    if (taken === undefined || !table.add(taken.next, last, labels.number(taken.label)))
      throw new Error(`${space.name} cannot begin with ${telling}`);
    last = table.count - 1;
  }
  return last;
}

/** Searches a space until everything is seen, something is broken, or the limit is reached. */
export function exploreSpace(space: Space, limits: Limits): Explored {
  const started = process.cpuUsage();
  const table = new StateTable(space.width);
  const labels = new Labels();
  const taken: number[] = [];
  const counts = (found: Broken | null): found is Broken =>
    found !== null && (limits.only === undefined || limits.only.includes(found.invariant));
  const example = (found: Broken, steps: readonly string[]): CounterExample => ({
    ...found,
    says: space.invariants[found.invariant] ?? "unnamed",
    steps,
  });
  let counterExample: CounterExample | null = null;
  let transitions = 0;
  table.add(space.first, -1, 0);
  let at = begin(space, table, labels);
  const textOf = (path: readonly number[]): string[] => path.map((step) => labels.at(step));
  const emit: Emit = (label, next, wrong) => {
    if (counterExample !== null) return;
    transitions += 1;
    const step = labels.number(label);
    taken[step] = (taken[step] ?? 0) + 1;
    if (counts(wrong)) {
      counterExample = example(wrong, [...textOf(table.path(at)), label]);
      return;
    }
    if (!table.add(next, at, step)) return;
    const state = space.brokenState(next);
    if (counts(state)) counterExample = example(state, textOf(table.path(table.count - 1)));
  };
  const tuple: number[] = [];
  for (; at < table.count && table.count <= limits.states && counterExample === null; at += 1) {
    table.read(at, tuple);
    space.steps([...tuple], emit);
  }
  return {
    world: space.name,
    states: table.count,
    transitions,
    depth: table.path(table.count - 1).length,
    complete: counterExample === null && at === table.count,
    seconds: process.cpuUsage(started).user / 1e6,
    megabytes: Math.round(process.memoryUsage().rss / 2 ** 20),
    parts: space.parts(),
    counterExample,
    taken: new Map(labels.texts.map((text, step) => [text, taken[step] ?? 0])),
  };
}
