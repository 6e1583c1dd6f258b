// The arithmetic of the bench: pure, and seeded wherever it draws, so that one file of raw samples always gives one table.

/** A figure and the interval that it lies in. */
export interface Estimate {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** What a check says of a row. */
export type Verdict = "pass" | "fail" | "noisy" | "shown";

/** Two equal arms must stay within these, or nothing can be said of two that differ. */
export const EQUAL = { low: 0.8, high: 1.25 } as const;
/** With fewer samples a 99th percentile is the luck of a few. */
export const P99_WANTS = 500;
const RESAMPLES = 2000;
const COVERED = 0.95;

/** The p-quantile of some numbers, between two of them where p falls between. Throws without any. */
export function quantile(samples: readonly number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * p;
  const low = sorted[Math.floor(at)];
  const high = sorted[Math.ceil(at)];
  if (low === undefined || high === undefined) throw new RangeError("no samples, no quantile");
  return low + (high - low) * (at - Math.floor(at));
}

/** The middle of some numbers. */
export const median = (samples: readonly number[]): number => quantile(samples, 0.5);

/** The 99th percentile, or undefined with fewer than 500 samples. */
export function p99(samples: readonly number[]): number | undefined {
  return samples.length < P99_WANTS ? undefined : quantile(samples, 0.99);
}

/** Numbers in [0, 1) that a seed fixes (mulberry32's recurrence). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The median of block ratios with the 95 % interval that resampling the blocks gives. */
export function estimate(ratios: readonly number[], seed: number): Estimate {
  const random = seeded(seed);
  const drawn = Array.from({ length: RESAMPLES }, () =>
    median(ratios.map(() => ratios[Math.floor(random() * ratios.length)] ?? Number.NaN)),
  );
  const tail = (1 - COVERED) / 2;
  return { value: median(ratios), low: quantile(drawn, tail), high: quantile(drawn, 1 - tail) };
}

/**
 * Whether two equal arms came out equal, by the far ends of their interval: within the fixed range, and, where there is a
 * gate, so close that they would pass it whichever of them stood above.
 */
export function isQuietEnough(equal: Estimate, gate: number | null): boolean {
  const within = equal.low >= EQUAL.low && equal.high <= EQUAL.high;
  return within && (gate === null || (equal.high <= gate && 1 / equal.low <= gate));
}

/** Judges a ratio that must stay at or below its gate, by the far end of its interval; without a gate it is only shown. */
export function judge(ratio: Estimate, equal: Estimate, gate: number | null): Verdict {
  if (!isQuietEnough(equal, gate)) return "noisy";
  if (gate === null) return "shown";
  return ratio.high <= gate ? "pass" : "fail";
}
