// The drain: a record that closes admission, never a flag. It has its own end whoever dies, and `liveDrain` is its one reader.

import { CLOCK, type Budgets } from "./budgets.ts";
import { MINUTE, type Instant } from "./time.ts";

export const DRAIN_PHASES = ["draining", "swapping", "reconciling", "reopening"] as const;
export type DrainPhase = (typeof DRAIN_PHASES)[number];

/** What a release is made of: the commit it came from, the Worker bundle and the container image. */
export interface Build {
  readonly commit: string;
  readonly bundle: string;
  readonly image: string;
}

/**
 * Where the sealing of the fleet stands. `asking`: residents are being asked, attempt by attempt; `void`: something
 * was admitted meanwhile, so this attempt can no longer succeed; `sealed`: the swap has begun.
 */
export interface Sealing {
  readonly state: "none" | "asking" | "void" | "sealed";
  readonly attempt: number;
  readonly until: Instant;
}

/** A resident that a person leaves out of quiet and seal, and why. */
export interface Without {
  readonly resource: string;
  readonly reason: string;
}

/** The record (protocol.md, "The drain record"). All instants are the registry's; `until` and `phaseUntil` are exclusive. */
export interface Drain {
  readonly id: string;
  readonly since: Instant;
  readonly until: Instant;
  readonly by: string;
  readonly reason: string;
  /** The scope behind the bearer that asked. */
  readonly principal: string;
  /** A deploy's drain pulses and is the only one of its kind; a person's stands to its end. */
  readonly deploy: boolean;
  readonly phase: DrainPhase;
  readonly phaseSince: Instant;
  /** The phase's own bound: past it the record is no drain. */
  readonly phaseUntil: Instant | null;
  readonly build: Build | null;
  readonly sealing: Sealing;
  /** Residents whose image report is still wanted; in phase `reopening` only these are closed. */
  readonly holds: readonly string[];
  /** Residents that have reported this drain's image: a latch, also for a report that comes before the hold. */
  readonly reported: readonly string[];
  readonly without: readonly Without[];
}

/** An id that closes nothing any more, kept so that a late `/drain` finds it over. */
export interface Tombstone {
  readonly id: string;
  readonly at: Instant;
}

/** Everything the registry keeps about drains; `drains` is unread storage, since an old build may have written it. */
export interface DrainBook {
  readonly drains: readonly unknown[];
  readonly tombstones: readonly Tombstone[];
  /** Attempts to seal, numbered over all drains, so that a late ask of a dead deploy cannot replace a newer seal. */
  readonly attempts: number;
}

/** A fleet that nobody has ever closed. */
export const EMPTY_BOOK: DrainBook = { drains: [], tombstones: [], attempts: 0 };

/** Why a resident is open again (protocol.md, "Words"). */
export type ReopenCause = "lifted" | "reported" | "bound" | "pulse" | "expired";

const isInstant = (value: unknown): value is Instant => typeof value === "number" && Number.isFinite(value);
const isText = (value: unknown): value is string => typeof value === "string";
const isPhase = (value: unknown): value is DrainPhase => DRAIN_PHASES.some((phase) => phase === value);
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function readBuild(value: unknown): Build | null {
  if (!isRecord(value)) return null;
  const { commit, bundle, image } = value;
  return isText(commit) && isText(bundle) && isText(image) ? { commit, bundle, image } : null;
}

function readSealing(value: unknown): Sealing | undefined {
  if (!isRecord(value)) return undefined;
  const state = (["none", "asking", "void", "sealed"] as const).find((known) => known === value["state"]);
  const { attempt, until } = value;
  return state !== undefined && isInstant(attempt) && isInstant(until) ? { state, attempt, until } : undefined;
}

function readWithout(value: unknown): Without[] {
  return (Array.isArray(value) ? value : []).filter(
    (one): one is Without => isRecord(one) && isText(one["resource"]) && isText(one["reason"]),
  );
}

const textsIn = (value: unknown): string[] => (Array.isArray(value) ? value.filter(isText) : []);

/** Reads one stored record. A shape that this build cannot read is `undefined`; unknown fields are ignored. */
export function readDrain(stored: unknown): Drain | undefined {
  if (!isRecord(stored)) return undefined;
  const { id, since, until, by, reason, phase, phaseSince, phaseUntil, deploy } = stored;
  const sealing = readSealing(stored["sealing"]);
  if (!isText(id) || !isInstant(since) || !isInstant(until) || !isText(by) || !isText(reason)) return undefined;
  if (!isPhase(phase) || !isInstant(phaseSince) || typeof deploy !== "boolean" || sealing === undefined)
    return undefined;
  if (phaseUntil !== null && !isInstant(phaseUntil)) return undefined;
  const principal = isText(stored["principal"]) ? stored["principal"] : "unknown";
  const [holds, reported] = [textsIn(stored["holds"]), textsIn(stored["reported"])];
  const [build, without] = [readBuild(stored["build"]), readWithout(stored["without"])];
  const said = { id, since, until, by, reason, principal, deploy, build, without };
  return { ...said, phase, phaseSince, phaseUntil, sealing, holds, reported };
}

