// One JSON line an event, in a file: the same form from every process of a stack. A log that cannot be written stops nobody.

import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { configure, dispose, getJsonLinesFormatter, getLogger, type Logger, type LogLevel } from "@logtape/logtape";

const ROTATE_BYTES = 16 * 1024 * 1024;
const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warning", "error", "fatal"];

/** Where and how much this process logs. */
export interface LogSetting {
  readonly file: string;
  /** From the environment; what is no level reads as `info`. */
  readonly level: string | undefined;
}

/** Moves a log that has grown large aside, so that a folder keeps at most two of each. */
export function rotateLog(file: string): void {
  try {
    if (statSync(file).size > ROTATE_BYTES) renameSync(file, `${file}.1`);
  } catch {
    // A log that is not there yet needs no rotation.
  }
}

/** Sets up this process's log and answers its closer. To be called once, at a composition root. */
export async function openLog(setting: LogSetting): Promise<() => Promise<void>> {
  mkdirSync(dirname(setting.file), { recursive: true, mode: 0o700 });
  rotateLog(setting.file);
  const descriptor = openSync(setting.file, "a", 0o600);
  const format = getJsonLinesFormatter({ properties: "flatten" });
  const lowestLevel = LEVELS.find((level) => level === setting.level) ?? "info";
  await configure({
    reset: true,
    sinks: {
      file: (record) => {
        try {
          writeSync(descriptor, format(record));
        } catch {
          // A full disk must not end a supervisor.
        }
      },
    },
    loggers: [
      { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
      { category: "tidegate", sinks: ["file"], lowestLevel },
    ],
  });
  return async () => {
    await dispose();
    closeSync(descriptor);
  };
}

/** The logger of one part, such as `supervisor` or `containers`. */
export function logOf(part: string): Logger {
  return getLogger(["tidegate", part]);
}
