// The guards that protocol.md ends with, each taken out by handing the explorer another function. The product has no
// such switch: what stands here is the shipped function with one thing less.

import type { DrainBook } from "#core/drain.ts";
import { without, type Knockout } from "./knockout.ts";
import { SHIPPED } from "./shipped.ts";

const noSealCheck = without({
  rowStep: (store, asked, budgets, now) => SHIPPED.rowStep({ ...store, seal: null }, asked, budgets, now),
});

const oneResidentOnly = without({
  nextSeal: (state, fact) =>
    SHIPPED.nextSeal(state, fact.kind === "begun" ? { ...fact, residents: fact.residents.slice(0, 1) } : fact),
});

const severalAttaches = without({
  arriveStep: (store, asked, now) => {
    const row = store.rows.find((kept) => kept.threadKey === asked.ask.threadKey);
    const own = row?.runId === asked.ask.runId && row.state === "attaching";
    return own ? { store, found: { kind: "new" } } : SHIPPED.arriveStep(store, { ...asked, underway: false }, now);
  },
});

const endsWhateverIsThere = without({
  endStep: (store, runId, seq) =>
    SHIPPED.endStep(store, runId, store.rows.find((row) => row.runId === runId)?.seq ?? seq),
});

const backToAttaching = without({
  arriveStep: (store, asked, now) => {
    const stepped = SHIPPED.arriveStep(store, asked, now);
    const { found } = stepped;
    if (found.kind !== "registered") return stepped;
    const rows = stepped.store.rows.map((row) =>
      row.runId === found.row.runId ? { ...row, state: "attaching" as const } : row,
    );
    return { store: { ...stepped.store, rows }, found };
  },
});

const sealStandsAlone = without({
  rowStep: (store, asked, budgets, now) =>
    SHIPPED.rowStep(store, store.seal === null ? asked : { ...asked, look: { kind: "unreadable" } }, budgets, now),
});

const anyOutcomeLifts = without({
  decideLift: (book, ask, servedId, now) =>
    SHIPPED.decideLift(book, { ...ask, outcome: ask.outcome === "unknown" ? "none" : ask.outcome }, servedId, now),
});

const liftsEverything = without({
  decideLift: (book, ask, servedId, now) => {
    const answer = SHIPPED.decideLift(book, ask, servedId, now);
    return "book" in answer ? { ...answer, book: { ...answer.book, drains: [] } } : answer;
  },
});

const noTombstone = without({
  decideDrain: (book, ask, now) => SHIPPED.decideDrain({ ...book, tombstones: [] }, ask, now),
});

const isOther = (stored: unknown, id: string): boolean =>
  typeof stored === "object" &&
  stored !== null &&
  "deploy" in stored &&
  stored.deploy === true &&
  "id" in stored &&
  stored.id !== id;

const severalDeploys = without({
  decideDrain: (book, ask, now) => {
    const others = book.drains.filter((stored) => isOther(stored, ask.id));
    const alone: DrainBook = { ...book, drains: book.drains.filter((stored) => !isOther(stored, ask.id)) };
    const answer = SHIPPED.decideDrain(alone, ask, now);
    if (!("book" in answer)) return answer;
    return { ...answer, book: { ...answer.book, drains: [...answer.book.drains, ...others] } };
  },
});

const overtakenAsksCount = without({ sealStep: (store, seal) => SHIPPED.sealStep({ ...store, lastAttempt: 0 }, seal) });

const anyAttemptUnseals = without({ unsealStep: (store) => ({ ...store, seal: null }) });

const admittedWithoutLooking = without({
  nextAttach: (state, fact) => {
    const { effect } = state;
    const again = effect.do === "provision" && effect.again && fact.kind === "provisioned";
    if (!again) return SHIPPED.nextAttach(state, fact);
    return { ...state, effect: { do: "answer", answer: { kind: "admitted", row: effect.row, again: true } } };
  },
});

const overtakenWordsCount = without({
  applyWord: (entry, word) => SHIPPED.applyWord({ ...entry, incarnation: -1, seq: -1 }, word),
});

const looksAreNotCounted = without({ countLook: (entry) => entry });

