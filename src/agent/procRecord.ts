// What one process is on disk: a folder named by its id, which appears whole (with its spec and empty outputs), then
// its pid, then at the very end its terminal record. From these alone a later boot knows what became of it.

import { mkdir, open, readdir, rename, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { procEnd, type ProcEnd } from "#wire/agent.ts";
import { errnoOf } from "./errors.ts";
import type { Layout } from "./layout.ts";
import { HALF, readRecord, writeRecord, writeRecordOnce } from "./records.ts";

const procSpec = z.object({
  id: z.string(),
  thread: z.string(),
  slug: z.string(),
  argv: z.array(z.string()),
  cwd: z.string(),
  /** A fingerprint of the caller's variables: they are compared when an id comes again, never shown. */
  envHash: z.string(),
  bootId: z.string(),
  startedAt: z.number(),
});
export type ProcSpec = z.infer<typeof procSpec>;

const procPid = z.object({ pid: z.number().int(), startTicks: z.number().int() });
export type ProcPid = z.infer<typeof procPid>;

export type OutputName = "out" | "err";

/** The records of processes under a layout. */
export class ProcRecords {
  readonly #layout: Layout;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  folderOf(id: string): string {
    return this.#layout.proc(id);
  }

  /** Makes the folder in one step, before anything is started. */
  async create(spec: ProcSpec): Promise<void> {
    const half = this.#layout.half(this.folderOf(spec.id));
    await mkdir(half, { mode: 0o700 });
    await writeRecord(join(half, "proc.json"), spec);
    for (const name of ["out", "err"]) await (await open(join(half, name), "wx", 0o600)).close();
    await rename(half, this.folderOf(spec.id));
  }

  /** Opens an output for the process to write to; appending, so that no second opening overwrites. */
  async openOutput(id: string, name: OutputName): Promise<FileHandle> {
    return await open(join(this.folderOf(id), name), "a", 0o600);
  }

  async writePid(id: string, pid: ProcPid): Promise<void> {
    await writeRecord(join(this.folderOf(id), "pid.json"), pid);
  }

  async pidOf(id: string): Promise<ProcPid | undefined> {
    return await readRecord(join(this.folderOf(id), "pid.json"), procPid);
  }

  /** Writes the terminal record; the first one stands, and is what is answered. */
  async writeEnd(id: string, end: Omit<ProcEnd, "out" | "err">): Promise<ProcEnd> {
    const whole: ProcEnd = { ...end, out: await this.sizeOf(id, "out"), err: await this.sizeOf(id, "err") };
    if (await writeRecordOnce(join(this.folderOf(id), "end.json"), whole)) return whole;
    return (await this.endOf(id)) ?? whole;
  }

  async endOf(id: string): Promise<ProcEnd | undefined> {
    return await readRecord(join(this.folderOf(id), "end.json"), procEnd);
  }

  async sizeOf(id: string, name: OutputName): Promise<number> {
    try {
      return (await stat(join(this.folderOf(id), name))).size;
    } catch (error) {
      if (errnoOf(error) === "ENOENT") return 0;
      throw error;
    }
  }

  /** Every process on disk, whole or ended; a folder without a readable spec is thrown away. */
  async all(): Promise<ProcSpec[]> {
    const specs: ProcSpec[] = [];
    for (const id of await readdir(this.#layout.procs)) {
      if (id.endsWith(HALF)) continue;
      const spec = await readRecord(join(this.folderOf(id), "proc.json"), procSpec);
      if (spec) specs.push(spec);
      else await this.forget(id);
    }
    return specs;
  }

  async forget(id: string): Promise<void> {
    await this.#layout.discard(this.folderOf(id));
  }
}
