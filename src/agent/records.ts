// Records on disk that survive the writer's kill at any instruction: written beside their place, then renamed (or linked) into it.
// A file that is half-written or of a shape this build cannot read is read as absent, never as an error.

import { randomBytes } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import type * as z from "zod";
import { errnoOf } from "./errors.ts";

/** The ending of a file that is still being written. */
export const HALF = ".tmp";

const besideOf = (path: string): string => `${path}.${randomBytes(6).toString("hex")}${HALF}`;

/** Replaces a record as one step. */
export async function writeRecord(path: string, value: unknown): Promise<void> {
  const beside = besideOf(path);
  await writeFile(beside, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  await rename(beside, path);
}

/** Writes a record unless one stands already; answers whether this call wrote it. */
export async function writeRecordOnce(path: string, value: unknown): Promise<boolean> {
  const beside = besideOf(path);
  await writeFile(beside, `${JSON.stringify(value)}\n`, { mode: 0o600 });
  try {
    await link(beside, path);
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(beside, { force: true });
  }
}

/** Reads a record, or undefined when there is none that this build can read. */
export async function readRecord<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = schema.safeParse(raw);
  return parsed.success ? parsed.data : undefined;
}
