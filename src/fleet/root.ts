// What a part of the Worker is given: its settings, its clock and its log. Made once an isolate or an object from the
// bindings; nothing else in this room reads them.

import { budgetsOf, type Budgets } from "#core/budgets.ts";
import type { SecretBindings } from "#http/bearer.ts";
import { jsonOf, parseWith } from "#wire/parse.ts";
import { settingsSchema, type Settings } from "#wire/host.ts";
import type { Instant } from "#core/time.ts";

/** The bindings of the fleet Worker. */
export interface Env extends SecretBindings {
  readonly SETTINGS: string;
  readonly HOST_TOKEN?: string;
  readonly REGISTRY: DurableObjectNamespace;
  readonly RESIDENT: DurableObjectNamespace;
  /** Reaches the container host and the agents on this machine, and nothing else. */
  readonly HOST_NET: Fetcher;
}

/** A stack's clock: instants are virtual, and alarms are set in real time, rounded up so that none comes early. */
export interface FleetClock {
  now(): Instant;
  realAt(at: Instant): number;
}

/** One JSON line to the Worker's log. */
export type Log = (level: "info" | "warn" | "error", event: string, fields?: Readonly<Record<string, unknown>>) => void;

export interface Root {
  readonly settings: Settings;
  readonly budgets: Budgets;
  readonly clock: FleetClock;
  readonly log: Log;
}

function clockOf({ clock }: Settings): FleetClock {
  const { realEpochMs, virtualEpochMs, scale } = clock;
  return {
    now: () => Math.floor(virtualEpochMs + (Date.now() - realEpochMs) * scale),
    realAt: (at) => Math.ceil(realEpochMs + (at - virtualEpochMs) / scale),
  };
}

/** Reads the settings and makes the clock and the log of one part. A Worker without readable settings does not start. */
export function rootOf(env: Env, part: string): Root {
  const parsed = parseWith(settingsSchema, jsonOf(env.SETTINGS));
  if (!parsed.ok) throw new Error(`SETTINGS: ${parsed.error.detail}`);
  const settings = parsed.value;
  const clock = clockOf(settings);
  const leases = Object.fromEntries(Object.entries(settings.kinds).map(([name, kind]) => [name, kind.leaseMs]));
  const log: Log = (level, event, fields = {}) => {
    const at = new Date(clock.now()).toISOString();
    console.log(JSON.stringify({ at, level, part, generation: settings.generation, event, ...fields }));
  };
  return { settings, budgets: budgetsOf(leases), clock, log };
}

/** Either the answer, or `undefined` after this many real milliseconds: a part that hangs must not hang its asker. */
export async function within<T>(realMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const bound = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), realMs);
  });
  try {
    return await Promise.race([work, bound]);
  } finally {
    if (timer !== undefined) clearTimeout(timer);
  }
}

/** Work that is given up after this many real milliseconds. Its timer goes with it: one that is left keeps an object in memory. */
export async function bounded<T>(realMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(new Error("no answer in time")), realMs);
  try {
    return await work(over.signal);
  } finally {
    clearTimeout(timer);
  }
}

/** What an error says, for a log line or a detail. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
