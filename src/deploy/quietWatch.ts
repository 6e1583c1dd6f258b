// Word of quiet, or of a hold that fell, out of the watch's frames. A frame wakes a pause once at most: what a look or a
// seal has judged since is no news, so that a fleet that looks quiet and cannot be sealed is asked at the machine's own pace.

import type { WatchFrame } from "#wire/fleet.ts";
import type { QuietWatch } from "#deploy/fleetDoor.ts";
import type { Seen } from "#deploy/port.ts";

/** A watch that is fed frames by whoever holds the socket. */
export interface FedWatch extends QuietWatch {
  feed(frame: WatchFrame): void;
}

/** A watch without frames says nothing, and the 60 s look does all the work. */
export function quietWatch(): FedWatch {
  let last: WatchFrame | null = null;
  let frames: Seen[] = [];
  const waiting = new Set<(frame: WatchFrame) => void>();
  return {
    feed(frame) {
      last = frame;
      frames = [...frames, { kind: "inFlight", at: frame.now, runIds: frame.runs.map((run) => run.runId) }];
      for (const offer of waiting) offer(frame);
    },
    mark() {
      last = null;
    },
    taken() {
      const seen = frames;
      frames = [];
      return seen;
    },
    until: (isNews, signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          waiting.delete(offer);
          reject(signal.reason);
        };
        const offer = (frame: WatchFrame): void => {
          if (!isNews(frame)) return;
          waiting.delete(offer);
          signal.removeEventListener("abort", stop);
          last = null;
          resolve();
        };
        if (signal.aborted) return stop();
        waiting.add(offer);
        signal.addEventListener("abort", stop, { once: true });
        if (last !== null) offer(last);
      }),
  };
}
