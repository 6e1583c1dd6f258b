// What a part of the ledger is given: its settings, its clock and its log, made from the bindings. Nothing else in this
// room reads them.

import type { Instant } from "#core/time.ts";
import type { SecretBindings } from "#http/bearer.ts";
import { ledgerSettingsSchema, type LedgerSettings } from "#wire/ledger.ts";
import { jsonOf, parseWith } from "#wire/parse.ts";

/** The bindings of the ledger Worker. */
export interface Env extends SecretBindings {
  readonly SETTINGS: string;
  /** Names this start of the Worker's process, where whoever starts it says so. */
  readonly BOOT?: string;
  readonly LEDGER: DurableObjectNamespace;
}

/** One JSON line to the Worker's log. */
export type Log = (level: "info" | "warn" | "error", event: string, fields?: Readonly<Record<string, unknown>>) => void;

export interface Root {
  readonly settings: LedgerSettings;
  /** The instant now, on the stack's clock. */
  readonly now: () => Instant;
  readonly log: Log;
}

/** Reads the settings and makes the clock and the log of one part. A Worker without readable settings does not start. */
export function rootOf(env: Env, part: string): Root {
  const parsed = parseWith(ledgerSettingsSchema, jsonOf(env.SETTINGS));
  if (!parsed.ok) throw new Error(`SETTINGS: ${parsed.error.detail}`);
  const settings = parsed.value;
  const { realEpochMs, virtualEpochMs, scale } = settings.clock;
  const now = (): Instant => Math.floor(virtualEpochMs + (Date.now() - realEpochMs) * scale);
  const log: Log = (level, event, fields = {}) => {
    const at = new Date(now()).toISOString();
    console.log(JSON.stringify({ at, level, part, generation: settings.generation, event, ...fields }));
  };
  return { settings, now, log };
}

/** What an error says, for a log line or a detail. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
