// One exploration's tables: the functions it walks, its world, and the numbered values of which its states are made.

import type { AttachAsk } from "#core/registration.ts";
import { EMPTY_RESIDENT } from "#core/resident.ts";
import type { Budgets } from "#core/budgets.ts";
import type { DeployState } from "#core/rolloutState.ts";
import { bookAfter, firstBook, type Book } from "./book.ts";
import { cellAfter, type Cell } from "./cell.ts";
import { firstContainer } from "./container.ts";
import { Memo, Pool } from "./pool.ts";
import { canonicalRegistry, type Registry } from "./registry.ts";
import type { Core } from "./shipped.ts";
import { budgetsOfWorld, OLD, RESOURCES, type Broken, type RunSpec, type World } from "./world.ts";

/** What the fleet serves, and the upload that is on its way. */
export interface Fleet {
  readonly servedId: string | null;
  readonly generation: number;
  readonly readable: boolean;
  /** The upload whose generation the registry's own object is of. */
  readonly registryId: string | null;
  readonly upload: { readonly deployer: number; readonly id: string; readonly until: number } | null;
}

/** The places of a state's tuple. */
export const BOOK = 0;
export const CELLS = [1, 2] as const;
export const DEPLOYERS = [3, 4] as const;
export const REGISTRY = 5;
export const FLEET = 6;
export const WIDTH = 7;

/** A state: the numbers of its parts. */
export type Tuple = readonly number[];

/** A step that was taken: what it says, where it leads, and what it breaks. */
export type Emit = (label: string, next: Tuple, broken: Broken | null) => void;

/** A step before it is numbered. */
export interface Drafted {
  readonly label: string;
  readonly cell: Cell;
  readonly broken: Broken | null;
}

/** A step within one resident. */
export interface CellStep {
  readonly label: string;
  readonly cell: number;
  readonly broken: Broken | null;
}

/** A step within one resident and the registry's book. */
export interface LookStep extends CellStep {
  readonly book: number;
}

/** A step between the registry and one resident. */
export interface JointStep extends LookStep {
  readonly registry: number;
}

/** A step of the registry's book. */
export interface BookStep<T> {
  readonly answer: T;
  readonly book: number;
  readonly broken: Broken | null;
}

/** What an ask to seal does to a resident: heard by the registry, not heard, or still on its way. */
export interface Sealed {
  readonly kind: "sealed" | "busy" | "stale";
  readonly heard: number;
  readonly unheard: number;
  readonly later: number | null;
}

export interface Model {
  readonly core: Core;
  readonly world: World;
  readonly budgets: Budgets;
  readonly books: Pool<Book>;
  readonly cells: Pool<Cell>;
  readonly deploys: Pool<DeployState | null>;
  readonly registries: Pool<Registry>;
  readonly fleets: Pool<Fleet>;
  readonly cellSteps: Memo<readonly CellStep[]>;
  readonly lookSteps: Memo<readonly LookStep[]>;
  readonly jointSteps: Memo<readonly JointStep[]>;
  readonly bookSteps: Memo<BookStep<unknown>>;
  readonly seals: Memo<Sealed>;
  readonly numbers: Memo<number>;
  readonly verdicts: Memo<Broken | null>;
  readonly ends: Memo<readonly number[]>;
}

/** The tables of a new exploration. */
export function modelOf(core: Core, world: World): Model {
  return {
    core,
    world,
    budgets: budgetsOfWorld(world),
    books: new Pool(),
    cells: new Pool(),
    deploys: new Pool(),
    registries: new Pool(),
    fleets: new Pool(),
    cellSteps: new Memo(),
    lookSteps: new Memo(),
    jointSteps: new Memo(),
    bookSteps: new Memo(),
    seals: new Memo(),
    numbers: new Memo(),
    verdicts: new Memo(),
    ends: new Memo(),
  };
}

/** The tuple with some of its places changed: pairs of place and number. */
export function changed(tuple: Tuple, ...pairs: readonly number[]): Tuple {
  const next = [...tuple];
  for (let i = 0; i < pairs.length; i += 2) next[pairs[i] as number] = pairs[i + 1] as number;
  return next;
}

/** What a run asks for, in one of its generations. */
export function askOf(run: RunSpec, generation: number): AttachAsk {
  return {
    runId: run.id,
    threadKey: run.thread,
    generation,
    kind: run.rebuild === true ? "rebuild" : run.parent === undefined ? "run" : "child",
    runKind: "shell",
    remainingMs: null,
    parent: run.parent ?? null,
    replace: run.replaces === undefined ? { by: "nobody" } : { by: "ledger", runId: run.replaces },
  };
}

/** Where the residents' looks stand, as their words say it. */
export const looksOf = (cell: Cell): { readonly last: number; readonly open: readonly number[] } => ({
  last: cell.lastLook,
  open: cell.attaches.flatMap(({ look }) => (look === null ? [] : [look])),
});

/** The number of a cell after a step; where words travel at once the registry has heard of it already. */
export function cellNumber(model: Model, cell: Cell): number {
  const { core, world } = model;
  if (world.allowed.words) return model.cells.number(cellAfter(cell, 0));
  const word = core.wordOf(cell.entry.resource, cell.store, looksOf(cell));
  const entry = core.applyWord(cell.entry, word);
  const store = core.toldStep(cell.store, word.incarnation, word.seq);
  return model.cells.number(cellAfter({ ...cell, entry, store }, 0));
}

/** The number of a book after a step, and what is broken about it. */
export function bookNumber(
  model: Model,
  before: number,
  book: Parameters<typeof bookAfter>[1],
): { readonly book: number; readonly broken: Broken | null } {
  const after = bookAfter(model.books.at(before), book, 0);
  return { book: model.books.number(after.book), broken: after.broken };
}

function firstCell(model: Model, at: 0 | 1): Cell {
  const none = model.world.runs.map(() => 0);
  const { containers } = model.world;
  return {
    store: EMPTY_RESIDENT,
    attaches: [],
    releases: [],
    lastLook: 0,
    entry: { resource: RESOURCES[at], incarnation: 0, seq: 0, rows: [], counted: [] },
    words: [],
    lateLooks: [],
    lateAsks: [],
    lateUnseals: [],
    alive: [],
    container: containers === undefined ? null : firstContainer(containers[at], OLD),
    done: none,
    held: none,
    blind: [],
    waits: none.map(() => null),
    refused: none.map(() => null),
  };
}

/** The state before anything has happened. */
export function firstTuple(model: Model, deploys: readonly number[]): Tuple {
  const { world } = model;
  const fleet = { servedId: null, generation: 1, readable: true, registryId: null, upload: null };
  return [
    model.books.number(firstBook(world)),
    cellNumber(model, firstCell(model, 0)),
    cellNumber(model, firstCell(model, 1)),
    ...deploys,
    model.registries.number(canonicalRegistry({ machines: [], late: [], operation: null }, 0)),
    model.fleets.number(fleet),
  ];
}
