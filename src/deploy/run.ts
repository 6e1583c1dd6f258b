// The deploy runner: performs the one effect that each state names, hands the fact back, and ends. The order is the
// step machine's alone; what is here is how an effect under way gives way to a signal.

import { nextDeploy } from "#core/rollout.ts";
import type { DeployFact, DeployState } from "#core/rolloutState.ts";
import type { Instant } from "#core/time.ts";
import type { DeployPort, Performed, Seen } from "#deploy/port.ts";

/** One turn of the machine, as it happened. */
export interface DeployTurn {
  readonly before: DeployState;
  readonly fact: DeployFact;
  readonly after: DeployState;
  readonly seen: readonly Seen[];
  readonly since: Instant;
  readonly until: Instant;
}

/** The first SIGINT or SIGTERM. What the second one does is the composition root's, since it leaves at once. */
export interface Interrupts {
  /** Calls the listener once, at the first signal, also when that came before; answers how to stop listening. */
  onFirst(listener: (signal: "SIGINT" | "SIGTERM") => void): () => void;
}

/** What a deploy runs with. */
export interface DeployRunning {
  readonly port: DeployPort;
  readonly now: () => Instant;
  readonly interrupts: Interrupts;
  /** Told after each turn, in order: lines, receipt, events. */
  readonly onTurn: (turn: DeployTurn) => void;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Performs the effect that the state names. An effect that throws has given no answer: it may have been carried out. */
async function perform(port: DeployPort, state: DeployState, signal: AbortSignal): Promise<Performed> {
  const { effect } = state;
  try {
    return effect.do === "done" ? { fact: { kind: "lost", why: "over" } } : await port[effect.do](state, signal);
  } catch (error) {
    return { fact: { kind: "lost", why: wordsOf(error) } };
  }
}

type Given = Performed & { readonly interrupted: boolean };

/** The effect's own answer, or the signal where that comes first; an upload that has begun is not ended by it. */
async function performOrGiveWay(running: DeployRunning, state: DeployState): Promise<Given> {
  const abort = new AbortController();
  const answer = perform(running.port, state, abort.signal).then((performed) => ({ ...performed, interrupted: false }));
  let stopListening = (): void => undefined;
  const interrupted = new Promise<Given>((resolve) => {
    stopListening = running.interrupts.onFirst((signal) => {
      if (state.effect.do !== "upload") abort.abort(new Error(signal));
      resolve({ fact: { kind: "signal", signal }, interrupted: true });
    });
  });
  try {
    return await Promise.race([interrupted, answer]);
  } finally {
    stopListening();
  }
}

/**
 * Runs a deploy to its end and answers the state it ended in (protocol.md, "The deploy runner"). The first signal ends
 * the effect under way and is a fact like any other; a lift that has begun is not disturbed by it.
 */
export async function runDeploy(start: DeployState, running: DeployRunning): Promise<DeployState> {
  let state = start;
  let interrupted = false;
  while (state.effect.do !== "done") {
    const since = running.now();
    const undisturbed: boolean = interrupted || state.effect.do === "lift";
    const performed: Given = undisturbed
      ? { ...(await perform(running.port, state, new AbortController().signal)), interrupted: false }
      : await performOrGiveWay(running, state);
    interrupted ||= performed.interrupted;
    const until = running.now();
    const after = nextDeploy(state, performed.fact, until);
    running.onTurn({ before: state, fact: performed.fact, after, seen: performed.seen ?? [], since, until });
    state = after;
  }
  return state;
}
