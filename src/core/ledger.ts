// The ledger's one store of what has been asked and has not ended, and each step over it. A step is one function from
// store to store that the object runs inside one transaction: the admission of an ask and its run's row are one write.

import { CLOCK, LIMIT } from "./budgets.ts";
import type { Ask, Entry, Message, MessageKind, Reading, Verdict } from "./ask.ts";
import { fullBy, type Full } from "./askSize.ts";
import type { Instant } from "./time.ts";
import { behindWhat, isChild, isLive, nextInTurn, queueOf, type Behind, type Doors } from "./turn.ts";

/** Everything that has not ended. `generation` is the newest bot's: what an older one says is refused. */
export interface LedgerStore {
  readonly generation: number;
  readonly nextPlace: number;
  readonly nextSeq: number;
  readonly entries: readonly Entry[];
}

/** A ledger that nobody has asked anything. */
export const EMPTY_LEDGER: LedgerStore = { generation: 0, nextPlace: 1, nextSeq: 1, entries: [] };

/** A store and what the step found. */
export interface Step<T> {
  readonly store: LedgerStore;
  readonly found: T;
}

const same = <T>(store: LedgerStore, found: T): Step<T> => ({ store, found });

/** Whether the bot of this generation writes no more: a newer one came, or this ledger never numbered it. */
export const isFenced = (store: LedgerStore, generation: number): boolean => generation !== store.generation;

function withEntry(store: LedgerStore, entry: Entry): LedgerStore {
  const known = store.entries.some((one) => one.ask.id === entry.ask.id);
  const entries = known
    ? store.entries.map((one) => (one.ask.id === entry.ask.id ? entry : one))
    : [...store.entries, entry];
  return { ...store, entries };
}

/** The entry of this id while it has not ended. */
export function entryOf(store: LedgerStore, id: string): Entry | undefined {
  return store.entries.find((entry) => entry.ask.id === id);
}

/** Its place among those who wait for the same repository, from 1; 0 for one that does not wait. */
export function positionOf(store: LedgerStore, id: string): number {
  const entry = entryOf(store, id);
  return entry === undefined ? 0 : queueOf(store, entry.ask.resource).findIndex((one) => one.ask.id === id) + 1;
}

/** A restart of the ledger: no lease lapses for the time in which nobody could renew it. */
export function ledgerBootStep(store: LedgerStore, now: Instant): LedgerStore {
  const heldUntil = now + CLOCK.ledgerLeaseMs;
  return {
    ...store,
    entries: store.entries.map((entry) =>
      isLive(entry) && entry.state !== "handedOff"
        ? { ...entry, heldUntil: Math.max(entry.heldUntil, heldUntil) }
        : entry,
    ),
  };
}

/** A new bot: its number is the fencing token of everything it writes. */
export function generationStep(store: LedgerStore): Step<number> {
  const generation = store.generation + 1;
  return { store: { ...store, generation }, found: generation };
}

export type AskFound =
  | { readonly kind: "admitted"; readonly entry: Entry }
  | {
      readonly kind: "queued";
      readonly entry: Entry;
      readonly position: number;
      readonly behind: Behind;
    }
  /** A later message of a thread that waits already is added to what it waits with. */
  | { readonly kind: "added"; readonly entry: Entry; readonly position: number }
  | { readonly kind: "known"; readonly id: string }
  | Full
  | { readonly kind: "fenced" };

function admitted(entry: Entry, doors: Doors, now: Instant): Entry {
  return {
    ...entry,
    state: "admitted",
    holder: doors.generation,
    heldUntil: now + CLOCK.ledgerLeaseMs,
    admittedAt: now,
    leaseUntil: now + (entry.ask.leaseMs ?? doors.leases?.[entry.ask.kind] ?? doors.leaseMs),
    tries: entry.tries + 1,
  };
}

const entryFor = (ask: Ask, place: number, now: Instant): Entry => ({
  ask,
  askedAt: now,
  place,
  state: "queued",
  holder: 0,
  heldUntil: 0,
  admittedAt: null,
  leaseUntil: null,
  tries: 0,
  reading: null,
  messages: [],
  delivered: 0,
  toldOf: null,
  metDrain: null,
  verdict: null,
});

