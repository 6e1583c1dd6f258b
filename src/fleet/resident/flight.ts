// One attach under way, which every request of the same run joins: it decides once, works once, and all get its answer.

import { REAL } from "#core/budgets.ts";
import type { AttachAnswer } from "#core/gate.ts";
import type { Binding } from "#wire/attach.ts";
import type { Problem } from "#wire/errors.ts";

/** What the attach of a flight came to. */
export type Landing<B> = { readonly binding: B } | { readonly problem: Problem };

export interface Flight<B = unknown> {
  /** A refusal decided before any work, or null once work has begun. */
  readonly refused: Promise<{ readonly answer: AttachAnswer; readonly problem: Problem } | null>;
  readonly landing: Promise<Landing<B>>;
  /** What the gate answered, for those who joined. */
  readonly answered: Promise<AttachAnswer>;
  /** Hears each progress line from now on; answers how to stop hearing. */
  listen(hear: (line: string) => void): () => void;
}

/** The writing end of a flight. */
export interface Takeoff<B> extends Flight<B> {
  say(line: string): void;
  decide(refusal: { readonly answer: AttachAnswer; readonly problem: Problem } | null): void;
  answer(answer: AttachAnswer): void;
  land(landing: Landing<B>): void;
}

/** What a workspace is made of; for the provision of a resident itself only the commit counts. */
export interface Workspace {
  readonly path: string;
  readonly branch: string;
  readonly base: string;
  readonly head: string;
}

/** The first attach of its run to arrive, as those that follow it see it. */
export interface Leader {
  readonly threadKey: string;
  readonly flight: Takeoff<Binding>;
  made: Workspace | null;
  /** When the fleet is quiet at the latest, as the refusal was told. */
  quietBy: number | null;
}

/** A flight that has just begun. */
export function takeOff<B>(): Takeoff<B> {
  const refused = Promise.withResolvers<{ readonly answer: AttachAnswer; readonly problem: Problem } | null>();
  const landing = Promise.withResolvers<Landing<B>>();
  const answered = Promise.withResolvers<AttachAnswer>();
  const ears = new Set<(line: string) => void>();
  return {
    refused: refused.promise,
    landing: landing.promise,
    answered: answered.promise,
    listen(hear) {
      ears.add(hear);
      return () => ears.delete(hear);
    },
    say: (line) => ears.forEach((hear) => hear(line)),
    decide: refused.resolve,
    answer: answered.resolve,
    land: landing.resolve,
  };
}

/** Streams a flight as ndjson: progress and heartbeats, then the one last line that `last` makes of its landing. */
export function streamFlight<B>(
  flight: Flight<B>,
  last: (landing: Landing<B>) => Record<string, unknown>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let end = (): void => undefined;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (line: Record<string, unknown>): void => {
        try {
          controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`));
        } catch {
          end();
        }
      };
      const deaf = flight.listen((line) => write({ type: "progress", line }));
      const beat = setInterval(() => write({ type: "beat" }), REAL.heartbeatMs);
      end = () => {
        clearInterval(beat);
        deaf();
      };
      void flight.landing.then((landing) => {
        write(last(landing));
        end();
        try {
          controller.close();
        } catch {
          end();
        }
      });
    },
    cancel: () => end(),
  });
}
