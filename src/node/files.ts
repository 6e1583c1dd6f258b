// JSON files that are never seen half-written: written beside, synced, renamed; readable by their owner only.

import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, unlinkSync, writeSync } from "node:fs";
import type { ZodType } from "zod";
import { issueWords } from "#wire/issueWords.ts";

/** What a file held: its value, nothing at all, or something that its schema does not read. */
export type FileRead<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "missing" }
  | { readonly kind: "unreadable"; readonly why: string };

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT";

/** Reads and parses a JSON file; never throws. */
export function readJsonFile<T>(path: string, schema: ZodType<T>): FileRead<T> {
  let raw: unknown;
  try {
    raw = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (isMissing(error)) return { kind: "missing" };
    return { kind: "unreadable", why: error instanceof Error ? error.message : String(error) };
  }
  const parsed = schema.safeParse(raw, { error: issueWords });
  if (parsed.success) return { kind: "value", value: parsed.data };
  const issue = parsed.error.issues[0];
  return { kind: "unreadable", why: `${issue?.path.join(".") || "the whole"}: ${issue?.message ?? "not as expected"}` };
}

/** Writes a file whole or not at all, mode 0600 unless said otherwise. */
export function writeFileWhole(path: string, content: string | Uint8Array, mode = 0o600): void {
  const beside = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.new`;
  const descriptor = openSync(beside, "wx", mode);
  try {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(beside, path);
}

/** Writes a value as JSON, whole or not at all, readable by its owner only. */
export function writeJsonFile(path: string, value: unknown): void {
  writeFileWhole(path, `${JSON.stringify(value, null, 2)}\n`);
}

/** Removes a file; one that is not there is fine. */
export function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/** The last lines of a text file, for the detail of a failure; empty when it cannot be read. */
export function tailOf(path: string, lines: number): string {
  try {
    return readFileSync(path, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    return "";
  }
}
