// What it takes to take a guard out: the shipped functions with another one in one place.

import { SHIPPED, type Core } from "./shipped.ts";

/** A guard, the functions without it, and what must go wrong for that very reason. */
export interface GuardOf<C> {
  readonly guard: string;
  readonly core: C;
  /** The world whose steps can tell. */
  readonly world: string;
  readonly invariant: string;
  /** The shortest counter-example has this many steps, and one of them says this. */
  readonly steps: number;
  readonly telling: RegExp;
}

/** A guard of the fleet. */
export type Knockout = GuardOf<Core>;

/** What ships, but for these. */
export const without = (changes: Partial<Core>): Core => ({ ...SHIPPED, ...changes });
