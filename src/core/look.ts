// The registry's half of the gate: one question, answered in one step with the counting of the attach it lets through.

import { closes, liveDrains, withDrain, type Drain, type DrainBook } from "./drain.ts";
import type { LookId } from "./quiet.ts";
import type { RegistrationKind } from "./registration.ts";
import type { Instant } from "./time.ts";

/** What a resident asks before it writes a row. */
export interface LookAsk {
  readonly resource: string;
  readonly runId: string;
  readonly look: LookId;
  /** The lease's end of the named parent, if it is registered; the registry finds it in its own sum. */
  readonly parentUntil: Instant | null;
  /** The attempt of the seal that the resident holds, or null. */
  readonly seal: number | null;
  readonly kind: RegistrationKind;
}

export type LookAnswer =
  | {
      readonly kind: "open";
      readonly book: DrainBook;
      readonly parentUntil: Instant | null;
      readonly sealStands: boolean;
    }
  | { readonly kind: "closed"; readonly drain: Drain };

/** Whether the seal of this attempt stands: its drain lives and its swap has begun (protocol.md, `POST /seal`). */
export function sealStands(book: DrainBook, attempt: number, now: Instant): boolean {
  return liveDrains(book, now).some(
    ({ sealing, phase }) => sealing.attempt === attempt && sealing.state === "sealed" && phase === "swapping",
  );
}

/** Admitting anybody makes an attempt to seal impossible: its promise was "nobody is admitted". */
function voided(book: DrainBook, now: Instant): DrainBook {
  return liveDrains(book, now)
    .filter((drain) => drain.sealing.state === "asking")
    .reduce((rest, drain) => withDrain(rest, { ...drain, sealing: { ...drain.sealing, state: "void" } }), book);
}

/** A rebuild is what a held resident's report may come from: a drain refuses it up to its live gate and not behind it. */
function refuses(drain: Drain, kind: RegistrationKind): boolean {
  return kind !== "rebuild" || drain.phase === "draining" || drain.phase === "swapping";
}

/** Whether a drain closes this resident to a child of a registered run too: it passes a drain, but never a swap that has begun. */
export const closesToChildren = (drain: Drain, resource: string): boolean =>
  drain.phase === "swapping" && closes(drain, resource);

/**
 * Is this resident closed to this attach (protocol.md, "The gate", 3 and 4)? Whoever is let through voids an attempt to
 * seal in the same step.
 */
export function decideLook(book: DrainBook, ask: LookAsk, now: Instant): LookAnswer {
  const swapping = liveDrains(book, now).find((drain) => closesToChildren(drain, ask.resource));
  if (swapping !== undefined) return { kind: "closed", drain: swapping };
  const closing = liveDrains(book, now).find((drain) => closes(drain, ask.resource) && refuses(drain, ask.kind));
  if (closing !== undefined && ask.parentUntil === null) return { kind: "closed", drain: closing };
  const next = voided(book, now);
  const stands = ask.seal !== null && sealStands(next, ask.seal, now);
  return { kind: "open", book: next, parentUntil: ask.parentUntil, sealStands: stands };
}
