// The guards of what comes behind a swap, each taken out like those of the gate: the shipped function with one thing less.

import { closes, liveDrains, readDrain, withDrain, type Drain, type DrainBook } from "#core/drain.ts";
import { without, type Knockout } from "./knockout.ts";
import { SHIPPED } from "./shipped.ts";

/** The book as it reads when every record of a reopening is another. */
function rewritten(book: DrainBook, change: (drain: Drain) => Drain): DrainBook {
  const reopening = book.drains.map(readDrain).filter((drain) => drain?.phase === "reopening");
  return reopening.reduce((rest, drain) => (drain === undefined ? rest : withDrain(rest, change(drain))), book);
}

const rowsAreNotLookedAt = without({
  cycleStep: (store, asked) => {
    const { store: stepped, found } = SHIPPED.cycleStep({ ...store, rows: [] }, asked);
    return { store: { ...stepped, rows: store.rows }, found };
  },
});

const whatTheProbeSawCounts = without({
  nextCycle: (state, fact) => {
    const next = SHIPPED.nextCycle(state, fact);
    const { effect } = next;
    const free = effect.do === "begin" && effect.inside.live === 0;
    return free ? { ...next, restarted: true, effect: { do: "restart", inside: effect.inside } } : next;
  },
});

const cyclingOutlivesItsBoot = without({
  bootStep: (store) => ({ ...SHIPPED.bootStep(store), cycling: store.cycling }),
});

const cyclesEndUnwritten = without({
  nextCycle: (state, fact) => {
    const next = SHIPPED.nextCycle(state, fact);
    return next.effect.do === "end" ? { ...next, effect: { do: "answer", word: next.effect.word } } : next;
  },
});

const anyImageCounts = without({
  noteReport: (book, word, now) => {
    const wanted = liveDrains(book, now).find(({ build, phase }) => build !== null && phase !== "draining")?.build;
    return SHIPPED.noteReport(book, { ...word, image: wanted?.image ?? word.image }, now);
  },
});

const anyGenerationReconciles = without({
  beginReconcile: (book, ask, now) => SHIPPED.beginReconcile(book, { ...ask, servedId: ask.id }, now),
});

const liftsForgetHolds = without({
  decideLift: (book, ask, servedId, now) => SHIPPED.decideLift(book, { ...ask, force: true }, servedId, now),
});

const holdsHaveNoBound = without({
  decideLook: (book, ask, now) =>
    SHIPPED.decideLook(
      rewritten(book, (drain) => ({ ...drain, phaseUntil: null })),
      ask,
      now,
    ),
});

const oneHoldClosesAll = without({
  decideLook: (book, ask, now) =>
    SHIPPED.decideLook(
      rewritten(book, (drain) => ({ ...drain, phase: "reconciling" })),
      ask,
      now,
    ),
});

const holdsCloseNobody = without({
  decideLook: (book, ask, now) =>
    SHIPPED.decideLook(
      rewritten(book, (drain) => ({ ...drain, holds: [] })),
      ask,
      now,
    ),
});

const theLastDrainDecides = without({
  decideLook: (book, ask, now) => {
    const [last] = liveDrains(book, now).filter((drain) => closes(drain, ask.resource));
    const passes = ask.kind === "rebuild" && (last?.phase === "reconciling" || last?.phase === "reopening");
    return SHIPPED.decideLook(passes ? { ...book, drains: [] } : book, ask, now);
  },
});

const rebuildsPassEverything = without({
  decideLook: (book, ask, now) => SHIPPED.decideLook(ask.kind === "rebuild" ? { ...book, drains: [] } : book, ask, now),
});

/** What the reopening rests on, guard by guard. */
export const REOPENING_KNOCKOUTS: readonly Knockout[] = [
  {
    guard: "`cycling` in the step that finds no row",
    core: rowsAreNotLookedAt,
    world: "ends",
    invariant: "11",
    steps: 31,
    telling: /^R1 may restart its container$/,
  },
  {
    guard: "`cycling` in the step that finds no row (harm)",
    core: rowsAreNotLookedAt,
    world: "ends",
    invariant: "4",
    steps: 35,
    telling: /^R1 may restart its container$/,
  },
  {
    guard: "the restart's own step: what was seen before the await counts for nothing",
    core: whatTheProbeSawCounts,
    world: "cycles",
    invariant: "11",
    steps: 30,
    telling: /^r1 comes to the container: old$/,
  },
  {
    guard: "a restart that belongs to its boot",
    core: cyclingOutlivesItsBoot,
    world: "cycles",
    invariant: "11",
    steps: 27,
    telling: /^isolate restart of R1/,
  },
  {
    guard: "a restart that is ended in storage before it is answered",
    core: cyclesEndUnwritten,
    world: "cycles",
    invariant: "11",
    steps: 27,
    telling: /^r1 comes to the container/,
  },
  {
    guard: "a report that counts for the image it names",
    core: anyImageCounts,
    world: "reports",
    invariant: "10",
    steps: 14,
    telling: /^R1 reports image old/,
  },
  {
    guard: "a reconcile that is answered by the upload's own generation",
    core: anyGenerationReconciles,
    world: "lag",
    invariant: "10",
    steps: 15,
    telling: /the registry stays of the generation before/,
  },
  {
    guard: "a lift that leaves the holds",
    core: liftsForgetHolds,
    world: "reconcile",
    invariant: "10",
    steps: 14,
    telling: /^deploy A lifts a1 \(upload landed\)/,
  },
  {
    guard: "the bound of a hold",
    core: holdsHaveNoBound,
    world: "bounds",
    invariant: "10",
    steps: 14,
    telling: /^deploy A lifts a1 \(upload landed\): lifted, \d held/,
  },
  {
    guard: "a hold that closes its own resident only",
    core: oneHoldClosesAll,
    world: "reconcile",
    invariant: "10",
    steps: 16,
    telling: /^deploy A lifts a1 \(upload landed\): lifted, \d held/,
  },
  {
    guard: "a hold that closes its resident",
    core: holdsCloseNobody,
    world: "reconcile",
    invariant: "2",
    steps: 16,
    telling: /^r1 looks: open/,
  },
  {
    guard: "every drain's own word on a rebuild",
    core: theLastDrainDecides,
    world: "rebuild",
    invariant: "2",
    steps: 16,
    telling: /^rebuild looks: open/,
  },
  {
    guard: "a rebuild that passes only behind the live gate",
    core: rebuildsPassEverything,
    world: "rebuild",
    invariant: "2",
    steps: 14,
    telling: /^rebuild looks: open/,
  },
];
