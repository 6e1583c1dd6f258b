// Names that cross the wire: resources, threads, runs, drains. Each has one shape, checked at the edge and nowhere else.

import * as z from "zod";
import { LIMIT } from "#core/budgets.ts";

const PART = "[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_-])?";

/** `repo:<owner>/<name>`. */
export const resourceSchema = z
  .string("is missing: a resource such as repo:local/app")
  .max(LIMIT.threadKeyChars, `is longer than ${LIMIT.threadKeyChars} characters`)
  .regex(new RegExp(`^repo:${PART}/${PART}$`), "is not a resource such as repo:local/app");

/** A thread, such as `cli:8f2c` or `slack:C1:1700.1`. */
export const threadKeySchema = z
  .string("is missing: a thread such as cli:8f2c")
  .min(1, "is empty")
  .max(LIMIT.threadKeyChars, `is longer than ${LIMIT.threadKeyChars} characters`)
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@/-]*$/,
    "has a character that a thread cannot have; letters, digits and . _ : @ / - are fine",
  );

/** A run, a process or a drain: an id that its asker minted. */
export const idSchema = z
  .string("is missing")
  .max(64, "is longer than 64 characters")
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{5,63}$/, "is not an id: 6 to 64 letters, digits, _ or -");

/** The resource of an owner and a name; local paths belong to the owner `local`. */
export function resourceOf(owner: string, name: string): string {
  return `repo:${owner}/${name}`;
}

/** The name that people type: the part behind the owner. */
export function shortNameOf(resource: string): string {
  return resource.slice(resource.indexOf("/") + 1);
}
