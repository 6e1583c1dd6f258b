// What a resident keeps of admission, and each storage step over it. A step is one function from store to store:
// the object runs it inside one transaction, so rows and seal are ordered against each other and nothing comes between.

import { leaseSpent, leaseUntilOf, type AttachAsk, type Registration } from "./registration.ts";
import type { Budgets } from "./budgets.ts";
import type { Instant } from "./time.ts";

/** A resident's promise: I have no row and I admit nobody, for this attempt of this drain. */
export interface Seal {
  readonly drainId: string;
  readonly attempt: number;
  readonly until: Instant;
}

/** Everything that decides admission in one resident. */
export interface ResidentStore {
  /** Counts the object's boots; a row being attached belongs to one. */
  readonly incarnation: number;
  /** Moves with every change of the rows and with every boot, and never back: two rows never carry the same one. */
  readonly seq: number;
  /** The last `seq` of this incarnation that the registry acknowledged; the outbox is full while it is behind. */
  readonly told: number;
  readonly rows: readonly Registration[];
  readonly seal: Seal | null;
  /** The newest attempt ever taken; an older ask arrives too late to count. */
  readonly lastAttempt: number;
  /** The container is being restarted, by this boot; nothing is provisioned before its end. */
  readonly cycling: boolean;
}

/** A resident that was onboarded just now. */
export const EMPTY_RESIDENT: ResidentStore = {
  incarnation: 0,
  seq: 0,
  told: 0,
  rows: [],
  seal: null,
  lastAttempt: 0,
  cycling: false,
};

/** A store and what the step found. */
export interface Stepped<T> {
  readonly store: ResidentStore;
  readonly found: T;
}

const same = <T>(store: ResidentStore, found: T): Stepped<T> => ({ store, found });

function withRow(store: ResidentStore, row: Omit<Registration, "seq">): Stepped<Registration> {
  const seq = store.seq + 1;
  const written = { ...row, seq };
  const rows = [...store.rows.filter((kept) => kept.threadKey !== row.threadKey), written];
  return { store: { ...store, seq, rows }, found: written };
}

function withoutRow(store: ResidentStore, gone: Registration): ResidentStore {
  return { ...store, seq: store.seq + 1, rows: store.rows.filter((row) => row.threadKey !== gone.threadKey) };
}

/** A new boot of the object: what was being attached or restarted went with the old one; what runs goes on. */
export function bootStep(store: ResidentStore): ResidentStore {
  const rows = store.rows.filter((row) => row.state === "running");
  return { ...store, incarnation: store.incarnation + 1, seq: store.seq + 1, told: 0, rows, cycling: false };
}

/** An attach as it arrives; `underway` says that one of the same run is being carried out. */
export interface Arriving {
  readonly ask: AttachAsk;
  readonly underway: boolean;
}

/** What an attach meets when it arrives, before anybody is asked (protocol.md, "The gate", 1 and 2). */
export type Arrival =
  | { readonly kind: "join" }
  | { readonly kind: "registered"; readonly row: Registration }
  | { readonly kind: "oldGeneration"; readonly row: Registration }
  | { readonly kind: "leaseSpent"; readonly row: Registration }
  | { readonly kind: "threadBusy"; readonly row: Registration; readonly mayReplace: boolean }
  | { readonly kind: "new" };

/**
 * Judges an attach by what this resident knows itself. A registered run is admitted in this very step, whatever is
 * closed: its row stays `running`, `seq` and generation move, its lease never moves later.
 */
export function arriveStep(store: ResidentStore, asked: Arriving, now: Instant): Stepped<Arrival> {
  const { ask, underway } = asked;
  if (underway) return same(store, { kind: "join" });
  const row = store.rows.find((kept) => kept.threadKey === ask.threadKey);
  if (row === undefined) return same(store, { kind: "new" });
  if (row.runId !== ask.runId) return same(store, { kind: "threadBusy", row, mayReplace: mayReplace(ask, row) });
  if (row.state === "attaching") return same(store, { kind: "join" });
  if (ask.generation < row.generation) return same(store, { kind: "oldGeneration", row });
  if (leaseSpent(row, now)) return same(store, { kind: "leaseSpent", row });
  // It was let in for so long, whatever the fleet is configured with by now.
  const left = ask.remainingMs === null ? row.leaseUntil : now + Math.max(0, ask.remainingMs);
  const leaseUntil = Math.min(row.leaseUntil, left);
  const written = withRow(store, { ...row, generation: ask.generation, leaseUntil });
  return { store: written.store, found: { kind: "registered", row: written.found } };
}

function mayReplace(ask: AttachAsk, row: Registration): boolean {
  return ask.replace.by === "person" || (ask.replace.by === "ledger" && ask.replace.runId === row.runId);
}

/** What the registry said when asked; `sealStands` answers for the seal that was named in the question. */
export type Look =
  | {
      readonly kind: "open";
      readonly parentUntil: Instant | null;
      readonly sealStands: boolean;
      readonly asked: number | null;
    }
  | { readonly kind: "unreadable" };

/** An attach with what the registry said of it. */
export interface Looked {
  readonly ask: AttachAsk;
  readonly look: Look;
}

export type RowFound =
  | { readonly kind: "written"; readonly row: Registration }
  | { readonly kind: "sealed"; readonly seal: Seal }
  | { readonly kind: "taken"; readonly row: Registration };

/** Whether the seal in the store still forbids a row, given what the registry said of the one it was asked about. */
function sealForbids(seal: Seal, look: Look, now: Instant): boolean {
  if (look.kind === "unreadable") return now < seal.until;
  return look.asked !== seal.attempt || look.sealStands;
}

