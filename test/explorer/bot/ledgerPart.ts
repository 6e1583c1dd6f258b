// The ledger as the search keeps it: the shipped store in canonical form, its history as the ids and keys that are over, and
// the explorer's own memory of who came when and who was let out. What is asked of it goes through the fence first.

import type { Ask, Entry } from "#core/ask.ts";
import { CLOCK } from "#core/budgets.ts";
import { EMPTY_LEDGER, entryOf, type LedgerStore } from "#core/ledger.ts";
import { HOUR, type Ms } from "#core/time.ts";
import type { Doors } from "#core/turn.ts";
import { broken, RESOURCES, type Broken } from "../world.ts";
import { keyOf, type Asker } from "./botWorld.ts";
import type { BotModel } from "./botModel.ts";
import type { Asking, LedgerPart } from "./parts.ts";

/** The lease of every run: none ends within an exploration. */
const LEASE_MS: Ms = HOUR;

/** The ledger that nobody has asked anything. */
export const FIRST_LEDGER: LedgerPart = {
  up: true,
  store: EMPTY_LEDGER,
  ended: [],
  arrived: [],
  out: [],
  cards: [],
};

export const isLive = ({ state }: Pick<Entry, "state">): boolean => state !== "queued";
export const cellOf = (resource: string): 0 | 1 => (resource === RESOURCES[0] ? 0 : 1);

/** An ask, under the id of this time. */
export function askOf({ thread, cell, parent }: Asker, id: string): Ask {
  return {
    id,
    key: keyOf(id),
    threadKey: thread,
    resource: RESOURCES[cell],
    kind: "shell",
    text: keyOf(id),
    by: "",
    channel: "web",
    leaseMs: null,
    ref: null,
    parent: parent ?? null,
  };
}

function canonicalEntry(entry: Entry, by: Ms): Entry {
  const { ask, place, state, holder, heldUntil, leaseUntil, tries, reading, messages, delivered, toldOf } = entry;
  const { id, key, threadKey, resource, kind, text, channel, leaseMs, ref, parent } = ask;
  const isHeld = isLive(entry) && state !== "handedOff";
  return {
    ask: { id, key, threadKey, resource, kind, text, by: "", channel, leaseMs, ref, parent },
    askedAt: 0,
    place,
    state,
    holder,
    heldUntil: isHeld ? Math.max(0, heldUntil - by) : 0,
    admittedAt: leaseUntil === null ? null : 0,
    leaseUntil: leaseUntil === null ? null : LEASE_MS,
    tries,
    reading,
    messages: messages.map(({ seq, key: said, kind: as, text: words }) => ({
      seq,
      key: said,
      kind: as,
      text: words,
      at: 0,
    })),
    delivered,
    toldOf,
    metDrain: null,
    verdict: entry.verdict,
  };
}

/** A place that is behind every other. */
const BEHIND = 9;

/** Who came when matters within one repository alone: the places there, from 1. */
function ranked(entries: readonly Entry[]): readonly Entry[] {
  const counts = new Map<string, number>();
  return entries
    .toSorted((a, b) =>
      a.ask.resource === b.ask.resource ? a.place - b.place : a.ask.resource < b.ask.resource ? -1 : 1,
    )
    .map((entry) => {
      const place = (counts.get(entry.ask.resource) ?? 0) + 1;
      counts.set(entry.ask.resource, place);
      return { ...entry, place };
    });
}

/** The ledger `by` ms later. */
export function ledgerAfter(part: LedgerPart, by: Ms): LedgerPart {
  const { up, store, ended, arrived, out, cards } = part;
  const { generation, nextSeq } = store;
  const entries = ranked(store.entries.map((entry) => canonicalEntry(entry, by)));
  const known = new Map(entries.map(({ ask }) => [ask.id, ask.resource]));
  const order = (id: string): string => known.get(id) ?? "";
  return {
    up,
    store: { generation, nextPlace: BEHIND, nextSeq, entries },
    ended: ended.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    arrived: arrived
      .filter((id) => known.has(id))
      .toSorted((a, b) => (order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0)),
    out: out.toSorted(),
    cards: cards.filter(([id, card]) => known.has(id) || (card !== "ended" && hasEnded(part, id))),
  };
}

/** What a request of a bot came to: `fenced` once a newer bot has begun. */
export interface Asked<T> {
  readonly part: LedgerPart;
  readonly answer: T | "fenced";
  readonly broken: Broken | null;
}

/** What a step makes of the ledger. */
export interface Made<T> {
  readonly part: LedgerPart;
  readonly answer: T;
  readonly broken?: Broken | null;
}

