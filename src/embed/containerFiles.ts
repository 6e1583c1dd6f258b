// The folder of a container: `containers/<slug>/`. Its data outlives it; container.json says which process it is, so that
// the next supervisor adopts it; `handover` is what host and agent tell each other once, at a start.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { processIdSchema } from "#wire/host.ts";
import { readJsonFile, writeFileWhole, writeJsonFile, type FileRead } from "#node/files.ts";
import type { StatePaths } from "#node/stateFolder.ts";

const base = { resource: z.string(), imageId: z.string(), since: z.number() };
const process = processIdSchema;

const recordSchema = z.discriminatedUnion("state", [
  z.object({ ...base, state: z.literal("starting"), process }),
  z.object({
    ...base,
    state: z.literal("running"),
    process,
    port: z.int(),
    token: z.string(),
    bootId: z.string(),
    agentPid: z.int().nullable(),
  }),
  z.object({ ...base, state: z.literal("gone"), goneSince: z.number() }),
]);

/** What container.json says. */
export type ContainerRecord = z.infer<typeof recordSchema>;
/** A container that was ready when this was written. */
export type RunningRecord = Extract<ContainerRecord, { state: "running" }>;

/** What the agent writes once it listens. */
export const portFileSchema = z.object({
  port: z.int().positive(),
  bootId: z.string().min(1),
  pid: z.int().positive(),
});

/** The paths of one container. */
export interface ContainerPaths {
  readonly slug: string;
  readonly folder: string;
  readonly record: string;
  readonly data: string;
  /** What was in `data` before the last rebuild. */
  readonly before: string;
  readonly handover: string;
  readonly tokenFile: string;
  readonly portFile: string;
  readonly log: string;
}

/** A folder name for a resource: readable, and its hash keeps two alike apart. */
export function slugOf(resource: string): string {
  const readable = resource
    .replace(/^[a-z]+:/, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 40);
  return `${readable}-${createHash("sha256").update(resource).digest("hex").slice(0, 8)}`;
}

/** The paths of a resource's container. */
export function containerPaths(paths: StatePaths, resource: string): ContainerPaths {
  const slug = slugOf(resource);
  const folder = join(paths.containers, slug);
  const handover = join(folder, "handover");
  return {
    slug,
    folder,
    record: join(folder, "container.json"),
    data: join(folder, "data"),
    before: join(folder, "before"),
    handover,
    tokenFile: join(handover, "token"),
    portFile: join(handover, "port.json"),
    log: join(paths.log, `agent-${slug}.log`),
  };
}

/** Lays out a container's folder for a start: its data stays, the handover begins anew with this token. */
export function layOutContainer(container: ContainerPaths, token: string): void {
  rmSync(container.handover, { recursive: true, force: true });
  for (const folder of [container.data, container.handover]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileWhole(container.tokenFile, token);
}

/** Writes container.json whole. */
export function writeRecord(container: ContainerPaths, record: ContainerRecord): void {
  mkdirSync(container.folder, { recursive: true, mode: 0o700 });
  writeJsonFile(container.record, record);
}

/** Every container.json of the state folder, by slug; folders that are no container's are left out. */
export function readRecords(paths: StatePaths): { readonly slug: string; readonly read: FileRead<ContainerRecord> }[] {
  if (!existsSync(paths.containers)) return [];
  return readdirSync(paths.containers)
    .map((slug) => ({ slug, read: readJsonFile(join(paths.containers, slug, "container.json"), recordSchema) }))
    .filter(({ read }) => read.kind !== "missing");
}

/** Moves a container's data aside, in place of what was moved aside before: a rebuild begins with nothing and loses nothing yet. */
export function setDataAside({ data, before }: ContainerPaths): void {
  if (!existsSync(data)) return;
  rmSync(before, { recursive: true, force: true });
  renameSync(data, before);
}

/** Removes everything of a container that has ended, its data too. */
export function removeContainer(container: ContainerPaths): void {
  rmSync(container.folder, { recursive: true, force: true });
}
