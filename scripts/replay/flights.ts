// What the frames of the watch show of one thread: when it ran, and when its registration was gone.

import type { Instant } from "#core/time.ts";
import type { WatchFrame } from "#wire/fleet.ts";

/** The first frame without the thread after one with it: its registration has gone. */
export function goneAt(frames: readonly WatchFrame[], thread: string): Instant | undefined {
  const has = (frame: WatchFrame): boolean => frame.runs.some((row) => row.threadKey === thread);
  const last = frames.findLastIndex(has);
  return last < 0 ? undefined : frames[last + 1]?.now;
}

/** The first frame in which the thread runs. */
export function startedIn(frames: readonly WatchFrame[], thread: string): WatchFrame | undefined {
  return frames.find((frame) => frame.runs.some((row) => row.threadKey === thread && row.state === "running"));
}

/** The first frame in which something closes the fleet. */
export const closedFrame = (frames: readonly WatchFrame[]): WatchFrame | undefined =>
  frames.find((frame) => frame.drains.length > 0);

/** The threads of a frame, sorted. */
export const threadsIn = (frame: WatchFrame | undefined): string[] =>
  (frame?.runs ?? []).map((row) => row.threadKey).toSorted();
