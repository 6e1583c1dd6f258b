// The one question of an attach: the registry answers it and counts the attach in the same step; the answer, or the
// question itself, may be lost on the way.

import type { AttachFact } from "#core/gate.ts";
import type { RegistrationKind } from "#core/registration.ts";
import type { Look } from "#core/resident.ts";
import { move } from "./attachSteps.ts";
import { closesRaw, isDrain, liveRaw, type Book } from "./book.ts";
import type { Attaching, Cell } from "./cell.ts";
import { bookNumber, CELLS, cellNumber, type LookStep, type Model, type Tuple } from "./model.ts";
import { broken, type Broken } from "./world.ts";

/** Counted attaches of which the registry has not heard again: a bound of the worlds in which words are slow. */
const COUNTED = 2;
const UNHEARD: AttachFact = { kind: "looked", look: { kind: "unreadable" } };

/** What the registry does with a question. */
interface Heard {
  readonly fact: AttachFact;
  readonly book: number;
  readonly cell: Cell;
  readonly broken: Broken | null;
}

interface Question {
  readonly run: number;
  readonly incarnation: number;
  readonly n: number;
  readonly seal: number | null;
  readonly parentUntil: number | null;
  readonly kind: RegistrationKind;
}

function brokenByOpening(book: Book, resource: string, question: Question, refusedBy: string | null): Broken | null {
  if (question.parentUntil !== null) return null;
  const shut = liveRaw(book).filter((live) => closesRaw(live, resource));
  // A rebuild is what a held resident's report may come from: behind the live gate no drain is meant for it.
  const drain = shut.find(({ phase }) => question.kind !== "rebuild" || phase === "draining" || phase === "swapping");
  if (drain !== undefined) return broken("2", `a new run is let in at ${resource}, which drain ${drain.id} closes`);
  const stands = shut.some((live) => live.id === refusedBy);
  return stands ? broken("8", `a run that drain ${refusedBy} holds back starts before it is over`) : null;
}

function hear(model: Model, number: number, cell: Cell, question: Question): Heard {
  const { core, world } = model;
  const book = model.books.at(number);
  const { resource } = cell.entry;
  const runId = world.runs[question.run]?.id as string;
  const { incarnation, n, parentUntil, seal, kind } = question;
  const drainBook = { drains: book.drains, tombstones: book.tombstones, attempts: book.attempts };
  const answer = core.decideLook(drainBook, { resource, runId, look: { incarnation, n }, parentUntil, seal, kind }, 0);
  if (answer.kind === "closed") {
    const lives = liveRaw(book).some((drain) => drain.id === answer.drain.id);
    const known = book.drains.some((stored) => isDrain(stored) && stored.id === answer.drain.id);
    const breaks = lives
      ? null
      : known
        ? broken("5", `${runId} is refused by drain ${answer.drain.id}, which is past its end`)
        : broken("6", `${runId} is refused by a record that this build cannot read`);
    return { fact: { kind: "closed", drain: answer.drain }, book: number, cell, broken: breaks };
  }
  const entry = core.countLook(cell.entry, { incarnation, n, runId, at: 0 });
  const next = bookNumber(model, number, answer.book);
  const look: Look = { kind: "open", parentUntil: answer.parentUntil, sealStands: answer.sealStands, asked: seal };
  const breaks = brokenByOpening(book, resource, question, cell.refused[question.run] ?? null);
  return { fact: { kind: "looked", look }, book: next.book, cell: { ...cell, entry }, broken: breaks ?? next.broken };
}

function drafted(
  model: Model,
  label: string,
  book: number,
  step: { readonly cell: Cell; readonly broken: Broken | null },
): LookStep {
  return { label, book, cell: cellNumber(model, step.cell), broken: step.broken };
}

/** One attach that puts its question, and what it may know when it does. */
interface Asking {
  readonly book: number;
  readonly cell: Cell;
  readonly attach: Attaching;
  readonly parentUntil: number | null;
}

