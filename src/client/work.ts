// A run's work between its attach and its release: what is executed, what is told of it meanwhile, and how it ends.

import type { ReplacedBy } from "#core/standing.ts";
import type { Ms } from "#core/time.ts";
import type { Problem } from "#wire/errors.ts";
import type { Attach, AttachAsk, Attached, WaitNote } from "./attach.ts";
import type { ResidentDrainingError } from "./drainingError.ts";
import type { FleetClient } from "./fleet.ts";
import type { Reading, Sink } from "./follow.ts";
import type { Clock, MintId } from "./ports.ts";

/** What is to be executed, of which run. */
export interface WorkAsk extends AttachAsk {
  readonly command: readonly string[];
  /** What goes on after the container was replaced; without it the run ends `replaced`. */
  readonly resume: readonly string[] | null;
  readonly env: Readonly<Record<string, string>>;
}

/** A standing transport failure: how long nothing has been heard of the run, and why not. */
export interface TransportNote {
  readonly silentMs: Ms;
  /** Which one in a row it is, and whether the run attaches again after it. */
  readonly failures: number;
  readonly goesOn: boolean;
  readonly why: string;
}

/** What is told while the run is executed. */
export interface WorkEvents extends Sink {
  readonly onWait: (note: WaitNote) => void;
  readonly onProgress: (line: string) => void;
  /** A process is about to be started or followed under this id, in this boot: nothing of it is asked for before. */
  readonly onBegin?: (reading: Readonly<Reading>) => Promise<void>;
  /** The process is there: it was begun just now, or found. */
  readonly onFound?: () => void;
  /** Its processes are being ended. */
  readonly onEnding?: (how: "stopped" | "leaseSpent") => void;
  /** The stream was cut and the run attaches again. */
  readonly onCut: (why: string) => void;
  /** Control reset: the object or the Worker went and the container did not, so the same process is picked up again. */
  readonly onReset: () => void;
  /** Nothing was heard over several tries: the run is resumed by attaching again, as long as that is of use. */
  readonly onTransport: (note: TransportNote) => void;
  /** Container replaced: the process is gone. The run goes on by this command, or ends. */
  readonly onReplaced: (command: readonly string[] | null) => void;
}

/** How a run ended. `exit` is the command's own, 128 + n when a signal ended it. */
export type Verdict =
  | { readonly kind: "finished"; readonly exit: number; readonly signal: string | null }
  | { readonly kind: "notStarted"; readonly why: string }
  | { readonly kind: "stopped" | "leaseSpent" }
  | { readonly kind: "replaced"; readonly by: ReplacedBy }
  | { readonly kind: "refused"; readonly problem: Problem | null; readonly draining: ResidentDrainingError | null }
  | { readonly kind: "failed"; readonly why: string };

/** What an execution is given. */
export interface WorkPorts {
  readonly fleet: FleetClient;
  readonly attach: Attach;
  readonly clock: Clock;
  /** Real time, for how long a stopped process may take to be gone. */
  readonly real: Clock;
  /** Names each process of the run: who takes the run over must mint the same again. */
  readonly mintId: MintId;
  /** The number of a signal by its name, for the exit code of a command that it ended. */
  readonly signalNumber: (name: string) => number;
}

/** A run that its caller took from another, and may leave to the next. */
export interface Hold {
  /**
   * Where its process stood; null when none of it was begun. It counts as heard: it is never started a second time, also
   * where its command or its environment are other ones by now.
   */
  readonly from: Pick<Reading, "procId" | "command" | "bootId" | "out" | "err"> | null;
  /** How often it may be resumed. */
  readonly resumes: number;
  /** Fires when the run is to be left as it is: its process goes on, its registration stands. */
  readonly leave: AbortSignal;
}

/** Where an execution begins, and what ends it. */
export interface Start {
  readonly attached: Attached;
  readonly stop: AbortSignal;
  readonly hold: Hold | null;
}
