// A run's output as the ledger keeps it: appended only where it stands, so that nothing stands there twice and no gap is
// taken for output. The head is kept, and of what comes behind it the last part alone.

import { LIMIT } from "./budgets.ts";

/** Bytes of a stream from an offset to another; `to` is exclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export type AppendFound =
  /** It begins behind what is known: what lies between is missing. */
  | { readonly kind: "gap" }
  | { readonly kind: "known" }
  /** Everything but its first `skip` bytes is new. */
  | { readonly kind: "append"; readonly skip: number; readonly length: number };

/** What becomes of `size` bytes at `offset` of a stream that has `length` bytes. */
export function decideAppend(length: number, offset: number, size: number): AppendFound {
  if (offset > length) return { kind: "gap" };
  if (offset + size <= length) return { kind: "known" };
  return { kind: "append", skip: length - offset, length: offset + size };
}

/** What is kept of a stream of this length; `cut` is what is left out between head and tail, null while nothing is. */
export function keptOf(length: number): { readonly head: Span; readonly tail: Span; readonly cut: Span | null } {
  const headEnd = Math.min(length, LIMIT.outputHeadBytes);
  const tailFrom = Math.max(headEnd, length - LIMIT.outputTailBytes);
  const cut = tailFrom > headEnd ? { from: headEnd, to: tailFrom } : null;
  return { head: { from: 0, to: headEnd }, tail: { from: tailFrom, to: length }, cut };
}

/** The span that a reader gets who asks from an offset: at most one part, never across what is left out. */
export function readFrom(length: number, from: number): Span {
  const { cut } = keptOf(length);
  const start = cut !== null && from >= cut.from && from < cut.to ? cut.to : from;
  const end = cut !== null && start < cut.from ? cut.from : length;
  return { from: start, to: Math.min(end, start + LIMIT.outputPartBytes) };
}
