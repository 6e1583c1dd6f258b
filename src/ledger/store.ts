// What has not ended, key by key (docs/storage.md). Steps run over one value kept in memory and written through in one
// transaction, so that a step is all or nothing and a new boot begins from what was committed.

import * as z from "zod";
import type { Entry } from "#core/ask.ts";
import { entryOf, ledgerBootStep, EMPTY_LEDGER, type LedgerStore, type Step } from "#core/ledger.ts";
import type { Instant } from "#core/time.ts";
import { entrySchema } from "#wire/ledger.ts";
import { idSchema } from "#wire/names.ts";

const counters = z.object({ generation: z.number(), nextPlace: z.number(), nextSeq: z.number() });

/** Later than every bot that was numbered, so that one whose count cannot be read has to begin anew. */
const UNREAD_GENERATION = 1e12;

/** An end that no clock of ours reaches. */
const FAR = Date.UTC(2200, 0);

/** The thread stands in the key too: what cannot be read still keeps its own. */
const nameOf = ({ ask }: Entry): string => `${ask.threadKey}|${ask.id}`;

interface Loaded {
  readonly store: LedgerStore;
  /** Where each entry that cannot be read lies, by the id that stands for it. */
  readonly unread: Map<string, string>;
}

const threadOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf("|")));

/** The ids by which entries that cannot be read are named: their own, where their names tell one that nobody else has. */
function namesOfUnread(names: readonly string[], taken: ReadonlySet<string>): Map<string, string> {
  const unread = new Map<string, string>();
  for (const name of names) {
    const own = name.slice(name.lastIndexOf("|") + 1);
    const isOwn = idSchema.safeParse(own).success && !taken.has(own) && !unread.has(own);
    unread.set(isOwn ? own : `unreadable-${unread.size + 1}`, name);
  }
  return unread;
}

/** An entry that cannot be read counts as standing: a run of its thread that no bot holds, and none can take. */
function standIn(name: string, id: string): Entry {
  return {
    ask: {
      id,
      key: id,
      threadKey: threadOf(name),
      resource: "(a record that this build cannot read)",
      kind: "unreadable",
      text: "",
      by: "unknown",
      channel: "cli",
      leaseMs: null,
      ref: null,
      parent: null,
    },
    askedAt: 0,
    place: 0,
    state: "running",
    holder: Number.MAX_SAFE_INTEGER,
    heldUntil: FAR,
    admittedAt: null,
    leaseUntil: null,
    tries: 0,
    reading: null,
    messages: [],
    delivered: 0,
    toldOf: null,
    metDrain: null,
    verdict: null,
  };
}

/** The entries that can be believed: each under its own name, no id twice, and of a thread's live ones the first. */
function believed(stored: ReadonlyMap<string, unknown>): Entry[] {
  const [ids, live] = [new Set<string>(), new Set<string>()];
  return [...stored]
    .flatMap(([name, value]) => {
      const read = entrySchema.safeParse(value);
      return read.success && nameOf(read.data) === name ? [read.data] : [];
    })
    .toSorted((a, b) => a.place - b.place)
    .filter(({ ask, state }) => {
      if (ids.has(ask.id) || (state !== "queued" && live.has(ask.threadKey))) return false;
      ids.add(ask.id);
      if (state !== "queued") live.add(ask.threadKey);
      return true;
    });
}

/** A run with what its heartbeats said last; an older build wrote that into the entry alone. */
function withHold(entry: Entry, stored: unknown): Entry {
  const held = z.number().safeParse(stored);
  if (!held.success || entry.state === "queued") return entry;
  return { ...entry, heldUntil: Math.max(entry.heldUntil, held.data) };
}

/** Whether a step has done nothing to an entry but to hold it for longer, as each heartbeat does to all of its bot. */
function isOnlyHeld(before: Entry, after: Entry): boolean {
  const [old, fields] = [new Map<string, unknown>(Object.entries(before)), Object.entries(after)];
  return old.size === fields.length && fields.every(([name, value]) => name === "heldUntil" || old.get(name) === value);
}

