// Between the registry and one resident, behind the live gate: the registry asks, hears or gives up, the resident reports
// which image it found inside its container, a person waits for it no more.

import { heldRaw } from "./book.ts";
import type { Cell } from "./cell.ts";
import { canonicalCycle, forsakenTurns, type Container, type Cycling } from "./container.ts";
import { cycleBegun } from "./comingSteps.ts";
import { dropStep, reconcileStep, reportStep, type ReconcileKind } from "./holdSteps.ts";
import {
  BOOK,
  CELLS,
  cellNumber,
  changed,
  FLEET,
  REGISTRY,
  type Emit,
  type JointStep,
  type Model,
  type Tuple,
} from "./model.ts";
import { canonicalRegistry, type Registry } from "./registry.ts";
import { RESOURCES, type Broken } from "./world.ts";

/** One resident and the registry, as a step finds them. */
interface Meeting {
  readonly at: 0 | 1;
  readonly book: number;
  readonly cell: Cell;
  readonly registry: Registry;
}

const withContainer = (cell: Cell, container: Container): Cell => ({ ...cell, container });

function met(model: Model, label: string, meeting: Meeting, broken: Broken | null): JointStep {
  const registry = model.registries.number(canonicalRegistry(meeting.registry, 0));
  return { label, book: meeting.book, cell: cellNumber(model, meeting.cell), registry, broken };
}

/** A report reaches the registry: what it frees, and what it settles in the operation. */
function told(
  model: Model,
  meeting: Meeting,
  image: string,
): { readonly meeting: Meeting; readonly fell: boolean; readonly broken: Broken | null } {
  const resource = RESOURCES[meeting.at];
  const { registry } = meeting;
  const step = reportStep(model, meeting.book, resource, image);
  const operation =
    registry.operation === null ? null : model.core.noteImage(registry.operation, { resource, image, bootId: null });
  return {
    meeting: { ...meeting, book: step.book, registry: { ...registry, operation } },
    fell: step.answer,
    broken: step.broken,
  };
}

/** A resident whose container needs no restart answers at once; a calm one does nothing else. */
function walkedThrough(model: Model, container: Container): Container {
  const [turn] = container.turns;
  if (turn?.kind !== "cycle" || turn.state.effect.do !== "probe") return container;
  const { image } = container;
  const seen = image === null ? null : { image, past: false };
  const inside = { image: image ?? "", bootId: "", live: 0 };
  const state = model.core.nextCycle(turn.state, seen === null ? { kind: "absent" } : { kind: "inside", inside });
  return { ...container, seen, turns: [{ ...turn, state: canonicalCycle(state) }, ...container.turns.slice(1)] };
}

const asksIn = ({ turns }: Container): readonly Cycling[] =>
  turns.filter((turn) => turn.kind === "cycle").filter((turn) => turn.asker.by === "registry");

function askSteps(model: Model, meeting: Meeting, container: Container): JointStep[] {
  const { operation } = meeting.registry;
  const resource = RESOURCES[meeting.at];
  if (operation === null || asksIn(container).length > 0) return [];
  if (!model.core.dueEntries(operation, 0).some((entry) => entry.resource === resource)) return [];
  const asked = model.core.noteAsked(operation, [resource], 0);
  const registry = { ...meeting.registry, operation: asked };
  const { drainId, image: wanted } = operation;
  const begun = cycleBegun(model, container, { by: "registry", drainId }, { wanted, own: null });
  if (begun === container) return [];
  const calm = model.world.calmSecond === true && meeting.at === 1;
  const next = calm ? walkedThrough(model, begun) : begun;
  const label = `R${meeting.at + 1} is asked to bring its container onto ${wanted} (${drainId})`;
  return [met(model, label, { ...meeting, cell: withContainer(meeting.cell, next), registry }, null)];
}

/** The word of a resident that was asked, heard or not; whatever it is, its report comes with it. */
function answerSteps(model: Model, meeting: Meeting, container: Container): JointStep[] {
  const [turn] = container.turns;
  if (turn?.kind !== "cycle" || turn.asker.by !== "registry" || turn.state.effect.do !== "answer") return [];
  const { word } = turn.state.effect;
  const { drainId } = turn.asker;
  const resource = RESOURCES[meeting.at];
  const rest = withContainer(meeting.cell, { ...container, turns: container.turns.slice(1) });
  const label = `R${meeting.at + 1} answers the reconcile of ${drainId}: ${word.state}`;
  const reported =
    container.seen === null ? { meeting, fell: false, broken: null } : told(model, meeting, container.seen.image);
  const { operation } = reported.meeting.registry;
  const wanted = operation?.drainId === drainId ? operation : null;
  const noted = wanted === null ? operation : model.core.noteWord(wanted, resource, word);
  const inactive = wanted !== null && word.state === "inactive";
  const dropped = inactive ? dropStep(model, reported.meeting.book, resource) : undefined;
  const after: Meeting = {
    ...reported.meeting,
    book: dropped?.book ?? reported.meeting.book,
    registry: { ...reported.meeting.registry, operation: noted },
    cell: rest,
  };
  const heard = met(model, label, after, reported.broken ?? dropped?.broken ?? null);
  return [heard, ...unheard(model, meeting, drainId, { cell: rest, label: `${label}, and the answer is lost` })];
}

