// Parse once, at the edge. A body that does not fit becomes a 400 that names the field and says what would fit.

import type * as z from "zod";
import { fail, ok, type Result } from "#core/result.ts";
import { problemOf, raise, type Problem } from "./errors.ts";
import { issueWords } from "./issueWords.ts";

function pathOf(issue: z.core.$ZodIssue): string {
  const unknown = issue.code === "unrecognized_keys" ? issue.keys[0] : undefined;
  const path = [...issue.path.map(String), ...(unknown === undefined ? [] : [unknown])].join(".");
  return path === "" ? "body" : path;
}

/** Parses a value by a schema; the failure is a problem that names the first offending field. Never throws, never clamps. */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown): Result<T, Problem> {
  const parsed = schema.safeParse(value, { error: issueWords });
  if (parsed.success) return ok(parsed.data);
  const issue = parsed.error.issues[0];
  const field = issue === undefined ? "body" : pathOf(issue);
  const why = issue?.message ?? "does not fit";
  return fail(problemOf("BAD_FIELD", `${field}: ${why}`, { field }));
}

/** Parses text as JSON; undefined for anything else. */
export function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** The value of a result, or its problem raised. */
export function valueOf<T>(result: Result<T, Problem>): T {
  if (result.ok) return result.value;
  const { code, detail, ...more } = result.error;
  return raise(code, detail, more);
}

/** The parsed value, or the refusal that names the field, raised. */
export const parsed = <T>(schema: z.ZodType<T>, given: unknown): T => valueOf(parseWith(schema, given));
