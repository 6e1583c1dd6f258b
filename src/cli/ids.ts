// Ids that this process mints: a prefix for people, the rest random.

import { randomBytes } from "node:crypto";

/** 60 random bits for runs and processes, which live for hours beside few others. */
export function mintShortId(prefix: string): string {
  return `${prefix}-${BigInt(`0x${randomBytes(8).toString("hex")}`)
    .toString(36)
    .slice(0, 12)
    .padStart(12, "0")}`;
}

/** 128 random bits, as a drain's id has them. */
export function mintDrainId(): string {
  return `d-${randomBytes(16).toString("hex")}`;
}
