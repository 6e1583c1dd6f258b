// Instants as people read them: absolute and relative together.

import { DAY, formatDuration, HOUR, hourMinuteOf, MINUTE, SECOND, type Instant, type Ms } from "#core/time.ts";

/** A span in words that do not pretend: minutes and up rounded to minutes, less in seconds. */
export function spanWords(span: Ms): string {
  if (span < MINUTE) return `${Math.max(0, Math.round(span / SECOND))} s`;
  if (span < HOUR) return `${Math.round(span / MINUTE)} min`;
  return formatDuration(Math.round(span / MINUTE) * MINUTE);
}

function dayed(at: Instant, now: Instant): string {
  const time = `${hourMinuteOf(at)}Z`;
  return Math.floor(at / DAY) === Math.floor(now / DAY) ? time : `${new Date(at).toISOString().slice(0, 10)} ${time}`;
}

/** `05:49Z, in 41 min` or `05:05Z, 3 min ago`. */
export function instantWords(at: Instant, now: Instant): string {
  const relative = at > now ? `in ${spanWords(at - now)}` : `${spanWords(now - at)} ago`;
  return `${dayed(at, now)}, ${relative}`;
}
