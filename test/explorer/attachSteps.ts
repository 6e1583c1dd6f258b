// An attach in its resident: it arrives, writes its row, has its workspace made, is admitted, fails, is answered. The
// machine is the shipped one; what is here is who calls, and what an answer means for the caller.

import type { AttachAnswer, AttachEffect, AttachState } from "#core/gate.ts";
import type { Registration } from "#core/registration.ts";
import type { WaitAnswer } from "#core/wait.ts";
import type { Attaching, Cell } from "./cell.ts";
import { comingSteps } from "./comingSteps.ts";
import { askOf, type Drafted, type Model } from "./model.ts";
import { broken, type Broken, type RunSpec } from "./world.ts";

const MACHINES_A_RUN = 2;
const FAILURE = { code: "ROLLING", detail: "", transient: true } as const;

/** A cell after an answer, and what the answer breaks. */
interface Answered {
  readonly cell: Cell;
  readonly broken: Broken | null;
}

const at = <T>(list: readonly T[], index: number, value: T): readonly T[] =>
  list.map((old, i) => (i === index ? value : old));

function brokenBy(cell: Cell, answer: AttachAnswer, runId: string): Broken | null {
  const row = cell.store.rows.find((kept) => kept.runId === runId && kept.state === "running");
  if (answer.kind === "draining" && row !== undefined)
    return broken("1", `an attach of ${runId}, which is registered, is refused by a drain`);
  if (answer.kind === "admitted" && row === undefined)
    return broken("admitted", `${runId} is told "admitted" and has no row`);
  return null;
}

function waitAnswerOf(answer: AttachAnswer): WaitAnswer {
  switch (answer.kind) {
    case "draining":
      return { kind: "draining", until: answer.drain?.until ?? answer.seal?.until ?? 0, quietBy: null };
    case "admitted":
      return { kind: "admitted" };
    case "failed":
      return { kind: answer.why.transient ? "transient" : "refused" };
    default:
      return { kind: "refused" };
  }
}

/** The caller hears the answer: it waits, works, or is over with this run. */
function heard(model: Model, cell: Cell, run: number, answer: AttachAnswer): Cell {
  const wait = cell.waits[run] ?? null;
  if (wait === null) return cell;
  const next = model.core.nextWait(wait, waitAnswerOf(answer), 0);
  return { ...cell, waits: at(cell.waits, run, next.step.do === "pause" ? next : null) };
}

/** A wait is over at its deadline and not before (invariant 9), whoever keeps it waiting. */
function brokenWait(before: Cell, after: Cell, run: number): Broken | null {
  const [old, next] = [before.waits[run] ?? null, after.waits[run] ?? null];
  const left = next?.step.do === "pause" ? next.step.at : 0;
  if (next !== null && next.metDrain && (left > next.deadline || next.deadline <= 0))
    return broken("9", "a wait goes on beyond its budget");
  const gaveUp = old !== null && next === null && old.deadline > 0;
  return gaveUp ? broken("9", "a wait at a closed door ends before its budget is spent") : null;
}

/** Callers that wait at the closed door and ask again: the watch woke them, or their deadline has come. */
function wakeSteps(model: Model, cell: Cell, where: 0 | 1): Drafted[] {
  return cell.waits.flatMap((wait, run) => {
    const spec = model.world.runs[run];
    if (wait === null || wait.step.do !== "pause" || spec === undefined || spec.cell !== where) return [];
    const woken = model.core.wakeWait(wait, 0);
    if (woken.step.do === "spent") {
      const early =
        wait.deadline > 0 ? broken("9", `the wait of ${spec.id} is given up before its budget is spent`) : null;
      return [
        {
          label: `the wait of ${spec.id} is spent: it is refused`,
          cell: { ...cell, waits: at(cell.waits, run, null) },
          broken: early,
        },
      ];
    }
    const over =
      woken.metDrain && wait.step.cause === "draining" && wait.deadline <= 0
        ? broken("9", `the wait of ${spec.id} goes on beyond its budget`)
        : null;
    const attach: Attaching = { run, state: model.core.attachOf(askOf(spec, 1)), look: null, work: null };
    const begun = arrive(
      model,
      { ...cell, waits: at(cell.waits, run, woken), attaches: [...cell.attaches, attach] },
      attach,
    );
    return [
      {
        label: `${spec.id}, which waits, attaches again at R${where + 1}: ${begun.kind}`,
        cell: begun.cell,
        broken: over ?? begun.broken,
      },
    ];
  });
}

