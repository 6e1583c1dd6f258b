// The registry's storage, key by key (docs/storage.md). Reads parse, writes are synchronous and belong to the step that made them.

import * as z from "zod";
import { EMPTY_BOOK, readDrain, type DrainBook } from "#core/drain.ts";
import { emptyEntry, type Entry } from "#core/quiet.ts";
import { REGISTRATION_KINDS, type Registration } from "#core/registration.ts";
import type { Reconcile } from "#core/reconcile.ts";
import { onboardBodySchema } from "#wire/attach.ts";
import { reconcileSchema } from "#wire/drain.ts";

const tombstonesSchema = z.array(z.object({ id: z.string(), at: z.number() }));

export const registrationSchema: z.ZodType<Registration> = z.object({
  runId: z.string(),
  threadKey: z.string(),
  kind: z.enum(REGISTRATION_KINDS),
  generation: z.number(),
  state: z.enum(["attaching", "running"]),
  seq: z.number(),
  since: z.number(),
  leaseUntil: z.number(),
  parent: z.string().nullable(),
});

const entrySchema: z.ZodType<Entry> = z.object({
  resource: z.string(),
  incarnation: z.number(),
  seq: z.number(),
  rows: z.array(registrationSchema),
  counted: z.array(z.object({ incarnation: z.number(), n: z.number(), runId: z.string(), at: z.number() })),
});

const metaSchema = onboardBodySchema.extend({
  made: z.boolean().default(false),
  readable: z.boolean().default(true),
  ops: z.number().default(0),
  image: z.string().nullable().default(null),
  bootId: z.string().nullable().default(null),
  suspects: z.array(z.string()).default([]),
  /** The scope behind the bearer that asked for it. */
  onboardedBy: z.string().default("admin"),
});
/** What the registry knows of a resident beside its rows. */
export type Meta = z.infer<typeof metaSchema>;

/** A resident as it is written down first. */
export const newMeta = (body: z.infer<typeof onboardBodySchema>, onboardedBy: string): Meta =>
  metaSchema.parse({ ...body, onboardedBy });

const waitingSchema = z.object({ runId: z.string(), resource: z.string(), threadKey: z.string(), since: z.number() });
/** A run that met the closed door. */
export type Waiting = z.infer<typeof waitingSchema>;

export interface RegistryStore {
  book(): DrainBook;
  writeBook(before: DrainBook, after: DrainBook): void;
  /** Takes away the drains that this build cannot read, which no clock ends; answers how many. */
  dropUnreadDrains(): number;
  /** Runs that met the closed door, in order of arrival. */
  waiting(): Waiting[];
  writeWaiting(one: Waiting): void;
  dropWaiting(runId: string): void;
  entry(resource: string): Entry;
  entries(): Entry[];
  writeEntry(entry: Entry): void;
  meta(resource: string): Meta | undefined;
  metas(): Meta[];
  writeMeta(meta: Meta): void;
  forget(resource: string): void;
  /** The newest reconcile; one that this build cannot read is none, and each container is brought on at its next attach. */
  reconcile(): Reconcile | undefined;
  writeReconcile(operation: Reconcile): void;
  servedGeneration(): number;
  writeServedGeneration(generation: number): void;
}

function readBook(kv: SyncKvStorage): DrainBook {
  const tombstones = tombstonesSchema.safeParse(kv.get("tombstones"));
  const attempts = z.number().safeParse(kv.get("attempts"));
  return {
    drains: [...kv.list({ prefix: "drain:" })].map(([, stored]) => stored),
    tombstones: tombstones.success ? tombstones.data : EMPTY_BOOK.tombstones,
    attempts: attempts.success ? attempts.data : EMPTY_BOOK.attempts,
  };
}

function writeBook(kv: SyncKvStorage, before: DrainBook, after: DrainBook): void {
  const kept = after.drains.map((stored) => readDrain(stored)?.id);
  for (const stored of before.drains) {
    const id = readDrain(stored)?.id;
    if (id !== undefined && !kept.includes(id)) kv.delete(`drain:${id}`);
  }
  for (const stored of after.drains) {
    const drain = readDrain(stored);
    if (drain !== undefined && !before.drains.includes(stored)) kv.put(`drain:${drain.id}`, drain);
  }
  if (after.tombstones !== before.tombstones) kv.put("tombstones", after.tombstones);
  if (after.attempts !== before.attempts) kv.put("attempts", after.attempts);
}

