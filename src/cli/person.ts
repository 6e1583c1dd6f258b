// A person's own words on the command line, checked before anything is asked of the fleet.

import { formatDuration, parseDuration, type Ms } from "#core/time.ts";
import { threadKeySchema } from "#wire/names.ts";
import { CliError } from "./exit.ts";

/** Reads a lease such as `45m`; refuses none, and one beyond the longest that is configured. */
export function leaseOf(text: string, longestMs: Ms): Ms {
  // A span has no sign of its own.
  const isBelow = text.startsWith("-") && parseDuration(text.slice(1)) !== undefined;
  const lease = isBelow ? 0 : parseDuration(text);
  if (lease === undefined)
    throw new CliError(`--lease: "${text}" is no span; it wants its unit`, "--lease 45m, or --lease 1h30m");
  if (lease <= 0) throw new CliError("--lease: must be more than 0", "--lease 45m");
  if (lease > longestMs) {
    const longest = formatDuration(longestMs);
    throw new CliError(
      `--lease: ${text} is beyond the longest configured lease, ${longest}`,
      `a shorter one, or a kind with a longer lease under "kinds" in tidegate.jsonc`,
    );
  }
  return lease;
}

/** Reads a thread; refuses what no thread can be called. */
export function threadOf(text: string): string {
  const parsed = threadKeySchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new CliError(`--thread: ${parsed.error.issues[0]?.message ?? "does not fit"}`, "--thread cli:mine");
}
