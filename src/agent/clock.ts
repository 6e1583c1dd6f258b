// Time as the agent is given it: instants and graces on the stack's clock, waits for the machine on real time.

import { setTimeout as pause } from "node:timers/promises";
import type { ClockSetting } from "#wire/host.ts";

/** A clock of a stack. `sleep` takes this clock's milliseconds and ends early, without an error, when aborted. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Makes a clock; only the composition root calls it. Without a setting it is real time. */
export function makeClock(setting: ClockSetting = { realEpochMs: 0, virtualEpochMs: 0, scale: 1 }): Clock {
  return {
    now: () => Math.floor(setting.virtualEpochMs + (Date.now() - setting.realEpochMs) * setting.scale),
    sleep: async (ms, signal) => {
      if (signal?.aborted) return;
      await pause(ms / setting.scale, undefined, signal ? { signal } : {}).catch((error: unknown) => {
        if (!signal?.aborted) throw error;
      });
    },
  };
}