/** Runs one step for a bot as the ledger does, behind its fence, and judges that nothing of an older bot passes it. */
export function botStep<T>(
  model: BotModel,
  part: LedgerPart,
  generation: number,
  run: (store: LedgerStore) => Made<T>,
): Asked<T> {
  if (model.core.isFenced(part.store, generation)) return { part, answer: "fenced", broken: null };
  const made = run(part.store);
  const next = ledgerAfter(made.part, 0);
  const gone = made.part.arrived.find((id) => entryOf(next.store, id) === undefined && !hasEnded(next, id));
  const lost = gone === undefined ? null : broken("12", `${gone} was asked, and is neither kept nor ended`);
  const old = generation !== part.store.generation && JSON.stringify(next) !== JSON.stringify(part);
  const slipped = old
    ? broken("fenced", `bot ${generation} writes, although bot ${part.store.generation} has begun`)
    : null;
  return { part: next, answer: made.answer, broken: slipped ?? lost ?? made.broken ?? null };
}

/** The ledger with an ask that is over. */
export function withEnded(part: LedgerPart, entry: Entry): LedgerPart {
  const { id, key } = entry.ask;
  const keys = [key, ...entry.messages.map((message) => message.key)];
  return { ...part, ended: [...part.ended, { id, keys }], out: part.out.filter((one) => one !== id) };
}

/** Whether an ask of this id is over. */
export const hasEnded = (part: LedgerPart, id: string): boolean => part.ended.some((one) => one.id === id);

/** Who is over without having been told so on its card. */
export const untoldIn = (part: LedgerPart): readonly string[] =>
  part.cards.flatMap(([id]) => (hasEnded(part, id) ? [id] : []));

/** Whom it was who let an ask out of the queue: twice is once too often, and so is once more under the same key. */
function letOutTwice(part: LedgerPart, entry: Entry): Broken | null {
  const { id } = entry.ask;
  if (part.out.includes(id) || hasEnded(part, id)) return broken("12", `${id} is dispatched a second time`);
  const isAsked = (other: string): boolean => other !== id && keyOf(other) === keyOf(id);
  const twin = [...part.out, ...part.ended.map((one) => one.id)].find(isAsked);
  return twin === undefined ? null : broken("12", `${id} is dispatched, and was dispatched as ${twin} before`);
}

/** Whether an ask is a part of a run in flight, by the store's own words. */
export function isChildIn(store: LedgerStore, { parent }: Ask): boolean {
  const of = parent === null ? undefined : entryOf(store, parent);
  return of !== undefined && isLive(of);
}

/** Who came earlier to the same repository and could have been let out just as well. */
function overtaken(part: LedgerPart, entry: Entry): Broken | null {
  const { id, resource } = entry.ask;
  const mine = part.arrived.indexOf(id);
  const before = mine === -1 ? part.arrived : part.arrived.slice(0, mine);
  const busy = new Set(part.store.entries.filter(isLive).map(({ ask }) => ask.threadKey));
  const passed = part.store.entries
    .filter((other) => !isLive(other) && other.ask.resource === resource && before.includes(other.ask.id))
    .find(({ ask }) => !busy.has(ask.threadKey));
  return passed === undefined
    ? null
    : broken("order", `${id} is dispatched before ${passed.ask.id}, which came earlier`);
}

/** What is wrong with letting this ask out, over the ledger as it was before. */
export function judgedAdmission(
  part: LedgerPart,
  entry: Entry,
  { open, passesChild }: Pick<Asking, "open" | "passesChild">,
): Broken | null {
  const { ask } = entry;
  const twice = letOutTwice(part, entry);
  if (twice !== null) return twice;
  const holder = part.store.entries.find((other) => isLive(other) && other.ask.threadKey === ask.threadKey);
  if (holder !== undefined) return broken("thread", `${ask.id} is let into its thread beside ${holder.ask.id}`);
  if (isChildIn(part.store, ask))
    return open || passesChild ? null : broken("8", `${ask.id} is let in through a door that is known to refuse it`);
  if (!open) return broken("8", `${ask.id} is dispatched through a closed door`);
  return overtaken(part, entry);
}

/** The doors as a bot tells them. */
export const doorsOf = (seen: Pick<Asking, "open" | "passesChild" | "passed">, generation: number): Doors => ({
  generation,
  open: seen.open,
  passesChild: seen.passesChild,
  passed: seen.passed,
  leaseMs: LEASE_MS,
});

/** A restart of its process: whoever holds a run has had no way to say so. */
export function booted(model: BotModel, part: LedgerPart): LedgerPart {
  return ledgerAfter({ ...part, up: true, store: model.core.ledgerBootStep(part.store, 0) }, 0);
}

/** A bot beats all the while: what it holds it holds for a whole lease from now on. */
export function beaten(model: BotModel, part: LedgerPart, generation: number): LedgerPart {
  return { ...part, store: model.core.heartbeatStep(part.store, generation, 0).store };
}

/** When runs of bots that are silent are free. */
export function endsInLedger(part: LedgerPart, beats: (holder: number) => boolean): readonly Ms[] {
  if (!part.up) return [CLOCK.ledgerLeaseMs];
  return part.store.entries.filter((entry) => isLive(entry) && !beats(entry.holder)).map((entry) => entry.heldUntil);
}
