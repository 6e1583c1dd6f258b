// The bot's log: one JSON line an event, and no secret of any kind in it, wherever it came from.

import type { Clock } from "#client/ports.ts";

export type LogLevel = "info" | "warn" | "error";
export type Log = (level: LogLevel, event: string, fields?: Readonly<Record<string, unknown>>) => void;

const shown = (value: unknown): unknown => (value instanceof Error ? (value.stack ?? value.message) : value);

/** A log that writes lines whose every text is masked. */
export function logWith(
  clock: Clock,
  ports: { readonly write: (line: string) => void; readonly mask: (text: string) => string },
): Log {
  const masked = (_: string, value: unknown): unknown => {
    const plain = shown(value);
    return typeof plain === "string" ? ports.mask(plain) : plain;
  };
  return (level, event, fields = {}) =>
    ports.write(JSON.stringify({ at: new Date(clock.now()).toISOString(), level, event, ...fields }, masked));
}