function load(kv: SyncKvStorage): Loaded {
  const stored = new Map([...kv.list({ prefix: "entry:" })].map(([key, value]) => [key.slice("entry:".length), value]));
  const entries = believed(stored).map((entry) => withHold(entry, kv.get(`held:${nameOf(entry)}`)));
  const names = new Set(entries.map(nameOf));
  const unread = namesOfUnread(
    [...stored.keys()].filter((name) => !names.has(name)),
    new Set(entries.map(({ ask }) => ask.id)),
  );
  const standing = [...unread].map(([id, name]) => standIn(name, id));
  const kept = kv.get("ledger");
  const read = counters.safeParse(kept ?? (stored.size === 0 ? EMPTY_LEDGER : undefined));
  const { generation, nextPlace, nextSeq } = read.success
    ? read.data
    : { ...EMPTY_LEDGER, generation: UNREAD_GENERATION };
  const last = (numbers: readonly number[]): number => numbers.reduce((most, one) => Math.max(most, one), 0);
  return {
    store: {
      generation,
      nextPlace: Math.max(nextPlace, last(entries.map(({ place }) => place)) + 1),
      nextSeq: Math.max(nextSeq, last(entries.flatMap(({ messages }) => messages.map(({ seq }) => seq))) + 1),
      entries: [...standing, ...entries],
    },
    unread,
  };
}

/** What has not ended, over one object's storage. */
export interface EntryStorage {
  now(): LedgerStore;
  /** The ids that stand for entries which cannot be read. */
  unreadable(): readonly string[];
  /** One step, with everything it changes, also in the tables, committed together or not at all. */
  step<T>(run: (store: LedgerStore) => Step<T>): T;
  /** A start of the Worker's process: nobody could renew a lease before it. An object that comes back within one is none. */
  begin(boot: string | undefined, now: Instant): void;
}

/** The keys of the ledger over its object's storage. */
export function entryStorage(storage: DurableObjectStorage): EntryStorage {
  const { kv } = storage;
  const { store: loaded, unread } = load(kv);
  let store = loaded;

  function saveEntry(before: Entry | undefined, after: Entry): void {
    const name = nameOf(after);
    if (before !== undefined && isOnlyHeld(before, after)) return kv.put(`held:${name}`, after.heldUntil);
    kv.put(`entry:${name}`, after);
    kv.delete(`held:${name}`);
  }

  /** A record of another build is not written over: whoever can read it will. */
  function save(before: LedgerStore, after: LedgerStore): void {
    const { generation, nextPlace, nextSeq } = after;
    kv.put("ledger", { generation, nextPlace, nextSeq });
    const old = new Map(before.entries.map((entry) => [entry.ask.id, entry]));
    for (const entry of after.entries) {
      const known = old.get(entry.ask.id);
      old.delete(entry.ask.id);
      if (known !== entry && !unread.has(entry.ask.id)) saveEntry(known, entry);
    }
    for (const [id, entry] of old) {
      const name = unread.get(id) ?? nameOf(entry);
      kv.delete(`entry:${name}`);
      kv.delete(`held:${name}`);
    }
  }

  function step<T>(run: (store: LedgerStore) => Step<T>): T {
    const stepped = storage.transactionSync(() => {
      const next = run(store);
      if (next.store !== store) save(store, next.store);
      return next;
    });
    store = stepped.store;
    for (const id of unread.keys()) if (entryOf(store, id) === undefined) unread.delete(id);
    return stepped.found;
  }

  return {
    now: () => store,
    unreadable: () => [...unread.keys()],
    step,
    begin(boot, now) {
      if (boot !== undefined && kv.get("boot") === boot) return;
      step((before) => ({ store: ledgerBootStep(before, now), found: null }));
      if (boot !== undefined) kv.put("boot", boot);
    },
  };
}
