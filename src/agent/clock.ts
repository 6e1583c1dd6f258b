// Time as the agent is given it: instants and graces on the stack's clock, waits for the machine on real time.

import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";

/** A clock of a stack. `sleep` takes this clock's milliseconds and ends early, without an error, when aborted. */
export interface Clock {
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What TIDEGATE_CLOCK holds: where real and virtual time meet, and how fast the second runs. */
export const clockSetting = z.object({ realEpochMs: z.number(), virtualEpochMs: z.number(), scale: z.number().positive() });
export type ClockSetting = z.infer<typeof clockSetting>;

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
