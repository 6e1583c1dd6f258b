// What a command is given. The composition root makes it once; no command reads the environment, a clock or a stream of
// the process by itself.

import type { Clock } from "#client/ports.ts";
import type { Interrupts } from "./interrupts.ts";
import type { Output } from "./output.ts";
import type { FleetAccess } from "./access.ts";

/** The options that every command takes. */
export interface GlobalOptions {
  readonly json: boolean;
  /** One JSON line an event, where a command lasts. */
  readonly ndjson: boolean;
  readonly quiet: boolean;
  readonly verbose: boolean;
  readonly headers: boolean;
}

/** What is typed or piped into this process. */
export interface Input extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
}

/** A command's world. */
export interface Cli {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The folder of this package. */
  readonly packageRoot: string;
  readonly version: string;
  /** `user@host`, as what a person closes is signed. */
  readonly who: string;
  readonly output: Output;
  readonly stdin: Input;
  readonly interrupts: Interrupts;
  /** The machine's own time. */
  readonly real: Clock;
  readonly options: () => GlobalOptions;
  /** The stack that this folder means: where it is, its tokens, its clock and its fleet. */
  readonly access: () => FleetAccess;
  /** What the process ends with; the last word wins. */
  readonly exit: (code: number) => void;
}