/**
 * The one step before any work (protocol.md, "The gate", 3): a standing seal refuses, else the row is written as
 * `attaching`. A seal newer than the look stands, since the registry was not asked about it.
 */
export function rowStep(store: ResidentStore, asked: Looked, budgets: Budgets, now: Instant): Stepped<RowFound> {
  const { ask, look } = asked;
  if (store.seal !== null && sealForbids(store.seal, look, now))
    return same(store, { kind: "sealed", seal: store.seal });
  const taken = store.rows.find((row) => row.threadKey === ask.threadKey);
  if (taken !== undefined) return same(store, { kind: "taken", row: taken });
  const parentUntil = look.kind === "open" ? look.parentUntil : null;
  const written = withRow(
    { ...store, seal: null },
    {
      runId: ask.runId,
      threadKey: ask.threadKey,
      kind: parentUntil === null ? ask.kind : "child",
      generation: ask.generation,
      state: "attaching",
      since: now,
      leaseUntil: leaseUntilOf(ask, parentUntil, budgets, now),
      parent: ask.parent,
    },
  );
  return { store: written.store, found: { kind: "written", row: written.found } };
}

/**
 * The workspace is ready: `attaching` becomes `running`, and a run that was registered already is one still. Null when
 * the row has gone meanwhile, by its lease's end or a release: nobody is told "admitted" without one.
 */
export function admitStep(store: ResidentStore, runId: string, seq: number): Stepped<Registration | null> {
  const row = store.rows.find((kept) => kept.runId === runId);
  if (row?.state === "running") return same(store, row);
  return row?.seq === seq ? withRow(store, { ...row, state: "running" }) : same(store, null);
}

/** Deletes a row only as it was when the caller began, since a re-attach may have come between (failed attach, release, sweep, lease's end). */
export function endStep(store: ResidentStore, runId: string, seq: number): Stepped<boolean> {
  const row = store.rows.find((kept) => kept.runId === runId && kept.seq === seq);
  return row === undefined ? same(store, false) : { store: withoutRow(store, row), found: true };
}

/** Who does something under a registration: which run of which thread, as which generation; null where that is not said. */
export interface Touching {
  readonly threadKey: string;
  readonly runId: string;
  readonly generation: number | null;
}

export type TouchFound =
  | { readonly kind: "touched"; readonly row: Registration }
  | { readonly kind: "oldGeneration"; readonly row: Registration }
  | { readonly kind: "unregistered" };

/**
 * An operation begins under a registration: `seq` moves, so that a release under way does not take the row from under it,
 * and numbers the operation. Who holds the run no more does nothing under it.
 */
export function touchStep(store: ResidentStore, { threadKey, runId, generation }: Touching): Stepped<TouchFound> {
  const row = store.rows.find((kept) => kept.threadKey === threadKey && kept.state === "running");
  if (row?.runId !== runId) return same(store, { kind: "unregistered" });
  if (generation !== null && generation < row.generation) return same(store, { kind: "oldGeneration", row });
  const written = withRow(store, row);
  return { store: written.store, found: { kind: "touched", row: written.found } };
}

/** Whether a command may be started in the container of this boot: one that was meant for another may have run there. */
export function mayStartIn(bootId: string, meantFor: string | null): boolean {
  return meantFor === null || meantFor === bootId;
}

export type SealFound =
  | { readonly kind: "sealed" }
  | { readonly kind: "busy"; readonly rows: readonly Registration[] }
  | { readonly kind: "stale"; readonly newest: number };

/** Seals, in one step, only if there is no row at all; an ask older than one already taken is too late. */
export function sealStep(store: ResidentStore, seal: Seal): Stepped<SealFound> {
  if (seal.attempt < store.lastAttempt) return same(store, { kind: "stale", newest: store.lastAttempt });
  if (store.rows.length > 0) return same({ ...store, lastAttempt: seal.attempt }, { kind: "busy", rows: store.rows });
  return same({ ...store, seal, lastAttempt: seal.attempt }, { kind: "sealed" });
}

/** Takes back the seal of this attempt and no other. Nothing depends on it: a seal stands only while the registry says so. */
export function unsealStep(store: ResidentStore, attempt: number): ResidentStore {
  return store.seal?.attempt === attempt ? { ...store, seal: null } : store;
}

/** The registry has taken a word of this incarnation; the outbox is empty once it has the newest. */
export function toldStep(store: ResidentStore, incarnation: number, seq: number): ResidentStore {
  return incarnation === store.incarnation ? { ...store, told: Math.max(store.told, seq) } : store;
}

/** What a restart of the container meets. */
export type CycleFound = { readonly kind: "begun" } | { readonly kind: "busy"; readonly why: string };

/**
 * Whether the container may be restarted, and if so that it is being restarted, in one step: there is no row but the
 * asking attach's own, no process of a run, and no other restart (protocol.md, "Reconcile, report, hold").
 */
export function cycleStep(
  store: ResidentStore,
  asked: { readonly own: string | null; readonly live: number },
): Stepped<CycleFound> {
  const others = store.rows.filter((row) => row.runId !== asked.own || row.state !== "attaching");
  if (others.length > 0)
    return same(store, { kind: "busy", why: `in flight: ${others.map((row) => row.runId).join(", ")}` });
  if (asked.live > 0) return same(store, { kind: "busy", why: `${asked.live} processes of runs are alive` });
  if (store.cycling) return same(store, { kind: "busy", why: "it is being restarted" });
  return { store: { ...store, cycling: true }, found: { kind: "begun" } };
}

/** The restart is over, however it went. */
export function cycledStep(store: ResidentStore): ResidentStore {
  return store.cycling ? { ...store, cycling: false } : store;
}
