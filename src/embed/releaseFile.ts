// release.json: what is served, under which generation and which drain, and the swap that is under way. It is written
// before each step that cannot be taken back, so that a supervisor that is killed leaves word of what it was doing.

import * as z from "zod";
import {
  buildSchema,
  endedSchema,
  leasesSchema,
  partSchema,
  swapAnswerSchema,
  type HostBuild,
  type Part,
  type StepName,
  type SwapAnswer,
} from "#wire/host.ts";
import { Failure } from "#node/failure.ts";
import { readJsonFile, writeJsonFile } from "#node/files.ts";
import type { StatePaths } from "#node/stateFolder.ts";

const pendingSchema = z.object({
  drainId: z.string(),
  mode: z.enum(["sealed", "handoff", "forced", "undrained"]),
  build: buildSchema,
  generation: z.int(),
  /** What the fleet is to be released with; null where an older supervisor wrote it. */
  leases: leasesSchema.nullable().default(null),
  begunAt: z.number(),
  /** Processes of containers about to be ended for this swap; those that are gone later died of it. */
  doomed: z.array(endedSchema),
});

/** The swap that was begun and has not been answered. */
export type PendingSwap = z.infer<typeof pendingSchema>;

/** Of each step the build that was served before the one that is; null where none was, or where nobody wrote it down. */
const beforeSchema = z.object({
  resident: buildSchema.nullable(),
  ledger: buildSchema.nullable(),
  bot: buildSchema.nullable(),
});
type Before = z.infer<typeof beforeSchema>;

/** Nothing was served before. */
export const NONE_BEFORE: Before = { resident: null, ledger: null, bot: null };

const releaseSchema = z.object({
  generation: z.int().positive(),
  drainId: z.string().nullable(),
  build: buildSchema,
  /** The lease of each kind that the fleet was released with; null where an older supervisor wrote it. */
  leases: leasesSchema.nullable().default(null),
  since: z.number(),
  pending: pendingSchema.nullable(),
  /** What is served of the ledger and the bot. */
  parts: z.object({ ledger: partSchema.nullable(), bot: partSchema.nullable() }).default({ ledger: null, bot: null }),
  before: beforeSchema.default(NONE_BEFORE),
  /** The last swap that ended the old workerd, for who asks again after a lost answer. */
  last: swapAnswerSchema.nullable(),
});

/** What is served, as the state folder says. */
export type Release = z.infer<typeof releaseSchema>;

/** Reads release.json; `undefined` before the first start. */
export function readRelease(paths: StatePaths): Release | undefined {
  const read = readJsonFile(paths.release, releaseSchema);
  if (read.kind === "unreadable")
    throw new Failure("STATE_HALF_WRITTEN", `${paths.release} cannot be read (${read.why})`);
  return read.kind === "value" ? read.value : undefined;
}

/** Writes release.json whole. */
export function writeRelease(paths: StatePaths, release: Release): void {
  writeJsonFile(paths.release, release);
}

/** What was served before, once this build has landed; one that is served anew does not come before itself. */
export function beforeOf(release: Release, step: StepName, landed: HostBuild): Before {
  const served = step === "resident" ? release.build : (release.parts[step]?.build ?? null);
  const isAnew = served?.bundle === landed.bundle && (step !== "resident" || served.image === landed.image);
  return isAnew ? release.before : { ...release.before, [step]: served };
}

/** The bundles and images that a release needs: what is served, what its pending swap is to serve, and what was served before. */
export function neededBy({ build, pending, parts, before }: Release): {
  readonly bundles: ReadonlySet<string>;
  readonly images: ReadonlySet<string>;
} {
  const fleet = [build, pending?.build, before.resident];
  const beside = [parts.ledger?.build, parts.bot?.build, before.ledger, before.bot];
  const named = (builds: readonly (HostBuild | null | undefined)[], what: "bundle" | "image"): string[] =>
    builds.flatMap((one) => (one === null || one === undefined ? [] : [one[what]]));
  return { bundles: new Set(named([...fleet, ...beside], "bundle")), images: new Set(named(fleet, "image")) };
}

/** What a supervisor that was killed in the middle of a part's swap leaves: the old build serves again, and that is the answer. */
export function notLanded(part: Part): Part {
  const { pending } = part;
  if (pending === null) return part;
  const detail = "the supervisor ended in the middle of this swap; what was served before is served again";
  const last: SwapAnswer = { outcome: "failed", drainId: pending, killed: [], code: "INTERRUPTED", detail };
  return { ...part, pending: null, last };
}