/**
 * One ask (protocol.md, "The bot's door"): admitted with its run's row in this very step, or queued behind what it
 * waits for. The same key is the same ask; a thread that waits already waits with one more text.
 */
export function askStep(store: LedgerStore, ask: Ask, doors: Doors, now: Instant): Step<AskFound> {
  if (isFenced(store, doors.generation)) return same(store, { kind: "fenced" });
  const known = store.entries.find(
    (entry) =>
      entry.ask.key === ask.key || entry.ask.id === ask.id || entry.messages.some((one) => one.key === ask.key),
  );
  if (known !== undefined) return same(store, { kind: "known", id: known.ask.id });
  const waiting = queueOf(store, ask.resource).find((entry) => entry.ask.threadKey === ask.threadKey);
  if (waiting !== undefined) {
    const { store: added, found } = addText(store, waiting, ask, now);
    if (found.kind === "full") return same(store, found);
    return { store: added, found: { ...found, position: positionOf(added, waiting.ask.id) } };
  }
  const placed = { ...store, nextPlace: store.nextPlace + 1 };
  const entry = entryFor(ask, store.nextPlace, now);
  const full = fullBy(entry, store.entries);
  if (full !== undefined) return same(store, full);
  const behind = behindWhat(store, entry, doors);
  if (behind === null) {
    const run = admitted(entry, doors, now);
    return { store: withEntry(placed, run), found: { kind: "admitted", entry: run } };
  }
  const passes = behind !== "door" && isChild(store, ask);
  const waits: Entry = { ...entry, metDrain: passes ? null : (doors.closedBy ?? null) };
  const queued = withEntry(placed, waits);
  return { store: queued, found: { kind: "queued", entry: waits, position: positionOf(queued, ask.id), behind } };
}

/** What became of a text for a queued ask. */
type Added = { readonly kind: "added"; readonly entry: Entry } | Full;

/** What was said later to a queued ask is a part of it, behind what was said before it was sent back; its key stays known. */
function addText(
  store: LedgerStore,
  entry: Entry,
  said: { readonly key: string; readonly text: string },
  now: Instant,
): Step<Added> {
  const message: Message = { seq: store.nextSeq, key: said.key, kind: "added", text: said.text, at: now };
  const open = undelivered(entry);
  const text = [entry.ask.text, ...open.map((one) => one.text), said.text].join("\n");
  const folded = entry.messages.map((one): Message => (open.includes(one) ? { ...one, kind: "added" } : one));
  const messages = [...folded, message];
  const longer: Entry = { ...entry, ask: { ...entry.ask, text }, messages, delivered: message.seq };
  const full = fullBy(longer, store.entries);
  if (full !== undefined) return same(store, full);
  const next = withEntry({ ...store, nextSeq: store.nextSeq + 1 }, longer);
  return { store: next, found: { kind: "added", entry: longer } };
}

/**
 * Admits the next of a repository's queue whose turn it is; null when it is nobody's. In the order of arrival, and each
 * exactly once, since this step is its admission.
 */
export function dispatchStep(store: LedgerStore, resource: string, doors: Doors, now: Instant): Step<Entry | null> {
  if (isFenced(store, doors.generation)) return same(store, null);
  const next = nextInTurn(store, resource, doors);
  if (next === undefined) return same(store, null);
  const run = admitted(next, doors, now);
  return { store: withEntry(store, run), found: run };
}

/** The entry while this generation holds it: what an older bot says of it is refused. */
function heldBy(store: LedgerStore, id: string, generation: number): Entry | undefined {
  const entry = entryOf(store, id);
  return entry !== undefined && isLive(entry) && entry.holder === generation ? entry : undefined;
}

/** `ended`: it was told to stop meanwhile, and waits no more. */
export interface ReturnFound {
  readonly kind: "queued" | "ended";
  readonly entry: Entry;
}

/**
 * The resident's door was closed to an admitted run after all, by the drain `closedBy` where that is said: it waits again, at
 * its old place, with no lease.
 */
