// Ctrl-C and SIGTERM. A command that has something to end takes the first one as its stop; the second one leaves at once.

import { EXIT } from "./exit.ts";

/** How a command hears of signals. */
export interface Interrupts {
  /** From now on the first signal fires `stop` and the second one leaves at once, after `lastWords`. */
  take(lastWords: () => string): { readonly stop: AbortSignal; readonly release: () => void };
  /** The exit code of the signal that came, 0 while none has. */
  readonly code: () => number;
  /** Fires `stop` as a signal would: stdout has no reader any more. */
  readonly brokenPipe: () => void;
  /** From now on a reader that goes away changes nothing: what runs here is more than what it says. */
  readonly surviveBrokenPipe: () => void;
}

const CODES = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated, SIGHUP: 129 } as const;
type Signal = keyof typeof CODES;
const SIGNALS: readonly Signal[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** The signals of this process. `leave` ends it at once, having written the words. */
export function processInterrupts(leave: (code: number, words: string) => void): Interrupts {
  let code = 0;
  let current: AbortController | null = null;
  let survives = false;
  return {
    code: () => code,
    surviveBrokenPipe: () => {
      survives = true;
    },
    brokenPipe: () => {
      if (survives) return;
      if (code === 0) code = EXIT.brokenPipe;
      if (current === null) leave(code, "");
      else current.abort(new Error("stdout has no reader"));
    },
    take(lastWords) {
      const taken = new AbortController();
      current = taken;
      const handlers = SIGNALS.map((signal) => {
        const handler = (): void => {
          if (taken.signal.aborted && code !== EXIT.brokenPipe) return leave(CODES[signal], lastWords());
          code = CODES[signal];
          taken.abort(new Error(signal));
        };
        process.on(signal, handler);
        return [signal, handler] as const;
      });
      const release = (): void => {
        for (const [signal, handler] of handlers) process.removeListener(signal, handler);
        current = null;
      };
      return { stop: taken.signal, release };
    },
  };
}