/** Takes an answered attach away, and gives its answer to those that joined it. */
function settle(model: Model, cell: Cell, attach: Attaching, answer: AttachAnswer): Answered {
  const { runId, generation } = attach.state.ask;
  const rest = cell.attaches.filter((one) => one !== attach);
  const held =
    answer.kind === "admitted"
      ? at(cell.held, attach.run, Math.max(cell.held[attach.run] ?? 0, generation))
      : cell.held;
  const refused = answer.kind === "draining" ? at(cell.refused, attach.run, answer.drain?.id ?? null) : cell.refused;
  const told = {
    ...cell,
    attaches: rest,
    held,
    refused: model.world.runs[attach.run]?.waits === true ? refused : cell.refused,
  };
  const waited = heard(model, told, attach.run, answer);
  const early = answer.kind === "draining" ? brokenWait(told, waited, attach.run) : null;
  let settled: Answered = { cell: waited, broken: brokenBy(told, answer, runId) ?? early };
  for (const joiner of rest.filter((one) => one.run === attach.run && one.state.effect.do === "join")) {
    const moved = move(model, settled.cell, joiner, model.core.nextAttach(joiner.state, { kind: "joined", answer }));
    settled = { cell: moved.cell, broken: settled.broken ?? moved.broken };
  }
  return settled;
}

/** Puts an attach's next state in its place. One that joins its own generation adds nothing: it gets the same answer. */
export function move(model: Model, cell: Cell, attach: Attaching, state: AttachState): Answered {
  const { effect } = state;
  const look = effect.do === "row" ? attach.look : null;
  const work = effect.do === "provision" ? attach.work : null;
  const next: Attaching = { run: attach.run, state, look, work };
  const placed = { ...cell, attaches: cell.attaches.map((one) => (one === attach ? next : one)) };
  if (effect.do === "answer") return settle(model, placed, next, effect.answer);
  const twin =
    effect.do === "join" &&
    cell.attaches.some(
      (one) => one !== attach && one.run === attach.run && one.state.ask.generation === state.ask.generation,
    );
  return { cell: twin ? { ...placed, attaches: placed.attaches.filter((one) => one !== next) } : placed, broken: null };
}

/** A re-attach may not stretch a lease (invariant 15). */
function stretched(before: readonly Registration[], after: readonly Registration[]): Broken | null {
  const longer = after.find((row) => before.some((old) => old.runId === row.runId && old.leaseUntil < row.leaseUntil));
  return longer === undefined ? null : broken("15", `a re-attach of ${longer.runId} moves its lease's end later`);
}

function arrive(model: Model, cell: Cell, attach: Attaching): Answered & { readonly kind: string } {
  const { ask } = attach.state;
  const underway = cell.attaches.some(
    (one) => one !== attach && one.run === attach.run && one.state.effect.do !== "join",
  );
  const { store, found } = model.core.arriveStep(cell.store, { ask, underway }, 0);
  const next = model.core.nextAttach(attach.state, { kind: "arrived", arrival: found, seal: store.seal });
  const moved = move(model, { ...cell, store }, attach, next);
  return { cell: moved.cell, broken: moved.broken ?? stretched(cell.store.rows, store.rows), kind: found.kind };
}

/** Whether the caller of this run and generation may send an attach now. */
function calls(model: Model, cell: Cell, run: number, generation: number): boolean {
  const machines = cell.attaches.filter((one) => one.run === run);
  const spec = model.world.runs[run];
  if (spec?.rebuild === true && cell.store.rows.length > 0) return false;
  if (spec?.plain === true && (machines.length > 0 || cell.store.rows.some((row) => row.runId === spec.id)))
    return false;
  if (machines.length >= MACHINES_A_RUN) return false;
  const { late } = model.world.allowed;
  if (spec?.waits === true && (machines.length > 0 || (cell.waits[run] ?? null) !== null)) return false;
  return late.includes("attach") || generation > (cell.done[run] ?? 0);
}

/** A run of this thread that has ended altogether is followed by the next one, which the explorer calls by the same name. */
function reborn(cell: Cell, run: number, spec: RunSpec, newest: number): Cell {
  const busy =
    cell.store.rows.some((row) => row.runId === spec.id) ||
    cell.attaches.some((one) => one.run === run) ||
    cell.releases.some((one) => one.run === run);
  const over = (cell.done[run] ?? 0) >= newest;
  return over && !busy && !cell.alive.includes(run)
    ? { ...cell, done: at(cell.done, run, 0), held: at(cell.held, run, 0) }
    : cell;
}

