// Follows one process's output from the offsets that were read. Only its terminal record is its end; a stream that ends
// without one was cut, and whoever follows asks again from where it stood.

import type { OutputLine, ProcEnd } from "#wire/agent.ts";
import { TidegateError, titled } from "#wire/errors.ts";
import type { FleetClient, OfHeldRun } from "./fleet.ts";
import { isUnreachable } from "./transport.ts";

/** Where the caller's reading of a process stands. */
export interface Reading {
  readonly procId: string;
  /** What it is started by; null where nobody can say any more, so that it is only followed. */
  readonly command: readonly string[] | null;
  /** The container's boot that it was started in, as far as the caller knows; it is started in no other one. */
  bootId: string;
  /** Whether the process has ever been heard of: from then on it is not started a second time. */
  heard: boolean;
  /** Bytes read of each output. */
  out: number;
  err: number;
}

/** Where output goes, with where the reading stands behind it; a promise holds the stream back. */
export interface Sink {
  out(bytes: Uint8Array, reading: Readonly<Reading>): void | Promise<void>;
  err(bytes: Uint8Array, reading: Readonly<Reading>): void | Promise<void>;
}

/** How one stretch of following ended. `heard`: it brought something new, or a sign of life, before it was cut. */
export type Followed =
  | { readonly kind: "end"; readonly end: ProcEnd }
  | { readonly kind: "cut"; readonly heard: boolean; readonly why: string }
  | { readonly kind: "unregistered" }
  | { readonly kind: "noProcess" }
  /** The id stands for a process that was begun by another command or environment. */
  | { readonly kind: "differs" }
  /** A newer generation of the caller holds the run. */
  | { readonly kind: "superseded"; readonly why: string }
  | { readonly kind: "notStarted"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string };

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Hands on what is new in a frame; answers whether anything was. */
async function take(reading: Reading, frame: Extract<OutputLine, { s: "out" | "err" }>, sink: Sink): Promise<boolean> {
  const bytes = bytesOf(frame.d);
  const known = Math.max(0, reading[frame.s] - frame.o);
  if (known >= bytes.length) return false;
  reading[frame.s] = frame.o + bytes.length;
  await sink[frame.s](bytes.subarray(known), reading);
  return true;
}

/** What a refusal of `/exec`, before its stream or as its last line, means for whoever follows. */
function meaningOf(code: string, detail: string, heard: boolean): Followed {
  switch (code) {
    case "ROLLING":
    case "STOPPING":
    case "AGENT_FAILED":
    case "UNREADABLE":
    case "INTERNAL":
    case "CONTAINER_REPLACED":
      return { kind: "cut", heard, why: detail };
    case "NEEDS_ATTACH":
      return { kind: "unregistered" };
    case "NO_SUCH_PROCESS":
    case "NO_SUCH_PROC":
      return { kind: "noProcess" };
    case "PROCESS_DIFFERS":
      return { kind: "differs" };
    case "NOT_STARTED":
      return { kind: "notStarted", why: detail };
    case "OLD_GENERATION":
      return { kind: "superseded", why: detail };
    default:
      return { kind: "failed", why: detail };
  }
}

/** Starts or finds the process and follows it until its end or until the stream is cut; rejects only with the signal's reason. */
export async function follow(
  fleet: FleetClient,
  ask: OfHeldRun & { readonly command: readonly string[] | null; readonly env: Readonly<Record<string, string>> },
  reading: Reading,
  wishes: { readonly sink: Sink; readonly signal: AbortSignal; readonly onFound: () => void },
): Promise<Followed> {
  const { procId, out, err } = reading;
  const body = {
    ...ask,
    command: ask.command === null ? null : [...ask.command],
    bootId: ask.command === null ? null : reading.bootId,
    env: { ...ask.env },
    procId,
    out,
    err,
  };
  const onFound = (): void => {
    reading.heard = true;
    wishes.onFound();
  };
  let heard = false;
  try {
    for await (const line of fleet.exec(body, { signal: wishes.signal, onFound })) {
      if ("s" in line) {
        heard = (await take(reading, line, wishes.sink)) || heard;
      } else if (line.type === "end") {
        const { type: _, ...end } = line;
        return end.cause === "not-started"
          ? { kind: "notStarted", why: end.detail ?? "it did not start" }
          : { kind: "end", end };
      } else if (line.type === "error") {
        return meaningOf(line.code, titled(line), heard);
      } else {
        heard = true;
      }
    }
    return { kind: "cut", heard, why: "the stream ended before the process did" };
  } catch (error) {
    wishes.signal.throwIfAborted();
    if (!(error instanceof TidegateError)) throw error;
    if (isUnreachable(error)) return { kind: "cut", heard, why: error.problem.detail };
    const { code, detail } = error.problem;
    return meaningOf(code, code === "NOT_STARTED" ? detail : error.message, heard);
  }
}
