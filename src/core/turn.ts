// Whose turn it is at a repository's door: in the order of arrival among those whose thread is free, one at the door at a
// time. A part of a run in flight waits for its thread, and for a door that is known to refuse it, and for nothing else.

import type { Ask, Entry } from "./ask.ts";
import type { Leases } from "./budgets.ts";
import type { Ms } from "./time.ts";

/** What the bot saw of the doors as it asked, and how long a run may live whose ask names no lease. */
export interface Doors {
  readonly generation: number;
  /** Whether the repository is open and no deploy is pending. */
  readonly open: boolean;
  /** Whether a part of a run in flight passes it where it is closed; unsaid by an older bot, which knows of no other. */
  readonly passesChild?: boolean;
  /**
   * Of the bot's own runs of the repository those behind which the next one may come: past its door, and none where as many
   * make a workspace as may at once. Unsaid by an older bot: all.
   */
  readonly passed?: readonly string[];
  /** The drain that closes the repository; unsaid by an older bot. */
  readonly closedBy?: string | null;
  readonly leaseMs: Ms;
  /** By kind, before `leaseMs`: who asks for the next of a queue does not know of which kind that is. */
  readonly leases?: Leases;
}

/** What an ask waits for: its door, the live run of its thread, or who came earlier. */
export type Behind = "door" | "thread" | "queue";

/** Everything that has not ended. */
interface Entries {
  readonly entries: readonly Entry[];
}

/** Whether an entry has become a run. */
export const isLive = ({ state }: Pick<Entry, "state">): boolean => state !== "queued";

/** The run that lives in a thread; at most one does. */
export function liveIn({ entries }: Entries, threadKey: string): Entry | undefined {
  return entries.find((entry) => isLive(entry) && entry.ask.threadKey === threadKey);
}

/** Queued asks of one repository in order of arrival. */
export function queueOf({ entries }: Entries, resource: string): readonly Entry[] {
  return entries
    .filter((entry) => !isLive(entry) && entry.ask.resource === resource)
    .toSorted((a, b) => a.place - b.place);
}

/** Whether an ask is a part of a run in flight: were it to wait for a door, that run would wait with it, and the door for both. */
export function isChild({ entries }: Entries, { parent }: Pick<Ask, "parent">): boolean {
  return parent !== null && entries.some((entry) => isLive(entry) && entry.ask.id === parent);
}

/**
 * Whether somebody who was let in stands at the door, as far as anybody knows: of a bot that is gone whoever it never read
 * from, and of the one that asks also whoever it has not heard of yet. Who is over in all but name stands nowhere.
 */
function isDoorTaken({ entries }: Entries, resource: string, { generation, passed }: Doors): boolean {
  return entries.some(
    (entry) =>
      isLive(entry) &&
      entry.ask.resource === resource &&
      entry.reading === null &&
      entry.verdict === null &&
      (entry.holder < generation || passed?.includes(entry.ask.id) === false),
  );
}

/** What keeps an ask from being let in although its thread is free, whoever else waits. */
function atDoor(store: Entries, ask: Ask, doors: Doors): "door" | "queue" | null {
  if (isChild(store, ask)) return doors.open || doors.passesChild !== false ? null : "door";
  if (!doors.open) return "door";
  return isDoorTaken(store, ask.resource, doors) ? "queue" : null;
}

/** Why an ask cannot be admitted now: its thread, the door, or somebody who came earlier and could be admitted. */
export function behindWhat(store: Entries, { ask, place }: Pick<Entry, "ask" | "place">, doors: Doors): Behind | null {
  if (liveIn(store, ask.threadKey) !== undefined) return "thread";
  const behind = atDoor(store, ask, doors);
  if (behind !== null || isChild(store, ask)) return behind;
  const earlier = queueOf(store, ask.resource).filter((entry) => entry.place < place);
  return earlier.some((entry) => liveIn(store, entry.ask.threadKey) === undefined) ? "queue" : null;
}

/** The first of a repository's queue whose thread is free and whom the door lets in. */
export function nextInTurn(store: Entries, resource: string, doors: Doors): Entry | undefined {
  return queueOf(store, resource).find(
    ({ ask }) => liveIn(store, ask.threadKey) === undefined && atDoor(store, ask, doors) === null,
  );
}
