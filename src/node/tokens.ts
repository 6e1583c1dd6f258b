// The bearers of a stack: made on its first start, readable by their owner only, replaced one by one from the environment.

import { randomBytes } from "node:crypto";
import * as z from "zod";
import { SCOPES, SCOPE_ENV, type Scope } from "#core/scopes.ts";
import { Failure } from "#node/failure.ts";
import { readJsonFile, writeJsonFile } from "#node/files.ts";

/** One bearer a scope; the empty string means that there is none and grants nothing. */
export type Bearers = Readonly<Record<Scope, string>>;

const bearersSchema = z.object({ admin: z.string(), operator: z.string(), read: z.string(), drain: z.string() });

/** A secret of 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

/** The bearers with those of the environment in their place; a variable set to nothing takes its bearer away. */
export function withEnv(bearers: Bearers, env: Readonly<Record<string, string | undefined>>): Bearers {
  const over = SCOPES.map((scope) => [scope, env[SCOPE_ENV[scope]] ?? bearers[scope]] as const);
  return bearersSchema.parse(Object.fromEntries(over));
}

/** The bearers by the name of their environment variable. */
export function bearerVariables(bearers: Bearers): Record<string, string> {
  return Object.fromEntries(SCOPES.map((scope) => [SCOPE_ENV[scope], bearers[scope]]));
}

/** Reads the stack's bearers without making any; `undefined` when there is no file. */
export function readBearers(path: string): Bearers | undefined {
  const read = readJsonFile(path, bearersSchema);
  if (read.kind === "unreadable") {
    throw new Failure(
      "STATE_HALF_WRITTEN",
      `${path} cannot be read (${read.why})`,
      `delete ${path} to have new tokens made at the next start`,
    );
  }
  return read.kind === "value" ? read.value : undefined;
}

/** Reads the stack's bearers, making the file on the first start. */
export function makeBearers(path: string): Bearers {
  const known = readBearers(path);
  if (known !== undefined) return known;
  const made: Bearers = { admin: newSecret(), operator: newSecret(), read: newSecret(), drain: newSecret() };
  writeJsonFile(path, made);
  return made;
}
