// stdout is data, stderr is for people. A reader that went away (`| head`) ends a command quietly.

import { isatty } from "node:tty";
import { plain } from "./render/plain.ts";

/** Where a command writes. */
export interface Output {
  /** Data, a line. */
  data(line: string): void;
  /** Bytes of a run's output, untouched; resolves when the stream takes more. */
  bytes(to: "out" | "err", bytes: Uint8Array): Promise<void>;
  /** A line for people. */
  say(line: string): void;
  readonly isTerminal: { readonly out: boolean; readonly err: boolean };
  /** How wide the terminal of stdout is; null where it is none. */
  readonly width: () => number | null;
  readonly stderr: NodeJS.WriteStream;
  readonly stdout: NodeJS.WriteStream;
}

function written(stream: NodeJS.WriteStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    stream.write(bytes, () => resolve());
  });
}

/** The output over a process's streams. `onBrokenPipe` is called once stdout has no reader any more. */
export function outputOf(
  streams: { readonly stdout: NodeJS.WriteStream; readonly stderr: NodeJS.WriteStream },
  onBrokenPipe: () => void,
): Output {
  const { stdout, stderr } = streams;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") onBrokenPipe();
    else throw error;
  });
  stderr.on("error", () => undefined);
  const isTerminal = { out: isatty(1), err: isatty(2) };
  return {
    data: (line) => void stdout.write(`${line}\n`),
    bytes: (to, bytes) => written(to === "out" ? stdout : stderr, bytes),
    say: (line) => void stderr.write(`${line.split("\n").map(plain).join("\n")}\n`),
    isTerminal,
    width: () => (isTerminal.out ? stdout.columns : null),
    stdout,
    stderr,
  };
}