/** What of a record says when it ends. */
export type DrainEnds = Pick<Drain, "phase" | "until" | "phaseUntil">;

/** When and by which cause a record ends if nobody touches it again. */
export function endOf(drain: DrainEnds): { readonly at: Instant; readonly cause: ReopenCause } {
  if (drain.phaseUntil === null || drain.phaseUntil >= drain.until) return { at: drain.until, cause: "expired" };
  return { at: drain.phaseUntil, cause: drain.phase === "draining" ? "pulse" : "bound" };
}

/** The one reader (protocol.md): no drain for nothing, for an unreadable shape, for a record past any of its ends. */
export function liveDrain(stored: unknown, now: Instant): Drain | undefined {
  const drain = readDrain(stored);
  return drain !== undefined && now < endOf(drain).at ? drain : undefined;
}

/** The end that is said of a record: its own, or the bound of a phase that nobody renews. */
export function saidEnd(drain: DrainEnds): Instant {
  return drain.phase === "draining" ? drain.until : endOf(drain).at;
}

/** The live drains of a book, the one that ends last first. */
export function liveDrains(book: DrainBook, now: Instant): readonly Drain[] {
  return book.drains
    .map((stored) => liveDrain(stored, now))
    .filter((drain) => drain !== undefined)
    .toSorted((a, b) => saidEnd(b) - saidEnd(a) || (a.id < b.id ? -1 : 1));
}

/** Stored records that no reader of this build understands; a deploy is refused on any, a run on none. */
export function unreadableDrains(book: DrainBook): number {
  return book.drains.filter((stored) => readDrain(stored) === undefined).length;
}

/** Whether a live drain closes this resident: everything, but in phase `reopening` only those it still holds. */
export function closes(drain: Drain, resource: string): boolean {
  return drain.phase !== "reopening" || drain.holds.includes(resource);
}

/** The live drain that closes this resident and ends last, as a refusal carries it. */
export function closingDrain(book: DrainBook, resource: string, now: Instant): Drain | undefined {
  return liveDrains(book, now).find((drain) => closes(drain, resource));
}

