// A process that lives and answers nobody: it is called silent after a long time and several looks, both, so that a machine
// that stood still, or whoever looks, is not taken for it.

import { setTimeout as pause } from "node:timers/promises";
import { LIMIT, REAL } from "#core/budgets.ts";
import type { Serving } from "#embed/served.ts";

/** What a watch over a process stands on. */
export interface Watching {
  /** Whether it answered; a look has its own bound. */
  look(): Promise<boolean>;
  pause(): Promise<void>;
  /** Real time, in ms. */
  now(): number;
  /** Whether the process has ended. */
  hasEnded(): boolean;
}

/** Watches until the process has ended, or has answered nobody for `silentMs`; answers whether it fell silent. */
export async function fellSilent(watching: Watching, silentMs: number): Promise<boolean> {
  let missed = 0;
  let heardAt = watching.now();
  while (!watching.hasEnded()) {
    if (await watching.look()) {
      missed = 0;
      heardAt = watching.now();
    } else missed += 1;
    if (watching.hasEnded()) return false;
    if (missed >= LIMIT.tries && watching.now() - heardAt >= silentMs) return true;
    await watching.pause();
  }
  return false;
}

/** A watch over a process that answers `/healthz` at its port: any answer is one. */
export function watchOver({ port, ended }: Serving): Watching {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  return {
    look: async () => {
      try {
        const signal = AbortSignal.timeout(REAL.requestMs);
        await (await fetch(`http://127.0.0.1:${port}/healthz`, { signal })).body?.cancel();
        return true;
      } catch {
        return false;
      }
    },
    pause: () => pause(REAL.heartbeatMs, undefined, { ref: false }),
    now: () => performance.now(),
    hasEnded: () => hasEnded,
  };
}