const admissionsVoidNothing = without({
  decideLook: (book, ask, now) => {
    const answer = SHIPPED.decideLook(book, ask, now);
    return answer.kind === "open" ? { ...answer, book } : answer;
  },
});

const joinersKeepTheirGeneration = without({
  nextAttach: (state, fact) =>
    fact.kind === "joined" && state.effect.do === "join"
      ? { ...state, effect: { do: "answer", answer: fact.answer } }
      : SHIPPED.nextAttach(state, fact),
});

/** protocol.md's list, and the guards that the explorer itself asked for. */
export const KNOCKOUTS: readonly Knockout[] = [
  {
    guard: "the seal check in the row's own step",
    core: noSealCheck,
    world: "gate",
    invariant: "3",
    steps: 11,
    telling: /r\d writes its row: written/,
  },
  {
    guard: "the seal check in the row's own step (harm)",
    core: noSealCheck,
    world: "gate",
    invariant: "4",
    steps: 17,
    telling: /lands: the swap/,
  },
  {
    guard: "the seal on every resident",
    core: oneResidentOnly,
    world: "gate",
    invariant: "3",
    steps: 10,
    telling: /r2 writes its row: written/,
  },
  {
    guard: "one attach a run",
    core: severalAttaches,
    world: "gate",
    invariant: "1",
    steps: 9,
    telling: /r1 looks: closed/,
  },
  {
    guard: "release and sweep by seq",
    core: endsWhateverIsThere,
    world: "generations",
    invariant: "4",
    steps: 20,
    telling: /the release of r1 .* deletes its row/,
  },
  {
    guard: "running never back to attaching",
    core: backToAttaching,
    world: "restarts",
    invariant: "4",
    steps: 19,
    telling: /isolate restart of R1/,
  },
  {
    guard: "a seal that stands only while the registry says so",
    core: sealStandsAlone,
    world: "seals",
    invariant: "5",
    steps: 15,
    telling: /r1 looks: open/,
  },
  {
    guard: "an end without outcome during a swap",
    core: anyOutcomeLifts,
    world: "late",
    invariant: "4",
    steps: 19,
    telling: /lifts a1 \(upload unknown\): lifted/,
  },
  { guard: "the asker's id", core: liftsEverything, world: "person", invariant: "7", steps: 4, telling: /lifts|opens/ },
  {
    guard: "the tombstone",
    core: noTombstone,
    world: "late",
    invariant: "7",
    steps: 8,
    telling: /a late request arrives: drain a1: created/,
  },
  {
    guard: "one deploy at a time",
    core: severalDeploys,
    world: "rivals",
    invariant: "3",
    steps: 20,
    telling: /R\d is asked to seal \(b1/,
  },
  {
    guard: "the outbox: order by (incarnation, seq)",
    core: overtakenWordsCount,
    world: "words",
    invariant: "quiet",
    steps: 7,
    telling: /a word of R1 reaches the registry/,
  },
  {
    guard: "the outbox: counting in the look's step",
    core: looksAreNotCounted,
    world: "words",
    invariant: "quiet",
    steps: 3,
    telling: /r1 looks: open/,
  },
  {
    guard: "an admission makes an attempt to seal void",
    core: admissionsVoidNothing,
    world: "child",
    invariant: "3",
    steps: 19,
    telling: /child looks: open, a child/,
  },
  {
    guard: "a join keeps generations apart",
    core: joinersKeepTheirGeneration,
    world: "generations",
    invariant: "generation",
    steps: 7,
    telling: /r1 detaches \(generation 1\)/,
  },
  {
    guard: "an ask to seal that was overtaken counts for nothing",
    core: overtakenAsksCount,
    world: "seals",
    invariant: "3",
    steps: 18,
    telling: /R1 is asked to seal \(a1, attempt 1\): sealed/,
  },
  {
    guard: "a seal is taken back by its own attempt only",
    core: anyAttemptUnseals,
    world: "seals",
    invariant: "3",
    steps: 18,
    telling: /R1 takes back its seal of attempt 1/,
  },
  {
    guard: "a registered run is admitted again only with its row",
    core: admittedWithoutLooking,
    world: "gate",
    invariant: "admitted",
    steps: 10,
    telling: /the release of r1 .* deletes its row/,
  },
];
