// The guards of the bot's door, its queue and its ledger, each taken out by handing the explorer another function. The
// product has no such switch: what stands here is the shipped function with one thing less.

import type { Ask, Entry } from "#core/ask.ts";
import type { LedgerStore, Step } from "#core/ledger.ts";
import type { GuardOf } from "../knockout.ts";
import { SHIPPED_BOT, type BotCore } from "./botShipped.ts";

/** A guard of the bot, and the functions without it. */
export type BotKnockout = GuardOf<BotCore>;

/** What ships, but for these. */
export const without = (changes: Partial<BotCore>): BotCore => ({ ...SHIPPED_BOT, ...changes });

const withEntries = (store: LedgerStore, change: (entry: Entry) => Entry): LedgerStore => ({
  ...store,
  entries: store.entries.map(change),
});

/** Puts one entry back as it was before a step. */
const unwritten = (store: LedgerStore, { ask: { id } }: Entry): LedgerStore =>
  withEntries(store, (entry) =>
    entry.ask.id === id ? { ...entry, state: "queued", holder: 0, leaseUntil: null } : entry,
  );

const admittedBeforeItsRow = without({
  askStep: (store, ask, doors, now) => {
    const step = SHIPPED_BOT.askStep(store, ask, doors, now);
    return step.found.kind === "admitted" ? { ...step, store: unwritten(step.store, step.found.entry) } : step;
  },
  dispatchStep: (store, resource, doors, now) => {
    const step = SHIPPED_BOT.dispatchStep(store, resource, doors, now);
    return step.found === null ? step : { ...step, store: unwritten(step.store, step.found) };
  },
});

const keysAreNotKept = without({
  askStep: (store, ask, doors, now) => SHIPPED_BOT.askStep(store, { ...ask, key: ask.id }, doors, now),
});

/** The step over a store in which nobody lives in a thread, and what it changed in the store as it is. */
function overFreeThreads<T>(store: LedgerStore, run: (free: LedgerStore) => Step<T>): Step<T> {
  const real = new Map(store.entries.map((entry) => [entry.ask.id, entry.ask]));
  const thread = (entry: Entry, threadKey: string): Entry => ({ ...entry, ask: { ...entry.ask, threadKey } });
  const free = withEntries(store, (entry) =>
    entry.state === "queued" ? entry : thread(entry, `${entry.ask.id} alone`),
  );
  const { store: stepped, found } = run(free);
  const back = withEntries(stepped, (entry) => thread(entry, real.get(entry.ask.id)?.threadKey ?? entry.ask.threadKey));
  return { store: back, found };
}

const threadsAreNotLookedAt = without({
  dispatchStep: (store, resource, doors, now) =>
    overFreeThreads(store, (free) => SHIPPED_BOT.dispatchStep(free, resource, doors, now)),
});

const doorsAreNotLookedAt = without({
  dispatchStep: (store, resource, doors, now) =>
    SHIPPED_BOT.dispatchStep(store, resource, { ...doors, open: true }, now),
});

const newcomersGoFirst = without({
  askStep: (store, ask, doors, now) => {
    const live = store.entries.filter(({ state }) => state !== "queued");
    const waiting = store.entries.filter((entry) => !live.includes(entry));
    const step = SHIPPED_BOT.askStep({ ...store, entries: live }, ask, doors, now);
    return { ...step, store: { ...step.store, entries: [...waiting, ...step.store.entries] } };
  },
});

const comesBackLast = without({
  returnStep: (store, id, generation, closedBy) => {
    const { store: back, found } = SHIPPED_BOT.returnStep(store, id, generation, closedBy);
    const last = withEntries(back, (entry) => (entry.ask.id === id ? { ...entry, place: back.nextPlace } : entry));
    return { store: { ...last, nextPlace: back.nextPlace + 1 }, found };
  },
});

/** The step over a store in which nobody is a part of anything, and what it changed in the store as it is. */
function overOrphans<T>(store: LedgerStore, asked: Ask | null, run: (orphans: LedgerStore) => Step<T>): Step<T> {
  const known = asked === null ? [] : [[asked.id, asked.parent] as const];
  const parents = new Map([...store.entries.map(({ ask }) => [ask.id, ask.parent] as const), ...known]);
  const under = (entry: Entry, parent: string | null): Entry => ({ ...entry, ask: { ...entry.ask, parent } });
  const { store: stepped, found } = run(withEntries(store, (entry) => under(entry, null)));
  return { store: withEntries(stepped, (entry) => under(entry, parents.get(entry.ask.id) ?? null)), found };
}

