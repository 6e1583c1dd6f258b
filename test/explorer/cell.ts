// One resident with everything that bears its numbers: its store, the memory of its boot, what the registry keeps of
// it, and what is on its way between the two. Kept canonical: counters are ranks, instants are relative to now.

import { CLOCK } from "#core/budgets.ts";
import type { AttachEffect, AttachState } from "#core/gate.ts";
import type { Entry, LookId, Word } from "#core/quiet.ts";
import type { Registration } from "#core/registration.ts";
import type { ReleaseState } from "#core/release.ts";
import type { Look, ResidentStore, Seal } from "#core/resident.ts";
import type { Instant, Ms } from "#core/time.ts";
import type { WaitState } from "#core/wait.ts";
import type { Container } from "./container.ts";

/**
 * An attach under way in this boot; `look` is its question that has no row yet, `work` how far its workspace has come:
 * the container is `renewed` or `cycled` for it, and once `inside` it makes the workspace there.
 */
export interface Attaching {
  readonly run: number;
  readonly state: AttachState;
  readonly look: number | null;
  readonly work: "renewed" | "cycled" | "inside" | null;
}

/** A release under way in this boot. */
export interface Releasing {
  readonly run: number;
  readonly state: ReleaseState;
}

/** A question that the registry will hear after its asker has given up on it. */
export interface LateLook extends LookId {
  readonly run: number;
}

export interface Cell {
  readonly store: ResidentStore;
  readonly attaches: readonly Attaching[];
  readonly releases: readonly Releasing[];
  readonly lastLook: number;
  readonly entry: Entry;
  readonly words: readonly Word[];
  readonly lateLooks: readonly LateLook[];
  readonly lateAsks: readonly Seal[];
  readonly lateUnseals: readonly number[];
  /** Runs whose process lives in this container. */
  readonly alive: readonly number[];
  /** Null in the worlds that have no containers. */
  readonly container: Container | null;
  /** By run: the newest generation whose caller has detached, and the newest that was told "admitted". */
  readonly done: readonly number[];
  readonly held: readonly number[];
  /** Runs whose row was written without the registry's answer: it cannot know of them before their word. */
  readonly blind: readonly number[];
  /** By run: how its caller waits at the closed door, and the drain that refused it. */
  readonly waits: readonly (WaitState | null)[];
  readonly refused: readonly (string | null)[];
}

const byValue = (a: number, b: number): number => a - b;

type Rank = (value: number) => number;

/** Order-preserving renumbering: the core only compares these counters and adds one to the largest. */
function ranks(values: readonly number[]): Rank {
  const sorted = [...new Set(values)].toSorted(byValue);
  const known = new Map(sorted.map((value, index) => [value, index]));
  return (value) => known.get(value) as number;
}

/** How one canonicalisation renumbers and how far it moves the clock. */
interface Renaming {
  readonly by: Ms;
  readonly seq: Rank;
  readonly incarnation: Rank;
  readonly look: (incarnation: number, n: number) => number;
}

const ended = (at: Instant, by: Ms): Instant => Math.max(at - by, -CLOCK.graceMs);

const rowsOf = (cell: Cell): readonly Registration[] => [
  ...cell.store.rows,
  ...cell.attaches.flatMap(({ state }) => ("row" in state.effect ? [state.effect.row] : [])),
  ...cell.releases.flatMap(({ state }) => ("row" in state.effect ? [state.effect.row] : [])),
];

function renamingOf(cell: Cell, by: Ms): Renaming {
  const { store, entry, words, lateLooks } = cell;
  const seq = ranks([store.seq, entry.seq, ...words.map((word) => word.seq), ...rowsOf(cell).map((row) => row.seq)]);
  const asked = [...entry.counted, ...lateLooks];
  const incarnation = ranks([
    store.incarnation,
    entry.incarnation,
    ...words.map((word) => word.incarnation),
    ...asked.map((one) => one.incarnation),
  ]);
  const numbers = new Map<number, number[]>();
  const note = (boot: number, n: readonly number[]): void =>
    void numbers.set(boot, [...(numbers.get(boot) ?? [0]), ...n]);
  note(store.incarnation, [cell.lastLook, ...cell.attaches.flatMap(({ look }) => (look === null ? [] : [look]))]);
  for (const { incarnation: boot, n } of asked) note(boot, [n]);
  for (const { incarnation: boot, looks } of words) note(boot, [looks.last, ...looks.open]);
  const byBoot = new Map([...numbers].map(([boot, n]) => [boot, ranks(n)]));
  return { by, seq, incarnation, look: (boot, n) => (byBoot.get(boot) as Rank)(n) };
}

/** A row as this resident keeps it; `told` rows are the registry's copies, whose `seq` nobody reads. */
function row(kept: Registration, to: Renaming, told: boolean): Registration {
  const { runId, threadKey, kind, generation, state, seq, leaseUntil, parent } = kept;
  const renamed = told ? 0 : to.seq(seq);
  return {
    runId,
    threadKey,
    kind,
    generation,
    state,
    seq: renamed,
    since: 0,
    leaseUntil: ended(leaseUntil, to.by),
    parent,
  };
}

const byThread = (a: Registration, b: Registration): number => (a.threadKey < b.threadKey ? -1 : 1);
const sealAt = (seal: Seal, by: Ms): Seal => ({
  drainId: seal.drainId,
  attempt: seal.attempt,
  until: Math.max(0, seal.until - by),
});
const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);

