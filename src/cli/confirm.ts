// One question to a person. Where nobody can answer, the answer is no.

import { createInterface } from "node:readline/promises";

/** Asks a yes-or-no question; only `y` and `yes` are yes. Undefined when no person is there to ask. */
export type Confirm = (question: string, signal: AbortSignal) => Promise<boolean | undefined>;

/** Asks on a terminal. */
export function confirmOn(stdin: NodeJS.ReadStream, stderr: NodeJS.WriteStream): Confirm {
  return async (question, signal) => {
    if (!stdin.isTTY || !stderr.isTTY) return undefined;
    const lines = createInterface({ input: stdin, output: stderr });
    try {
      const answer = await lines.question(`${question} [y/N] `, { signal });
      return /^y(es)?$/i.test(answer.trim());
    } catch {
      return false;
    } finally {
      lines.close();
    }
  };
}
