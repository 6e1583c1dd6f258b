// What the registry does to its book, one shipped decision a step, and what may never be broken by it.

import type { DrainAnswer, DrainBook, UploadOutcome } from "#core/drain.ts";
import type { SealBegun, SealFinished } from "#core/seal.ts";
import { MINUTE } from "#core/time.ts";
import { bookAfter, fallenHolds, liveRaw, type Book } from "./book.ts";
import { bookNumber, type BookStep, type Model } from "./model.ts";
import { broken, imageOf, type Broken } from "./world.ts";

/** The book as the shipped functions take it. */
export const drainBookOf = ({ drains, tombstones, attempts }: Book): DrainBook => ({ drains, tombstones, attempts });

/** A step of the book, computed once for all states that have this book. */
export function step<T>(model: Model, key: string, compute: () => BookStep<T>): BookStep<T> {
  return model.bookSteps.get(key, compute) as BookStep<T>;
}

function numbered<T>(model: Model, before: number, after: DrainBook, answer: T): BookStep<T> {
  const next = bookNumber(model, before, after);
  return { answer, book: next.book, broken: next.broken ?? unheld(model, before, next.book) };
}

/** A resident reopens by its own report, by a bound or by an end (invariant 10); none of them is a step of this kind. */
function unheld(model: Model, before: number, after: number): Broken | null {
  const [fallen] = fallenHolds(model.books.at(before), model.books.at(after));
  if (fallen === undefined) return null;
  return broken("10", `the hold of ${fallen.resource} by ${fallen.drain.id} falls without its report, bound or end`);
}

function decide(model: Model, book: number, id: string, deploy: boolean): DrainAnswer {
  const before = model.books.at(book);
  const own = liveRaw(before).find((drain) => drain.id === id);
  const minutes = own === undefined ? model.world.drainMinutes : model.core.pulseMinutes(own.until, 0, model.budgets);
  const brought = { commit: "", bundle: "", image: imageOf(model.world, id) };
  const build = deploy && model.world.containers !== undefined ? brought : null;
  const ask = { id, minutes, by: "", reason: "", deploy, build, without: [], principal: "" };
  return model.core.decideDrain(drainBookOf(before), ask, 0);
}

/** `POST /drain`, which creates or renews. */
export function drainStep(model: Model, book: number, id: string, deploy: boolean): BookStep<DrainAnswer["kind"]> {
  return step(model, `drain|${book}|${id}|${deploy}`, () => {
    const answer = decide(model, book, id, deploy);
    return "book" in answer
      ? numbered(model, book, answer.book, answer.kind)
      : { answer: answer.kind, book, broken: null };
  });
}

function othersTouched(before: Book, after: Book, id: string): Broken | null {
  const lost = liveRaw(before).find(
    (drain) => drain.id !== id && !liveRaw(after).some((left) => JSON.stringify(left) === JSON.stringify(drain)),
  );
  return lost === undefined ? null : broken("7", `a lift of ${id} opens what drain ${lost.id} closes`);
}

/** What a lift was answered, and who stays closed behind it. */
export interface Lifted {
  readonly kind: "lifted" | "already" | "deferred";
  readonly held: readonly string[];
}

/** `POST /undrain` with an outcome. */
export function liftStep(
  model: Model,
  book: number,
  id: string,
  rest: { readonly outcome: UploadOutcome; readonly servedId: string | null },
): BookStep<Lifted> {
  return step(model, `lift|${book}|${id}|${rest.outcome}|${rest.servedId}`, () => {
    const before = model.books.at(book);
    const answer = model.core.decideLift(
      drainBookOf(before),
      { id, outcome: rest.outcome, force: false },
      rest.servedId,
      0,
    );
    if (answer.kind === "deferred") return { answer: { kind: answer.kind, held: [] }, book, broken: null };
    const lifted: Lifted = { kind: answer.kind, held: answer.kind === "lifted" ? answer.held : [] };
    const next = numbered(model, book, answer.book, lifted);
    const after = model.books.at(next.book);
    const reopens = liveRaw(after).some((drain) => drain.id === id && drain.phase === "reopening");
    const over = reopens ? after.over : [...new Set([...after.over, id])].toSorted();
    return {
      ...next,
      book: model.books.number({ ...after, over }),
      broken: next.broken ?? othersTouched(before, after, id),
    };
  });
}

