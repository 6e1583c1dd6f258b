// What it takes to take a guard out: the shipped functions with another one in one place.

import { SHIPPED, type Core } from "./shipped.ts";

/** A guard, the functions without it, and what must go wrong for that very reason. */
export interface Knockout {
  readonly guard: string;
  readonly core: Core;
  /** The world whose steps can tell. */
  readonly world: string;
  readonly invariant: string;
  /** The shortest counter-example has this many steps, and one of them says this. */
  readonly steps: number;
  readonly telling: RegExp;
}

/** What ships, but for these. */
export const without = (changes: Partial<Core>): Core => ({ ...SHIPPED, ...changes });
