// What the registry does to its holds, one shipped decision a step. A hold falls by a report of the very image that its
// drain brings, or because nothing runs there or a person says so: the explorer knows which image that is by itself.

import type { Freeing } from "#core/hold.ts";
import { fallenHolds, liveRaw, type Book, type Fallen } from "./book.ts";
import { drainBookOf, step } from "./bookSteps.ts";
import { bookNumber, type BookStep, type Model } from "./model.ts";
import { broken, imageOf, RESOURCES, type Broken } from "./world.ts";

export type ReconcileKind = "begun" | "again" | "over" | "notServed" | "tooEarly";

/** An earlier deploy's holds end as the next one places its own; no other hold may fall then. */
function lostElsewhere(before: Book, after: Book, id: string): Broken | null {
  const lost = fallenHolds(before, after).find(({ drain }) => drain.id === id || drain.phase !== "reopening");
  return lost === undefined
    ? null
    : broken("10", `the reconcile of ${id} takes the hold of ${lost.resource} from ${lost.drain.id}`);
}

/** Whoever is not held behind a reconcile has said itself that it is on the image. */
function unheldUnreported(before: Book, after: Book, id: string): Broken | null {
  const said = liveRaw(before).find((drain) => drain.id === id)?.reported ?? [];
  const holds = liveRaw(after).find((drain) => drain.id === id)?.holds ?? [];
  const missing = RESOURCES.find((resource) => !holds.includes(resource) && !said.includes(resource));
  return missing === undefined ? null : broken("10", `the reconcile of ${id} does not hold ${missing}`);
}

/** What is wrong about the holds that a reconcile has placed. */
function brokenHolds(model: Model, before: Book, after: Book, id: string): Broken | null {
  const unheld = model.world.containers === undefined ? null : unheldUnreported(before, after, id);
  return lostElsewhere(before, after, id) ?? unheld;
}

/** `POST /reconcile` as it reaches a registry whose own object the upload `servedId` brought. */
export function reconcileStep(
  model: Model,
  book: number,
  id: string,
  servedId: string | null,
): BookStep<{ readonly kind: ReconcileKind; readonly image: string; readonly until: number; readonly held: number }> {
  return step(model, `reconcile|${book}|${id}|${servedId}`, () => {
    const before = model.books.at(book);
    const image = imageOf(model.world, servedId);
    const residents = model.world.containers === undefined ? [] : [...RESOURCES];
    const build = { commit: "", bundle: "", image };
    const begun = model.core.beginReconcile(drainBookOf(before), { id, servedId, build, residents }, 0);
    const answer = { kind: begun.kind, image, until: 0, held: 0 };
    if (begun.kind !== "begun") return { answer, book, broken: null };
    const next = bookNumber(model, book, begun.book);
    const lived = liveRaw(before).some((drain) => drain.id === id);
    return {
      answer: { ...answer, until: begun.drain.phaseUntil ?? 0, held: begun.drain.holds.length },
      book: next.book,
      broken: lived
        ? (next.broken ?? brokenHolds(model, before, model.books.at(next.book), id))
        : broken("7", `drain ${id}, which lives no more, places holds`),
    };
  });
}

/** Who has reported by this step, of each record that lives. */
const newlyReported = (before: Book, after: Book): readonly Fallen[] =>
  liveRaw(after).flatMap((drain) => {
    const said = liveRaw(before).find((one) => one.id === drain.id)?.reported ?? [];
    return drain.reported.filter((resource) => !said.includes(resource)).map((resource) => ({ drain, resource }));
  });

/** Carries a freeing out; `mayFall` says of which drain this step may take the resident's hold. */
function freed(
  model: Model,
  number: number,
  freeing: Freeing,
  may: { readonly resource: string; readonly fall: (drainId: string) => boolean; readonly why: string },
): BookStep<boolean> {
  if (freeing.freed.length === 0 && freeing.book.drains === model.books.at(number).drains)
    return { answer: false, book: number, broken: null };
  const next = bookNumber(model, number, freeing.book);
  const [before, after] = [model.books.at(number), model.books.at(next.book)];
  const fallen = fallenHolds(before, after);
  const wrongly = ({ drain, resource }: Fallen): boolean => resource !== may.resource || !may.fall(drain.id);
  const [wrong] = [...fallen, ...newlyReported(before, after)].filter(wrongly);
  const breaks =
    wrong === undefined ? null : broken("10", `${wrong.drain.id} waits no more for ${wrong.resource} ${may.why}`);
  return { answer: fallen.length > 0, book: next.book, broken: next.broken ?? breaks };
}

/** A report reaches the registry; the answer says whether a hold fell. */
export function reportStep(model: Model, book: number, resource: string, image: string): BookStep<boolean> {
  return step(model, `report|${book}|${resource}|${image}`, () => {
    const freeing = model.core.noteReport(drainBookOf(model.books.at(book)), { resource, image }, 0);
    const fall = (drainId: string): boolean => imageOf(model.world, drainId) === image;
    return freed(model, book, freeing, { resource, fall, why: `by a report of image ${image}` });
  });
}

/** A hold is dropped, since nothing runs there or a person says so. */
export function dropStep(model: Model, book: number, resource: string): BookStep<boolean> {
  return step(model, `drop|${book}|${resource}`, () => {
    const freeing = model.core.dropHold(drainBookOf(model.books.at(book)), resource, 0);
    return freed(model, book, freeing, { resource, fall: () => true, why: "although another was dropped" });
  });
}
