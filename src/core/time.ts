// Time as values: instants and spans are integers in milliseconds, and nothing here can read a clock.

/** Milliseconds since 1970, as some clock read them. Which clock is said where the value is made. */
export type Instant = number;
/** A span in milliseconds. */
export type Ms = number;

export const SECOND: Ms = 1_000;
export const MINUTE: Ms = 60 * SECOND;
export const HOUR: Ms = 60 * MINUTE;
export const DAY: Ms = 24 * HOUR;

const UNITS: Record<string, Ms> = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY };

/**
 * Reads a duration such as `45m`, `1h30m`, `90s`.
 * Units descend and none repeats; a bare number, a sign, a fraction or a blank is `undefined`, never a guess.
 */
export function parseDuration(text: string): Ms | undefined {
  const parts = [...text.matchAll(/(\d{1,9})(ms|s|m|h|d)/gy)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== text) return undefined;
  let total = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (const [, digits, unit] of parts) {
    const size = UNITS[unit as string] as Ms;
    if (size >= smallest) return undefined;
    smallest = size;
    total += Number(digits) * size;
  }
  return Number.isSafeInteger(total) ? total : undefined;
}

/** Writes a span for people in its two largest units: `1h 5m`, `23m 30s`, `40s`, `0s`. Rounds down. */
export function formatDuration(span: Ms): string {
  let left = Math.max(0, Math.floor(span / SECOND)) * SECOND;
  const parts: [string, number][] = [];
  for (const [name, size] of [
    ["d", DAY],
    ["h", HOUR],
    ["m", MINUTE],
    ["s", SECOND],
  ] as const) {
    if (left >= size || parts.length > 0) parts.push([name, Math.floor(left / size)]);
    left %= size;
  }
  const shown = parts.slice(0, 2).filter(([, count]) => count > 0);
  return shown.length === 0 ? "0s" : shown.map(([name, count]) => `${count}${name}`).join(" ");
}

/** Minutes left to an instant as a screen says them: rounded up, never below 1 (protocol.md, "Quiet, seal, swap"). */
export function minutesLeft(until: Instant, now: Instant): number {
  return Math.max(1, Math.ceil((until - now) / MINUTE));
}

const two = (value: number): string => String(value).padStart(2, "0");

/** The time of day in UTC, `05:49:00Z`, as the deploy's lines say an end. */
export function clockOf(at: Instant): string {
  return `${hourMinuteOf(at)}:${two(Math.floor(at / SECOND) % 60)}Z`;
}

/** The time of day in UTC without seconds, `05:49`. */
export function hourMinuteOf(at: Instant): string {
  return `${two(Math.floor(at / HOUR) % 24)}:${two(Math.floor(at / MINUTE) % 60)}`;
}