const UNREAD_META: Omit<Meta, "resource"> = {
  url: "(a record that this build cannot read)",
  setup: null,
  test: null,
  made: true,
  readable: false,
  ops: 0,
  image: null,
  bootId: null,
  suspects: [],
  onboardedBy: "unknown",
};

/** A resident whose record this build cannot read belongs to the fleet all the same: a seal asks it, and a deploy is told. */
function readMetas(kv: SyncKvStorage): Meta[] {
  return [...kv.list({ prefix: "resident:" })].map(([key, stored]) => {
    const read = metaSchema.safeParse(stored);
    return read.success ? read.data : { ...UNREAD_META, resource: key.slice("resident:".length) };
  });
}

/** What is known of each resident's rows, and the residents of which this build cannot read it. */
function readEntries(kv: SyncKvStorage): { entries: Entry[]; unread: string[] } {
  const read = [...kv.list({ prefix: "entry:" })].map(([key, stored]) => ({
    key,
    read: entrySchema.safeParse(stored),
  }));
  return {
    entries: read.flatMap((one) => (one.read.success ? [one.read.data] : [])),
    unread: read.flatMap((one) => (one.read.success ? [] : [one.key.slice("entry:".length)])),
  };
}

/**
 * The registry's keys over one object's storage. What was read stays in memory, which lives exactly as long as the
 * object is the only writer of its storage; each write goes to both.
 */
export function registryStore(kv: SyncKvStorage): RegistryStore {
  const { entries: known, unread } = readEntries(kv);
  const entries = new Map(known.map((entry) => [entry.resource, entry]));
  const metas = new Map(
    readMetas(kv).map((meta) => [meta.resource, unread.includes(meta.resource) ? { ...meta, readable: false } : meta]),
  );
  let book = readBook(kv);
  const stored = reconcileSchema.safeParse(kv.get("reconcile"));
  let reconcile: Reconcile | undefined = stored.success ? stored.data : undefined;
  const waiting = new Map<string, Waiting>();
  for (const [, stored] of kv.list({ prefix: "waiting:" })) {
    const read = waitingSchema.safeParse(stored);
    if (read.success) waiting.set(read.data.runId, read.data);
  }
  return {
    book: () => book,
    waiting: () => [...waiting.values()].toSorted((a, b) => a.since - b.since),
    writeWaiting(one) {
      kv.put(`waiting:${one.runId}`, one);
      waiting.set(one.runId, one);
    },
    dropWaiting(runId) {
      kv.delete(`waiting:${runId}`);
      waiting.delete(runId);
    },
    writeBook(before, after) {
      writeBook(kv, before, after);
      book = after;
    },
    dropUnreadDrains() {
      const unread = [...kv.list({ prefix: "drain:" })].filter(([, stored]) => readDrain(stored) === undefined);
      for (const [key] of unread) kv.delete(key);
      book = { ...book, drains: book.drains.filter((stored) => readDrain(stored) !== undefined) };
      return unread.length;
    },
    entry: (resource) => entries.get(resource) ?? emptyEntry(resource),
    entries: () => [...entries.values()],
    writeEntry(entry) {
      kv.put(`entry:${entry.resource}`, entry);
      entries.set(entry.resource, entry);
    },
    meta: (resource) => metas.get(resource),
    metas: () => [...metas.values()],
    writeMeta(meta) {
      // A record of another build is not written over: it stays unreadable here, and whoever can read it will.
      const isUnread = metas.get(meta.resource)?.url === UNREAD_META.url;
      if (!isUnread) kv.put(`resident:${meta.resource}`, meta);
      metas.set(meta.resource, isUnread ? { ...meta, readable: false } : meta);
    },
    forget(resource) {
      kv.delete(`resident:${resource}`);
      kv.delete(`entry:${resource}`);
      metas.delete(resource);
      entries.delete(resource);
    },
    reconcile: () => reconcile,
    writeReconcile(operation) {
      if (operation === reconcile) return;
      kv.put("reconcile", operation);
      reconcile = operation;
    },
    servedGeneration: () => z.number().catch(0).parse(kv.get("served")),
    writeServedGeneration: (generation) => kv.put("served", generation),
  };
}