/** The next instant at which some live record ends by itself, for the registry's alarm and the watch. */
export function nextEnd(book: DrainBook, now: Instant): Instant | undefined {
  const ends = liveDrains(book, now).map((drain) => endOf(drain).at);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** A parsed `POST /drain`. `minutes` is an integer in [1, cap], the parser's word. */
export interface DrainAsk {
  readonly id: string;
  readonly minutes: number;
  readonly by: string;
  readonly reason: string;
  readonly deploy: boolean;
  readonly build: Build | null;
  readonly without: readonly Without[];
  readonly principal: string;
}

/** Whether a deployer is at work under this record; one that is `reopening` has been lifted by its deployer. */
export function isDeploying(drain: Drain): boolean {
  return drain.deploy && drain.phase !== "reopening";
}

export type DrainAnswer =
  | { readonly kind: "created" | "renewed"; readonly book: DrainBook; readonly drain: Drain }
  | { readonly kind: "over" }
  | { readonly kind: "busy"; readonly drain: Drain };

/** The book with this record in place of the one of the same id. */
export function withDrain(book: DrainBook, drain: Drain): DrainBook {
  return { ...book, drains: [...book.drains.filter((stored) => readDrain(stored)?.id !== drain.id), drain] };
}

/** The book without this id, which closes nothing ever again. */
export function buried(book: DrainBook, id: string, now: Instant): DrainBook {
  return {
    ...book,
    drains: book.drains.filter((stored) => readDrain(stored)?.id !== id),
    tombstones: [
      ...book.tombstones.filter((stone) => stone.id !== id && now - stone.at < CLOCK.tombstoneMs),
      { id, at: now },
    ],
  };
}

/**
 * Creates or renews (protocol.md: `POST /drain`). A renewal never moves an end earlier and moves a deploy's pulse
 * bound only while it is `draining`; an id that was lifted or has ended is over; a second deploy is refused by name.
 */
export function decideDrain(book: DrainBook, ask: DrainAsk, now: Instant): DrainAnswer {
  const known = book.drains.map(readDrain).find((drain) => drain?.id === ask.id);
  if (book.tombstones.some((stone) => stone.id === ask.id)) return { kind: "over" };
  if (known !== undefined && liveDrain(known, now) === undefined) return { kind: "over" };
  const other = liveDrains(book, now).find((drain) => isDeploying(drain) && drain.id !== ask.id);
  if (ask.deploy && other !== undefined) return { kind: "busy", drain: other };
  const asked = now + ask.minutes * MINUTE;
  if (known !== undefined) {
    const pulsed = known.deploy && known.phase === "draining" ? now + CLOCK.pulseBoundMs : known.phaseUntil;
    const drain = {
      ...known,
      until: Math.max(known.until, asked),
      phaseUntil: pulsed,
      build: ask.build ?? known.build,
    };
    return { kind: "renewed", book: withDrain(book, drain), drain };
  }
  const drain: Drain = {
    id: ask.id,
    since: now,
    until: asked,
    by: ask.by,
    reason: ask.reason,
    principal: ask.principal,
    deploy: ask.deploy,
    phase: "draining",
    phaseSince: now,
    phaseUntil: ask.deploy ? now + CLOCK.pulseBoundMs : null,
    build: ask.build,
    sealing: { state: "none", attempt: 0, until: now },
    holds: [],
    reported: [],
    without: ask.without,
  };
  return { kind: "created", book: withDrain(book, drain), drain };
}

/** What a deployer says of its upload when it ends a drain; `unknown` counts as saying nothing. */
export const UPLOAD_OUTCOMES = ["none", "refused", "failed", "landed", "unknown"] as const;
export type UploadOutcome = (typeof UPLOAD_OUTCOMES)[number];

export type LiftAnswer =
  /** `held`: residents that stay closed until their own report or the bound. */
  | { readonly kind: "lifted"; readonly book: DrainBook; readonly drain: Drain; readonly held: readonly string[] }
  | { readonly kind: "already"; readonly book: DrainBook }
  | { readonly kind: "deferred"; readonly drain: Drain; readonly at: Instant };

/** What a lift brings: the drain, the outcome of its upload, and whether an admin insists. */
export interface LiftAsk {
  readonly id: string;
  readonly outcome: UploadOutcome;
  readonly force: boolean;
}

/** Opens everything but the residents still held, which stay closed to the bound that their phase has. */
function reopened(book: DrainBook, drain: Drain, now: Instant): LiftAnswer {
  if (drain.holds.length === 0) return { kind: "lifted", book: buried(book, drain.id, now), drain, held: [] };
  const phaseSince = drain.phase === "reopening" ? drain.phaseSince : now;
  const open: Drain = { ...drain, phase: "reopening", phaseSince };
  return { kind: "lifted", book: withDrain(book, open), drain: open, held: open.holds };
}

/**
 * Lifts one drain (protocol.md: `POST /undrain`, "Ends during a swap"). Idempotent, and it leaves a tombstone for an
 * id never seen. In phase `swapping` an upload may still land, so only a named outcome ends it at once: `landed` only
 * when `servedId`, the drain that brought the Worker which answers, is this one. Anything else waits for the swap bound.
 * Behind a reconcile the residents that are held stay closed, unless an admin insists.
 */
export function decideLift(book: DrainBook, ask: LiftAsk, servedId: string | null, now: Instant): LiftAnswer {
  const drain = book.drains.map((stored) => liveDrain(stored, now)).find((live) => live?.id === ask.id);
  if (drain === undefined) return { kind: "already", book: buried(book, ask.id, now) };
  if (drain.phase === "swapping") {
    const proven = ask.outcome === "landed" ? servedId === drain.id : ask.outcome !== "unknown";
    if (!proven) return { kind: "deferred", drain, at: endOf(drain).at };
  }
  return reopened(book, ask.force ? { ...drain, holds: [] } : drain, now);
}

/** A record that has ended by itself since somebody last looked. */
export interface Ended {
  readonly drain: Drain;
  readonly at: Instant;
  readonly cause: ReopenCause;
}

/** Buries what has ended by itself and names it. Nothing depends on this being called: it only lets the registry tell. */
export function settle(book: DrainBook, now: Instant): { readonly book: DrainBook; readonly ended: readonly Ended[] } {
  const ended = book.drains
    .map(readDrain)
    .filter((drain) => drain !== undefined)
    .map((drain) => ({ drain, ...endOf(drain) }))
    .filter(({ at }) => now >= at);
  return { book: ended.reduce((rest, { drain }) => buried(rest, drain.id, now), book), ended };
}

/**
 * Whether an upload of this drain may begin now (asked as the very last act): it is live, its swap has begun, and the
 * swap bound is not so near that the upload would be cut before it could land.
 */
export function mayUpload(drains: readonly unknown[], id: string, now: Instant): boolean {
  return drains
    .map((stored) => liveDrain(stored, now + CLOCK.uploadCutMs))
    .some((drain) => drain?.id === id && drain.phase === "swapping");
}

/** Whether the ledger or the bot may be swapped under this drain now: it lives, and its own end is not near. */
export function mayRoll(drains: readonly unknown[], id: string, now: Instant): boolean {
  const drain = drains.map((stored) => liveDrain(stored, now)).find((live) => live?.id === id);
  return drain !== undefined && now + CLOCK.uploadCutMs < drain.until;
}

/** The live drain of another deploy, which even `--force` respects. */
export function otherDeploy(drains: readonly unknown[], id: string, now: Instant): Drain | undefined {
  return drains
    .map((stored) => liveDrain(stored, now))
    .find((drain) => drain !== undefined && isDeploying(drain) && drain.id !== id);
}

/** The latest a renewal can ask for, so that a deployer's pulse never moves its own stated end: whole minutes left, at least 1. */
export function pulseMinutes(until: Instant, now: Instant, budgets: Budgets): number {
  return Math.min(budgets.capMinutes, Math.max(1, Math.floor((until - now) / MINUTE)));
}
