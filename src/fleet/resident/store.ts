// A resident's storage, key by key (docs/storage.md). The gate's steps run over one value kept in memory and written
// through in one transaction, so that a step is all or nothing and a new boot begins from what was committed.

import * as z from "zod";
import { EMPTY_RESIDENT, type ResidentStore, type Seal, type Stepped } from "#core/resident.ts";
import type { Registration } from "#core/registration.ts";
import { onboardBodySchema, type OnboardBody } from "#wire/attach.ts";
import { registrationSchema } from "../registry/store.ts";

const sealSchema: z.ZodType<Seal> = z.object({ drainId: z.string(), attempt: z.number(), until: z.number() });
const gateSchema = z.object({
  incarnation: z.number(),
  seq: z.number(),
  told: z.number(),
  lastAttempt: z.number(),
  seal: z.unknown(),
  cycling: z.boolean().default(false),
});

/** An end that no clock of ours reaches, and that an alarm can still hold. */
const FAR = Date.UTC(2200, 0);

/** An unreadable row counts as standing: it has this run's name, and only an admin's release or the far end takes it away. */
function unreadableRow(key: string): Registration {
  const threadKey = key.slice("row:".length);
  const runId = `unreadable-${threadKey.replaceAll(/[^A-Za-z0-9_-]/g, "-")}`.slice(0, 64);
  return {
    runId,
    threadKey,
    kind: "run",
    generation: Number.MAX_SAFE_INTEGER,
    state: "running",
    seq: 0,
    since: 0,
    leaseUntil: FAR,
    parent: null,
  };
}

/**
 * Later than everything that was counted, boots and rows alike: the words of a resident whose count cannot be read are
 * news, and what it lets through is numbered behind whatever it has taken back.
 */
const UNREAD_COUNT = 1e12;

/** An unreadable seal counts as standing until the registry is asked about it. */
function readSeal(stored: unknown, lastAttempt: number): Seal | null {
  if (stored === null || stored === undefined) return null;
  const seal = sealSchema.safeParse(stored);
  return seal.success ? seal.data : { drainId: "unreadable", attempt: lastAttempt, until: FAR };
}

function load(kv: SyncKvStorage): ResidentStore {
  const stored = kv.get("gate");
  const gate = gateSchema.safeParse(stored);
  const rows = [...kv.list({ prefix: "row:" })].map(([key, stored]) => {
    const row = registrationSchema.safeParse(stored);
    return row.success ? row.data : unreadableRow(key);
  });
  if (stored === undefined) return { ...EMPTY_RESIDENT, rows };
  if (!gate.success) {
    const counts = { incarnation: UNREAD_COUNT, seq: UNREAD_COUNT };
    return { ...EMPTY_RESIDENT, ...counts, rows, seal: readSeal(stored, 0) };
  }
  const { incarnation, seq, told, lastAttempt, cycling } = gate.data;
  return { incarnation, seq, told, lastAttempt, cycling, rows, seal: readSeal(gate.data.seal, lastAttempt) };
}

function save(kv: SyncKvStorage, before: ResidentStore, after: ResidentStore): void {
  const { rows, ...gate } = after;
  kv.put("gate", gate);
  for (const row of before.rows)
    if (!rows.some((kept) => kept.threadKey === row.threadKey)) kv.delete(`row:${row.threadKey}`);
  for (const row of rows) if (!before.rows.includes(row)) kv.put(`row:${row.threadKey}`, row);
}

export interface ResidentStorage {
  now(): ResidentStore;
  /** One storage step: what it found, with everything it changed committed together. */
  step<T>(run: (store: ResidentStore) => Stepped<T>): T;
  meta(): OnboardBody | undefined;
  writeMeta(meta: OnboardBody): void;
  sweepAt(): number | null;
  writeSweepAt(at: number): void;
  slug(threadKey: string): string | undefined;
  writeSlug(threadKey: string, slug: string): void;
}

/** The keys of one resident over its object's storage. */
export function residentStorage(storage: DurableObjectStorage): ResidentStorage {
  const { kv } = storage;
  let store = load(kv);
  return {
    now: () => store,
    step(run) {
      const stepped = storage.transactionSync(() => {
        const next = run(store);
        if (next.store !== store) save(kv, store, next.store);
        return next;
      });
      store = stepped.store;
      return stepped.found;
    },
    meta() {
      const meta = onboardBodySchema.safeParse(kv.get("meta"));
      return meta.success ? meta.data : undefined;
    },
    writeMeta: (meta) => kv.put("meta", meta),
    sweepAt: () =>
      z
        .number()
        .nullable()
        .catch(null)
        .parse(kv.get("sweepAt") ?? null),
    writeSweepAt: (at) => kv.put("sweepAt", at),
    slug: (threadKey) =>
      z
        .string()
        .optional()
        .catch(undefined)
        .parse(kv.get(`slug:${threadKey}`)),
    writeSlug: (threadKey, slug) => kv.put(`slug:${threadKey}`, slug),
  };
}
