// The guards of who comes when: behind whoever stands at the door, and behind a refusal that is known; and of the word that
// a wait is over.

import type { Entry } from "#core/ask.ts";
import type { LedgerStore } from "#core/ledger.ts";
import type { Doors } from "#core/turn.ts";
import { without, type BotKnockout } from "./botKnockouts.ts";
import { SHIPPED_BOT } from "./botShipped.ts";

const everybodyHasPassed = ({ entries }: LedgerStore, doors: Doors): Doors => ({
  ...doors,
  passed: entries.map(({ ask }) => ask.id),
});

const nobodyStandsThere = without({
  askStep: (store, ask, doors, now) => SHIPPED_BOT.askStep(store, ask, everybodyHasPassed(store, doors), now),
  dispatchStep: (store, resource, doors, now) =>
    SHIPPED_BOT.dispatchStep(store, resource, everybodyHasPassed(store, doors), now),
});

const queuePassesTheDoor = without({
  dispatchStep: (store, resource, doors, now) =>
    SHIPPED_BOT.dispatchStep(store, resource, everybodyHasPassed(store, doors), now),
});

/** The step over a store in which whoever an older bot holds is the asking one's and past the door; it is put back then. */
const nobodyWasLeftThere = without({
  askStep: (store, ask, doors, now) => {
    const holders = new Map(store.entries.map(({ ask: { id }, holder }) => [id, holder]));
    const held = (entry: Entry, holder: number): Entry => (entry.state === "queued" ? entry : { ...entry, holder });
    const mine = { ...store, entries: store.entries.map((entry) => held(entry, doors.generation)) };
    const older = store.entries.filter(({ holder }) => holder < doors.generation).map((entry) => entry.ask.id);
    const passed = [...(doors.passed ?? []), ...older];
    const { store: asked, found } = SHIPPED_BOT.askStep(mine, ask, { ...doors, passed }, now);
    const entries = asked.entries.map((entry) => held(entry, holders.get(entry.ask.id) ?? entry.holder));
    return { store: { ...asked, entries }, found };
  },
});

const partsPassEveryDoor = without({
  askStep: (store, ask, doors, now) => SHIPPED_BOT.askStep(store, ask, { ...doors, passesChild: true }, now),
  dispatchStep: (store, resource, doors, now) =>
    SHIPPED_BOT.dispatchStep(store, resource, { ...doors, passesChild: true }, now),
});

/** What keeps the order where it is not the queue's, guard by guard. */
export const TURN_KNOCKOUTS: readonly BotKnockout[] = [
  {
    guard: "a newcomer who waits behind whoever stands at the door",
    core: nobodyStandsThere,
    world: "window",
    invariant: "order",
    steps: 10,
    telling: /^bot 1 attaches b: new/,
  },
  {
    guard: "one in the queue who waits behind whoever stands at the door unknown to the bot",
    core: queuePassesTheDoor,
    world: "lateAsks",
    invariant: "order",
    steps: 12,
    telling: /^bot 1 asks dispatch: b$/,
  },
  {
    guard: "a newcomer who waits behind one that a bot which is gone had let in",
    core: nobodyWasLeftThere,
    world: "killed",
    invariant: "order",
    steps: 14,
    telling: /^bot 2 attaches [ar]: new/,
  },
  {
    guard: "a refusal that a part of a run in flight is known to meet",
    core: without({ passesChild: () => true }),
    world: "swap",
    invariant: "8",
    steps: 16,
    telling: /^k is asked of bot 1 \(closed by d1\)$/,
  },
  {
    guard: "the same in the ledger's step",
    core: partsPassEveryDoor,
    world: "swap",
    invariant: "8",
    steps: 17,
    telling: /^bot 1 ask k: admitted$/,
  },
  {
    guard: "a look that tells the end whose answer was lost",
    core: without({ isUntold: () => false }),
    world: "lostStops",
    invariant: "14",
    steps: 13,
    telling: /^bot 1 say x: ended, and its answer is lost$/,
  },
];
