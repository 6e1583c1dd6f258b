// What the tests of a run use: a run that is called before a fake fleet, with everything that is told of it.

import { askOf, refusal, type Scene } from "./clientForTests.ts";
import type { TransportNote } from "./work.ts";
import { callRun, type RunAsk, type RunEnd } from "./run.ts";

/** A run that was called, and what was told of it. */
export interface Called {
  readonly stop: AbortController;
  readonly said: string[];
  out: string;
  err: string;
  readonly end: () => RunEnd | undefined;
}

/** Calls a run. */
export function call(at: Scene, more: Partial<RunAsk> = {}): Called {
  const stop = new AbortController();
  let ended: RunEnd | undefined;
  const called: Called = { stop, said: [], out: "", err: "", end: () => ended };
  let minted = 0;
  const mintId = (prefix: string): string => `${prefix}-minted${(minted += 1)}`;
  const ports = { fleet: at.fleet, attach: at.attach, clock: at.clock, real: at.clock, mintId, signalNumber: () => 15 };
  const plain = { leaseMs: null, command: ["date"], resume: null, env: {}, push: false, wait: true };
  const text = new TextDecoder();
  const events = {
    out: (bytes: Uint8Array) => void (called.out += text.decode(bytes)),
    err: (bytes: Uint8Array) => void (called.err += text.decode(bytes)),
    onWait: () => void called.said.push("wait"),
    onProgress: () => undefined,
    onStart: () => void called.said.push("start"),
    onCut: () => void called.said.push("cut"),
    onReset: () => void called.said.push("reset"),
    onTransport: ({ failures, goesOn }: TransportNote) =>
      void called.said.push(goesOn ? `transport ${failures}` : "transport, given up"),
    onReplaced: (command: readonly string[] | null) =>
      void called.said.push(command === null ? "replaced" : `resumed by ${command.join(" ")}`),
  };
  void callRun(ports, { ...askOf("run-one"), ...plain, ...more }, events, stop.signal).then((end) => (ended = end));
  return called;
}

/** Answers each `/exec` by the next of these. */
export function execs(at: Scene, ...answers: (() => Response)[]): void {
  let next = 0;
  at.server.answers.set("/exec", () => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    return answer === undefined ? refusal("INTERNAL") : answer();
  });
}
