// One JSON line an event, in a file: the same form from every process of a stack. A log that cannot be written stops nobody.

import { closeSync, copyFileSync, mkdirSync, openSync, readdirSync, statSync, truncateSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { configure, dispose, getJsonLinesFormatter, getLogger, type Logger, type LogLevel } from "@logtape/logtape";

const ASIDE_BYTES = 16 * 1024 * 1024;
const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warning", "error", "fatal"];

/** Where and how much this process logs. */
export interface LogSetting {
  readonly file: string;
  /** From the environment; what is no level reads as `info`. */
  readonly level: string | undefined;
}

/** None of a folder that is not there: somebody took the state away from under a stack that runs. */
function logsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(".log"));
  } catch {
    return [];
  }
}

/**
 * Sets aside each log of a folder that has grown large, so that the folder keeps at most two of each. It is copied and then
 * emptied: whoever writes it appends, and goes on at its beginning. What is written between the two is in neither.
 */
export function setLogsAside(folder: string): void {
  for (const name of logsIn(folder)) {
    const file = join(folder, name);
    try {
      if (statSync(file).size <= ASIDE_BYTES) continue;
      copyFileSync(file, `${file}.1`);
      truncateSync(file);
    } catch {
      // One that went meanwhile, or a disk that is full: it is looked at again.
    }
  }
}

/** Sets up this process's log and answers its closer. To be called once, at a composition root. */
export async function openLog(setting: LogSetting): Promise<() => Promise<void>> {
  mkdirSync(dirname(setting.file), { recursive: true, mode: 0o700 });
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
