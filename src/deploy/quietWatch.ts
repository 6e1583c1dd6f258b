// Word of quiet out of the watch's frames. A frame wakes a pause once at most: what a look or a seal has judged since is
// no news, so that a fleet that looks quiet and cannot be sealed is asked at the machine's own pace.

import type { WatchFrame } from "#wire/fleet.ts";
import type { QuietWatch } from "#deploy/fleetDoor.ts";
import type { Seen } from "#deploy/port.ts";

/** A watch that is fed frames by whoever holds the socket. */
export interface FedWatch extends QuietWatch {
  feed(frame: WatchFrame): void;
}

/** A watch without frames says nothing, and the 60 s look does all the work. */
export function quietWatch(): FedWatch {
  let isQuiet = false;
  let frames: Seen[] = [];
  const waiting = new Set<() => void>();
  return {
    feed(frame) {
      isQuiet = frame.runs.length === 0 && frame.attaching === 0;
      frames = [...frames, { kind: "inFlight", at: frame.now, runIds: frame.runs.map((run) => run.runId) }];
      if (isQuiet) for (const wake of waiting) wake();
    },
    mark() {
      isQuiet = false;
    },
    taken() {
      const seen = frames;
      frames = [];
      return seen;
    },
    quiet: (signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          waiting.delete(wake);
          reject(signal.reason);
        };
        const wake = (): void => {
          waiting.delete(wake);
          signal.removeEventListener("abort", stop);
          isQuiet = false;
          resolve();
        };
        if (signal.aborted) stop();
        else if (isQuiet) wake();
        else {
          waiting.add(wake);
          signal.addEventListener("abort", stop, { once: true });
        }
      }),
  };
}