/** Attaches that begin: first ones, re-sent ones, re-attaches of the same, an older or a newer generation. */
export function beginSteps(model: Model, cell: Cell, where: 0 | 1): Drafted[] {
  const found: Drafted[] = [];
  model.world.runs.forEach((spec, run) => {
    if (spec.cell !== where) return;
    const from = reborn(cell, run, spec, model.world.generations);
    for (let generation = 1; generation <= model.world.generations; generation += 1) {
      if (!calls(model, from, run, generation)) continue;
      const attach: Attaching = { run, state: model.core.attachOf(askOf(spec, generation)), look: null, work: null };
      const waits = spec.waits === true ? at(from.waits, run, model.core.waitOf(model.world.leaseMs, 0)) : from.waits;
      const begun = arrive(model, { ...from, waits, attaches: [...from.attaches, attach] }, attach);
      found.push({
        label: `${spec.id} attaches at R${where + 1} (generation ${generation}): ${begun.kind}`,
        cell: begun.cell,
        broken: begun.broken,
      });
    }
  });
  return [...found, ...wakeSteps(model, cell, where)];
}

function rowStepOf(model: Model, cell: Cell, attach: Attaching, effect: Extract<AttachEffect, { do: "row" }>): Drafted {
  const { look } = effect;
  const { ask } = attach.state;
  const { store, found } = model.core.rowStep(cell.store, { ask, look }, model.budgets, 0);
  const wrote = found.kind === "written";
  const blind =
    wrote && look.kind === "unreadable"
      ? [...new Set([...cell.blind, attach.run])]
      : wrote
        ? cell.blind.filter((run) => run !== attach.run)
        : cell.blind;
  const moved = move(
    model,
    { ...cell, store, blind },
    attach,
    model.core.nextAttach(attach.state, { kind: "rowed", row: found }),
  );
  const stands =
    found.kind === "sealed" && look.kind === "open" && look.asked === found.seal.attempt && !look.sealStands;
  const past = found.kind === "sealed" && look.kind === "unreadable" && found.seal.until <= 0;
  const late =
    found.kind === "written" &&
    look.kind === "open" &&
    look.parentUntil !== null &&
    found.row.leaseUntil > look.parentUntil;
  const breaks = stands
    ? broken("5", `${ask.runId} is held back by a seal of which the registry has said that it stands no more`)
    : past
      ? broken("5", `${ask.runId} is refused by a seal past its own end`)
      : late
        ? broken("15", `the lease of ${ask.runId} outlives its parent's`)
        : null;
  return { label: `${ask.runId} writes its row: ${found.kind}`, cell: moved.cell, broken: breaks ?? moved.broken };
}

function provisionSteps(model: Model, cell: Cell, attach: Attaching): Drafted[] {
  const { runId } = attach.state.ask;
  if (cell.container !== null && attach.work !== "inside") return comingSteps(model, cell, attach);
  const ready = move(model, cell, attach, model.core.nextAttach(attach.state, { kind: "provisioned" }));
  const found: Drafted[] = [{ label: `the workspace of ${runId} is ready`, ...ready }];
  const spec = model.world.runs[attach.run];
  if ((spec?.plain !== true || spec.waits === true) && (model.world.allowed.fail || model.world.allowed.roll)) {
    const failed = move(
      model,
      cell,
      attach,
      model.core.nextAttach(attach.state, { kind: "notProvisioned", why: FAILURE }),
    );
    found.push({ label: `the workspace of ${runId} cannot be made`, ...failed });
  }
  return found;
}

function stepsOf(model: Model, cell: Cell, attach: Attaching): Drafted[] {
  const { effect, ask } = attach.state;
  const { core } = model;
  switch (effect.do) {
    case "arrive": {
      const { kind, ...arrived } = arrive(model, cell, attach);
      return [{ label: `${ask.runId} (generation ${ask.generation}) is judged again: ${kind}`, ...arrived }];
    }
    case "row":
      return [rowStepOf(model, cell, attach, effect)];
    case "provision":
      return provisionSteps(model, cell, attach);
    case "admit": {
      const { store, found } = core.admitStep(cell.store, ask.runId, effect.row.seq);
      const moved = move(
        model,
        { ...cell, store },
        attach,
        core.nextAttach(attach.state, { kind: "admitted", row: found }),
      );
      return [{ label: `${ask.runId} is admitted: ${found === null ? "its row is gone" : "running"}`, ...moved }];
    }
    case "drop": {
      const { store } = core.endStep(cell.store, ask.runId, effect.row.seq);
      const moved = move(model, { ...cell, store }, attach, core.nextAttach(attach.state, { kind: "dropped" }));
      return [{ label: `the failed attach of ${ask.runId} drops its row`, ...moved }];
    }
    default:
      return [];
  }
}

/** What the attaches under way do next, but for their questions to the registry. */
export function attachSteps(model: Model, cell: Cell, _name: string): Drafted[] {
  return cell.attaches.flatMap((attach) => stepsOf(model, cell, attach));
}