function lookAt(look: Look, by: Ms): Look {
  if (look.kind === "unreadable" || look.parentUntil === null) return look;
  return { ...look, parentUntil: ended(look.parentUntil, by) };
}

function effectAt(effect: AttachEffect, to: Renaming): AttachEffect {
  switch (effect.do) {
    case "look":
      return { do: "look", seal: effect.seal === null ? null : { ...sealAt(effect.seal, to.by), until: 0 } };
    case "row":
      return { do: "row", look: lookAt(effect.look, to.by) };
    case "endOld":
      return { do: "endOld", row: row(effect.row, to, false) };
    case "provision":
    case "admit":
      return { do: effect.do, row: row(effect.row, to, false), again: effect.again };
    case "drop":
      return { ...effect, row: row(effect.row, to, false) };
    default:
      return effect;
  }
}

function releaseAt({ run, state }: Releasing, to: Renaming): Releasing {
  const { effect } = state;
  if (!("row" in effect)) return { run, state };
  return { run, state: { ...state, effect: { do: effect.do, row: row(effect.row, to, false) } } };
}

function wordAt(word: Word, to: Renaming): Word {
  const { resource, incarnation, seq, looks } = word;
  const rank = (n: number): number => to.look(incarnation, n);
  return {
    resource,
    incarnation: to.incarnation(incarnation),
    seq: to.seq(seq),
    rows: word.rows.map((kept) => row(kept, to, true)).toSorted(byThread),
    looks: { last: rank(looks.last), open: looks.open.map(rank).toSorted(byValue) },
  };
}

function waitAt(wait: WaitState | null, by: Ms): WaitState | null {
  if (wait === null) return null;
  const at = (instant: Instant): Instant => Math.max(0, instant - by);
  const step = wait.step.do === "pause" ? { ...wait.step, at: 0 } : wait.step;
  const { wakeSince } = wait;
  const woken = wakeSince === null ? null : wakeSince - by;
  return {
    ...wait,
    since: 0,
    deadline: at(wait.deadline),
    leaseUntil: wait.metDrain ? 0 : at(wait.leaseUntil),
    wakeSince: woken,
    drainSince: null,
    drainedMs: 0,
    until: null,
    quietBy: null,
    step,
  };
}

function storeAt(store: ResidentStore, to: Renaming): ResidentStore {
  const rows = store.rows.map((kept) => row(kept, to, false)).toSorted(byThread);
  const seq = to.seq(store.seq);
  return {
    incarnation: to.incarnation(store.incarnation),
    seq,
    told: store.told >= store.seq ? seq : -1,
    rows,
    seal: store.seal === null ? null : sealAt(store.seal, to.by),
    lastAttempt: store.lastAttempt,
    cycling: store.cycling,
  };
}

function entryAt(entry: Entry, to: Renaming): Entry {
  const counted = entry.counted
    .map(({ incarnation, n, runId }) => ({
      incarnation: to.incarnation(incarnation),
      n: to.look(incarnation, n),
      runId,
      at: 0,
    }))
    .toSorted(byText);
  const rows = entry.rows.map((kept) => row(kept, to, true)).toSorted(byThread);
  return {
    resource: entry.resource,
    incarnation: to.incarnation(entry.incarnation),
    seq: to.seq(entry.seq),
    rows,
    counted,
  };
}

/** The cell `by` ms later in its canonical form. */
export function cellAfter(cell: Cell, by: Ms): Cell {
  const to = renamingOf(cell, by);
  const boot = cell.store.incarnation;
  const attaches = cell.attaches.map(({ run, state, look, work }): Attaching => {
    const renamed = { ask: state.ask, replaced: state.replaced, effect: effectAt(state.effect, to) };
    return { run, state: renamed, look: look === null ? null : to.look(boot, look), work };
  });
  return {
    store: storeAt(cell.store, to),
    attaches: attaches.toSorted(byText),
    releases: cell.releases.map((one) => releaseAt(one, to)).toSorted(byText),
    lastLook: to.look(boot, cell.lastLook),
    entry: entryAt(cell.entry, to),
    words: cell.words.map((word) => wordAt(word, to)).toSorted(byText),
    lateLooks: cell.lateLooks
      .map(({ run, incarnation, n }) => ({ run, incarnation: to.incarnation(incarnation), n: to.look(incarnation, n) }))
      .toSorted(byText),
    lateAsks: cell.lateAsks.map((seal) => sealAt(seal, by)).toSorted(byText),
    lateUnseals: cell.lateUnseals.toSorted(byValue),
    alive: cell.alive.toSorted(byValue),
    container: cell.container,
    done: cell.done,
    held: cell.held,
    blind: cell.blind.toSorted(byValue),
    waits: cell.waits.map((wait) => waitAt(wait, by)),
    refused: cell.refused,
  };
}

/** The instants at which something in the cell ends: leases with their grace, its seal, and the waits of its callers. */
export function endsInCell(cell: Cell): readonly Ms[] {
  const leases = cell.store.rows.map((kept) => kept.leaseUntil + CLOCK.graceMs);
  const seals = [...(cell.store.seal === null ? [] : [cell.store.seal]), ...cell.lateAsks].map((seal) => seal.until);
  const waits = cell.waits.flatMap((wait) => (wait === null || wait.step.do !== "pause" ? [] : [wait.deadline]));
  return [...leases, ...seals, ...waits];
}