const childrenWait = without({
  askStep: (store, ask, doors, now) =>
    overOrphans(store, ask, (orphans) => SHIPPED_BOT.askStep(orphans, { ...ask, parent: null }, doors, now)),
  dispatchStep: (store, resource, doors, now) =>
    overOrphans(store, null, (orphans) => SHIPPED_BOT.dispatchStep(orphans, resource, doors, now)),
});

const everybodyWrites = without({ isFenced: () => false });

const leasesAreNotHeld = without({
  reclaimStep: (store, generation, now) =>
    SHIPPED_BOT.reclaimStep(
      withEntries(store, (entry) => ({ ...entry, heldUntil: now })),
      generation,
      now,
    ),
});

const leasesLapseMeanwhile = without({ ledgerBootStep: (store) => store });

const takenOverAtWork = without({
  reclaimStep: (store, generation, now) => {
    const { store: taken, found } = SHIPPED_BOT.reclaimStep(store, generation, now);
    const ids = found.map(({ ask }) => ask.id);
    const atWork = withEntries(taken, (entry) => (ids.includes(entry.ask.id) ? { ...entry, state: "running" } : entry));
    return { store: atWork, found };
  },
});

const copiesHaveNoPulse = without({
  copyDrain: (book, ask, now) => {
    const answer = SHIPPED_BOT.copyDrain(book, ask, now);
    if (!("book" in answer)) return answer;
    const drains = [{ ...answer.drain, phaseUntil: null }];
    return { ...answer, book: { ...answer.book, drains } };
  },
});

const renewalsForgetWhatIsOver = without({
  copyBefore: (copy, _, fleet) => (fleet.length > 0 ? { ...copy, drains: [] } : copy),
});

const copiesNeverFall = without({ settleCopy: (copy) => copy });

const copiesCloseNothing = without({
  doorOf: (facts, now) => SHIPPED_BOT.doorOf({ ...facts, copy: { ...facts.copy, drains: [] } }, now),
});

const oneHoldClosesAll = without({
  doorOf: (facts, now) => {
    const fleet = facts.fleet.map((drain) => ({ ...drain, phase: "reconciling" as const }));
    return SHIPPED_BOT.doorOf({ ...facts, fleet }, now);
  },
});

const nothingIsLeft = without({
  endRunStep: (store, id, by, now) => {
    const { store: ended, found } = SHIPPED_BOT.endRunStep(store, id, by, now);
    const entries = ended.entries.filter(({ ask }) => ask.id !== by.leftId);
    return { store: { ...ended, entries }, found: found === null ? null : { ...found, left: null } };
  },
});

const everythingIsLeft = without({
  endRunStep: (store, id, by, now) => {
    const untold = withEntries(store, (entry) => ({ ...entry, delivered: 0 }));
    const { store: ended, found } = SHIPPED_BOT.endRunStep(untold, id, by, now);
    const entry = store.entries.find(({ ask }) => ask.id === id);
    return { store: ended, found: found === null || entry === undefined ? null : { ...found, entry } };
  },
});

const saidTwice = without({
  messageStep: (store, id, said, now) => {
    const key = `${said.key}#`;
    const forgetful = withEntries(store, (entry) => ({
      ...entry,
      messages: entry.messages.map((message) => (message.key === said.key ? { ...message, key } : message)),
    }));
    const { store: told, found } = SHIPPED_BOT.messageStep(forgetful, id, said, now);
    const recalled = withEntries(told, (entry) => ({
      ...entry,
      messages: entry.messages.map((message) => (message.key === key ? { ...message, key: said.key } : message)),
    }));
    return { store: recalled, found };
  },
});

const threadsAreNotSaid = without({
  cardWords: (event, now) => (event.cause === "thread" ? "queued" : SHIPPED_BOT.cardWords(event, now)),
});

const lateAnswersAreNotAwaited = without({ isAwaiting: () => false });

const looksAreNeverOlder = without({ isTouched: () => false });

const toldOnceForAll = without({
  isKnown: (bot, entry, key, drainId) =>
    SHIPPED_BOT.isKnown(bot, entry, key, drainId) || (drainId !== null && entry.toldOf === drainId),
});

