// The clock of a stack: real, or scaled for a replay. It is made once at a composition root from clock.json; whoever is
// given it cannot tell which it is, and nobody else reads the scale.

import { REAL } from "#core/budgets.ts";
import type { ClockSetting } from "#wire/host.ts";

/** What a part of the system may know of time. */
export interface Clock {
  /** The instant now, in whole ms of this clock. */
  now(): number;
  /** Resolves once `ms` of this clock have passed; rejects with the signal's reason as soon as it fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Real time. */
export const REAL_TIME: ClockSetting = { realEpochMs: 0, virtualEpochMs: 0, scale: 1 };

/** A clock that begins at `virtualEpochMs` now and runs `scale` times as fast as real time. */
export function scaledFromNow(virtualEpochMs: number, scale: number): ClockSetting {
  return { realEpochMs: Date.now(), virtualEpochMs, scale };
}

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(handle);
      reject(signal?.reason);
    };
    const handle = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The clock that a setting describes. Timers are rounded up, so that a sleep never ends before its instant. */
export function clockOf(setting: ClockSetting): Clock {
  const { realEpochMs, virtualEpochMs, scale } = setting;
  const now = (): number => Math.floor(virtualEpochMs + (Date.now() - realEpochMs) * scale);
  return {
    now,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      const end = now() + Math.max(0, ms);
      for (let left = end - now(); left > 0; left = end - now()) {
        await timer(Math.min(REAL.timerLongestMs, Math.ceil(left / scale)), signal);
      }
    },
  };
}