/** The attach goes on with an answer; an *open* keeps its question open until the row. */
function answeredWith(model: Model, cell: Cell, attach: Attaching, fact: AttachFact): ReturnType<typeof move> {
  const n = cell.lastLook + 1;
  const asked = { ...attach, look: n };
  const attaches = cell.attaches.map((one) => (one === attach ? asked : one));
  return move(model, { ...cell, lastLook: n, attaches }, asked, model.core.nextAttach(attach.state, fact));
}

/** The question is carried out, and its answer arrives or is lost. */
function answeredSteps(model: Model, asking: Asking, seal: number | null): LookStep[] {
  const { attach, cell, parentUntil } = asking;
  const { kind } = attach.state.ask;
  const n = cell.lastLook + 1;
  const question = { run: attach.run, incarnation: cell.store.incarnation, n, seal, parentUntil, kind };
  const heard = hear(model, asking.book, cell, question);
  const open = parentUntil === null ? "open" : "open, a child of a registered run";
  const label = `${attach.state.ask.runId} looks: ${heard.fact.kind === "closed" ? "closed" : open}`;
  const moved = answeredWith(model, heard.cell, attach, heard.fact);
  const found = [drafted(model, label, heard.book, { cell: moved.cell, broken: heard.broken ?? moved.broken })];
  if (!model.world.allowed.lost.includes("look")) return found;
  const alone = answeredWith(model, heard.cell, attach, UNHEARD);
  const broken = heard.broken ?? alone.broken;
  return [...found, drafted(model, `${label}, and the answer is lost`, heard.book, { cell: alone.cell, broken })];
}

function askSteps(model: Model, asking: Asking, readable: boolean): LookStep[] {
  const { attach, book, cell } = asking;
  const { effect, ask } = attach.state;
  if (effect.do !== "look") return [];
  if (cell.entry.counted.length >= COUNTED && model.world.allowed.words) return [];
  const blind = answeredWith(model, cell, attach, UNHEARD);
  if (!readable) return [drafted(model, `${ask.runId} looks: the registry cannot be read`, book, blind)];
  const found = answeredSteps(model, asking, effect.seal?.attempt ?? null);
  if (!model.world.allowed.late.includes("look") || cell.lateLooks.length > 0) return found;
  const late = { run: attach.run, incarnation: cell.store.incarnation, n: cell.lastLook + 1 };
  const stray = { ...blind, cell: { ...blind.cell, lateLooks: [late] } };
  return [
    ...found,
    drafted(model, `${ask.runId} looks: its question is still on its way when it gives up`, book, stray),
  ];
}

function stray(model: Model, book: number, cell: Cell): LookStep[] {
  return cell.lateLooks.map((late, index) => {
    const rest = { ...cell, lateLooks: cell.lateLooks.filter((_, other) => other !== index) };
    const { run, incarnation, n } = late;
    const heard = hear(model, book, rest, { run, incarnation, n, seal: null, parentUntil: null, kind: "run" });
    // Nobody starts for this answer, so only a refusal by a dead record would be wrong about it.
    return drafted(
      model,
      `a late question of ${model.world.runs[run]?.id} is answered: ${heard.fact.kind === "closed" ? "closed" : "open"}`,
      heard.book,
      { cell: heard.cell, broken: null },
    );
  });
}

/** Every question that can be put now at this resident. */
export function lookSteps(model: Model, tuple: Tuple, at: 0 | 1, readable: boolean): readonly LookStep[] {
  const book = tuple[0] as number;
  const number = tuple[CELLS[at]] as number;
  const cell = model.cells.at(number);
  const asking = cell.attaches.filter(({ state }) => state.effect.do === "look");
  if (asking.length === 0 && cell.lateLooks.length === 0) return [];
  const entries = [model.cells.at(tuple[CELLS[0]] as number).entry, model.cells.at(tuple[CELLS[1]] as number).entry];
  const untils = asking.map(({ state }) =>
    state.ask.parent === null ? null : model.core.registeredUntil(entries, state.ask.parent),
  );
  return model.lookSteps.get(`${at}|${number}|${book}|${readable}|${untils.join()}`, () => [
    ...asking.flatMap((attach, index) =>
      askSteps(model, { book, cell, attach, parentUntil: untils[index] ?? null }, readable),
    ),
    ...(readable ? stray(model, book, cell) : []),
  ]);
}
