// Where everything of one container lies under its data folder. Only this file joins those paths.

import { randomBytes } from "node:crypto";
import { mkdir, readdir, realpath, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf } from "./errors.ts";
import { HALF } from "./records.ts";

/** The paths of a data folder, and how things leave it. */
export class Layout {
  readonly data: string;

  private constructor(data: string) {
    this.data = data;
  }

  /** Makes the folders and discards what an earlier boot left half-written; deleting it may take its time. */
  static async open(data: string): Promise<Layout> {
    await mkdir(data, { recursive: true, mode: 0o700 });
    const layout = new Layout(await realpath(data));
    for (const folder of ["trash", ".", "procs", "threads", "worktrees", "prepared"]) {
      await mkdir(join(layout.data, folder), { recursive: true, mode: 0o700 });
      for (const name of await readdir(join(layout.data, folder))) {
        if (name.endsWith(HALF)) await layout.#toTrash(join(layout.data, folder, name));
      }
    }
    void layout.#emptyTrash();
    return layout;
  }

  get mirror(): string {
    return join(this.data, "mirror.git");
  }
  get mirrorRecord(): string {
    return join(this.data, "mirror.json");
  }
  get containerRecord(): string {
    return join(this.data, "agent.json");
  }
  get procs(): string {
    return join(this.data, "procs");
  }
  get threads(): string {
    return join(this.data, "threads");
  }
  get prepared(): string {
    return join(this.data, "prepared");
  }

  proc(id: string): string {
    return join(this.data, "procs", id);
  }
  threadRecord(slug: string): string {
    return join(this.data, "threads", `${slug}.json`);
  }
  worktree(slug: string): string {
    return join(this.data, "worktrees", slug);
  }
  preparedAt(key: string): string {
    return join(this.data, "prepared", key);
  }
  half(path: string): string {
    return `${path}.${randomBytes(6).toString("hex")}${HALF}`;
  }

  /** Takes a file or folder away as one step; the slow part of deleting it comes after, and may be cut. */
  async discard(path: string): Promise<void> {
    await deleted(await this.#toTrash(path));
  }

  async #toTrash(path: string): Promise<string> {
    const bin = join(this.data, "trash", randomBytes(8).toString("hex"));
    await rename(path, bin).catch((error: unknown) => {
      if (errnoOf(error) !== "ENOENT") throw error;
    });
    return bin;
  }

  async #emptyTrash(): Promise<void> {
    for (const name of await readdir(join(this.data, "trash"))) await deleted(join(this.data, "trash", name));
  }
}

/** What cannot be deleted (a folder without write permission) stays in the trash until the next start. */
async function deleted(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true }).catch(() => undefined);
}
