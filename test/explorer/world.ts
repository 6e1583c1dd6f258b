// What one search is about: who is there, and which kinds of step may happen. A world leaves steps out to afford others.

import { budgetsOf, type Budgets } from "#core/budgets.ts";
import type { Instant, Ms } from "#core/time.ts";
import { MINUTE } from "#core/time.ts";

/** One run: where it works, and whose child it is or whom it replaces. Runs of one thread contend for it. */
export interface RunSpec {
  readonly id: string;
  readonly thread: string;
  readonly cell: 0 | 1;
  readonly parent?: string;
  readonly replaces?: string;
  /** It attaches once, always gets its workspace, and ends by its own detach or its lease. */
  readonly plain?: boolean;
  /** Its caller waits at the closed door by the shipped wait. */
  readonly waits?: boolean;
  /** It is a rebuild: a new container, under a row of its own. */
  readonly rebuild?: boolean;
}

/** What travels: the deployer's requests, the registry's asks to seal and a resident's question and word. */
export type RequestKind =
  | "drain"
  | "lift"
  | "seal"
  | "confirm"
  | "upload"
  | "ask"
  | "unseal"
  | "attach"
  | "look"
  | "word"
  | "reconcile"
  | "cycle"
  | "report";

/**
 * What may come of a container's restart beside one on the platform's image: one on the image of before, a failure that
 * changes nothing, a failure that is carried out late all the same, or no container at all.
 */
export type RestartEnd = "old" | "fails" | "late" | "gone";

/** The kinds of step that a world allows beside the ordinary ones. */
export interface Allowed {
  /** A workspace cannot be made. */
  readonly fail: boolean;
  /** A resident's isolate restarts; a half-done attach or release is lost. */
  readonly restart: boolean;
  /** The registry's isolate restarts; a half-done seal is lost. */
  readonly registryRestart: boolean;
  /** A container rolls by itself: every process in it dies. */
  readonly roll: boolean;
  /** Requests whose answer may be lost after they were carried out. */
  readonly lost: readonly RequestKind[];
  /** Requests that may be carried out after their asker has given up on them. */
  readonly late: readonly RequestKind[];
  /** The registry cannot be read for a while. */
  readonly unreadable: boolean;
  /** Time passes, from one end to the next. */
  readonly time: boolean;
  /** Words of the residents travel by themselves, delayed and re-ordered; else they arrive at once. */
  readonly words: boolean;
  /** A signal to the deployer, or its budget's end. */
  readonly signal: boolean;
  /** An administrator ends runs. */
  readonly admin: boolean;
  /** A person closes and opens the fleet too. */
  readonly person: boolean;
  /** A person waits for a held resident no more. */
  readonly release: boolean;
  /** A resident looks into its container by itself. */
  readonly refresh: boolean;
  /** Behind a swap an object may be of the generation before for a while. */
  readonly lag: boolean;
  readonly restarts: readonly RestartEnd[];
}

export interface World {
  readonly name: string;
  /** What it covers, in words for the report. */
  readonly says: string;
  readonly runs: readonly RunSpec[];
  /** Newest generation that a run re-attaches with. */
  readonly generations: number;
  /** The drain ids that each deployer may mint, first to last. */
  readonly deployers: readonly (readonly string[])[];
  /** Attempts to seal, over all deployers. */
  readonly attempts: number;
  readonly leaseMs: Ms;
  /** What a deployer asks its drain for. */
  readonly drainMinutes: number;
  readonly allowed: Allowed;
  /** Only the first resident restarts, rolls and loses asks; the second is as eventful when this is absent. */
  readonly calmSecond?: boolean;
  /** No time passes while residents are asked to seal. */
  readonly swiftSeals?: boolean;
  /** A record in the book that this build cannot read. */
  readonly garbage?: boolean;
  /** The images of the residents' first containers; absent where nobody has one, so that a reconcile holds nobody. */
  readonly containers?: readonly [string | null, string | null];
  /** The image that each drain's upload brings, where it is not the new one. */
  readonly images?: Readonly<Record<string, string>>;
  /** Steps that were taken before the search begins, each the only one whose label matches, or the first such. */
  readonly begins?: readonly RegExp[];
}

export const RESOURCES = ["repo:a/one", "repo:b/two"] as const;
export const PERSON = "p";
export const OLD = "old";
const NEW = "new";

/** The image that the upload of this drain brings; the fleet began with the old one. */
export function imageOf(world: World, id: string | null): string {
  return id === null ? OLD : (world.images?.[id] ?? NEW);
}

/** Nothing beside the ordinary steps. */
export const CALM: Allowed = {
  fail: false,
  restart: false,
  registryRestart: false,
  roll: false,
  lost: [],
  late: [],
  unreadable: false,
  time: false,
  words: false,
  signal: false,
  admin: false,
  person: false,
  release: false,
  refresh: false,
  lag: false,
  restarts: [],
};

/** The table of numbers of a world: its runs share one lease. */
export const budgetsOfWorld = (world: World): Budgets => budgetsOf({ shell: world.leaseMs });

/** An instant that never comes within an exploration. */
export const NEVER: Instant = 1e9 * MINUTE;

/** Which invariant a step or a state breaks (protocol.md's numbers; `quiet`, `generation` and `admitted` are the explorer's own). */
export interface Broken {
  readonly invariant: string;
  readonly text: string;
}

export const broken = (invariant: string, text: string): Broken => ({ invariant, text });