/** What the bot rests on, guard by guard. */
export const BOT_KNOCKOUTS: readonly BotKnockout[] = [
  {
    guard: "admission and its run's row in one step",
    core: admittedBeforeItsRow,
    world: "threads",
    invariant: "12",
    steps: 9,
    telling: /^bot 1 (ask|dispatch)/,
  },
  {
    guard: "the key of an ask that is asked again",
    core: keysAreNotKept,
    world: "lostAsks",
    invariant: "12",
    steps: 11,
    telling: /^a' is asked of bot 1/,
  },
  {
    guard: "one live run a thread",
    core: threadsAreNotLookedAt,
    world: "threads",
    invariant: "thread",
    steps: 12,
    telling: /^bot 1 dispatch: [rs]$/,
  },
  {
    guard: "the door in the step of the dispatch",
    core: doorsAreNotLookedAt,
    world: "child",
    invariant: "8",
    steps: 24,
    telling: /^bot 1 dispatch: k$/,
  },
  {
    guard: "a newcomer who goes behind those who wait",
    core: newcomersGoFirst,
    world: "window",
    invariant: "order",
    steps: 11,
    telling: /^bot 1 ask [ab]: admitted$/,
  },
  {
    guard: "the old place of one that comes back",
    core: comesBackLast,
    world: "window",
    invariant: "order",
    steps: 20,
    telling: /^bot 1 return [ab]: queued$/,
  },
  {
    guard: "a part of a run in flight that passes the door",
    core: childrenWait,
    world: "child",
    invariant: "stuck",
    steps: 17,
    telling: /^bot 1 ask k: queued$/,
  },
  {
    guard: "the fence: a number that only the newest bot writes under",
    core: everybodyWrites,
    world: "slow",
    invariant: "fenced",
    steps: 12,
    telling: /^bot 1 goes on$/,
  },
  {
    guard: "a run that is held until its bot's lease is over",
    core: leasesAreNotHeld,
    world: "slow",
    invariant: "held",
    steps: 9,
    telling: /^bot 2 (beats and )?reclaim: [ar]/,
  },
  {
    guard: "leases that do not lapse while the ledger is away",
    core: leasesLapseMeanwhile,
    world: "ledger",
    invariant: "held",
    steps: 12,
    telling: /^the ledger begins again$/,
  },
  {
    guard: "a run at the door that is taken over there",
    core: takenOverAtWork,
    world: "killed",
    invariant: "stuck",
    steps: 16,
    telling: /^bot 2 return [ar]: not held$/,
  },
  {
    guard: "the pulse of the copy",
    core: copiesHaveNoPulse,
    world: "window",
    invariant: "13",
    steps: 5,
    telling: /^the deploy closes bot 1/,
  },
  {
    guard: "what is over in the copy, whoever else is renewed",
    core: renewalsForgetWhatIsOver,
    world: "pulse",
    invariant: "7",
    steps: 15,
    telling: /^a late renewal of d1 reaches bot 1: created$/,
  },
  {
    guard: "a copy that falls by the registry's word",
    core: copiesNeverFall,
    world: "window",
    invariant: "copy",
    steps: 10,
    telling: /^the watch of bot 1 tells$/,
  },
  {
    guard: "the copy as a part of the door",
    core: copiesCloseNothing,
    world: "window",
    invariant: "8",
    steps: 7,
    telling: /^the deploy closes bot 1/,
  },
  {
    guard: "a hold that closes its own repository",
    core: oneHoldClosesAll,
    world: "holds",
    invariant: "stuck",
    steps: 18,
    telling: /^the deploy lifts d1: lifted$/,
  },
  {
    guard: "what is left of a run as an ask",
    core: nothingIsLeft,
    world: "said",
    invariant: "lost",
    steps: 18,
    telling: /^bot 1 end r/,
  },
  {
    guard: "what has been told is not left",
    core: everythingIsLeft,
    world: "said",
    invariant: "twice",
    steps: 20,
    telling: /^bot 1 reached r/,
  },
  {
    guard: "the key of what is said",
    core: saidTwice,
    world: "said",
    invariant: "twice",
    steps: 20,
    telling: /^bot 1 say m1: taken/,
  },
  {
    guard: "the words of a wait",
    core: threadsAreNotSaid,
    world: "threads",
    invariant: "14",
    steps: 14,
    telling: /^bot 1 ask [rs]: queued$/,
  },
  {
    guard: "a run whose answer is under way, which nobody else takes in hand",
    core: lateAnswersAreNotAwaited,
    world: "lateDoors",
    invariant: "row",
    steps: 30,
    telling: /^bot 1 hears of ask r$/,
  },
  {
    guard: "a look that is older than what became of a run meanwhile",
    core: looksAreNeverOlder,
    world: "lateDoors",
    invariant: "row",
    steps: 28,
    telling: /^bot 1 hears of look$/,
  },
  {
    guard: "a wait that is told again once something else was told",
    core: toldOnceForAll,
    world: "late",
    invariant: "14",
    steps: 21,
    telling: /^a late renewal of d1 reaches bot 1: created$/,
  },
];