/** The beginning of a seal: an attempt is minted for a live drain. */
export function beginSealStep(model: Model, book: number, id: string): BookStep<SealBegun> {
  return step<SealBegun>(model, `begin|${book}|${id}`, () => {
    const begun = model.core.beginSeal(drainBookOf(model.books.at(book)), id, 0);
    return begun.kind === "asking" ? numbered(model, book, begun.book, begun) : { answer: begun, book, broken: null };
  });
}

/** The end of a seal: the swap begins, if the drain lives and nothing was admitted meanwhile. */
export function finishSealStep(model: Model, book: number, id: string, attempt: number): BookStep<SealFinished> {
  return step<SealFinished>(model, `finish|${book}|${id}|${attempt}`, () => {
    const before = model.books.at(book);
    const finished = model.core.finishSeal(drainBookOf(before), id, attempt, 0);
    if (finished.kind !== "sealed") return { answer: finished, book, broken: null };
    const next = numbered(model, book, finished.book, finished);
    const lived = liveRaw(before).some((drain) => drain.id === id);
    return {
      ...next,
      broken: next.broken ?? (lived ? null : broken("7", `drain ${id}, which lives no more, seals the fleet`)),
    };
  });
}

/** A seal is given up: nothing is asked for any more. */
export function abandonStep(model: Model, book: number, id: string, attempt: number): BookStep<null> {
  return step(model, `abandon|${book}|${id}|${attempt}`, () =>
    numbered(model, book, model.core.abandonSeal(drainBookOf(model.books.at(book)), id, attempt, 0), null),
  );
}

/** The registry's alarm: it buries what has ended by itself, so that it can tell. Nothing depends on it. */
export function settleStep(model: Model, book: number): BookStep<number> {
  return step(model, `settle|${book}`, () => {
    const settled = model.core.settle(drainBookOf(model.books.at(book)), 0);
    return numbered(model, book, settled.book, settled.ended.length);
  });
}

/** Whether the supervisor, asking as its very last act, may begin this upload. */
export function uploadAllowed(model: Model, book: number, id: string): BookStep<boolean> {
  return step(model, `upload|${book}|${id}`, () => {
    const before = model.books.at(book);
    const answer = model.core.mayUpload(before.drains, id, 0);
    const swapping = liveRaw(before).some((drain) => drain.id === id && drain.phase === "swapping");
    return {
      answer,
      book,
      broken:
        answer && !swapping
          ? broken("7", `an upload of ${id} begins although its drain is over or its swap has not begun`)
          : null,
    };
  });
}

const PULSE = MINUTE;

/** The book after `span` of a deployer that pulses: its drain is renewed each minute and the rest ages. */
export function pulsedBook(model: Model, book: number, id: string, span: number): BookStep<null> {
  return step(model, `pulsed|${book}|${id}|${span}`, () => {
    let at = { book, broken: null as Broken | null };
    for (let left = span; left > 0; left -= PULSE) {
      const aged = agedBook(model, at.book, Math.min(PULSE, left));
      const renewed = drainStep(model, aged.book, id, true);
      at = { book: renewed.book, broken: at.broken ?? aged.broken ?? renewed.broken };
    }
    return { answer: null, ...at };
  });
}

/** The book `by` ms later. */
export function agedBook(model: Model, book: number, by: number): BookStep<null> {
  return step(model, `aged|${book}|${by}`, () => {
    const before = model.books.at(book);
    const after = bookAfter(before, drainBookOf(before), by);
    return { answer: null, book: model.books.number(after.book), broken: after.broken };
  });
}
