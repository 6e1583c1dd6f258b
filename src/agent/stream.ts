// Answers in lines. Every stream carries heartbeats, so that either end notices when the other has gone.

import { NDJSON } from "#wire/agent.ts";
import { REAL } from "#core/budgets.ts";
import type { Clock } from "./clock.ts";
import { problemOf } from "./errors.ts";
import { Nudge } from "./nudge.ts";

interface Hands {
  readonly machine: Clock;
  readonly log: (error: unknown) => void;
}

/** A response that sends a generator's values as lines, as fast as they are read. `cut` is called when nobody reads on. */
export function linesResponse(lines: AsyncGenerator<object>, cut: () => void, log: (error: unknown) => void): Response {
  const encoder = new TextEncoder();
  const lineOf = (value: object): Uint8Array => encoder.encode(`${JSON.stringify(value)}\n`);
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const next = await lines.next();
          if (next.done) controller.close();
          else controller.enqueue(lineOf(next.value));
        } catch (error) {
          log(error);
          controller.enqueue(lineOf({ ...problemOf(error), type: "error" }));
          controller.close();
        }
      },
      cancel: async () => {
        cut();
        await lines.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": NDJSON, "cache-control": "no-store" } });
}

/**
 * Runs a long operation and answers its progress, then its result. A refusal that comes soon is thrown, and so has
 * its real status; one that comes after the first line is the last line. The work goes on when the caller leaves.
 */
export async function operationResponse(
  hands: Hands,
  work: (report: (text: string) => void) => Promise<object>,
): Promise<Response> {
  const said: object[] = [];
  const nudge = new Nudge();
  let outcome: { line: object; error?: Error } | undefined;
  const done = work((text) => {
    said.push({ type: "progress", text });
    nudge.wake();
  }).then(
    (result) => {
      outcome = { line: { type: "result", ...result } };
    },
    (error: unknown) => {
      outcome = {
        line: { ...problemOf(error), type: "error" },
        error: error instanceof Error ? error : new Error(String(error)),
      };
    },
  );
  const soon = new AbortController();
  await Promise.race([done, hands.machine.sleep(REAL.statusHoldMs, soon.signal)]);
  soon.abort();
  if (outcome?.error !== undefined) throw outcome.error;
  void done.then(nudge.wake);
  async function* lines(): AsyncGenerator<object> {
    for (;;) {
      const over = outcome;
      yield* said.splice(0);
      if (over) {
        if (over.error !== undefined) hands.log(over.error);
        yield over.line;
        return;
      }
      await nudge.wait(REAL.heartbeatMs, hands.machine);
      if (said.length === 0 && !outcome) yield { type: "heartbeat" };
    }
  }
  return linesResponse(lines(), () => undefined, hands.log);
}
