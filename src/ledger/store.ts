// What has not ended, key by key (docs/storage.md). Steps run over one value kept in memory and written through in one
// transaction, so that a step is all or nothing and a new boot begins from what was committed.

import * as z from "zod";
import type { Entry } from "#core/ask.ts";
import { ledgerBootStep, EMPTY_LEDGER, type LedgerStore, type Step } from "#core/ledger.ts";
import type { Instant } from "#core/time.ts";
import { entrySchema } from "#wire/ledger.ts";

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
  readonly unread: ReadonlyMap<string, string>;
}

/** An entry that cannot be read counts as standing: a run of its thread that no bot holds, and none can take. */
function standIn(name: string, id: string): Entry {
  return {
    ask: {
      id,
      key: id,
      threadKey: name.slice(0, Math.max(0, name.lastIndexOf("|"))),
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

function load(kv: SyncKvStorage): Loaded {
  const stored = new Map([...kv.list({ prefix: "entry:" })].map(([key, value]) => [key.slice("entry:".length), value]));
  const entries = believed(stored);
  const names = new Set(entries.map(nameOf));
  const unread = new Map(
    [...stored.keys()].filter((name) => !names.has(name)).map((name, n) => [`unreadable-${n + 1}`, name] as const),
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

  /** A record of another build is not written over: whoever can read it will. */
  function save(before: LedgerStore, after: LedgerStore): void {
    const { generation, nextPlace, nextSeq } = after;
    kv.put("ledger", { generation, nextPlace, nextSeq });
    const [old, ids] = [new Set(before.entries), new Set(after.entries.map(({ ask }) => ask.id))];
    for (const entry of before.entries)
      if (!ids.has(entry.ask.id)) kv.delete(`entry:${unread.get(entry.ask.id) ?? nameOf(entry)}`);
    for (const entry of after.entries)
      if (!old.has(entry) && !unread.has(entry.ask.id)) kv.put(`entry:${nameOf(entry)}`, entry);
  }

  function step<T>(run: (store: LedgerStore) => Step<T>): T {
    const stepped = storage.transactionSync(() => {
      const next = run(store);
      if (next.store !== store) save(store, next.store);
      return next;
    });
    store = stepped.store;
    return stepped.found;
  }

  return {
    now: () => store,
    unreadable: () => store.entries.flatMap(({ ask }) => (unread.has(ask.id) ? [ask.id] : [])),
    step,
    begin(boot, now) {
      if (boot !== undefined && kv.get("boot") === boot) return;
      step((before) => ({ store: ledgerBootStep(before, now), found: null }));
      if (boot !== undefined) kv.put("boot", boot);
    },
  };
}
