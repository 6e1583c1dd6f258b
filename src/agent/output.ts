// Follows a process's output from any offset, byte for byte. Only the terminal record is the end: a stream that is
// cut, or that reaches what has been written so far, says nothing about the process.

import { watch } from "node:fs";
import { open, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { REAL } from "#core/budgets.ts";
import type { OutputLine, ProcEnd } from "#wire/agent.ts";
import { AGENT_LIMITS } from "./bounds.ts";
import type { Clock } from "./clock.ts";
import { AgentError } from "./errors.ts";
import { Nudge } from "./nudge.ts";
import type { OutputName } from "./procRecord.ts";

export interface Following {
  /** The process's folder. */
  readonly folder: string;
  readonly from: Readonly<Record<OutputName, number>>;
  readonly follow: boolean;
  readonly end: { readonly now: () => ProcEnd | undefined; readonly over: Promise<ProcEnd> };
  readonly machine: Clock;
  readonly signal: AbortSignal;
}

interface Reader {
  readonly name: OutputName;
  readonly file: FileHandle;
  at: number;
}

/** Opens both outputs at their offsets; refuses an offset that lies beyond what was written. */
export async function followOutput(following: Following): Promise<AsyncGenerator<OutputLine>> {
  const readers: Reader[] = [];
  try {
    for (const name of ["out", "err"] as const) {
      const file = await open(join(following.folder, name), "r");
      readers.push({ name, file, at: following.from[name] });
      const { size } = await file.stat();
      if (following.from[name] > size) throw new AgentError("OFFSET_BEYOND_END", `${name} has ${size} bytes so far`);
    }
  } catch (error) {
    await closeAll(readers);
    throw error;
  }
  return lines(following, readers);
}

async function* lines(following: Following, readers: readonly Reader[]): AsyncGenerator<OutputLine> {
  const { signal, machine, end } = following;
  const nudge = new Nudge();
  const watching = watched(following.folder, nudge);
  signal.addEventListener("abort", nudge.wake);
  void end.over.then(nudge.wake);
  const buffer = Buffer.allocUnsafe(AGENT_LIMITS.frameBytes);
  try {
    let saidAt = machine.now();
    while (!signal.aborted) {
      // Read before the outputs are: with its sizes known, what it names is there to be read.
      const ended = end.now();
      let moved = false;
      for (const reader of readers) {
        const frame = await nextFrame(reader, buffer, ended?.[reader.name]);
        if (frame === undefined) continue;
        moved = true;
        yield frame;
      }
      if (moved) {
        saidAt = machine.now();
        continue;
      }
      if (ended) yield { type: "end", ...ended };
      if (ended || !following.follow) return;
      if (machine.now() - saidAt >= REAL.heartbeatMs) {
        saidAt = machine.now();
        yield { type: "heartbeat" };
      }
      await nudge.wait(watching.works() ? REAL.recheckMs : REAL.endLookLongestMs, machine);
    }
  } finally {
    signal.removeEventListener("abort", nudge.wake);
    watching.close();
    await closeAll(readers);
  }
}

async function nextFrame(reader: Reader, buffer: Buffer, limit: number | undefined): Promise<OutputLine | undefined> {
  const room = Math.min(buffer.length, (limit ?? Number.MAX_SAFE_INTEGER) - reader.at);
  if (room <= 0) return undefined;
  const { bytesRead } = await reader.file.read(buffer, 0, room, reader.at);
  if (bytesRead === 0) return undefined;
  const o = reader.at;
  reader.at += bytesRead;
  return { s: reader.name, o, d: buffer.toString("base64", 0, bytesRead) };
}

/** Watches the folder; where the kernel has no watch left, the re-check comes sooner instead. */
function watched(folder: string, nudge: Nudge): { works: () => boolean; close: () => void } {
  let works = true;
  const failed = (): void => {
    works = false;
    nudge.wake();
  };
  try {
    const watcher = watch(folder, { persistent: false }, nudge.wake);
    watcher.on("error", failed);
    return { works: () => works, close: () => watcher.close() };
  } catch {
    return { works: () => false, close: () => undefined };
  }
}

async function closeAll(readers: readonly Reader[]): Promise<void> {
  for (const reader of readers) await reader.file.close();
}
