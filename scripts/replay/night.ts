// What every night that is replayed has in common: how fast it goes, and how an instant and a span of it are said.

import { hourMinuteOf, MINUTE, SECOND, type Instant, type Ms } from "#core/time.ts";

/** Minutes a second: the stack's scale, and the fastest at which its real parts still keep their bounds. */
export const SCALE = MINUTE / SECOND;

const two = (value: number): string => String(value).padStart(2, "0");

/** An instant of the night, to the second. */
export const secondTime = (instant: Instant): string =>
  `${hourMinuteOf(instant)}:${two(Math.floor((instant % MINUTE) / SECOND))}`;

/** A span of the night as minutes and seconds, such as `13:05`. */
export const spanTime = (span: Ms): string =>
  `${Math.floor(span / MINUTE)}:${two(Math.floor((span % MINUTE) / SECOND))}`;
