// The life of a run as its caller lives it: attach, execute, follow over every cut, and release. However it goes on, the
// registration is given back.

import type { Ms } from "#core/time.ts";
import type { Work } from "#wire/attach.ts";
import { TidegateError } from "#wire/errors.ts";
import type { Attached } from "./attach.ts";
import { ResidentDrainingError } from "./drainingError.ts";
import { execute } from "./execution.ts";
import type { Verdict, WorkAsk, WorkEvents, WorkPorts } from "./work.ts";
import { release } from "./release.ts";
import { isUnreachable } from "./transport.ts";

/** What is to be run. */
export interface RunAsk extends WorkAsk {
  readonly leaseMs: Ms | null;
  /** Push the thread's branch once the command has succeeded. */
  readonly push: boolean;
  /** False: a closed door refuses the run at once. */
  readonly wait: boolean;
}

/** What is told while the run lives. */
export interface RunEvents extends WorkEvents {
  readonly onStart: (attached: Attached) => void;
}

/** Everything that can be said once a run is over. */
export interface RunEnd {
  readonly verdict: Verdict;
  readonly attached: Attached | null;
  readonly work: Work | null;
  readonly pushed: { readonly ok: boolean; readonly said: string } | null;
  /** Why the registration could not be given back; null when it was. It then ends by itself with its lease. */
  readonly notReleased: string | null;
}

/** What a refused attach means for the run. */
export function refusedVerdict(error: unknown): Verdict {
  if (error instanceof ResidentDrainingError) return { kind: "refused", problem: null, draining: error };
  if (error instanceof TidegateError) return { kind: "refused", problem: error.problem, draining: null };
  throw error;
}

function attach(ports: WorkPorts, ask: RunAsk, events: RunEvents, stop: AbortSignal): Promise<Attached> {
  const { resource, runId, threadKey, generation, runKind, parent, replace, ref, wait, leaseMs } = ask;
  const asked = { resource, runId, threadKey, generation, runKind, parent, replace, ref };
  return ports.attach(asked, {
    leaseUntil: leaseMs === null ? null : ports.clock.now() + leaseMs,
    signal: stop,
    onWait: events.onWait,
    onProgress: events.onProgress,
    again: false,
    wait,
  });
}

async function pushed(ports: WorkPorts, ask: RunAsk): Promise<RunEnd["pushed"]> {
  const { resource, threadKey, runId, generation } = ask;
  try {
    const { said } = await ports.fleet.op({ resource, threadKey, runId, generation, op: "push" });
    return { ok: true, said };
  } catch (error) {
    if (!(error instanceof TidegateError)) throw error;
    return { ok: false, said: `${error.message}. ${error.problem.next}` };
  }
}

/** Lives one run from its ask to its release. Rejects only on a defect; everything else is a verdict. */
export async function callRun(ports: WorkPorts, ask: RunAsk, events: RunEvents, stop: AbortSignal): Promise<RunEnd> {
  const { resource, threadKey, runId, generation } = ask;
  const given = { resource, threadKey, runId, generation };
  let attached: Attached;
  try {
    attached = await attach(ports, ask, events, stop);
  } catch (error) {
    const verdict: Verdict = stop.aborted ? { kind: "stopped" } : refusedVerdict(error);
    // Nothing of a spent wait is on its way in: the fleet is only told, once, that nobody waits any more.
    const spent = error instanceof ResidentDrainingError;
    const mayBeIn = stop.aborted || isUnreachable(error) || spent;
    const { notReleased } = mayBeIn ? await release(ports, given, spent) : { notReleased: null };
    return { verdict, attached: null, work: null, pushed: null, notReleased };
  }
  events.onStart(attached);
  const outcome = await execute(ports, ask, events, { attached, stop, hold: null });
  if (outcome.kind === "left") throw new Error(`${runId} was left, and nobody was to`);
  const push = ask.push && outcome.kind === "finished" && outcome.exit === 0 ? await pushed(ports, ask) : null;
  return { verdict: outcome, attached, pushed: push, ...(await release(ports, given, true)) };
}
