// What a deploy needs of the fleet: a few requests, and word of the moment when what it waits for has come. Declared here
// by its consumer; the typed client fills it.

import type * as z from "zod";
import type { UploadOutcome } from "#core/drain.ts";
import type { DrainBody, Drains, drainAnswerSchema, ReconcileAnswer, undrainAnswerSchema } from "#wire/drain.ts";
import type { QueuedUnder } from "#wire/bot.ts";
import type { AuditRow, Residents, WatchFrame } from "#wire/fleet.ts";
import type { Seen } from "#deploy/port.ts";

/** The requests of a deploy. Each rejects with a problem of the wire, or with anything else when there was no answer. */
export interface FleetDoor {
  residents(fresh: boolean, signal: AbortSignal): Promise<Residents>;
  drains(signal: AbortSignal): Promise<Drains>;
  drain(body: DrainBody, signal: AbortSignal): Promise<z.infer<typeof drainAnswerSchema>>;
  seal(
    body: { readonly id: string; readonly handoff: boolean },
    signal: AbortSignal,
  ): Promise<z.infer<typeof drainAnswerSchema>>;
  reconcile(id: string, signal: AbortSignal): Promise<ReconcileAnswer>;
  reconciled(id: string, signal: AbortSignal): Promise<ReconcileAnswer>;
  undrain(
    body: { id: string; outcome: UploadOutcome },
    signal: AbortSignal,
  ): Promise<z.infer<typeof undrainAnswerSchema>>;
  newestAudit(signal: AbortSignal): Promise<readonly AuditRow[]>;
}

/** Who waits in the bot's queue under the drain that was asked for; null where the bot does not say. */
export interface BotTold {
  readonly queued: QueuedUnder | null;
}

/** The bot's door, which is closed with the fleet's and under the same id. Each rejects as the fleet's requests do. */
export interface BotDoor {
  health(signal: AbortSignal): Promise<{ readonly inFlight: number }>;
  drain(body: DrainBody, signal: AbortSignal): Promise<BotTold>;
  undrain(body: { readonly id: string; readonly outcome: UploadOutcome }, signal: AbortSignal): Promise<BotTold>;
}

/** Word of quiet. A frame counts once: after a look or a seal has judged the fleet, only a newer frame wakes a pause. */
export interface QuietWatch {
  /** Resolves with the first frame since the last mark that is news; rejects with the signal. */
  until(isNews: (frame: WatchFrame) => boolean, signal: AbortSignal): Promise<void>;
  /** The fleet is being asked: what the watch has said so far is no news any more. */
  mark(): void;
  /** The frames that came since this was last asked, for the receipt. */
  taken(): readonly Seen[];
}
