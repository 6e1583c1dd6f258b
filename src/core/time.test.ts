// A duration is read exactly or not at all, and what a screen says of a span is never more than it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  clockOf,
  DAY,
  formatDuration,
  HOUR,
  hourMinuteOf,
  MINUTE,
  minutesLeft,
  parseDuration,
  SECOND,
} from "./time.ts";

const read: readonly (readonly [says: string, text: string, span: number | undefined])[] = [
  ["minutes are read", "45m", 45 * MINUTE],
  ["two units that descend are added", "1h30m", 90 * MINUTE],
  ["all five units at once are read", "1d2h3m4s5ms", DAY + 2 * HOUR + 3 * MINUTE + 4 * SECOND + 5],
  ["a unit may be left out in the middle", "1h5ms", HOUR + 5],
  ["`ms` is milliseconds and not minutes", "5ms", 5],
  ["nothing of a unit is a duration", "0m", 0],
  ["more of a unit than the next one holds is read", "90m", 90 * MINUTE],
  ["nine digits are read", "999999999s", 999_999_999 * SECOND],
  ["ten digits are refused", "1000000000s", undefined],
  ["a sum that a number cannot hold is refused", "999999999d", undefined],
  ["an empty text is refused", "", undefined],
  ["a bare number is refused", "45", undefined],
  ["a number after the last unit is refused", "1h30", undefined],
  ["a sign is refused", "-45m", undefined],
  ["a fraction is refused", "1.5h", undefined],
  ["a blank between two units is refused", "1h 30m", undefined],
  ["a blank around it is refused", " 45m", undefined],
  ["a line's end behind it is refused", "45m\n", undefined],
  ["units that ascend are refused", "30m1h", undefined],
  ["a unit that repeats is refused", "1h1h", undefined],
  ["a capital unit is refused", "45M", undefined],
  ["a unit that does not exist is refused", "1w", undefined],
  ["digits of another script are refused", "٤٥m", undefined],
];
for (const [says, text, span] of read) test(`duration: ${says}`, () => assert.equal(parseDuration(text), span));

test("any text is read exactly or refused, and never throws", () => {
  const pieces = fc.oneof(fc.string(), fc.constantFrom("1h", "30m", "5ms", "0s", "9", "h", " ", "-", "999999999d"));
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 5 }), (texts) => {
      const span = parseDuration(texts.join(""));
      assert.ok(span === undefined || (Number.isSafeInteger(span) && span >= 0));
    }),
  );
});

test("a span written in descending units is read back as it was", () => {
  const counts = fc.tuple(fc.nat(99_999), fc.nat(23), fc.nat(59), fc.nat(59), fc.nat(999));
  fc.assert(
    fc.property(counts, ([d, h, m, s, ms]) => {
      const expected = d * DAY + h * HOUR + m * MINUTE + s * SECOND + ms;
      assert.equal(parseDuration(`${d}d${h}h${m}m${s}s${ms}ms`), expected);
    }),
  );
});

const written: readonly (readonly [says: string, span: number, text: string])[] = [
  ["hours and minutes", 65 * MINUTE, "1h 5m"],
  ["minutes and seconds", 23 * MINUTE + 30 * SECOND, "23m 30s"],
  ["seconds alone", 40 * SECOND, "40s"],
  ["days and hours, and nothing below", DAY + 5 * HOUR + 59 * MINUTE, "1d 5h"],
  ["a second unit that is nothing is left out, and the third does not take its place", DAY + 5 * MINUTE, "1d"],
  ["a whole unit stands alone", HOUR, "1h"],
  ["milliseconds are rounded down", 1_999, "1s"],
  ["less than a second is none", 999, "0s"],
  ["nothing", 0, "0s"],
  ["a span that lies behind is none", -5 * MINUTE, "0s"],
];
for (const [says, span, text] of written) test(`span: ${says}`, () => assert.equal(formatDuration(span), text));

test("any span is written as at most two units that never say more than it is, nor a whole second unit less", () => {
  fc.assert(
    fc.property(fc.integer({ min: -HOUR, max: 400 * DAY }), (span) => {
      const text = formatDuration(span);
      assert.match(text, /^(0s|[1-9]\d*d( [1-9]\d?h)?|[1-9]\d?h( [1-9]\d?m)?|[1-9]\d?m( [1-9]\d?s)?|[1-9]\d?s)$/);
      const back = parseDuration(text.replace(" ", "")) ?? Number.NaN;
      assert.ok(back <= Math.max(0, span), `${text} is more than ${span}`);
      const kept = text.includes("d") ? HOUR : text.includes("h") ? MINUTE : SECOND;
      assert.ok(Math.max(0, span) - back < kept, `${text} loses more of ${span} than a unit`);
    }),
  );
});

test("minutes left are rounded up and never below 1", () => {
  assert.equal(minutesLeft(12 * MINUTE, 0), 12);
  assert.equal(minutesLeft(12 * MINUTE + 1, 0), 13);
  assert.equal(minutesLeft(1, 0), 1);
  assert.equal(minutesLeft(0, 0), 1);
  assert.equal(minutesLeft(0, 5 * HOUR), 1);
});

test("the time of day is said in UTC, with two digits each", () => {
  const late = Date.UTC(2026, 8, 17, 5, 9, 7, 999);
  assert.equal(clockOf(late), "05:09:07Z");
  assert.equal(hourMinuteOf(late), "05:09");
  assert.equal(clockOf(Date.UTC(2026, 0, 1)), "00:00:00Z");
  assert.equal(clockOf(Date.UTC(2026, 0, 1) - 1), "23:59:59Z");
});
