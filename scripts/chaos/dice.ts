// What is left to chance: each who acts has dice of their own, so that a seed fixes what each of them does, whatever the others do.

import { seeded } from "../bench/statistics.ts";

/** Dice that a seed fixes. */
export interface Dice {
  /** A whole number from 0 on, below this. */
  below(bound: number): number;
  /** One of these. */
  of<T>(these: readonly [T, ...T[]]): T;
  /** A time between these, in milliseconds. */
  between(from: number, to: number): number;
}

/** The dice of whoever has this number. */
export function diceOf(seed: number, number: number): Dice {
  const random = seeded(seed * 1_000 + number);
  const below = (bound: number): number => Math.floor(random() * bound);
  return {
    below,
    of: (these) => these[below(these.length)] ?? these[0],
    between: (from, to) => from + below(to - from),
  };
}