/** The registry hears nothing, which settles nothing. */
function unheard(
  model: Model,
  meeting: Meeting,
  drainId: string,
  then: { readonly cell: Cell; readonly label: string },
): JointStep[] {
  const calm = model.world.calmSecond === true && meeting.at === 1;
  if (calm || !model.world.allowed.lost.includes("cycle")) return [];
  const { operation } = meeting.registry;
  const silent = { state: "error", image: null, bootId: null, why: "", killed: 0 } as const;
  const noted =
    operation?.drainId === drainId ? model.core.noteWord(operation, RESOURCES[meeting.at], silent) : operation;
  const registry = { ...meeting.registry, operation: noted };
  return [met(model, then.label, { ...meeting, registry, cell: then.cell }, null)];
}

function gaveUpSteps(model: Model, meeting: Meeting, container: Container): JointStep[] {
  const [ask] = asksIn(container);
  if (ask?.asker.by !== "registry" || ask.state.effect.do === "answer") return [];
  const cell = withContainer(meeting.cell, forsakenTurns(container));
  const label = `the registry waits no longer for R${meeting.at + 1}`;
  return unheard(model, meeting, ask.asker.drainId, { cell, label });
}

function reportSteps(model: Model, meeting: Meeting, container: Container): JointStep[] {
  const { lost, late } = model.world.allowed;
  const name = `R${meeting.at + 1}`;
  const found: JointStep[] = [];
  const arrives = (label: string, image: string, next: Container): void => {
    const heard = told(model, { ...meeting, cell: withContainer(meeting.cell, next) }, image);
    found.push(met(model, `${label}${heard.fell ? ": its hold falls" : ""}`, heard.meeting, heard.broken));
  };
  container.reports.forEach((image, index) => {
    const reports = container.reports.filter((_, other) => other !== index);
    arrives(`a report of ${name} arrives late, image ${image}`, image, { ...container, reports });
  });
  if (!container.owes || container.seen === null) return found;
  const { image } = container.seen;
  const sent = { ...container, owes: false };
  arrives(`${name} reports image ${image}`, image, sent);
  if (model.world.calmSecond === true && meeting.at === 1) return found;
  const gone = (label: string, next: Container): void =>
    void found.push(met(model, label, { ...meeting, cell: withContainer(meeting.cell, next) }, null));
  if (lost.includes("report")) gone(`the report of ${name} is lost, image ${image}`, sent);
  if (late.includes("report") && container.reports.length === 0)
    gone(`the report of ${name} is on its way, image ${image}`, { ...sent, reports: [image] });
  return found;
}

function releaseSteps(model: Model, meeting: Meeting): JointStep[] {
  const resource = RESOURCES[meeting.at];
  if (!model.world.allowed.release || !heldRaw(model.books.at(meeting.book), resource)) return [];
  const dropped = dropStep(model, meeting.book, resource);
  const label = `a person releases the hold of R${meeting.at + 1}`;
  return [met(model, label, { ...meeting, book: dropped.book }, dropped.broken)];
}

/** Every step between the registry and one resident's container. */
export function reconcileSteps(model: Model, tuple: Tuple, emit: Emit): void {
  if (model.world.containers === undefined || !model.fleets.at(tuple[FLEET] as number).readable) return;
  for (const at of [0, 1] as const) {
    const place = CELLS[at];
    const [book, number, registry] = [tuple[BOOK] as number, tuple[place] as number, tuple[REGISTRY] as number];
    const steps = model.jointSteps.get(`${at}|${book}|${number}|${registry}`, () => {
      const cell = model.cells.at(number);
      const meeting: Meeting = { at, book, cell, registry: model.registries.at(registry) };
      const container = cell.container as Container;
      return [
        ...askSteps(model, meeting, container),
        ...answerSteps(model, meeting, container),
        ...gaveUpSteps(model, meeting, container),
        ...reportSteps(model, meeting, container),
        ...releaseSteps(model, meeting),
      ];
    });
    for (const step of steps)
      emit(step.label, changed(tuple, BOOK, step.book, place, step.cell, REGISTRY, step.registry), step.broken);
  }
}

/** The registry's object starts anew: nobody waits any more for what it has asked. */
export function forsakenAsks(model: Model, tuple: Tuple): Tuple {
  let next = tuple;
  for (const place of CELLS) {
    const cell = model.cells.at(next[place] as number);
    if (cell.container === null || asksIn(cell.container).length === 0) continue;
    next = changed(next, place, cellNumber(model, withContainer(cell, forsakenTurns(cell.container))));
  }
  return next;
}

/** `POST /reconcile` reaches the registry: every hold is placed, and who is asked is written down, in one step. */
export function reconcileArrives(
  model: Model,
  tuple: Tuple,
  id: string,
): { readonly next: Tuple; readonly says: ReconcileKind; readonly held: number; readonly broken: Broken | null } {
  const { registryId } = model.fleets.at(tuple[FLEET] as number);
  const begun = reconcileStep(model, tuple[BOOK] as number, id, registryId);
  const { kind, image, until, held } = begun.answer;
  const answer = { says: kind, held, broken: begun.broken };
  const placed = changed(tuple, BOOK, begun.book);
  if (kind !== "begun" || model.world.containers === undefined) return { next: placed, ...answer };
  const number = tuple[REGISTRY] as number;
  const registry = model.numbers.get(`reconciles|${number}|${id}|${image}|${until}`, () => {
    const operation = model.core.reconcileOf({ drainId: id, image, until }, [...RESOURCES], 0);
    return model.registries.number(canonicalRegistry({ ...model.registries.at(number), operation }, 0));
  });
  return { next: changed(placed, REGISTRY, registry), ...answer };
}
