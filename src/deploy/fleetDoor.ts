// What a deploy needs of the fleet: a few requests, and word of the moment when nothing is in flight any more.
// Declared here by its consumer; the typed client fills it.

import type * as z from "zod";
import type { UploadOutcome } from "#core/drain.ts";
import type { DrainBody, Drains, drainAnswerSchema, undrainAnswerSchema } from "#wire/drain.ts";
import type { AuditRow, Residents } from "#wire/fleet.ts";
import type { Seen } from "#deploy/port.ts";

/** The requests of a deploy. Each rejects with a problem of the wire, or with anything else when there was no answer. */
export interface FleetDoor {
  residents(fresh: boolean, signal: AbortSignal): Promise<Residents>;
  drains(signal: AbortSignal): Promise<Drains>;
  drain(body: DrainBody, signal: AbortSignal): Promise<z.infer<typeof drainAnswerSchema>>;
  seal(id: string, signal: AbortSignal): Promise<z.infer<typeof drainAnswerSchema>>;
  undrain(
    body: { id: string; outcome: UploadOutcome },
    signal: AbortSignal,
  ): Promise<z.infer<typeof undrainAnswerSchema>>;
  newestAudit(signal: AbortSignal): Promise<readonly AuditRow[]>;
}

/** Word of quiet. A frame counts once: after a look or a seal has judged the fleet, only a newer frame wakes a pause. */
export interface QuietWatch {
  /** Resolves with the first frame since the last mark in which nothing is in flight; rejects with the signal. */
  quiet(signal: AbortSignal): Promise<void>;
  /** A look or a seal begins: what the watch has said so far is no news any more. */
  mark(): void;
  /** The frames that came since this was last asked, for the receipt. */
  taken(): readonly Seen[];
}
