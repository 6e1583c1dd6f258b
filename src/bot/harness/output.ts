// A run's output on its way to the ledger: byte for byte at its offset, masked, and in the same step how far its process
// was read, so that the next bot goes on at the very byte where this one stood.

import type { Reading as Stood } from "#core/ask.ts";
import { LIMIT } from "#core/budgets.ts";
import type { Reading } from "#client/follow.ts";
import { problemIn } from "#wire/errors.ts";
import type { OutputBody, OutputStream } from "#wire/ledger.ts";
import { Again } from "../again.ts";
import type { Steady } from "../steady.ts";
import { Mask } from "./mask.ts";

interface Piece {
  readonly bytes: Uint8Array;
  /** Where the process's own output stands behind these bytes. */
  readonly end: number;
}

interface Stream {
  mask: Mask;
  /** Where the ledger's record of the run stands. */
  length: number;
  /** How far the process was read that far. */
  at: number;
  pending: Piece[];
}

/** What an output's book is given. */
export interface OutputPorts {
  readonly steady: Steady;
  readonly id: string;
  /** The bot's number in the ledger. */
  readonly number: number;
  readonly secrets: readonly string[];
  /** Bytes that are missing between what the ledger has and what the process says now. */
  readonly onGap: (stream: OutputStream, bytes: number) => void;
  /** The ledger has more of it. */
  readonly onAppend: () => void;
}

const NO_PROCESS = { procId: "", bootId: "" };

/** One run's output. */
export class OutputBook {
  readonly #ports: OutputPorts;
  readonly #streams: Record<OutputStream, Stream>;
  #process: Pick<Reading, "procId" | "bootId"> = NO_PROCESS;
  readonly #writes = new Again(() => this.#writeAll());
  #failed: { readonly error: unknown } | null = null;

  constructor(ports: OutputPorts, lengths: Readonly<Record<OutputStream, number>>) {
    this.#ports = ports;
    const streamOf = (length: number): Stream => ({ mask: new Mask(ports.secrets), length, at: 0, pending: [] });
    this.#streams = { out: streamOf(lengths.out), err: streamOf(lengths.err) };
  }

  /** A process is followed from here on. What is still held back of the one before it is let out first. */
  async begin({ procId, bootId, out, err }: Readonly<Reading>): Promise<void> {
    if (procId !== this.#process.procId) {
      await this.end();
      for (const [name, at] of [
        ["out", out],
        ["err", err],
      ] as const)
        this.#streams[name] = { ...this.#streams[name], mask: new Mask(this.#ports.secrets), at };
    }
    this.#process = { procId, bootId };
  }

  /** Takes bytes, and where the reading stands behind them; resolves once there is room for more. */
  async push(name: OutputStream, bytes: Uint8Array, reading: Readonly<Reading>): Promise<void> {
    const stream = this.#streams[name];
    const shown = stream.mask.push(bytes);
    if (shown.length > 0) stream.pending.push({ bytes: shown, end: reading[name] - stream.mask.held });
    const written = this.#writes.ask();
    if (this.#waiting() > LIMIT.outputPartBytes) await written;
    this.#refuse();
  }

  /** Resolves once the ledger has all of it but what may be the beginning of a hidden value. */
  async flushed(): Promise<void> {
    await this.#writes.ask();
    this.#refuse();
  }

  /** The process has ended: nothing is held back any more. */
  async end(): Promise<void> {
    for (const stream of Object.values(this.#streams)) {
      const end = (stream.pending.at(-1)?.end ?? stream.at) + stream.mask.held;
      const bytes = stream.mask.end();
      if (bytes.length > 0) stream.pending.push({ bytes, end });
    }
    await this.flushed();
  }

  #refuse(): void {
    if (this.#failed !== null) throw this.#failed.error;
  }

  #waiting(): number {
    return Object.values(this.#streams)
      .flatMap(({ pending }) => pending)
      .reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** Writes until nothing waits; what the ledger refuses ends the writing for good, and is told to whoever brings more. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#waiting() > 0 && this.#failed === null)
        for (const name of ["out", "err"] as const)
          if (this.#streams[name].pending.length > 0) await this.#append(name);
    } catch (error) {
      this.#failed = { error };
    }
  }

  /** Appends what is pending of one stream, as much as fits into one part. */
  async #append(name: OutputStream): Promise<void> {
    const stream = this.#streams[name];
    const part = partOf(stream.pending);
    const data = Buffer.from(part.bytes).toString("base64");
    const other = name === "out" ? "err" : "out";
    const stood = { ...this.#process, [name]: part.end, [other]: this.#streams[other].at };
    const reading: Stood = { out: 0, err: 0, ...stood };
    const { id, number, onAppend } = this.#ports;
    await this.#send(name, { id, generation: number, stream: name, data, reading });
    stream.length += part.bytes.length;
    stream.at = part.end;
    stream.pending = rest(stream.pending, part.bytes.length);
    onAppend();
  }

  /** What the ledger has less than it was sent is gone: the output goes on where the ledger stands, and that is said. */
  async #send(name: OutputStream, body: Omit<OutputBody, "offset">): Promise<void> {
    const stream = this.#streams[name];
    try {
      await this.#ports.steady.do((ledger) => ledger.output({ ...body, offset: stream.length }));
    } catch (error) {
      const problem = problemIn(error);
      const length = problem?.code === "OUTPUT_GAP" ? problem["length"] : undefined;
      if (typeof length !== "number") throw error;
      this.#ports.onGap(name, stream.length - length);
      stream.length = length;
      await this.#send(name, body);
    }
  }
}

function partOf(pending: readonly Piece[]): Piece {
  const taken: Uint8Array[] = [];
  let size = 0;
  let end = 0;
  for (const piece of pending) {
    const bytes = piece.bytes.subarray(0, LIMIT.outputPartBytes - size);
    taken.push(bytes);
    size += bytes.length;
    end = piece.end - (piece.bytes.length - bytes.length);
    if (size === LIMIT.outputPartBytes) break;
  }
  return { bytes: Buffer.concat(taken), end };
}

function rest(pending: readonly Piece[], size: number): Piece[] {
  const left: Piece[] = [];
  let gone = size;
  for (const piece of pending) {
    const bytes = piece.bytes.subarray(Math.min(gone, piece.bytes.length));
    gone -= piece.bytes.length - bytes.length;
    if (bytes.length > 0) left.push({ ...piece, bytes });
  }
  return left;
}
