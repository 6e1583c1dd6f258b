// Files of a thread, read and written inside its worktree only. The way down goes folder by folder over open
// descriptors (/proc/self/fd/N/name, each step refusing links), so nothing a run swaps in between leads out; a link
// that stays inside is followed by asking for its real path and walking that.

import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, readlink, realpath, rename, rm, type FileHandle } from "node:fs/promises";
import { join, relative } from "node:path";
import { LIMIT } from "#core/budgets.ts";
import type { FileContent, FilePutResult } from "#wire/agent.ts";
import { AgentError, errnoOf } from "./errors.ts";

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// Without O_NONBLOCK opening a pipe that nobody writes to never returns.
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** Reads one regular file, whole. */
export async function readInside(root: string, path: string): Promise<FileContent> {
  const names = await realNamesOf(root, path);
  return await inFolder({ root, names: names.slice(0, -1), make: false }, async (folder) => {
    const file = await opened(at(folder, names), READ, path);
    try {
      await verifyInside(root, file, path);
      const found = await file.stat();
      if (!found.isFile()) throw new AgentError("NOT_A_FILE", path);
      if (found.size > LIMIT.fileBytes)
        throw new AgentError("FILE_TOO_LARGE", `${path} has ${found.size} bytes, the cap is ${LIMIT.fileBytes}`);
      const data = await readUpTo(file, LIMIT.fileBytes, path);
      return { path, size: data.length, data: data.toString("base64") };
    } finally {
      await file.close();
    }
  });
}

/** Writes one file as one step: a reader sees the old one or the new one. Missing folders are made. */
export async function writeInside(
  root: string,
  path: string,
  content: { data: Buffer; executable?: boolean | undefined },
): Promise<FilePutResult> {
  if (content.data.length > LIMIT.fileBytes)
    throw new AgentError("FILE_TOO_LARGE", `the cap is ${LIMIT.fileBytes} bytes`);
  const names = await realNamesOf(root, path);
  return await inFolder({ root, names: names.slice(0, -1), make: true }, async (folder) => {
    const before = await modeBefore(at(folder, names), path);
    const mode = content.executable === undefined ? (before ?? 0o644) : content.executable ? 0o755 : 0o644;
    const beside = `/proc/self/fd/${folder.fd}/.tidegate-${randomBytes(8).toString("hex")}`;
    try {
      const file = await open(beside, CREATE, mode);
      try {
        await verifyInside(root, file, path);
        await file.writeFile(content.data);
        await file.chmod(mode);
      } finally {
        await file.close();
      }
      // A rename replaces what stands at the name, a link itself too, and never follows it.
      await rename(beside, at(folder, names));
    } catch (error) {
      await rm(beside, { force: true });
      // The folder was taken away between two steps: the descriptor still names it, and it takes no file any more.
      throw errnoOf(error) === "ENOENT" ? new AgentError("NO_SUCH_FILE", path) : error;
    }
    return { path, size: content.data.length, created: before === undefined };
  });
}

/** The real folder of a relative path inside a root, for a process to run in. */
export async function folderInside(root: string, path: string): Promise<string> {
  const names = path === "" || path === "." ? [] : await realNamesOf(root, path);
  return await inFolder({ root, names, make: false }, async () => join(root, ...names));
}

/** The names down to a path once links inside the root are followed; refuses what is or leads outside. */
async function realNamesOf(root: string, path: string): Promise<string[]> {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  if (path.startsWith("/") || path.includes("\0") || path.endsWith("/") || names.length === 0) throw refused(path);
  if (names.some((name) => name === ".." || name.toLowerCase() === ".git")) throw refused(path);
  const real = await realpath(join(root, ...names)).catch(async (error: unknown) => {
    if (errnoOf(error) === "ELOOP" || errnoOf(error) === "ENAMETOOLONG") throw refused(path);
    // A file that is yet to be made: its folder's real path counts. A link to nowhere is refused on the way down.
    return await realFolderOf(root, names);
  });
  const inside = relative(root, real);
  const found = inside.split("/");
  if (
    inside === "" ||
    found[0] === ".." ||
    inside.startsWith("/") ||
    found.some((name) => name.toLowerCase() === ".git")
  )
    throw refused(path);
  return found;
}

async function realFolderOf(root: string, names: readonly string[]): Promise<string> {
  for (let count = names.length - 1; count > 0; count--) {
    const real = await realpath(join(root, ...names.slice(0, count))).catch(() => undefined);
    if (real !== undefined) return join(real, ...names.slice(count));
  }
  return join(root, ...names);
}

/** Walks down from the root and does the work over the last folder's descriptor. */
async function inFolder<T>(
  way: { root: string; names: readonly string[]; make: boolean },
  work: (folder: FileHandle) => Promise<T>,
): Promise<T> {
  let folder = await open(way.root, FOLDER);
  try {
    for (const name of way.names) {
      const next = `/proc/self/fd/${folder.fd}/${name}`;
      if (way.make) await mkdir(next).catch((error: unknown) => ignoring(error, "EEXIST"));
      const opened_ = await opened(next, FOLDER, way.names.join("/"));
      await folder.close();
      folder = opened_;
    }
    return await work(folder);
  } finally {
    await folder.close();
  }
}

async function opened(path: string, flags: number, said: string): Promise<FileHandle> {
  try {
    return await open(path, flags);
  } catch (error) {
    switch (errnoOf(error)) {
      case "ENOENT":
        throw new AgentError("NO_SUCH_FILE", said);
      case "ELOOP":
        throw refused(said);
      case "ENOTDIR":
      case "ENXIO":
      case "EISDIR":
        throw new AgentError("NOT_A_FILE", said);
      default:
        throw error;
    }
  }
}

/** After the opening: the descriptor itself says where it lies. */
async function verifyInside(root: string, file: FileHandle, path: string): Promise<void> {
  const real = await readlink(`/proc/self/fd/${file.fd}`);
  if (!real.startsWith(`${root}/`)) throw refused(path);
}

/** The mode of the regular file that is to be replaced, or undefined when nothing stands there. */
async function modeBefore(path: string, said: string): Promise<number | undefined> {
  try {
    const file = await opened(path, READ, said);
    try {
      const found = await file.stat();
      if (!found.isFile()) throw new AgentError("NOT_A_FILE", said);
      return found.mode & 0o777;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof AgentError && error.code === "NO_SUCH_FILE") return undefined;
    throw error;
  }
}

async function readUpTo(file: FileHandle, cap: number, path: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, start: 0 })) {
    if (!Buffer.isBuffer(chunk)) continue;
    size += chunk.length;
    if (size > cap) throw new AgentError("FILE_TOO_LARGE", `${path} grew beyond ${cap} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function at(folder: FileHandle, names: readonly string[]): string {
  return `/proc/self/fd/${folder.fd}/${names.at(-1) ?? ""}`;
}

function refused(path: string): AgentError {
  return new AgentError("PATH_REFUSED", path);
}

function ignoring(error: unknown, errno: string): void {
  if (errnoOf(error) !== errno) throw error;
}