export function returnStep(
  store: LedgerStore,
  id: string,
  generation: number,
  closedBy: string | null,
): Step<ReturnFound | null> {
  const held = heldBy(store, id, generation);
  if (held?.state !== "admitted") return same(store, null);
  const entry: Entry = {
    ...held,
    state: "queued",
    holder: 0,
    heldUntil: 0,
    admittedAt: null,
    leaseUntil: null,
    tries: held.tries - 1,
    metDrain: closedBy ?? held.metDrain,
  };
  if (undelivered(entry).some((message) => message.kind === "stop"))
    return { store: withoutEntry(store, id), found: { kind: "ended", entry } };
  return { store: withEntry(store, entry), found: { kind: "queued", entry } };
}

/** What a holder says of its run: it runs, how far it was read, which message has reached it, how often it was begun. */
export interface Progress {
  readonly reading?: Reading;
  readonly delivered?: number;
  readonly tries?: number;
  /** The fleet's own word of the lease, which never moves later. */
  readonly leaseUntil?: Instant;
  /** How it ended: the first word stands, and whoever holds it next only finishes what it wants behind that. */
  readonly verdict?: Verdict;
}

/** Notes progress of a run; null when this generation does not hold it. */
export function progressStep(store: LedgerStore, id: string, generation: number, said: Progress): Step<Entry | null> {
  const entry = heldBy(store, id, generation);
  if (entry === undefined) return same(store, null);
  const leaseUntil =
    said.leaseUntil === undefined || entry.leaseUntil === null
      ? entry.leaseUntil
      : Math.min(entry.leaseUntil, said.leaseUntil);
  const moved: Entry = {
    ...entry,
    state: "running",
    leaseUntil,
    reading: said.reading ?? entry.reading,
    delivered: Math.max(entry.delivered, said.delivered ?? 0),
    tries: Math.max(entry.tries, said.tries ?? 0),
    verdict: entry.verdict ?? said.verdict ?? null,
  };
  return { store: withEntry(store, moved), found: moved };
}

/** A bot lives: everything that it holds is held for one more ledger lease. */
export function heartbeatStep(store: LedgerStore, generation: number, now: Instant): Step<readonly string[]> {
  const held = store.entries.filter((entry) => isLive(entry) && entry.holder === generation);
  const heldUntil = now + CLOCK.ledgerLeaseMs;
  const entries = store.entries.map((entry) => (held.includes(entry) ? { ...entry, heldUntil } : entry));
  return { store: held.length === 0 ? store : { ...store, entries }, found: held.map((entry) => entry.ask.id) };
}

/**
 * A bot that ends leaves what it holds to the next one; nothing of it is stopped. `since`: what each bot from that number on held,
 * up to the one that asks, all of which are known to have ended; what the one that asks holds by now is its own.
 */
export function handOffStep(store: LedgerStore, generation: number, since?: number): Step<readonly string[]> {
  const isLeft = (holder: number): boolean =>
    since === undefined ? holder === generation : holder >= since && holder < generation;
  const held = store.entries.filter((entry) => isLive(entry) && isLeft(entry.holder));
  const entries = store.entries.map((entry): Entry =>
    held.includes(entry) ? { ...entry, state: "handedOff" } : entry,
  );
  return { store: { ...store, entries }, found: held.map((entry) => entry.ask.id) };
}

/** A bot takes what an older one handed off, or holds no more since it fell silent; as much as one answer can hold. */
export function reclaimStep(store: LedgerStore, generation: number, now: Instant): Step<readonly Entry[]> {
  if (isFenced(store, generation)) return same(store, []);
  const lost = store.entries.filter(
    (entry) => isLive(entry) && entry.holder < generation && (entry.state === "handedOff" || now >= entry.heldUntil),
  );
  const taken = lost.slice(0, LIMIT.reclaimedAtOnce).map((entry): Entry => ({
    ...entry,
    // One whose process was never read may still stand at the resident's door.
    state: entry.reading === null ? "admitted" : "running",
    holder: generation,
    heldUntil: now + CLOCK.ledgerLeaseMs,
  }));
  return { store: taken.reduce(withEntry, store), found: taken };
}

