// The ends of runs: a caller detaches, a lease is over, an administrator insists, a later run replaces. And what a run
// does between: it starts its process under its registration.

import type { ReleaseBy } from "#core/release.ts";
import { move } from "./attachSteps.ts";
import type { Attaching, Cell, Releasing } from "./cell.ts";
import { lookedAfter } from "./cycleSteps.ts";
import type { Drafted, Model } from "./model.ts";
import { broken, type Broken } from "./world.ts";

const at = <T>(list: readonly T[], index: number, value: T): readonly T[] =>
  list.map((old, i) => (i === index ? value : old));
const rowOf = (cell: Cell, runId: string) => cell.store.rows.find((row) => row.runId === runId);

/** Attaches that wait for the run's end before they go on. */
function waitingFor(cell: Cell, runId: string): readonly Attaching[] {
  return cell.attaches.filter(({ state }) => state.effect.do === "endOld" && state.effect.row.runId === runId);
}

function answered(
  model: Model,
  cell: Cell,
  release: Releasing,
): { readonly cell: Cell; readonly broken: Broken | null } {
  const { by, runId } = release.state;
  let next: Cell = { ...cell, releases: cell.releases.filter((one) => one !== release) };
  if (by.who === "replaced") {
    for (const attach of waitingFor(next, runId))
      next = move(model, next, attach, model.core.nextAttach(attach.state, { kind: "oldEnded" })).cell;
  }
  const left = rowOf(next, runId);
  const overdue = by.who === "lease" && left !== undefined && model.core.leaseSpent(left, 0);
  return {
    cell: lookedAfter(model, next),
    broken: overdue
      ? broken("15", `the lease of ${runId} and its grace are over, its end was carried out, and its row stays`)
      : null,
  };
}

/** Notes the row, which needs no wait, and goes on from there. */
function note(model: Model, cell: Cell, release: Releasing): { readonly cell: Cell; readonly broken: Broken | null } {
  const state = model.core.nextRelease(
    release.state,
    { kind: "noted", row: rowOf(cell, release.state.runId) ?? null },
    0,
  );
  const noted = { run: release.run, state };
  const next = { ...cell, releases: cell.releases.map((one) => (one === release ? noted : one)) };
  const { by, effect } = state;
  const holder = cell.held[release.run] ?? 0;
  const stolen =
    by.who === "caller" && effect.do === "stop" && by.generation < holder && (cell.done[release.run] ?? 0) < holder;
  if (stolen)
    return {
      cell: next,
      broken: broken(
        "generation",
        `generation ${by.generation} ends ${state.runId}, which a newer generation was told it holds`,
      ),
    };
  return effect.do === "answer" ? answered(model, next, noted) : { cell: next, broken: null };
}

function begin(
  model: Model,
  cell: Cell,
  run: number,
  by: ReleaseBy,
): { readonly cell: Cell; readonly broken: Broken | null } {
  const runId = model.world.runs[run]?.id as string;
  const release: Releasing = { run, state: model.core.releaseOf(runId, by) };
  const done = by.who === "caller" ? at(cell.done, run, Math.max(cell.done[run] ?? 0, by.generation)) : cell.done;
  return note(model, { ...cell, done, releases: [...cell.releases, release] }, release);
}

const underWay = (cell: Cell, run: number, who: ReleaseBy["who"]): boolean =>
  cell.releases.some((one) => one.run === run && one.state.by.who === who);

function beginnings(model: Model, cell: Cell, run: number): Drafted[] {
  const { world, core } = model;
  const runId = world.runs[run]?.id as string;
  const row = rowOf(cell, runId);
  const found: Drafted[] = [];
  const newest = cell.held[run] ?? 0;
  for (let generation = 1; generation <= newest && !underWay(cell, run, "caller"); generation += 1) {
    if (row === undefined && generation <= (cell.done[run] ?? 0)) continue;
    found.push({
      label: `${runId} detaches (generation ${generation})`,
      ...begin(model, cell, run, { who: "caller", generation }),
    });
  }
  if (row !== undefined && core.leaseSpent(row, 0) && !underWay(cell, run, "lease")) {
    found.push({
      label: `the lease of ${runId} and its grace are over: the alarm ends it`,
      ...begin(model, cell, run, { who: "lease" }),
    });
  }
  if (world.allowed.admin && world.runs[run]?.plain !== true && row !== undefined && !underWay(cell, run, "admin")) {
    found.push({
      label: `an administrator releases ${runId}`,
      ...begin(model, cell, run, { who: "admin", reason: "" }),
    });
  }
  if (waitingFor(cell, runId).length > 0 && !underWay(cell, run, "replaced")) {
    found.push({
      label: `${runId} is ended because a later run replaces it`,
      ...begin(model, cell, run, { who: "replaced" }),
    });
  }
  return found;
}

/** A registered run starts its process: the operation moves `seq`, and there is none without a row. */
function execution(model: Model, cell: Cell, run: number): Drafted[] {
  const spec = model.world.runs[run];
  if (spec === undefined || spec.plain === true || cell.alive.includes(run)) return [];
  if (cell.container !== null && cell.container.image === null) return [];
  const touching = { threadKey: spec.thread, runId: spec.id, generation: null };
  const { store, found } = model.core.touchStep(cell.store, touching);
  if (found.kind !== "touched" || found.row.generation <= (cell.done[run] ?? 0)) return [];
  return [
    { label: `${spec.id} starts its process`, cell: { ...cell, store, alive: [...cell.alive, run] }, broken: null },
  ];
}

function goOn(model: Model, cell: Cell, release: Releasing): Drafted {
  const { effect, runId, by } = release.state;
  const { core } = model;
  if (effect.do === "stop") {
    const state = core.nextRelease(release.state, { kind: "stopped" }, 0);
    const releases = cell.releases.map((one) => (one === release ? { run: release.run, state } : one));
    const alive = cell.alive.filter((run) => run !== release.run);
    return {
      label: `the processes of ${runId} are ended (${by.who})`,
      cell: { ...cell, releases, alive },
      broken: null,
    };
  }
  const seq = effect.do === "end" ? effect.row.seq : 0;
  const { store, found } = core.endStep(cell.store, runId, seq);
  const state = core.nextRelease(release.state, { kind: "ended", deleted: found }, 0);
  const moved = { run: release.run, state };
  const blind = found ? cell.blind.filter((run) => run !== release.run) : cell.blind;
  const held = found ? at(cell.held, release.run, 0) : cell.held;
  const next = { ...cell, store, blind, held, releases: cell.releases.map((one) => (one === release ? moved : one)) };
  const settled = state.effect.do === "note" ? note(model, next, moved) : answered(model, next, moved);
  return {
    label: `the release of ${runId} (${by.who}) ${found ? "deletes its row" : "finds another row than it noted"}`,
    ...settled,
  };
}

/** What ends runs in this resident, and the processes that they start there. */
export function releaseSteps(model: Model, cell: Cell, where: 0 | 1): Drafted[] {
  const own = model.world.runs.flatMap((spec, run) => (spec.cell === where ? [run] : []));
  return [
    ...own.flatMap((run) => execution(model, cell, run)),
    ...own.flatMap((run) => beginnings(model, cell, run)),
    ...cell.releases.map((release) => goOn(model, cell, release)),
  ];
}
