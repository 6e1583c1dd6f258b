// Puts the agent's parts together over one data folder: what every boot does before it listens.

import { randomBytes } from "node:crypto";
import * as z from "zod";
import type { Clock } from "./clock.ts";
import type { Surroundings } from "./environment.ts";
import { folderInside } from "./files.ts";
import { Git } from "./git.ts";
import { Layout } from "./layout.ts";
import { KeyedLock } from "./lock.ts";
import { Mirror } from "./mirror.ts";
import { Prepared } from "./prepared.ts";
import { ProcRecords } from "./procRecord.ts";
import { Procs } from "./procs.ts";
import { readRecord, writeRecord } from "./records.ts";
import { claimFolder } from "./soleAgent.ts";
import { Tickets } from "./tickets.ts";
import { Worktrees } from "./worktrees.ts";

export interface WorkspaceNeeds {
  readonly data: string;
  readonly own: Readonly<Record<string, string | undefined>>;
  readonly image: { readonly id: string; readonly bin: string; readonly env: Readonly<Record<string, string>> };
  readonly bootId: string;
  readonly clock: Clock;
  readonly machine: Clock;
  readonly log: (line: string) => void;
}

export interface Workspace {
  readonly layout: Layout;
  readonly git: Git;
  readonly mirror: Mirror;
  readonly prepared: Prepared;
  readonly worktrees: Worktrees;
  readonly records: ProcRecords;
  readonly procs: Procs;
  readonly tickets: Tickets;
  readonly around: Surroundings;
}

/** Claims the folder, clears what a killed boot left half-done, ends its processes and records them as lost. */
export async function openWorkspace(needs: WorkspaceNeeds): Promise<Workspace> {
  const { image, clock, machine, bootId, log } = needs;
  await claimFolder(needs.data);
  const layout = await Layout.open(needs.data);
  const around: Surroundings = {
    own: needs.own,
    imageBin: image.bin,
    imageEnv: image.env,
    containerMark: await containerMark(layout),
  };
  const git = new Git(around, machine);
  const locks = new KeyedLock();
  const mirror = new Mirror(layout, git, locks);
  const prepared = new Prepared({ layout, git, locks, around, imageId: image.id, clock, machine });
  const worktrees = new Worktrees({ layout, git, locks, mirror, prepared, clock });
  const records = new ProcRecords(layout);
  const tickets = new Tickets();
  const procs = new Procs({
    records,
    tickets,
    around,
    bootId,
    clock,
    machine,
    log,
    workplace: {
      folderFor: async (slug, cwd) => {
        await worktrees.require(slug);
        return await folderInside(worktrees.pathOf(slug), cwd ?? "");
      },
      exclusively: async (slug, work) => await worktrees.exclusively(slug, work),
      touch: async (slug) => await worktrees.touch(slug),
    },
  });
  await procs.recover();
  return { layout, git, mirror, prepared, worktrees, records, procs, tickets, around };
}

/** The mark of this data folder's processes: random, made once, the same for every boot. */
async function containerMark(layout: Layout): Promise<string> {
  const schema = z.object({ mark: z.string().regex(/^[0-9a-f]{24}$/) });
  const known = await readRecord(layout.containerRecord, schema);
  if (known) return known.mark;
  const mark = randomBytes(12).toString("hex");
  await writeRecord(layout.containerRecord, { mark });
  return mark;
}