export type MessageFound =
  | { readonly kind: "taken"; readonly entry: Entry; readonly message: Message }
  | { readonly kind: "known"; readonly entry: Entry }
  /** It was said to an ask that waits, and is a part of it now. */
  | { readonly kind: "added"; readonly entry: Entry }
  /** A stop of an ask that waits ends it: its place is free. */
  | { readonly kind: "ended"; readonly entry: Entry }
  | Full
  | { readonly kind: "over" };

/** A message for a run in flight passes whatever is closed, and is written only while the run lives. */
export function messageStep(
  store: LedgerStore,
  id: string,
  said: { readonly key: string; readonly kind: MessageKind; readonly text: string },
  now: Instant,
): Step<MessageFound> {
  const entry = entryOf(store, id);
  if (entry === undefined) return same(store, { kind: "over" });
  const isStopping = said.kind === "stop" && undelivered(entry).some((one) => one.kind === "stop");
  if (isStopping || entry.messages.some((one) => one.key === said.key)) return same(store, { kind: "known", entry });
  if (!isLive(entry) && said.kind !== "stop") return addText(store, entry, said, now);
  const message: Message = { ...said, seq: store.nextSeq, at: now };
  const told: Entry = { ...entry, messages: [...entry.messages, message] };
  const next = { ...store, nextSeq: store.nextSeq + 1 };
  // It ends with what ended it: said again under its key, that is known.
  if (!isLive(entry)) return { store: withoutEntry(next, id), found: { kind: "ended", entry: told } };
  const full = said.kind === "stop" ? undefined : fullBy(told, store.entries);
  if (full !== undefined) return same(store, full);
  return { store: withEntry(next, told), found: { kind: "taken", entry: told, message } };
}

/** The store without this entry. */
export const withoutEntry = (store: LedgerStore, id: string): LedgerStore => ({
  ...store,
  entries: store.entries.filter((entry) => entry.ask.id !== id),
});

/** What has not reached a run, in order. A follow-up waits for the run's end, whatever reaches the run after it. */
export function undelivered({ messages, delivered }: Pick<Entry, "messages" | "delivered">): readonly Message[] {
  return messages.filter(({ kind, seq }) => kind === "followUp" || (kind !== "added" && seq > delivered));
}

export interface EndFound {
  readonly entry: Entry;
  /** What was said to the run and never reached it: one ask of the same thread, queued. */
  readonly left: Entry | null;
}

/**
 * A run has ended, by the word of who holds it. What is left of its messages becomes one ask, so that nothing said is
 * lost; a stop is an answer to whatever was said before it.
 */
export function endRunStep(
  store: LedgerStore,
  id: string,
  by: { readonly generation: number; readonly leftId: string },
  now: Instant,
): Step<EndFound | null> {
  const entry = heldBy(store, id, by.generation);
  if (entry === undefined) return same(store, null);
  const rest = withoutEntry(store, id);
  const waiting = undelivered(entry);
  const said = waiting.slice(waiting.findLastIndex((message) => message.kind === "stop") + 1);
  if (said.length === 0) return { store: rest, found: { entry, left: null } };
  const text = said.map((message) => message.text).join("\n");
  const ask: Ask = { ...entry.ask, id: by.leftId, key: `${entry.ask.key}/left`, text, leaseMs: null };
  const left = entryFor(ask, rest.nextPlace, now);
  const stored = withEntry({ ...rest, nextPlace: rest.nextPlace + 1 }, left);
  return { store: stored, found: { entry, left } };
}

/** What a queued ask waits for was told under this drain, which it has met so. Of a run that is kept which was heard before. */
export function toldStep(store: LedgerStore, id: string, drainId: string): LedgerStore {
  const entry = entryOf(store, id);
  if (entry === undefined || entry.toldOf === drainId) return store;
  const metDrain = isLive(entry) ? (entry.metDrain ?? drainId) : drainId;
  return withEntry(store, { ...entry, toldOf: drainId, metDrain });
}
